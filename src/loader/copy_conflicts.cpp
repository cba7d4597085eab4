#include "loader/copy_conflicts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "loader/library_family.h"

namespace gpuvet {
namespace {

using Kind = SymbolConflict::Kind;

/// Libraries of which two major releases in one process are worth a word.
constexpr std::string_view watched_stems[] = {"libcudart", "libcublas",   "libcublasLt", "libcudnn",     "libcufft",
                                              "libcurand", "libcusolver", "libcusparse", "libnvJitLink", "libnvrtc",
                                              "libnccl",   "libcupti",    "libcuda",     "libnvidia-ml", "libcusparseLt"};

bool is_watched(std::string_view stem) { return std::ranges::find(watched_stems, stem) != std::end(watched_stems); }

std::string soname_of(const LoadedObject& object) {
  return object.file != nullptr && !object.file->soname.empty() ? object.file->soname : std::string(base_name(object.path));
}

SymbolConflict copies(Kind kind, std::string name, std::vector<int> objects, bool note) {
  SymbolConflict conflict;
  conflict.kind = kind;
  conflict.expected_name = std::move(name);
  conflict.objects = std::move(objects);
  conflict.note = note;
  return conflict;
}

std::set<std::string> releases(const Forecast& forecast, const std::vector<int>& objects) {
  std::set<std::string> found;
  for (const int object : objects) {
    const LibraryFile* file = forecast.objects[static_cast<std::size_t>(object)].file;
    const std::string* version = file == nullptr ? nullptr : file->library_version.get();
    if (version != nullptr) found.insert(*version);
  }
  return found;
}

/// Two files of one soname: the later one's callers may end up in the earlier one. It matters where the releases differ.
void loaded_twice(const Forecast& forecast, const std::map<std::string, std::vector<int>>& by_soname,
                  std::vector<SymbolConflict>& conflicts) {
  for (const auto& [soname, objects] : by_soname) {
    if (objects.size() < 2 || soname.empty()) continue;
    conflicts.push_back(copies(Kind::LoadedTwice, soname, objects, releases(forecast, objects).size() < 2));
  }
}

void two_releases(const Forecast& forecast, const std::map<std::string, std::vector<int>>& by_soname,
                  std::vector<SymbolConflict>& conflicts) {
  std::map<std::string_view, std::vector<int>> by_stem;
  for (const auto& [soname, objects] : by_soname) {
    const std::string_view stem = library_stem(soname);
    if (is_watched(stem)) by_stem[stem].push_back(objects.front());
  }
  for (auto& [stem, objects] : by_stem) {
    if (objects.size() < 2) continue;
    std::ranges::sort(objects);
    conflicts.push_back(copies(Kind::TwoReleases, std::string(stem), objects, true));
  }
  (void)forecast;
}

/// Libraries that are released as one: all loaded parts must be of one release.
void mixed_releases(const Forecast& forecast, std::string_view name, bool (*belongs)(std::string_view stem),
                    std::vector<SymbolConflict>& conflicts) {
  std::map<std::string, std::vector<int>> by_major;  // "9" of libcudnn_ops.so.9: another major is another library
  for (std::size_t i = 0; i < forecast.objects.size(); ++i) {
    const std::string soname = soname_of(forecast.objects[i]);
    if (!belongs(library_stem(soname))) continue;
    by_major[soname.substr(soname.find(".so"))].push_back(static_cast<int>(i));
  }
  for (const auto& [major, objects] : by_major) {
    if (releases(forecast, objects).size() > 1)
      conflicts.push_back(copies(Kind::MixedReleases, std::string(name), objects, false));
  }
}

bool is_cudnn(std::string_view stem) { return stem == "libcudnn" || stem.starts_with("libcudnn_"); }
bool is_cublas(std::string_view stem) { return stem == "libcublas" || stem == "libcublasLt"; }

}  // namespace

void find_copy_conflicts(const Forecast& forecast, std::vector<SymbolConflict>& conflicts) {
  std::map<std::string, std::vector<int>> by_soname;
  for (std::size_t i = 0; i < forecast.objects.size(); ++i)
    by_soname[soname_of(forecast.objects[i])].push_back(static_cast<int>(i));
  mixed_releases(forecast, "cuDNN", is_cudnn, conflicts);
  mixed_releases(forecast, "cuBLAS", is_cublas, conflicts);
  loaded_twice(forecast, by_soname, conflicts);
  two_releases(forecast, by_soname, conflicts);
}

}  // namespace gpuvet
