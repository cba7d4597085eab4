// The kernel-mode driver: what is loaded, what the driver says of itself, what is on disk, and what keeps it from loading.
#include "collect/kernel_driver_parts.h"

namespace gpuvet {

void collect_kernel_driver(System& system, const CollectOptions& options, Machine& machine) {
  collect_loaded_modules(system, machine);
  collect_proc_driver(system, machine);
  collect_module_files(system, options, machine);
  collect_dkms(system, machine);
  collect_modprobe(system, machine);
  collect_firmware(system, machine);
  collect_gpu_switch(system, machine);
}

}  // namespace gpuvet
