// Which sonames a framework's build loads: from its own files where they say it, else from the release tables.

#include "rules/cuda_needs.h"

#include <algorithm>
#include <array>

#include "knowledge/cuda_libraries.h"
#include "rules/evidence.h"
#include "rules/framework_contract.h"
#include "rules/framework_facts.h"
#include "rules/framework_packages.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// The first number of "9.x", "8.2.4 Linux / 8.2.2.26 Windows"; 0: none.
std::uint32_t leading_number(std::string_view text) {
  std::uint32_t number = 0;
  std::size_t at = 0;
  for (; at < text.size() && at < 6 && text[at] >= '0' && text[at] <= '9'; ++at)
    number = number * 10 + static_cast<std::uint32_t>(text[at] - '0');
  return number;
}

/// "9.1,<10.0" of ">=9.1,<10.0".
std::string floor_in(std::string_view requirement) {
  const std::size_t at = requirement.find(">=");
  return at == std::string_view::npos ? std::string() : std::string(requirement.substr(at + 2));
}

/// A library of CUDA, by the name that it has in that release. A release that the table does not know adds nothing.
void add_library(const RuleContext& context, CudaNeeds& needs, std::string_view stem, std::string family,
                 const CudaVersion& cuda) {
  if (auto soname = cuda_soname(context.knowledge, stem, cuda))
    needs.libraries.push_back({std::move(*soname), std::move(family), cuda.major});
}

/// cuDNN and NCCL: libraries with releases of their own.
void add_own_library(const RuleContext& context, CudaNeeds& needs, std::string_view stem, std::string family,
                     std::uint32_t major) {
  if (auto soname = own_soname(context.knowledge, stem, major))
    needs.libraries.push_back({std::move(*soname), std::move(family), major});
}

CudaNeeds start(std::string framework, const PythonPackage& package, const CudaVersion& cuda, bool minor_known) {
  CudaNeeds needs;
  needs.framework = std::move(framework);
  needs.label = package.name + " " + package.version;
  needs.package = &package;
  needs.cuda_major = cuda.major;
  needs.cuda = minor_known ? cuda.text() : std::to_string(cuda.major);
  needs.evidence.push_back(quote(package));
  return needs;
}

std::optional<CudaNeeds> needs_of_tensorflow(const RuleContext& context, const PythonEnvironment& environment) {
  const auto install = framework_install(context, environment, "tensorflow");
  if (!install || install->flavour != "cuda" || install->package == nullptr || !install->cuda || install->cuda->major < 10)
    return std::nullopt;
  if (!is_from_wheel(*install->package)) return std::nullopt;
  CudaNeeds needs = start("tensorflow", *install->package, *install->cuda, true);
  add_library(context, needs, "libcudart", "cuda-runtime", *install->cuda);
  add_library(context, needs, "libcublas", "cublas", *install->cuda);
  std::string cudnn = install->build != nullptr ? install->build->cudnn.value_or("") : "";
  if (cudnn.empty() && install->version)
    if (const auto release = tensorflow_release(context.knowledge, *install->version)) cudnn = release->cudnn;
  add_own_library(context, needs, "libcudnn", "cudnn", leading_number(cudnn));
  if (install->build != nullptr) needs.evidence.push_back(quote(*install->build));
  return needs;
}

/// "cupy-cuda12x" → 12, "cupy-cuda115" → 11.
std::optional<CudaNeeds> needs_of_cupy(const RuleContext& context, const PythonEnvironment& environment) {
  const auto packages = packages_with_prefix(environment, "cupy-cuda");
  if (packages.size() != 1 || !is_from_wheel(*packages.front())) return std::nullopt;
  const PythonPackage& package = *packages.front();
  const std::uint32_t major = leading_number(std::string_view(package.name).substr(9, 2));
  if (major < 11) return std::nullopt;
  // From 14 on CuPy looks for the libraries itself: in wheels, in conda, in CUDA_PATH and CUDA_HOME.
  const auto version = ReleaseVersion::parse(package.version);
  const bool looks_itself = !version || version->release.empty() || version->release[0] >= 14;
  const bool has_root = !variable(context.machine, "CUDA_PATH").empty() || !variable(context.machine, "CUDA_HOME").empty();
  if (looks_itself && has_root) return std::nullopt;
  CudaNeeds needs = start("cupy", package, CudaVersion{major, 0}, false);
  // The wheels for 11.0 and 11.1 load an NVRTC of their own number.
  const bool old_name = package.name.ends_with("cuda110") || package.name.ends_with("cuda111");
  if (!old_name) add_library(context, needs, "libnvrtc", "cuda-nvrtc", CudaVersion{major, major == 11 ? 2u : 0u});
  add_library(context, needs, "libcublas", "cublas", CudaVersion{major, 0});
  return needs;
}

