#pragma once
// System → Machine. Collectors never judge; each fills its own part of the Machine and never fails: what could not be seen
// is a fact "not seen" with the reason.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

struct CollectOptions {
  bool everything = false;       ///< -v: also contents of modules for kernels that do not run
  bool has_environment = false;  ///< an --environ file was given (`environment` is the judged process', possibly empty)
  std::map<std::string, std::string>
      environment;              ///< all variables of the judged process; for a live host without --environ its own
  bool has_kernel_log = false;  ///< --kernel-log
  std::string kernel_log_name;  ///< name to show
  std::string kernel_log_text;  ///< its (bounded) content
  bool kernel_log_truncated = false;
  std::vector<std::string> python_environments;  ///< --env: further prefixes to look at, whatever PATH says
  bool ask_windows = false;                      ///< --windows: in WSL, ask programs of Windows
};

/// Time that one collector took.
struct CollectorTime {
  std::string name;
  double milliseconds = 0;
};

/// Runs all collectors in order. `times`, when given, receives one entry a collector.
Machine collect(System& system, const CollectOptions& options, std::vector<CollectorTime>* times = nullptr);

// One function per section; later ones may read what earlier ones filled (the order is that of collect()).
void collect_environment(System& system, const CollectOptions& options, Machine& machine);  // environment.cpp: environment, user
void collect_os(System& system, const CollectOptions& options, Machine& machine);   // os.cpp: os (worlds, boot, secure boot …)
void collect_pci(System& system, const CollectOptions& options, Machine& machine);  // pci.cpp
void collect_kernel_driver(System& system, const CollectOptions& options,
                           Machine& machine);  // kernel_driver.cpp, module_files.cpp, dkms.cpp, modprobe.cpp …
void collect_device_nodes(System& system, const CollectOptions& options, Machine& machine);  // device_nodes.cpp
void collect_packages(System& system, const CollectOptions& options,
                      Machine& machine);  // packages_{dpkg,rpm,pacman}.cpp, package_history.cpp
void collect_user_driver(System& system, const CollectOptions& options,
                         Machine& machine);  // loader_view.cpp, user_driver.cpp (after packages: owners)
void collect_toolkits(System& system, const CollectOptions& options, Machine& machine);  // toolkits.cpp, host_compilers.cpp …
void collect_shells(System& system, const CollectOptions& options, Machine& machine);    // shells.cpp: start-up files, forecast
void collect_python(System& system, const CollectOptions& options, Machine& machine);    // python_environments.cpp …
void collect_services(System& system, const CollectOptions& options, Machine& machine);  // services.cpp: services, processes
void collect_container_engines(System& system, const CollectOptions& options,
                               Machine& machine);  // container_engines.cpp (after the environment)
void collect_wsl(System& system, const CollectOptions& options,
                 Machine& machine);  // wsl.cpp (after the worlds)
void collect_windows_side(System& system, const CollectOptions& options,
                          Machine& machine);                                               // windows_side.cpp (after wsl)
void collect_kernel_log(System& system, const CollectOptions& options, Machine& machine);  // kernel_log.cpp

}  // namespace gpuvet
