// State of DKMS as its own tree tells it (dkms(8)), failed builds of akmods, and the driver's sources below /usr/src.
//   /var/lib/dkms/NAME/VERSION/source            link to /usr/src/NAME-VERSION
//   /var/lib/dkms/NAME/VERSION/build/make.log    of a build that failed or is under way
//   /var/lib/dkms/NAME/VERSION/KERNEL/ARCH/{module,log/make.log}   of a build that succeeded (3.x: also of failed ones)
//   /var/lib/dkms/NAME/kernel-KERNEL-ARCH        link to VERSION/KERNEL/ARCH that is installed
#include <algorithm>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "model/module_name.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::size_t max_records = 512;
constexpr std::size_t log_limit = std::size_t{2} << 20;

using Records = std::vector<DkmsModule>;

bool is_folder(const DirectoryEntry& entry) { return entry.type == FileType::Directory || entry.type == FileType::Link; }

bool has_module_file(System& system, const std::string& folder) {
  const auto entries = system.list(folder, 256);
  return entries && std::any_of(entries->begin(), entries->end(),
                                [](const DirectoryEntry& entry) { return entry.name.find(".ko") != std::string::npos; });
}

/// Is a module of NVIDIA's in this kernel's folder, where DKMS puts it?
bool module_on_disk(const Machine& machine, const std::string& kernel) {
  const auto* files = machine.kernel_driver.module_files.get();
  if (files == nullptr) return false;
  return std::any_of(files->begin(), files->end(),
                     [&](const ModuleFile& file) { return file.kernel == kernel && nvidia_module_role(file.name) == "nvidia"; });
}

void read_log(System& system, const std::string& path, DkmsModule& record) {
  const auto tail = system.read_tail(path, log_limit);
  if (!tail) {
    record.error = Fact<std::string>::not_seen(tail.error().message, {path, 0, {}});
    return;
  }
  MakeLog log = parse_make_log(path, tail->text, !tail->truncated);
  record.error_lines = std::move(log.error_lines);
  record.error = log.error.empty() ? Fact<std::string>::absent({path, 0, {}})
                                   : Fact<std::string>::known(log.error, record.error_lines.front());
}

/// One NAME/VERSION of the DKMS tree.
struct Version {
  System& system;
  const Machine& machine;
  std::string name, version;
  Records& out;

  std::string folder() const { return "/var/lib/dkms/" + name + "/" + version; }

  DkmsModule record(std::string kernel, std::string architecture, std::string state) const {
    DkmsModule module;
    module.name = printable(name, 64);
    module.version = printable(version, 64);
    module.kernel = printable(kernel, 128);
    module.architecture = printable(architecture, 32);
    module.state = std::move(state);
    module.error = Fact<std::string>::absent({folder(), 0, {}});
    return module;
  }

  bool is_installed(const std::string& kernel, const std::string& architecture) const {
    const auto link = system.read_link("/var/lib/dkms/" + name + "/kernel-" + kernel + "-" + architecture);
    if (link) return link->starts_with(version + "/") || link->find("/" + version + "/") != std::string::npos;
    return module_on_disk(machine, kernel);
  }

  void add_build(const std::string& kernel, const std::string& architecture) {
    const std::string build = folder() + "/" + kernel + "/" + architecture;
    const std::string log = build + "/log/make.log";
    if (has_module_file(system, build + "/module")) {
      out.push_back(record(kernel, architecture, is_installed(kernel, architecture) ? "installed" : "built"));
    } else if (system.exists(log)) {
      DkmsModule module = record(kernel, architecture, "failed");
      read_log(system, log, module);
      out.push_back(std::move(module));
    }
  }

  /// build/make.log stays there when a build failed; it names the kernel in its first line.
  void add_failed_build() {
    const std::string path = folder() + "/build/make.log";
    if (!system.exists(path)) return;
    const auto head = system.read_head(path, 4096);
    const MakeLog title = parse_make_log(path, head ? std::string_view(*head) : std::string_view());
    const bool done = std::any_of(out.begin(), out.end(), [&](const DkmsModule& other) {
      return other.name == name && other.version == version && other.kernel == title.kernel &&
             (other.state == "built" || other.state == "installed");
    });
    if (done) return;
    std::erase_if(out, [&](const DkmsModule& other) {
      return other.name == name && other.version == version && other.kernel == title.kernel;
    });
    DkmsModule module = record(title.kernel, title.architecture, "failed");
    read_log(system, path, module);
    out.push_back(std::move(module));
  }

