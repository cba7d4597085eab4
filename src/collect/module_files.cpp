// Module files on disk for every kernel: where each distribution puts NVIDIA's, and nouveau. Their contents only where asked.
#include <algorithm>
#include <array>
#include <set>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "elf/module_file.h"
#include "model/module_name.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::size_t max_entries = 4000;       ///< folder entries looked at for one kernel
constexpr std::size_t max_module_files = 2000;  ///< over all kernels
constexpr std::size_t max_kernels = 256;
constexpr std::uint64_t big_compressed = std::uint64_t{1} << 20;

struct ModuleName {
  std::string name;         ///< without suffixes; empty: no module file
  std::string compression;  ///< "", "xz", "zst", "gz"
};

ModuleName split_module_name(std::string_view file) {
  for (std::string_view compression : {"", "xz", "zst", "gz"}) {
    const std::string suffix = compression.empty() ? ".ko" : ".ko." + std::string(compression);
    if (file.size() > suffix.size() && file.ends_with(suffix))
      return {std::string(file.substr(0, file.size() - suffix.size())), std::string(compression)};
  }
  return {};
}

bool wanted(std::string_view module) {
  return !nvidia_module_role(module).empty() || module == "nouveau" || module == "nova" || module == "nova_core" ||
         module == "nova-core";
}

/// Collects the module files of one kernel.
class KernelFolder {
 public:
  KernelFolder(System& system, std::string root, std::string release, std::vector<ModuleFile>& out)
      : system_(system), folder_(root + "/" + release), release_(std::move(release)), out_(out) {}

  void add_usual_folders() {
    // DKMS (Debian family: updates/dkms; elsewhere extra), weak-modules of RHEL and SUSE, Arch's extramodules, Fedora's akmods
    // (extra/nvidia), older runfile installers (kernel/drivers/video and misc).
    for (const char* below : {"updates", "extra", "extramodules", "weak-updates", "misc"}) walk(below, 4);
    for (const char* below : {"kernel/drivers/video", "kernel/drivers/video/nvidia", "kernel/drivers/char/drm", "kernel/extra",
                              "kernel/drivers/gpu/drm/nouveau", "kernel/drivers/gpu/drm/nova", "kernel/drivers/gpu/nova-core",
                              "kernel/misc", "video"}) {
      walk(below, 0);
    }
    add_signed_ubuntu_folders();
  }

  /// Whatever else depmod has found.
  void add_from_modules_dep() {
    const auto index = system_.read_file(folder_ + "/modules.dep", std::size_t{16} << 20);
    if (!index) return;
    std::string_view text = *index;
    for (std::size_t at = 0; at < text.size() && files_ < 64;) {
      const std::size_t found = std::min(text.find("/nvidia", at), text.find("/nouveau.ko", at));
      if (found == std::string_view::npos) return;
      const std::size_t before = text.rfind('\n', found), begin = before == std::string_view::npos ? 0 : before + 1;
      const std::size_t newline = std::min(text.find('\n', found), text.size());
      const std::string_view path = text.substr(begin, text.substr(begin, newline - begin).find(':'));
      at = newline;
      if (path.find("..") != std::string_view::npos || path.empty() || path.size() > 1024) continue;
      const std::string full = path.front() == '/' ? std::string(path) : folder_ + "/" + std::string(path);
      add(full.substr(0, full.rfind('/')), full.substr(full.rfind('/') + 1), FileType::Link);
    }
  }

  std::size_t nvidia_files() const { return nvidia_files_; }

 private:
  /// Ubuntu's linux-modules-nvidia-*: kernel/nvidia-535, -535srv, -535-open, -535srv-open, with signed prebuilt modules.
  void add_signed_ubuntu_folders() {
    const auto entries = system_.list(folder_ + "/kernel", 512);
    if (!entries) return;
    for (const auto& entry : *entries) {
      if (entry.name.starts_with("nvidia")) walk("kernel/" + entry.name, 2);
    }
  }

