#include "collect/collect.h"

#include <chrono>

namespace gpuvet {
namespace {

using Collector = void (*)(System&, const CollectOptions&, Machine&);

/// In this order: later ones read what earlier ones filled.
constexpr std::pair<const char*, Collector> collectors[] = {
    {"environment", collect_environment},
    {"os", collect_os},
    {"wsl", collect_wsl},
    {"windows", collect_windows_side},
    {"pci", collect_pci},
    {"kernel-driver", collect_kernel_driver},
    {"device-nodes", collect_device_nodes},
    {"packages", collect_packages},
    {"user-driver", collect_user_driver},
    {"python", collect_python},
    {"toolkits", collect_toolkits},
    {"shells", collect_shells},
    {"services", collect_services},
    {"container-engines", collect_container_engines},
    {"kernel-log", collect_kernel_log},
};

}  // namespace

Machine collect(System& system, const CollectOptions& options, std::vector<CollectorTime>* times) {
  using Clock = std::chrono::steady_clock;
  Machine machine;
  machine.collected_by = "gpuvet " GPUVET_VERSION;
  machine.source = system.is_live() ? "host" : "root";
  for (const auto& [name, run] : collectors) {
    const auto start = Clock::now();
    run(system, options, machine);
    if (times) times->push_back({name, std::chrono::duration<double, std::milli>(Clock::now() - start).count()});
  }
  return machine;
}

}  // namespace gpuvet