  void collect() {
    const auto entries = system.list(folder(), 1024);
    if (!entries) return;
    const std::size_t before = out.size();
    bool source = false;
    for (const auto& entry : *entries) {
      if (entry.name == "source") source = true;
      if (!is_folder(entry) || entry.name == "source" || entry.name == "build" || out.size() >= max_records) continue;
      const auto architectures = system.list(folder() + "/" + entry.name, 16);
      if (!architectures) continue;
      for (const auto& architecture : *architectures) {
        if (architecture.type == FileType::Directory) add_build(entry.name, architecture.name);
      }
    }
    add_failed_build();
    if (out.size() > before) return;
    out.push_back(record({}, {}, source && !system.exists(folder() + "/source") ? "broken" : "added"));
  }
};

void collect_tree(System& system, const Machine& machine, Records& out) {
  const auto names = system.list("/var/lib/dkms", 1024);
  if (!names) return;
  for (const auto& name : *names) {
    // "nvidia", "nvidia-open", "nvidia-srv", Debian's "nvidia-current" and "nvidia-tesla-470"; not "nvidia-fs"
    if (!is_folder(name) || nvidia_module_role(name.name) != "nvidia") continue;
    const auto versions = system.list("/var/lib/dkms/" + name.name, 256);
    if (!versions) continue;
    for (const auto& version : *versions) {
      if (!is_folder(version) || version.name.starts_with("kernel-") || version.name == "original_module" ||
          out.size() >= max_records)
        continue;
      Version{system, machine, name.name, version.name, out}.collect();
    }
  }
}

/// "550.120-1-for-6.11.4-301.fc41.x86_64.failed.log" below /var/cache/akmods/nvidia*.
void collect_akmods(System& system, const Machine& machine, Records& out) {
  const auto names = system.list("/var/cache/akmods", 256);
  if (!names) return;
  for (const auto& name : *names) {
    if (!name.name.starts_with("nvidia")) continue;
    const std::string folder = "/var/cache/akmods/" + name.name;
    const auto logs = system.list(folder, 1024);
    if (!logs) continue;
    for (const auto& log : *logs) {
      constexpr std::string_view mark = "-for-", suffix = ".failed.log";
      const std::size_t at = log.name.find(mark);
      if (at == std::string::npos || !log.name.ends_with(suffix) || out.size() >= max_records) continue;
      DkmsModule module;
      module.name = "akmod-nvidia";
      module.version = printable(std::string_view(log.name).substr(0, log.name.substr(0, at).rfind('-')), 64);
      module.kernel =
          printable(std::string_view(log.name).substr(at + mark.size(), log.name.size() - at - mark.size() - suffix.size()), 128);
      const std::size_t dot = module.kernel.rfind('.');
      module.architecture = dot == std::string::npos ? std::string() : module.kernel.substr(dot + 1);
      if (module_on_disk(machine, module.kernel)) continue;  // a later build went well
      module.state = "failed";
      read_log(system, folder + "/" + log.name, module);
      out.push_back(std::move(module));
    }
  }
}

void collect_sources(System& system, Machine& machine) {
  auto& fact = machine.kernel_driver.driver_sources;
  const Origin origin{"/usr/src", 0, {}};
  const auto entries = system.list("/usr/src", 4096);
  if (!entries) {
    fact = entries.error().code == ErrorCode::NotFound
               ? Fact<std::vector<std::string>>::absent(origin)
               : Fact<std::vector<std::string>>::not_seen(entries.error().message, origin);
    return;
  }
  std::vector<std::string> found;
  for (const auto& entry : *entries) {
    const std::size_t dash = entry.name.rfind('-');
    const bool version =
        dash != std::string::npos && dash + 1 < entry.name.size() && entry.name[dash + 1] >= '0' && entry.name[dash + 1] <= '9';
    if (version && is_folder(entry) && nvidia_module_role(entry.name.substr(0, dash)) == "nvidia")
      found.push_back("/usr/src/" + printable(entry.name, 128));
  }
  fact = Fact<std::vector<std::string>>::known(std::move(found), origin);
}

}  // namespace

void collect_dkms(System& system, Machine& machine) {
  collect_sources(system, machine);
  Records records;
  collect_tree(system, machine, records);
  collect_akmods(system, machine, records);
  auto& fact = machine.kernel_driver.dkms;
  const Origin origin{"/var/lib/dkms", 0, {}};
  const auto tree = system.list("/var/lib/dkms", 1);
  if (!records.empty() || tree)
    fact = Fact<Records>::known(std::move(records), origin);
  else if (tree.error().code == ErrorCode::NotFound)
    fact = Fact<Records>::absent(origin);
  else
    fact = Fact<Records>::not_seen(tree.error().message, origin);
}

}  // namespace gpuvet