  void walk(const std::string& below, int depth) {
    const std::string folder = folder_ + "/" + below;
    const auto entries = system_.list(folder, max_entries);
    if (!entries) return;
    for (const auto& entry : *entries) {
      if (++entries_ > max_entries) return;
      const bool descend =
          entry.type == FileType::Directory || (entry.type == FileType::Link && entry.name.find(".ko") == std::string::npos);
      if (!descend)
        add(folder, entry.name, entry.type);
      else if (depth > 0 && entry.type == FileType::Directory)
        walk(below + "/" + entry.name, depth - 1);
    }
  }

  void add(const std::string& folder, const std::string& file, FileType type) {
    ModuleName name = split_module_name(file);
    if (name.name.empty() || (type != FileType::Regular && type != FileType::Link) || !wanted(name.name) ||
        out_.size() >= max_module_files)
      return;
    std::string path = folder + "/" + file;
    if (!seen_.insert(path).second) return;
    // weak-updates are links, and one may dangle; an entry of modules.dep may be gone
    if (type == FileType::Link && !system_.exists(path)) return;
    ++files_;
    if (!nvidia_module_role(name.name).empty()) ++nvidia_files_;
    ModuleFile module;
    module.kernel = printable(release_, 128);
    module.name = printable(name.name, 64);
    module.path = printable(path, 512);
    module.compression = name.compression;
    out_.push_back(std::move(module));
  }

  System& system_;
  std::string folder_;
  std::string release_;
  std::vector<ModuleFile>& out_;
  std::set<std::string> seen_;
  std::size_t entries_ = 0, files_ = 0, nvidia_files_ = 0;
};

Fact<std::string> value_fact(const ModuleFileContent& content, std::string_view key, const std::string& path) {
  const std::string* value = content.value(key);
  if (value == nullptr) return Fact<std::string>::absent({path, 0, {}});
  return Fact<std::string>::known(printable(*value, 256), {path, 0, std::string(key) + ": " + printable(*value, 256)});
}

void set_contents_not_seen(ModuleFile& module, const std::string& why) {
  for (auto* fact : {&module.version, &module.vermagic, &module.license, &module.srcversion, &module.signer})
    *fact = Fact<std::string>::not_seen(why);
  module.has_signature = Fact<bool>::not_seen(why);
}

void read_contents(System& system, ModuleFile& module) {
  const auto file = system.open(module.path);
  if (!file) return set_contents_not_seen(module, file.error().message);
  const auto content = read_module_file(**file);
  if (!content) return set_contents_not_seen(module, module.path + ": " + printable(content.error()));
  module.compression = content->compression;
  module.version = value_fact(*content, "version", module.path);
  module.vermagic = value_fact(*content, "vermagic", module.path);
  module.license = value_fact(*content, "license", module.path);
  module.srcversion = value_fact(*content, "srcversion", module.path);
  module.has_signature = content->has_signature;
  module.signer = content->signer;
}

/// Empty: read it. Else why it is not worth its time: the .modinfo of a real nvidia.ko.xz stands behind tens of megabytes.
std::string why_not_read(System& system, const ModuleFile& file, const std::string& kernel, bool nvidia_loaded) {
  if (file.kernel != kernel) return "only the running kernel's modules are read (-v reads all)";
  if (nvidia_module_role(file.name).empty()) return "only NVIDIA's modules are read (-v reads all)";
  if (!nvidia_loaded || file.compression.empty()) return {};
  const auto status = system.status(file.path);
  return status && status->size > big_compressed ? "compressed and big, and the driver is loaded (-v reads it)" : "";
}

/// Where `build` or `source` leads when it can be built against: Debian, Fedora, SUSE and Arch all have a Makefile there.
Fact<std::string> headers_of(System& system, const std::string& folder) {
  for (const char* name : {"build", "source"}) {
    const std::string link = folder + "/" + name;
    const auto target = system.real_path(link);
    if (!target || !system.is_directory(*target)) continue;
    if (system.exists(*target + "/Makefile") || system.exists(*target + "/include/generated/autoconf.h")) {
      return Fact<std::string>::known(printable(*target, 512), {link, 0, printable(*target, 512)});
    }
  }
  const std::string link = folder + "/build";
  const auto target = system.read_link(link);
  return Fact<std::string>::absent(
      {link, 0, target ? "leads to " + printable(*target, 512) + ", which has no kernel headers" : std::string()});
}

