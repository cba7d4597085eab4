// site-packages → packages: names and versions from one listing, files opened only for packages that matter.

#include <algorithm>

#include "collect/lines.h"
#include "collect/python_parts.h"
#include "model/release_version.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_entries = 20000;  ///< of one site-packages; more is said, and left
constexpr std::size_t most_kept = 1000;      ///< no environment has as many frameworks and CUDA libraries
constexpr std::size_t usual_headers = 8192;  ///< of a METADATA file
constexpr std::size_t longest_headers = 65536;

bool has_entry(const std::vector<DirectoryEntry>& sorted, std::string_view name) {
  const auto it = std::lower_bound(sorted.begin(), sorted.end(), name,
                                   [](const DirectoryEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return it != sorted.end() && it->name == name;
}

/// The headers of a METADATA file, and no more of it than needed: its long description can have megabytes.
Result<std::string> read_headers(System& system, const std::string& path) {
  auto head = system.read_head(path, usual_headers);
  if (!head || head->size() < usual_headers || head->find("\n\n") != std::string::npos ||
      head->find("\r\n\r\n") != std::string::npos)
    return head;
  return system.read_head(path, longest_headers);
}

/// First parts of the paths that a RECORD lists: "torch", "nvidia/cublas" (nvidia and jax_plugins are shared by many packages).
std::vector<std::string> recorded_folders(std::string_view record) {
  std::vector<std::string> folders;
  for_each_line(record, [&](std::string_view line, std::uint32_t) {
    std::string_view path = line.substr(0, line.find(','));
    std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return true;
    const std::string_view first = path.substr(0, slash);
    if (first.ends_with(".dist-info") || first.ends_with(".data") || first == ".." || first == "__pycache__") return true;
    if (first == "nvidia" || first == "jax_plugins") {
      slash = path.find('/', slash + 1);
      if (slash == std::string_view::npos || path.substr(first.size() + 1).starts_with("__pycache__/")) return true;
    }
    std::string folder(path.substr(0, slash));
    if (folders.empty() || folders.back() != folder) folders.push_back(std::move(folder));
    return folders.size() < 16;
  });
  return folders;
}

/// The import package of frameworks whose folder's absence is worth a look into RECORD.
std::string_view import_folder(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> known[] = {{"torch", "torch"},
                                                                            {"torchvision", "torchvision"},
                                                                            {"torchaudio", "torchaudio"},
                                                                            {"tensorflow", "tensorflow"},
                                                                            {"jaxlib", "jaxlib"},
                                                                            {"jax", "jax"},
                                                                            {"onnxruntime-gpu", "onnxruntime"},
                                                                            {"onnxruntime", "onnxruntime"},
                                                                            {"triton", "triton"},
                                                                            {"xformers", "xformers"},
                                                                            {"vllm", "vllm"},
                                                                            {"bitsandbytes", "bitsandbytes"}};
  for (const auto& [distribution, folder] : known) {
    if (distribution == name) return folder;
  }
  return {};
}

/// "nvidia-cuda-runtime-cu12" → "cuda_runtime": where NVIDIA's wheels for CUDA 11 and 12 put their files, below nvidia/.
std::string nvidia_folder(std::string_view name) {
  std::string folder(name.substr(7));
  if (const std::size_t tag = folder.rfind("-cu"); tag != std::string::npos) folder.resize(tag);
  std::ranges::replace(folder, '-', '_');
  return folder;
}

/// Does RECORD name files of which nothing is left? Asked only where the listing makes it likely.
bool files_are_missing(System& system, const SiteFolder& site, const PythonPackage& package) {
  const bool nvidia = package.name.starts_with("nvidia-");
  const std::string folder = nvidia ? nvidia_folder(package.name) : std::string(import_folder(package.name));
  const auto& present = nvidia ? site.nvidia : site.entries;
  if ((folder.empty() && !nvidia) || has_entry(present, folder)) return false;
  const auto record = system.read_head(package.folder + "/RECORD", nvidia ? 8192 : System::default_limit);
  if (!record) return false;
  const auto folders = recorded_folders(*record);
  if (!nvidia) return std::ranges::find(folders, folder) != folders.end();
  return !folders.empty() && std::ranges::none_of(folders, [&](const std::string& one) {
    return one.starts_with("nvidia/") ? has_entry(site.nvidia, one.substr(7)) : site.has(one);
  });
}

void read_wheel_files(System& system, PythonPackage& package) {
  if (const auto wheel = system.read_head(package.folder + "/WHEEL", 8192)) package.tags = read_wheel_tags(*wheel);
  // CUDA libraries come along with a framework: who installed that one and from where is enough. Every file counts here.
  if (package.name.starts_with("nvidia-")) return;
  if (const auto installer = system.read_head(package.folder + "/INSTALLER", 128))
    package.installer = trim(std::string_view(*installer).substr(0, installer->find('\n')));
  if (const auto url = system.read_head(package.folder + "/direct_url.json", 8192))
    package.url = json_scalar(*url, "url").value_or("").substr(0, max_quote);
}

PythonPackage read_package(System& system, SiteFolder& site, const DirectoryEntry& entry, const DistributionFolder& parsed,
                           const std::string& manager) {
  PythonPackage package;
  package.name = normalised_distribution_name(parsed.name);
  package.version = parsed.version;
  package.manager = parsed.egg && manager == "pip" ? "egg" : manager;
  package.folder = site.path + "/" + entry.name;
  const bool single_file = parsed.egg && entry.type == FileType::Regular;
  const std::string path = single_file ? package.folder : package.folder + (parsed.egg ? "/PKG-INFO" : "/METADATA");
  const auto headers = read_headers(system, path);
  if (!headers) {
    package.state = headers.error().code == ErrorCode::NotFound ? "no-metadata" : "unreadable";
    if (package.state == "unreadable") site.problems.push_back(origin_of(path, headers.error().message));
  } else {
    DistributionMetadata metadata = read_metadata_headers(*headers);
    if (!metadata.version.empty()) package.version = metadata.version;
    package.requirements = std::move(metadata.requirements);
    if (metadata.name.empty() && metadata.version.empty()) package.state = "no-metadata";
  }
  if (package.version.empty() && package.state.empty()) package.state = "no-version";
  if (!parsed.egg) {
    read_wheel_files(system, package);
    // pip of root on some distributions installs among the distribution's own.
    if (manager == "distribution" && (package.installer == "pip" || package.installer == "uv" || package.installer == "poetry"))
      package.manager = "pip";
    if (package.state.empty() && files_are_missing(system, site, package)) package.state = "files-missing";
  }
  return package;
}

}  // namespace

bool SiteFolder::has(std::string_view name) const { return has_entry(entries, name); }

std::optional<SiteFolder> read_site_folder(System& system, const std::string& path, const std::string& manager) {
  auto entries = system.list(path, most_entries);
  SiteFolder site;
  site.path = path;
  if (!entries) {
    if (entries.error().code == ErrorCode::NotFound) return std::nullopt;
    site.problems.push_back(origin_of(path, entries.error().message));
    return site;
  }
  site.entries = std::move(*entries);
  if (site.entries.size() >= most_entries)
    site.problems.push_back(origin_of(path, "more than " + std::to_string(most_entries) + " entries: the rest was not read"));
  if (site.has("nvidia")) site.nvidia = entries_of(system, path + "/nvidia", 4096);
  for (const DirectoryEntry& entry : site.entries) {
    const auto parsed = parse_distribution_folder(entry.name);
    if (!parsed || parsed->name.empty()) continue;
    ++site.package_count;
    if (!package_matters(normalised_distribution_name(parsed->name))) continue;
    if (site.packages.size() == most_kept) {
      site.problems.push_back(
          origin_of(path, "more than " + std::to_string(most_kept) + " packages that matter: the rest was not read"));
      break;
    }
    site.packages.push_back(read_package(system, site, entry, *parsed, manager));
  }
  site.frameworks = read_framework_builds(system, site);
  return site;
}

}  // namespace gpuvet