/// The build that PyPI has of this release; nothing when the table has several, or none.
std::optional<FrameworkRow> onnxruntime_row(const RuleContext& context, const PythonPackage& package) {
  const auto version = ReleaseVersion::parse(package.version);
  if (!version || !package.url.empty()) return std::nullopt;
  auto rows = framework_rows(context.knowledge, "onnxruntime-gpu", *version);
  std::erase_if(rows, [](const FrameworkRow& row) {
    return row.cuda_needed.empty() || row.version.find("feed") != std::string::npos || row.newest_on_pypi;
  });
  if (rows.size() != 1 || cuda_majors_in(rows.front().cuda_needed).size() != 1) return std::nullopt;
  return rows.front();
}

std::optional<CudaNeeds> needs_of_onnxruntime(const RuleContext& context, const PythonEnvironment& environment) {
  const PythonPackage* package = find_package(environment, "onnxruntime-gpu");
  // With the CPU package beside it nobody knows whose files are there.
  if (package == nullptr || !is_from_wheel(*package) || find_package(environment, "onnxruntime") != nullptr) return std::nullopt;
  const FrameworkBuild* build = nullptr;
  for (const FrameworkBuild& one : environment.frameworks)
    if (framework_of_package(one.name) == "onnxruntime") build = &one;
  if (build != nullptr && build->flavour != "cuda" && !build->flavour.empty()) return std::nullopt;
  const auto row = onnxruntime_row(context, *package);
  std::optional<CudaVersion> cuda;
  if (build != nullptr && build->cuda.is_known()) cuda = CudaVersion::parse(*build->cuda.get());
  const bool from_files = cuda.has_value();
  if (!cuda && row) cuda = CudaVersion{cuda_majors_in(row->cuda_needed).front(), 0};
  if (!cuda || cuda->major < 11) return std::nullopt;
  CudaNeeds needs = start("onnxruntime", *package, *cuda, from_files);
  add_library(context, needs, "libcudart", "cuda-runtime", *cuda);
  add_library(context, needs, "libcublas", "cublas", *cuda);
  const bool row_is_of_this_build = row && cuda_majors_in(row->cuda_needed).front() == cuda->major;
  if (row_is_of_this_build) add_own_library(context, needs, "libcudnn", "cudnn", leading_number(row->cudnn_needed));
  if (build != nullptr && from_files) needs.evidence.push_back(quote(build->cuda, build->folder, "CUDA " + cuda->text()));
  return needs;
}

/// With the CUDA libraries of the system ("cuda12_local"): plug-in and jaxlib are there, wheels of NVIDIA are not.
std::optional<CudaNeeds> needs_of_jax(const RuleContext& context, const PythonEnvironment& environment) {
  const auto install = framework_install(context, environment, "jax");
  if (!install || install->flavour != "cuda" || !install->cuda || install->cuda->major < 11) return std::nullopt;
  const PythonPackage* package = find_package(environment, "jaxlib");
  if (package == nullptr || !is_from_wheel(*package)) return std::nullopt;
  CudaNeeds needs = start("jax", *package, *install->cuda, false);
  for (const PythonPackage* plugin : packages_with_prefix(environment, "jax-cuda"))
    if (plugin->name.ends_with("-plugin")) needs.package = plugin, needs.evidence.push_back(quote(*plugin));
  add_library(context, needs, "libcublas", "cublas", *install->cuda);
  std::string cudnn = install->build != nullptr ? install->build->cudnn.value_or("") : "";
  if (cudnn.empty() && install->version)
    if (const auto release = jax_release(context.knowledge, *install->version))
      if (const auto* of_major = release->of_major(install->cuda->major)) cudnn = floor_in(of_major->min_cudnn);
  add_own_library(context, needs, "libcudnn", "cudnn", leading_number(cudnn));
  return needs;
}

