#include "collect/library_copies.h"

#include <algorithm>
#include <set>

#include "collect/loader_view.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_folders = 2048, most_children = 256;

class Folders {
 public:
  explicit Folders(System& system) : system_(system) {}

  void add(const std::string& folder) {
    if (found_.size() >= most_folders || !asked_.insert(folder).second) return;
    const auto real = system_.real_path(folder);
    if (!real || !system_.is_directory(*real) || !real_.insert(*real).second) return;
    found_.push_back(folder);
  }

  /// PARENT/PREFIX*/BELOW for each entry; an empty `below` is the entry itself.
  void add_children(const std::string& parent, std::string_view prefix, const std::vector<std::string>& below) {
    for (const std::string& name : children(parent)) {
      if (!std::string_view(name).starts_with(prefix)) continue;
      for (const std::string& inner : below) add(parent + "/" + name + (inner.empty() ? "" : "/" + inner));
    }
  }

  std::vector<std::string> children(const std::string& parent) {
    std::vector<std::string> names;
    const auto entries = system_.list(parent, most_children);
    if (!entries) return names;
    for (const DirectoryEntry& entry : *entries)
      if (entry.type == FileType::Directory || entry.type == FileType::Link) names.push_back(entry.name);
    return names;
  }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  System& system_;
  std::set<std::string> asked_, real_;
  std::vector<std::string> found_;
};

/// NVIDIA's folders in one site-packages, and those where wheels keep what they bring along.
void add_site_packages(Folders& folders, const std::string& site) {
  folders.add_children(site + "/nvidia", "", {"lib"});
  for (const char* package : {"/torch/lib", "/tensorflow", "/jaxlib", "/onnxruntime/capi", "/tensorrt_libs", "/cutensor/lib"})
    folders.add(site + package);
  for (const std::string& name : folders.children(site))
    if (name.ends_with(".libs")) folders.add(site + "/" + name);
}

void add_toolkits(Folders& folders) {
  const std::vector<std::string> inside{
      "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "compat", "extras/CUPTI/lib64"};
  folders.add_children("/usr/local", "cuda", inside);
  folders.add_children("/opt", "cuda", inside);
  folders.add_children("/opt/nvidia/hpc_sdk/Linux_x86_64", "", {"cuda/lib64", "math_libs/lib64", "comm_libs/nccl/lib"});
}

void add_system_folders(Folders& folders, System& system, const Machine& machine) {
  for (const std::string& folder : default_folders(system, machine)) folders.add(folder);
  for (const char* folder :
       {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/local/lib64", "/usr/lib/wsl/lib", "/opt/conda/lib"})
    folders.add(folder);
  folders.add_children("/usr/lib", "", {""});
}

}  // namespace

std::vector<std::string> usual_library_folders(System& system, const Machine& machine) {
  Folders folders(system);
  add_toolkits(folders);
  if (const auto* environments = machine.python.environments.get()) {
    for (const PythonEnvironment& environment : *environments) {
      for (const std::string& site : environment.site_packages) add_site_packages(folders, site);
      folders.add(environment.prefix + "/lib");
      if (environment.kind == "conda") folders.add(environment.prefix + "/targets/x86_64-linux/lib");
    }
  }
  for (const SearchFolder& folder : machine.loader.folders) folders.add(folder.path);
  add_system_folders(folders, system, machine);
  return folders.take();
}

std::vector<const LibraryFile*> find_library_copies(SystemObjects& objects, const std::vector<std::string>& folders,
                                                    std::string_view name, std::string_view elf_class, std::string_view machine,
                                                    std::size_t limit) {
  std::vector<const LibraryFile*> copies;
  if (name.empty() || name.find('/') != std::string_view::npos) return copies;
  for (const std::string& folder : folders) {
    const LibraryFile* file = objects.open(folder + "/" + std::string(name));
    if (file == nullptr || file->state != "elf" || file->elf_class != elf_class || file->machine != machine) continue;
    const auto same = [&](const LibraryFile* other) { return other->real_path == file->real_path; };
    if (std::ranges::any_of(copies, same)) continue;
    copies.push_back(file);
    if (copies.size() == limit) break;
  }
  return copies;
}

}  // namespace gpuvet
