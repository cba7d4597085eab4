#include "knowledge/cuda_libraries.h"

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