std::optional<CudaNeeds> needs_of_ctranslate2(const RuleContext& context, const PythonEnvironment& environment) {
  if (context.purpose.name != "ctranslate2" && context.purpose.name != "faster-whisper") return std::nullopt;
  const PythonPackage* package = find_package(environment, "ctranslate2");
  const auto version = package != nullptr ? ReleaseVersion::parse(package->version) : std::nullopt;
  if (!version || !is_from_wheel(*package) || version->release.size() < 2) return std::nullopt;
  const std::uint32_t major = version->release[0], minor = version->release[1];
  if (major < 3 || major > 4) return std::nullopt;
  CudaNeeds needs = start("ctranslate2", *package, CudaVersion{major == 3 ? 11u : 12u, 0}, false);
  add_library(context, needs, "libcublas", "cublas", CudaVersion{needs.cuda_major, 0});
  if (major == 4 && minor == 5) add_own_library(context, needs, "libcudnn", "cudnn", 9);
  return needs;
}

/// "nvidia-cudnn-cu12==9.1.0.70" of "nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == 'Linux'"; empty: not required.
std::string pin_of(const PythonPackage& package, std::string_view name) {
  for (const std::string& requirement : package.requirements) {
    const std::size_t end = std::min(requirement.find_first_of(" <>=!~;[("), requirement.size());
    if (normalised_distribution_name(requirement.substr(0, end)) != name) continue;
    std::string pin = requirement.substr(0, requirement.find(';'));
    std::erase_if(pin, [](char c) { return c == ' ' || c == '(' || c == ')'; });
    return pin;
  }
  return std::string(name);
}

std::uint32_t pinned_major(std::string_view pin) {
  const std::size_t at = pin.find("==");
  return at == std::string_view::npos ? 0 : leading_number(pin.substr(at + 2));
}

/// The library of one of NVIDIA's wheels that a missing requirement names; others are named by their requirement alone.
void add_library_of(const RuleContext& context, const CudaVersion& cuda, std::string_view name, std::string_view pin,
                    CudaNeeds& needs) {
  // CUDA 13's torch requires one package that names the libraries as extras.
  const bool meta = name == "cuda-toolkit";
  if (name.starts_with("nvidia-cublas") || (meta && pin.find("cublas") != std::string_view::npos))
    add_library(context, needs, "libcublas", "cublas", cuda);
  if (name.starts_with("nvidia-cuda-runtime") || (meta && pin.find("cudart") != std::string_view::npos))
    add_library(context, needs, "libcudart", "cuda-runtime", cuda);
  if (name.starts_with("nvidia-cudnn")) add_own_library(context, needs, "libcudnn", "cudnn", pinned_major(pin));
  if (name.starts_with("nvidia-nccl")) add_own_library(context, needs, "libnccl", "nccl", 2);
  if (name.starts_with("nvidia-cusparse") && !name.starts_with("nvidia-cusparselt"))
    add_library(context, needs, "libcusparse", "cusparse", cuda);
}

/// torch's wheels of PyPI pin NVIDIA's wheels; installed with --no-deps they lack them.
std::optional<CudaNeeds> needs_of_torch(const RuleContext& context, const PythonEnvironment& environment) {
  const auto install = framework_install(context, environment, "torch");
  if (!install || install->flavour != "cuda" || install->package == nullptr || !install->cuda) return std::nullopt;
  if (!is_from_wheel(*install->package) || environment.system_site_packages) return std::nullopt;
  CudaNeeds needs = start("torch", *install->package, *install->cuda, true);
  for (const std::string& name : missing_cuda_requirements(environment, *install->package)) {
    if (!name.ends_with("-cu" + std::to_string(install->cuda->major)) && name.find("-cu1") != std::string::npos) continue;
    const std::string pin = pin_of(*install->package, name);
    needs.requirements.push_back(pin);
    needs.evidence.push_back({install->package->folder + "/METADATA", 0, "Requires-Dist: " + pin + ", which is not installed"});
    add_library_of(context, *install->cuda, name, pin, needs);
  }
  if (needs.libraries.empty()) return std::nullopt;
  return needs;
}