bool is_kernel_folder(System& system, const std::string& folder) {
  for (const char* sign : {"modules.builtin", "modules.order", "modules.dep", "kernel", "vmlinuz"}) {
    if (system.exists(folder + "/" + sign)) return true;
  }
  return false;
}

/// /lib/modules, and /usr/lib/modules where it is another folder; NixOS has neither.
std::vector<std::string> module_roots(System& system, std::string& denied) {
  std::vector<std::string> roots, real_roots;
  for (const char* root : {"/lib/modules", "/usr/lib/modules", "/run/booted-system/kernel-modules/lib/modules"}) {
    const auto real = system.real_path(root);
    if (!real) {
      if (real.error().code == ErrorCode::Denied) denied = real.error().message;
      continue;
    }
    if (std::find(real_roots.begin(), real_roots.end(), *real) != real_roots.end()) continue;
    real_roots.push_back(*real);
    roots.emplace_back(root);
  }
  return roots;
}

void collect_kernel(System& system, const std::string& root, const std::string& release, bool running,
                    std::vector<InstalledKernel>& kernels, std::vector<ModuleFile>& files) {
  const std::string folder = root + "/" + release;
  const bool known =
      std::any_of(kernels.begin(), kernels.end(), [&](const InstalledKernel& kernel) { return kernel.release == release; });
  if (!known && is_kernel_folder(system, folder)) kernels.push_back({printable(release, 128), headers_of(system, folder)});
  KernelFolder modules(system, root, release, files);
  modules.add_usual_folders();
  if (running || modules.nvidia_files() == 0) modules.add_from_modules_dep();
}

}  // namespace

void collect_module_files(System& system, const CollectOptions& options, Machine& machine) {
  KernelDriver& driver = machine.kernel_driver;
  const Origin origin{"/lib/modules", 0, {}};
  std::string denied;
  const std::vector<std::string> roots = module_roots(system, denied);
  const std::string running = machine.os.kernel.value_or("");
  std::vector<InstalledKernel> kernels;
  std::vector<ModuleFile> files;
  for (const std::string& root : roots) {
    auto releases = system.list(root);
    if (!releases) {
      denied = releases.error().message;
      continue;
    }
    // The running kernel's folder is looked at first: however many others there are, that one decides.
    std::stable_partition(releases->begin(), releases->end(), [&](const DirectoryEntry& entry) { return entry.name == running; });
    releases->resize(std::min(releases->size(), max_kernels));
    for (const auto& release : *releases) {
      if (release.type != FileType::Directory && release.type != FileType::Link) continue;
      collect_kernel(system, root, release.name, release.name == running, kernels, files);
    }
  }
  // An image has no running kernel; where it holds but one, that one will run.
  const std::string kernel = running.empty() && kernels.size() == 1 ? kernels.front().release : running;
  const bool loaded = driver.version.is_known();
  for (ModuleFile& file : files) {
    const std::string why = options.everything ? std::string() : why_not_read(system, file, kernel, loaded);
    if (why.empty())
      read_contents(system, file);
    else
      set_contents_not_seen(file, why);
  }
  if (!denied.empty()) {
    driver.kernels = Fact<std::vector<InstalledKernel>>::not_seen(denied, origin);
    driver.module_files = Fact<std::vector<ModuleFile>>::not_seen(denied, origin);
    return;
  }
  driver.kernels = roots.empty() ? Fact<std::vector<InstalledKernel>>::absent(origin)
                                 : Fact<std::vector<InstalledKernel>>::known(std::move(kernels), origin);
  driver.module_files = Fact<std::vector<ModuleFile>>::known(std::move(files), origin);
}

}  // namespace gpuvet
