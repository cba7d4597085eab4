#pragma once
// Writes the many files of one described fact (a PCI function, a loaded driver, a package) into a recorded tree.

#include <map>
#include <string>
#include <vector>

#include "package_database.h"
#include "system/recorded.h"

namespace gpuvet::test {

using Options = std::map<std::string, std::string>;  ///< key=value words of a line; a bare word is key with empty value

struct LoadedTestModule {
  std::string name, version, refs, used_by;
};

class MachineBuilder {
 public:
  RecordedTree tree;

  void pci(const std::string& address, const std::string& ids, const Options& options);
  void loaded(const std::string& name, const Options& options);
  void unload(const std::string& name);
  void loaded_driver(const std::string& version, bool open, const std::string& uvm_major);
  void driver_libraries(const std::string& version, const std::string& folder, const std::string& machine);
  void driver_modules(const std::string& version, const std::string& kernel, const std::string& folder, const std::string& suffix, bool open,
                      const std::string& signer);
  void library(const std::string& path, const Options& options);
  void module_file(const std::string& path, const Options& options);

  void use_packages(const std::string& manager) { package_manager_ = manager; }
  void package(TestPackage package);
  void remove_package(const std::string& name);

  void use_log(const std::string& path, const std::string& style) { log_path_ = path, log_style_ = style; }
  void log(const std::string& line, double seconds = -1);
  void clear_log() { log_lines_.clear(); }

  void device_majors(const std::string& name, const std::string& major);
  void forget_gpus() { gpus_.clear(); }
  void remove(const std::string& path);
  /// Writes what is kept aside: packages, log, /proc/modules, /proc/devices.
  void finish();

 private:
  struct Gpu {
    std::string address, device;
  };
  struct LogLine {
    double seconds;
    std::string text;
  };
  void render_modules();
  void render_devices();
  std::string log_prefix(double seconds) const;

  std::map<std::string, std::string> pci_folders_;  ///< address → path below /sys/devices
  std::vector<Gpu> gpus_;
  std::vector<LoadedTestModule> modules_;
  std::vector<std::pair<std::string, std::string>> majors_;
  std::string package_manager_;
  std::vector<TestPackage> packages_;
  bool packages_touched_ = false;
  std::string log_path_, log_style_;
  std::vector<LogLine> log_lines_;
  double clock_ = 1.2;
};

}  // namespace gpuvet::test