// ---- where they are ----------------------------------------------------------------------------------------------------

const std::vector<Toolkit>& all_toolkits(const Machine& machine) {
  static const std::vector<Toolkit> none;
  const auto* list = machine.toolkits.found.get();
  return list != nullptr ? *list : none;
}

std::uint32_t major_of(const PythonPackage& package) {
  const auto version = ReleaseVersion::parse(package.version);
  return version && !version->release.empty() ? version->release[0] : 0;
}

/// nvidia-cublas-cu12, or nvidia-cublas in a release of that major; cuDNN's and NCCL's own numbers tell the soname.
bool is_wheel_of(const PythonPackage& package, const LibraryNeed& need) {
  if (is_placeholder(package) || package.state == "files-missing" || package.manager == "conda") return false;
  const std::string base = "nvidia-" + need.family;
  if (need.family == "cudnn" || need.family == "nccl")
    return package.name.starts_with(base + "-cu") && major_of(package) == need.major;
  if (package.name == base) return major_of(package) == need.major;
  return package.name == base + "-cu" + std::to_string(need.major);
}

bool is_conda_package_of(const PythonPackage& package, const LibraryNeed& need) {
  if (package.manager != "conda") return false;
  if (need.family == "cudnn" || need.family == "nccl") return package.name.find(need.family) != std::string::npos;
  // conda's own numbers of libcublas and others are CUDA's.
  const bool holds = package.name == "cudatoolkit" || package.name == "cuda-libraries" || package.name == "cuda-runtime" ||
                     package.name == "cuda-toolkit" || (need.family == "cublas" && package.name == "libcublas") ||
                     (need.family == "cuda-runtime" && package.name == "cuda-cudart") ||
                     (need.family == "cuda-nvrtc" && package.name == "cuda-nvrtc");
  return holds && major_of(package) == need.major;
}

bool environment_brings(const Machine& machine, const PythonEnvironment& environment, const LibraryNeed& need) {
  const auto brings = [&](const PythonEnvironment& one) {
    return std::ranges::any_of(one.packages,
                               [&](const PythonPackage& p) { return is_wheel_of(p, need) || is_conda_package_of(p, need); });
  };
  if (brings(environment)) return true;
  if (environment.kind == "conda" || !environment.system_site_packages) return false;
  const auto* all = machine.python.environments.get();
  return all != nullptr &&
         std::ranges::any_of(*all, [&](const PythonEnvironment& one) { return one.prefix == environment.base && brings(one); });
}

std::string_view stem(std::string_view soname) { return soname.substr(0, soname.find(".so.") + 4); }

/// The same library under another number, in a system folder or a toolkit.
bool find_other_release(const Machine& machine, const LibraryNeed& need, LocatedLibrary& located) {
  const auto differs = [&](const std::string& name) { return name.starts_with(stem(need.soname)) && name != need.soname; };
  for (const Toolkit& toolkit : all_toolkits(machine)) {
    if (!toolkit.environment.empty()) continue;
    const auto found = std::ranges::find_if(toolkit.libraries, differs);
    if (found == toolkit.libraries.end()) continue;
    located.toolkit = &toolkit, located.other = *found;
    return true;
  }
  if (const auto* cache = machine.loader.cache.get())
    for (const LoaderCacheEntry& entry : *cache)
      if (differs(entry.soname)) return located.other = entry.path, true;
  for (const SearchFolder& folder : machine.loader.folders) {
    const auto found = std::ranges::find_if(folder.cuda_libraries, differs);
    if (found != folder.cuda_libraries.end()) return located.other = folder.path + "/" + *found, true;
  }
  return false;
}

