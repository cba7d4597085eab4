// Every CUDA toolkit of the machine, the links that lead to them, and what a build with them needs beside them.
#include <algorithm>

#include "collect/collect.h"
#include "collect/host_compilers.h"
#include "collect/lines.h"
#include "collect/toolkit_host_config.h"
#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_header = std::size_t{1} << 20;
constexpr std::size_t max_dangling = 32;
constexpr std::size_t max_listed = 4096;

void read_headers(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  auto config = find_entry(system, candidate.layout.includes, "crt/host_config.h");
  if (!config) config = find_entry(system, candidate.layout.includes, "host_config.h");
  const auto text = config ? system.read_file(*config, max_header) : Result<std::string>(tl::unexpected(SystemError{}));
  if (text) {
    const auto range = read_host_config(*text, *config);
    toolkit.gcc_max = range.gcc_max, toolkit.gcc_min = range.gcc_min;
    toolkit.clang_max = range.clang_max, toolkit.clang_min = range.clang_min;
  } else {
    const auto why = config ? text.error().message : candidate.path + ": no crt/host_config.h";
    toolkit.gcc_max = toolkit.gcc_min = toolkit.clang_max = toolkit.clang_min =
        Fact<std::int64_t>::not_seen(why, origin_of(candidate.path));
  }
  const auto math = find_entry(system, candidate.layout.includes, "crt/math_functions.h");
  if (!math) {
    toolkit.headers_fit_glibc_2_41 = toolkit.headers_fit_glibc_2_42 = Fact<bool>::absent(origin_of(candidate.path));
  } else if (const auto declarations = system.read_file(*math, max_header)) {
    toolkit.headers_fit_glibc_2_41 = read_math_declarations(*declarations, *math, functions_of_glibc_2_41);
    toolkit.headers_fit_glibc_2_42 = read_math_declarations(*declarations, *math, functions_of_glibc_2_42);
  } else {
    toolkit.headers_fit_glibc_2_41 = toolkit.headers_fit_glibc_2_42 = not_seen_because<bool>(declarations.error(), *math);
  }
}

/// Links of the toolkit's own folders that lead nowhere. A distribution's folders hold others' links too, and are not looked at.
void find_dangling(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  if (candidate.origin == "distribution" || candidate.origin == "conda") return;
  std::vector<std::string> folders{candidate.path, candidate.path + "/bin"};
  folders.insert(folders.end(), candidate.layout.libs.begin(), candidate.layout.libs.end());
  for (const auto& folder : folders)
    for (const auto& entry : entries_of(system, folder, max_listed)) {
      if (entry.type != FileType::Link || toolkit.dangling.size() >= max_dangling) continue;
      const auto path = folder + "/" + entry.name;
      const auto status = system.status(path);
      if (!status && (status.error().code == ErrorCode::NotFound || status.error().code == ErrorCode::Loop) &&
          path.starts_with(candidate.path + "/"))
        toolkit.dangling.push_back(path.substr(candidate.path.size() + 1));
    }
}

Toolkit describe(System& system, const Machine& machine, const ToolkitCandidate& candidate, SonameSearch& search) {
  Toolkit toolkit;
  toolkit.path = candidate.path;
  toolkit.real_path = system.real_path(candidate.path).value_or(candidate.path);
  toolkit.environment = candidate.environment;
  read_toolkit_version(system, candidate, toolkit);
  find_toolkit_package(system, machine, candidate, toolkit);
  if (!candidate.environment.empty()) read_python_packages(system, machine, candidate, toolkit);
  check_toolkit_files(system, candidate, toolkit);
  find_dangling(system, candidate, toolkit);
  read_toolkit_tools(system, candidate, search, toolkit);
  read_headers(system, candidate, toolkit);
  toolkit.has_runtime_library = find_runtime_library(system, candidate.layout).has_value();
  toolkit.libraries = sonames_of_toolkit(system, candidate);
  return toolkit;
}

/// The toolkit that a link's end lies in.
Toolkit* toolkit_of(std::vector<Toolkit>& toolkits, const ToolkitLink& link) {
  const auto found = std::ranges::find_if(toolkits, [&](const Toolkit& t) {
    if (t.origin == "distribution")
      return link.real_path == "/usr/lib/nvidia-cuda-toolkit/bin/nvcc" || link.real_path == "/usr/lib/cuda";
    return link.real_path == t.real_path || link.real_path.starts_with(t.real_path + "/");
  });
  return found == toolkits.end() ? nullptr : &*found;
}

void judge_links(std::vector<Toolkit>& toolkits, std::vector<ToolkitLink>& links) {
  std::ranges::sort(links, {}, &ToolkitLink::path);
  for (auto& link : links) {
    if (link.real_path.empty()) continue;
    auto* toolkit = toolkit_of(toolkits, link);
    link.state = toolkit ? "toolkit" : "no-toolkit";
    if (toolkit) toolkit->names.push_back(link.path);
  }
}

/// Other names that the judged process has for a toolkit: PATH or CUDA_HOME through a link of the user's own.
void add_names_of_variables(System& system, const Machine& machine, std::vector<Toolkit>& toolkits) {
  const auto add = [&](std::string name) {
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    const auto real = name.starts_with('/') ? system.real_path(name) : Result<std::string>(tl::unexpected(SystemError{}));
    if (!real) return;
    for (auto& toolkit : toolkits)
      if (toolkit.real_path == *real && toolkit.path != name && std::ranges::find(toolkit.names, name) == toolkit.names.end())
        toolkit.names.push_back(name);
  };
  for (const auto* variable : {"CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"})
    if (const auto value = machine.environment.find(variable); value != machine.environment.end()) add(value->second);
  const auto path = machine.environment.find("PATH");
  if (path == machine.environment.end()) return;
  for (const auto folder : split(path->second, ':'))
    if (folder.ends_with("/bin") && system.exists(std::string(folder) + "/nvcc"))
      add(std::string(folder.substr(0, folder.size() - 4)));
}

void add_python_toolkits(System& system, const Machine& machine, ToolkitPlaces& places) {
  for (auto& candidate : python_toolkits(system, machine)) {
    const auto real = system.real_path(candidate.path).value_or(candidate.path);
    const auto same = std::ranges::find_if(places.candidates, [&](const ToolkitCandidate& c) {
      return c.path == candidate.path || system.real_path(c.path).value_or(c.path) == real;
    });
    if (same == places.candidates.end()) {
      places.candidates.push_back(std::move(candidate));
    } else {
      same->origin = candidate.origin, same->environment = candidate.environment;
    }
  }
}

}  // namespace

void collect_toolkits(System& system, const CollectOptions&, Machine& machine) {
  auto places = find_toolkit_places(system, machine);
  add_python_toolkits(system, machine, places);
  SonameSearch search(system, machine);
  std::vector<Toolkit> toolkits;
  for (const auto& candidate : places.candidates) toolkits.push_back(describe(system, machine, candidate, search));
  judge_links(toolkits, places.links);
  add_names_of_variables(system, machine, toolkits);
  std::ranges::sort(toolkits, {}, &Toolkit::path);
  machine.toolkits.links = std::move(places.links);
  machine.toolkits.found = toolkits.empty() && !places.problems.empty()
                               ? Fact<std::vector<Toolkit>>::not_seen(places.problems.front())
                               : Fact<std::vector<Toolkit>>::known(std::move(toolkits));
  collect_host_compilers(system, machine);
}

}  // namespace gpuvet
