#pragma once
// Cells that several framework tables write alike.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/table.h"
#include "model/version.h"

namespace gpuvet {

inline std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "12", "12.4", "12.4.1 (inferred)".
inline std::optional<CudaVersion> cuda_in(std::string_view cell) {
  cell = trim_blanks(without_marker(cell));
  if (cell.empty()) return std::nullopt;
  if (cell.find('.') == std::string_view::npos) return CudaVersion::parse(std::string(cell) + ".0");
  return CudaVersion::parse(cell);
}

/// The driver at the front of a cell, whatever note follows: "470.82.01 (note …)", "528.33 (WSL)"; "580" stands for its branch.
inline std::optional<DriverVersion> driver_in_cell(std::string_view cell) {
  cell = trim_blanks(cell);
  cell = cell.substr(0, cell.find(' '));
  if (cell.empty()) return std::nullopt;
  if (cell.find('.') != std::string_view::npos) return DriverVersion::parse(cell);
  auto driver = DriverVersion::parse(std::string(cell) + ".0");
  if (driver) driver->text = std::string(cell);
  return driver;
}

inline std::optional<ComputeCapability> capability_in_cell(std::string_view cell) {
  cell = trim_blanks(cell);
  return ComputeCapability::parse(cell.substr(0, cell.find(' ')));
}

inline bool is_yes(std::string_view cell) { return cell.starts_with("yes"); }

}  // namespace gpuvet
