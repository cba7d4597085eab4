// modprobe.d, the kernel command line and udev rules on any bytes.
#include <cstdint>
#include <string_view>

#include "collect/kernel_driver_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<gpuvet::ModprobeDirective> directives;
  gpuvet::parse_modprobe_conf("/etc/modprobe.d/fuzz.conf", text, true, directives);
  gpuvet::parse_command_line_modules(text, directives);
  std::vector<gpuvet::Origin> rules;
  gpuvet::find_gpu_remove_rules("/etc/udev/rules.d/fuzz.rules", text, rules);
  return 0;
}
