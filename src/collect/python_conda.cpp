// conda-meta: one JSON file a package, named after its name, version and build; the channel is in its first lines.

#include "collect/lines.h"
#include "collect/python_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t head_bytes = 16384;

bool is_subdir(std::string_view part) {
  return part == "noarch" || part.starts_with("linux-") || part.starts_with("osx-") || part.starts_with("win-");
}

/// "https://conda.anaconda.org/conda-forge/linux-64" → "conda-forge"; Anaconda's own ones are "defaults". A token in the address
/// is left out.
std::string channel_name(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url.starts_with("pkgs/") ? "defaults" : url);
  url.remove_prefix(scheme + 3);
  const std::size_t slash = url.find('/');
  if (slash == std::string_view::npos) return {};
  std::string name;
  const auto parts = split(url.substr(slash + 1), '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "t" && i + 1 < parts.size()) {
      ++i;
    } else if (!parts[i].empty() && !is_subdir(parts[i])) {
      name += (name.empty() ? "" : "/") + std::string(parts[i]);
    }
  }
  return name.starts_with("pkgs/") ? "defaults" : name;
}

PythonPackage read_record(System& system, const std::string& path, const CondaFile& file) {
  PythonPackage package;
  package.name = file.name;
  package.version = file.version;
  package.build = file.build;
  package.manager = package.installer = "conda";
  package.folder = path;
  const auto text = system.read_head(path, head_bytes);
  if (!text) {
    package.state = "unreadable";
    return package;
  }
  const bool whole = for_each_json_scalar(*text, [&](std::string_view place, std::string_view value) {
    if (place == "channel") package.channel = channel_name(value);
    if (place.starts_with("depends/") && package.requirements.size() < 64 && package_matters(value.substr(0, value.find(' '))))
      package.requirements.emplace_back(value.substr(0, max_quote));
    return true;
  });
  if (!whole && text->size() < head_bytes) package.state = "unreadable";
  return package;
}

}  // namespace

CondaRecords read_conda_records(System& system, const std::string& prefix) {
  CondaRecords records;
  const std::string folder = prefix + "/conda-meta";
  const auto entries = system.list(folder, 20000);
  if (!entries) {
    records.found = entries.error().code == ErrorCode::Denied;
    if (records.found) records.problems.push_back(origin_of(folder, entries.error().message));
    return records;
  }
  records.found = true;
  for (const DirectoryEntry& entry : *entries) {
    const auto file = parse_conda_file(entry.name);
    if (!file) continue;
    ++records.package_count;
    if (file->name == "python") records.python = file->version;
    if (!package_matters(file->name)) continue;
    if (records.packages.size() == 1000) {
      records.problems.push_back(origin_of(folder, "more than 1000 packages that matter: the rest was not read"));
      break;
    }
    records.packages.push_back(read_record(system, folder + "/" + entry.name, *file));
    const PythonPackage& package = records.packages.back();
    if (!package.state.empty()) records.problems.push_back(origin_of(package.folder, "no whole JSON file: " + package.state));
  }
  return records;
}

}  // namespace gpuvet
