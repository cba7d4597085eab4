// Which CUDA toolkit something would take, and which host compiler.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

const std::vector<Toolkit>& all_toolkits(const Machine& machine) {
  static const std::vector<Toolkit> none;
  const auto* list = machine.toolkits.found.get();
  return list != nullptr ? *list : none;
}

std::string_view without_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Every name that a toolkit has, with something behind it: PATH is compared with NAME/bin.
bool is_folder_of(const Toolkit& toolkit, std::string_view folder, std::string_view below) {
  const auto equal = [&](const std::string& name) {
    return folder.size() == name.size() + below.size() && folder.starts_with(name) && folder.ends_with(below);
  };
  return equal(toolkit.path) || equal(toolkit.real_path) || std::ranges::any_of(toolkit.names, equal);
}

ToolkitChoice chosen_by_variable(const Machine& machine, const char* name) {
  const std::string_view value = variable(machine, name);
  if (value.empty()) return {};
  return {toolkit_at(machine, value), std::string(value), quote_variable(machine, name)};
}

ToolkitChoice chosen_by_usual_link(const Machine& machine) {
  for (const ToolkitLink& link : machine.toolkits.links)
    if (link.path == "/usr/local/cuda")
      return {toolkit_at(machine, link.path), link.path, {link.path, 0, link.path + " -> " + link.target}};
  if (const auto* toolkit = toolkit_at(machine, "/usr/local/cuda")) return {toolkit, toolkit->path, {toolkit->path, 0, ""}};
  return {};
}

}  // namespace

std::vector<std::string> path_elements(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    if (colon > 0) out.emplace_back(without_slash(list.substr(0, colon)));
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  return out;
}

std::string_view variable(const Machine& machine, std::string_view name) {
  const auto found = machine.environment.find(std::string(name));
  return found != machine.environment.end() ? std::string_view(found->second) : std::string_view();
}

Origin quote_variable(const Machine& machine, std::string_view name) {
  return {"environment", 0, std::string(name) + "=" + std::string(variable(machine, name).substr(0, 300))};
}

Origin quote(const Toolkit& toolkit) {
  Origin origin = toolkit.version.origin();
  if (origin.source.empty()) origin.source = toolkit.path;
  if (origin.text.empty()) origin.text = "CUDA " + toolkit.version.value_or("?");
  return origin;
}

bool wants_compiler(const RuleContext& context) { return context.purpose.needs_toolkit(); }

bool means_to_compile(const Machine& machine) {
  const auto names_cuda = [&](const char* name) {
    return std::ranges::any_of(path_elements(variable(machine, name)), [&](const std::string& folder) {
      return folder.find("/cuda") != std::string::npos && folder.ends_with("/bin");
    });
  };
  return names_cuda("PATH") || !variable(machine, "CUDA_HOME").empty() || !variable(machine, "CUDACXX").empty() ||
         std::ranges::any_of(machine.shells.cuda_lines,
                             [](const Origin& line) { return line.text.find("/bin") != std::string::npos; });
}

ToolkitChoice nvcc_on_path(const Machine& machine) {
  for (const std::string& folder : path_elements(variable(machine, "PATH"))) {
    for (const Toolkit& toolkit : all_toolkits(machine)) {
      const auto* nvcc = toolkit.nvcc.get();
      if (nvcc == nullptr) continue;
      if (folder_of(*nvcc) != folder && !is_folder_of(toolkit, folder, "/bin")) continue;
      return {&toolkit, folder + "/nvcc", quote_variable(machine, "PATH")};
    }
  }
  return {};
}

ToolkitChoice toolkit_of_extension_builder(const Machine& machine) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (auto choice = chosen_by_variable(machine, name); !choice.named.empty()) return choice;
  if (auto choice = nvcc_on_path(machine); choice.toolkit != nullptr) return choice;
  return chosen_by_usual_link(machine);
}

ToolkitChoice toolkit_of_cmake(const Machine& machine) {
  if (const std::string_view compiler = variable(machine, "CUDACXX"); !compiler.empty()) {
    for (const Toolkit& toolkit : all_toolkits(machine))
      if (toolkit.nvcc.is(std::string(compiler)) || is_folder_of(toolkit, folder_of(compiler), "/bin"))
        return {&toolkit, std::string(compiler), quote_variable(machine, "CUDACXX")};
    return {nullptr, std::string(compiler), quote_variable(machine, "CUDACXX")};
  }
  if (auto choice = nvcc_on_path(machine); choice.toolkit != nullptr) return choice;
  for (const char* name : {"CUDAToolkit_ROOT", "CUDA_PATH"})
    if (auto choice = chosen_by_variable(machine, name); choice.toolkit != nullptr) return choice;
  return chosen_by_usual_link(machine);
}

ToolkitChoice toolkit_of_linker(const Machine& machine) {
  static constexpr std::array<std::string_view, 4> library_folders{"/lib64", "/lib", "/targets/x86_64-linux/lib",
                                                                   "/targets/sbsa-linux/lib"};
  for (const std::string& folder : path_elements(variable(machine, "LIBRARY_PATH")))
    for (const Toolkit& toolkit : all_toolkits(machine))
      if (std::ranges::any_of(library_folders, [&](std::string_view below) { return is_folder_of(toolkit, folder, below); }))
        return {&toolkit, folder, quote_variable(machine, "LIBRARY_PATH")};
  for (const Toolkit& toolkit : all_toolkits(machine))
    if (toolkit.origin == "distribution") return {&toolkit, toolkit.path, quote(toolkit)};
  return {};
}

std::vector<const Toolkit*> toolkits_with_nvcc(const Machine& machine, bool complete) {
  std::vector<const Toolkit*> found;
  for (const Toolkit& toolkit : all_toolkits(machine))
    if (toolkit.nvcc.is_known() && (!complete || toolkit.missing.empty())) found.push_back(&toolkit);
  return found;
}

const Toolkit* toolkit_at(const Machine& machine, std::string_view path) {
  path = without_slash(path);
  for (const Toolkit& toolkit : all_toolkits(machine))
    if (is_folder_of(toolkit, path, "")) return &toolkit;
  return nullptr;
}

std::optional<CudaVersion> cuda_version_of(const Toolkit& toolkit) {
  const auto* version = toolkit.version.get();
  return version != nullptr ? CudaVersion::parse(*version) : std::nullopt;
}

bool loader_finds(const Machine& machine, std::string_view soname) {
  if (const auto* cache = machine.loader.cache.get())
    if (std::ranges::any_of(*cache, [&](const LoaderCacheEntry& entry) { return entry.soname == soname; })) return true;
  const bool cache_decides = machine.loader.cache.is_known();
  return std::ranges::any_of(machine.loader.folders, [&](const SearchFolder& folder) {
    if (cache_decides && folder.rule == "ld.so.conf") return false;  // what ldconfig has not put into the cache is not looked for
    return std::ranges::find(folder.cuda_libraries, soname) != folder.cuda_libraries.end();
  });
}

std::vector<const SearchFolder*> cuda_folders_on_library_path(const Machine& machine) {
  std::vector<const SearchFolder*> found;
  for (const SearchFolder& folder : machine.loader.folders)
    if (folder.rule == "LD_LIBRARY_PATH" && !folder.cuda_libraries.empty()) found.push_back(&folder);
  return found;
}

}  // namespace gpuvet
