#pragma once
// The parts of collect_kernel_driver, one file each, and the pure parsers behind them.

#include <string>
#include <string_view>
#include <vector>

#include "collect/collect.h"

namespace gpuvet {

// loaded_modules.cpp: /proc/modules, /sys/module
void collect_loaded_modules(System& system, Machine& machine);
/// Modules that say something about the GPU stack: nvidia*, nouveau, nova*, vfio-pci, pci-stub, bbswitch, amdgpu, i915, xe,
/// dxgkrnl.
bool is_module_of_interest(std::string_view name_with_underscores);
/// One line of /proc/modules; name empty when it is none.
LoadedModule parse_proc_modules_line(std::string_view line, std::uint32_t number);

// proc_driver.cpp: /proc/driver/nvidia (after the loaded modules)
void collect_proc_driver(System& system, Machine& machine);
/// Version in a banner of any architecture and flavor: "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …" →
/// "580.95.05".
std::string driver_version_in_banner(std::string_view banner);
/// "open", "proprietary"; empty when the text is no banner.
std::string flavor_in_banner(std::string_view banner);
ProcGpu parse_proc_gpu(std::string_view address, std::string_view information, std::string_view registry);

// module_files.cpp: /lib/modules
void collect_module_files(System& system, const CollectOptions& options, Machine& machine);

// dkms.cpp: /var/lib/dkms, /var/cache/akmods, /usr/src (after the module files)
void collect_dkms(System& system, Machine& machine);
struct MakeLog {
  std::string kernel;  ///< of its first line; empty
  std::string architecture;
  std::vector<Origin> error_lines;  ///< up to 8, in the log's order
  std::string error;                ///< the one that ended the build; empty: none seen
};
MakeLog parse_make_log(std::string_view path, std::string_view text, bool line_numbers = true);

// modprobe.cpp: modprobe.d and the kernel command line
void collect_modprobe(System& system, Machine& machine);
void parse_modprobe_conf(std::string_view path, std::string_view text, bool effective, std::vector<ModprobeDirective>& out);
void parse_command_line_modules(std::string_view command_line, std::vector<ModprobeDirective>& out);

// firmware.cpp: GSP firmware
void collect_firmware(System& system, Machine& machine);

// gpu_switch.cpp: what laptops use to turn the discrete GPU off; udev rules that remove it (after modprobe)
void collect_gpu_switch(System& system, Machine& machine);
void find_gpu_remove_rules(std::string_view path, std::string_view text, std::vector<Origin>& out);

}  // namespace gpuvet
