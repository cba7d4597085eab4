#include "knowledge/cuda_libraries.h"

#include <algorithm>
#include <cstdint>

#include "knowledge/table.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

CudaLibrary to_library(const Knowledge::Table& table, const Row& row) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  return {text("soname"), text("library"), text("cuda"), text("release"), text("note"), text("source")};
}

/// "libnvrtc-builtins.so.*" takes "libnvrtc-builtins.so.12.4": the number behind is a CUDA release. "libcupti.so.11.*" too.
bool fits(std::string_view pattern, std::string_view soname) {
  if (!pattern.ends_with('*')) return pattern == soname;
  pattern.remove_suffix(1);
  if (!soname.starts_with(pattern)) return false;
  const std::string_view number = soname.substr(soname.find(".so.") + 4);
  const auto release = CudaVersion::parse(number);
  return release && release->text() == number;
}

/// One entry of the column: "12", "10.1", "11.1-11.8".
struct Span {
  CudaVersion first, last;
};

std::optional<Span> span_of(std::string_view entry) {
  const std::size_t dash = entry.find('-');
  const auto version = [](std::string_view text, std::uint32_t minor) -> std::optional<CudaVersion> {
    if (text.find('.') != std::string_view::npos) return CudaVersion::parse(text);
    auto whole = CudaVersion::parse(std::string(text) + ".0");
    if (whole) whole->minor = minor;
    return whole;
  };
  const auto first = version(entry.substr(0, dash), 0);
  const auto last = version(dash == std::string_view::npos ? entry : entry.substr(dash + 1), UINT32_MAX);
  if (!first || !last) return std::nullopt;
  return Span{*first, *last};
}

std::vector<Span> spans_of(std::string_view column) {
  std::vector<Span> all;
  while (!column.empty()) {
    const std::size_t end = std::min(column.find(' '), column.size());
    if (const auto span = span_of(column.substr(0, end))) all.push_back(*span);
    column.remove_prefix(std::min(end + 1, column.size()));
  }
  return all;
}

bool has_stem(std::string_view soname, std::string_view stem) {
  return soname.starts_with(stem) && soname.substr(stem.size()).starts_with(".so.");
}

std::uint32_t first_branch(const Knowledge& knowledge, const CudaVersion& cuda) {
  const auto branches = knowledge.driver_branches();
  if (branches.empty() || !branches.front().cuda || cuda <= *branches.front().cuda) return 0;
  for (const DriverBranch& branch : branches)
    if (branch.cuda && cuda <= *branch.cuda) return branch.branch;
  return 0;
}

}  // namespace

std::string CudaLibrary::belongs_to() const {
  if (is_of_driver()) return {};
  std::string text = cuda.empty() ? name + " " + release : "CUDA ";
  for (const char c : cuda) {
    if (c == ' ')
      text += ", ";
    else if (c == '-')
      text += "–";
    else
      text += c;
  }
  return text;
}

bool CudaLibrary::is_in(const CudaVersion& version) const {
  const auto spans = spans_of(cuda);
  return std::any_of(spans.begin(), spans.end(), [&](const Span& s) { return s.first <= version && version <= s.last; });
}

std::vector<std::uint32_t> CudaLibrary::cuda_majors() const {
  std::vector<std::uint32_t> majors;
  for (const Span& span : spans_of(cuda))
    if (majors.empty() || majors.back() != span.first.major) majors.push_back(span.first.major);
  return majors;
}

bool all_releases_serve(const Knowledge& knowledge, const std::vector<std::uint32_t>& majors, const ComputeCapability& gpu) {
  return std::ranges::all_of(knowledge.cuda_releases(), [&](const CudaRelease& release) {
    const auto version = CudaVersion::parse(release.version);
    if (!version || std::ranges::find(majors, version->major) == majors.end()) return true;
    const auto low = ComputeCapability::parse(release.supported_sm_min),
               high = ComputeCapability::parse(release.supported_sm_max);
    return low && high && !(gpu < *low) && !(*high < gpu);
  });
}

std::optional<ComputeCapability> oldest_gpu(const Knowledge& knowledge, const std::vector<std::uint32_t>& majors) {
  std::optional<ComputeCapability> oldest;
  for (const CudaRelease& release : knowledge.cuda_releases()) {
    const auto version = CudaVersion::parse(release.version);
    const auto low = ComputeCapability::parse(release.supported_sm_min);
    if (!version || !low || std::ranges::find(majors, version->major) == majors.end()) continue;
    if (!oldest || *low < *oldest) oldest = low;
  }
  return oldest;
}

std::optional<std::string> cuda_soname(const Knowledge& knowledge, std::string_view stem, const CudaVersion& release) {
  for (const CudaLibrary& library : cuda_libraries(knowledge))
    if (has_stem(library.soname, stem) && library.is_in(release)) return library.soname;
  return std::nullopt;
}

std::optional<std::string> own_soname(const Knowledge& knowledge, std::string_view stem, std::uint32_t major) {
  for (const CudaLibrary& library : cuda_libraries(knowledge))
    if (has_stem(library.soname, stem) && library.release == std::to_string(major)) return library.soname;
  return std::nullopt;
}

std::optional<CudaLibrary> cuda_library(const Knowledge& knowledge, std::string_view soname) {
  const Knowledge::Table& table = knowledge.table("cuda_libraries");
  for (const Row& row : table.rows) {
    if (!fits(table.cell(row, "soname"), soname)) continue;
    CudaLibrary library = to_library(table, row);
    library.soname = soname;
    if (library.cuda == "=") library.cuda = soname.substr(soname.find(".so.") + 4);
    return library;
  }
  return std::nullopt;
}

std::vector<CudaLibrary> cuda_libraries(const Knowledge& knowledge) {
  const Knowledge::Table& table = knowledge.table("cuda_libraries");
  std::vector<CudaLibrary> all;
  for (const Row& row : table.rows) all.push_back(to_library(table, row));
  return all;
}

std::optional<DriverEntryPoint> driver_entry_point(const Knowledge& knowledge, std::string_view name) {
  if (!name.starts_with("cu")) return std::nullopt;
  const Knowledge::Table& table = knowledge.table("driver_entry_points");
  for (const Row& row : table.rows) {
    if (!has_word(table.cell(row, "entry_points"), name)) continue;
    const auto cuda = CudaVersion::parse(table.cell(row, "cuda_version"));
    if (!cuda) return std::nullopt;
    return DriverEntryPoint{*cuda, first_branch(knowledge, *cuda), std::string(table.cell(row, "source"))};
  }
  return std::nullopt;
}

}  // namespace gpuvet