/// A folder of ld.so.conf that has it although the cache does not name it: ldconfig was not run. Nothing is said about that here.
bool is_in_loader_folder(const Machine& machine, const LibraryNeed& need) {
  return std::ranges::any_of(machine.loader.folders, [&](const SearchFolder& folder) {
    return std::ranges::any_of(folder.cuda_libraries, [&](const std::string& name) {
      return name == need.soname || name.starts_with(need.soname + ".");
    });
  });
}

LocatedLibrary locate(const RuleContext& context, const PythonEnvironment& environment, const LibraryNeed& need) {
  const Machine& machine = context.machine;
  LocatedLibrary located{need, LibraryPlace::Nowhere, nullptr, ""};
  if (loader_finds(machine, need.soname) || is_in_loader_folder(machine, need)) {
    located.place = LibraryPlace::Loader;
  } else if (environment_brings(machine, environment, need)) {
    located.place = LibraryPlace::Environment;
  } else if (machine.loader.folders.empty() || !machine.toolkits.found.is_known()) {
    located.place = LibraryPlace::Unknown;
  } else {
    for (const Toolkit& toolkit : all_toolkits(machine)) {
      if (!toolkit.environment.empty() || std::ranges::find(toolkit.libraries, need.soname) == toolkit.libraries.end()) continue;
      located.place = LibraryPlace::OffPath, located.toolkit = &toolkit;
      return located;
    }
    if (find_other_release(machine, need, located)) located.place = LibraryPlace::OtherRelease;
  }
  return located;
}

}  // namespace

std::vector<CudaNeeds> cuda_needs(const RuleContext& context, const PythonEnvironment& environment) {
  struct Reader {
    std::string_view framework;
    std::optional<CudaNeeds> (*read)(const RuleContext&, const PythonEnvironment&);
  };
  static constexpr std::array readers{Reader{"tensorflow", needs_of_tensorflow}, Reader{"cupy", needs_of_cupy},
                                      Reader{"onnxruntime", needs_of_onnxruntime}, Reader{"jax", needs_of_jax},
                                      Reader{"torch", needs_of_torch}};
  std::vector<CudaNeeds> all;
  for (const Reader& reader : readers) {
    if (!wants_framework(context, environment, reader.framework)) continue;
    if (auto needs = reader.read(context, environment)) all.push_back(std::move(*needs));
  }
  if (auto needs = needs_of_ctranslate2(context, environment)) all.push_back(std::move(*needs));
  return all;
}

std::vector<LocatedLibrary> missing_libraries(const RuleContext& context, const PythonEnvironment& environment,
                                              const CudaNeeds& needs) {
  std::vector<LocatedLibrary> missing;
  for (const LibraryNeed& need : needs.libraries) {
    LocatedLibrary located = locate(context, environment, need);
    if (located.place == LibraryPlace::Unknown) return {};
    if (located.place == LibraryPlace::Loader || located.place == LibraryPlace::Environment) continue;
    // Its own requirements are what is missing; a toolkit that happens to lie there is not where they were to come from.
    if (!needs.requirements.empty()) located = {need, LibraryPlace::Nowhere, nullptr, ""};
    missing.push_back(std::move(located));
  }
  return missing;
}

bool all_libraries_found(const RuleContext& context, const PythonEnvironment& environment, const CudaNeeds& needs) {
  return std::ranges::all_of(needs.libraries, [&](const LibraryNeed& need) {
    const LibraryPlace place = locate(context, environment, need).place;
    return place == LibraryPlace::Loader || place == LibraryPlace::Environment;
  });
}

bool any_at(const std::vector<LocatedLibrary>& libraries, LibraryPlace place) {
  return std::ranges::any_of(libraries, [&](const LocatedLibrary& library) { return library.place == place; });
}

std::string list_sonames(const std::vector<LocatedLibrary>& libraries) {
  std::vector<std::string> names;
  for (const LocatedLibrary& library : libraries) names.push_back(library.need.soname);
  return join(names, ", ");
}

std::string library_folder(const Toolkit& toolkit) { return toolkit.path + "/lib64"; }

}  // namespace gpuvet
