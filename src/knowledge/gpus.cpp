// PCI id → chip → what a driver must be to serve it. A driver decides by the chip, never by the device id or the name.

#include <algorithm>

#include "knowledge/impl.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

std::string hex_id(std::uint16_t id, const char* digits) {
  std::string text(4, '0');
  for (int i = 3; i >= 0; --i, id = static_cast<std::uint16_t>(id >> 4)) text[static_cast<std::size_t>(i)] = digits[id & 15];
  return text;
}

/// The row of a device id: a scan of the text, since parsing 250 KB for one id would cost more than all else.
Row find_device_row(std::string_view text, const std::string& id) {
  const std::string start = "\n" + id + "\t";
  const std::size_t at = text.find(start);
  if (at == std::string_view::npos) return {};
  std::string_view line = text.substr(at + 1);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return split_cells(line);
}

/// The row of gpu_architectures.tsv for a chip: one that lists the chip, else the one of its architecture and compute capability.
const Row* architecture_row(const Knowledge::Table& table, const GpuIdentity& gpu) {
  for (const Row& row : table.rows) {
    if (!gpu.chip.empty() && has_word(table.cell(row, "chips"), gpu.chip)) return &row;
  }
  if (!gpu.compute_capability) return nullptr;
  for (const Row& row : table.rows) {
    if (table.cell(row, "architecture") == gpu.architecture &&
        has_word(table.cell(row, "compute_capability"), gpu.compute_capability->text()))
      return &row;
  }
  return nullptr;
}

/// "470.xx" and "580" → the branch.
std::optional<std::uint32_t> leading_branch(std::string_view text) { return parse_number(text.substr(0, text.find('.'))); }

// Only the branch of a floor counts: inside a branch neither numbers nor lists of names order what is served (520.61.05 was
// tagged before 520.56.06, and only the latter names the RTX 4090).
DriverVersion branch_only(std::uint32_t branch) {
  DriverVersion version;
  version.branch = branch;
  version.text = std::to_string(branch);
  return version;
}

/// Floor of a chip in first_driver_by_branch.tsv. A remark in the name column says that the row is only where the public
/// record begins, and no floor.
std::optional<DriverVersion> chip_floor(const Knowledge::Table& table, std::string_view chip) {
  if (chip.empty()) return std::nullopt;
  for (const Row& row : table.rows) {
    if (table.cell(row, "kind") != "chip" || table.cell(row, "id") != chip) continue;
    const auto branch = parse_number(table.cell(row, "branch"));
    if (!branch || !table.cell(row, "name").empty()) return std::nullopt;
    return branch_only(*branch);
  }
  return std::nullopt;
}

/// First driver of an architecture, as a branch; a value marked as inferred is no floor.
std::optional<DriverVersion> architecture_floor(const Knowledge::Table& table, const Row& row) {
  const auto version = DriverVersion::parse(table.cell(row, "first_driver_linux"));
  if (!version) return std::nullopt;
  return branch_only(version->branch);
}

OpenModule open_module(std::string_view cell) {
  if (cell.starts_with("no")) return OpenModule::Impossible;
  if (cell.starts_with("required")) return OpenModule::Required;
  if (cell.starts_with("supported")) return OpenModule::Possible;
  return OpenModule::Unknown;
}

// The product line is part of the name of this very id, so it narrows the architecture's list of classes.
// A name that the architecture's own list of products has without a product line ("A10", "L40S") is a data-centre card's.
std::string class_of(std::string_view name, std::string_view architecture_class, std::string_view products) {
  const auto contains = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool mobile = contains("Laptop") || contains("Mobile") || contains("Max-Q") || contains("Notebook");
  if (contains("GeForce") || contains("TITAN")) return mobile ? "mobile" : "desktop";
  if (contains("Jetson") || contains("Tegra")) return std::string(architecture_class);
  if (contains("Quadro") || contains("RTX A") || contains("RTX PRO") || contains("Ada Generation") || contains("NVS ")) {
    return mobile ? "mobile" : "professional";
  }
  if (contains("Tesla") || contains("GRID")) return "data-centre";
  if (name.starts_with("NVIDIA ")) name.remove_prefix(7);
  const bool has_data_centre = architecture_class.find("data-centre") != std::string_view::npos;
  while (has_data_centre && !name.empty() && !products.empty()) {
    const std::size_t end = std::min(products.find(", "), products.size());
    if (products.substr(0, end) == name && name.find(' ') == std::string_view::npos) return "data-centre";
    products.remove_prefix(std::min(end + 2, products.size()));
  }
  return std::string(architecture_class);
}

void fill_from_device_row(GpuIdentity& gpu, const Knowledge::Table& columns, const Row& row) {
  gpu.in_table = true;
  gpu.name = columns.cell(row, "name");
  gpu.chip = columns.cell(row, "chip");
  gpu.architecture = columns.cell(row, "architecture");
  gpu.compute_capability = ComputeCapability::parse(without_marker(columns.cell(row, "compute_capability")));
  gpu.last_driver_branch = leading_branch(columns.cell(row, "legacy_branch"));
  gpu.open_module = open_module(columns.cell(row, "open_kernel_module"));
  gpu.source = columns.cell(row, "source");
}

void fill_from_chip(GpuIdentity& gpu, const Knowledge& knowledge) {
  const Knowledge::Table& architectures = knowledge.table("gpu_architectures");
  const Row* row = architecture_row(architectures, gpu);
  gpu.first_driver = chip_floor(knowledge.table("first_driver_by_branch"), gpu.chip);
  if (row) {
    if (!gpu.first_driver) gpu.first_driver = architecture_floor(architectures, *row);
    if (!gpu.last_driver_branch)
      gpu.last_driver_branch = leading_branch(without_marker(architectures.cell(*row, "last_driver_branch")));
    if (gpu.open_module == OpenModule::Unknown) gpu.open_module = open_module(architectures.cell(*row, "open_kernel_module"));
  }
  gpu.gpu_class = row ? class_of(gpu.name, architectures.cell(*row, "class"), architectures.cell(*row, "products"))
                      : class_of(gpu.name, {}, {});
  const Knowledge::Table& branches = knowledge.table("driver_branches");
  for (const Row& branch : branches.rows) {
    gpu.known_up_to_branch = std::max(gpu.known_up_to_branch, parse_number(branches.cell(branch, "branch")).value_or(0));
  }
}

/// Lower case without blanks, hyphens, "NVIDIA" and "GeForce".
std::string folded(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const std::string_view word : {"nvidia", "geforce"}) {
    if (const std::size_t at = text.find(word); at != std::string::npos) text.erase(at, word.size());
  }
  return text;
}

enum class Match { None, Part, Whole };

Match match_name(const std::string& wanted, std::string_view name) {
  const std::string text = folded(name);
  if (text == wanted) return Match::Whole;
  return text.find(wanted) != std::string::npos ? Match::Part : Match::None;
}

Match match_row(const std::string& wanted, std::string_view name, std::string_view other_names) {
  Match best = match_name(wanted, name);
  for (std::string_view rest = other_names; !rest.empty();) {
    const std::size_t bar = rest.find('|');
    best = std::max(best, match_name(wanted, rest.substr(0, bar)));
    rest.remove_prefix(bar == std::string_view::npos ? rest.size() : bar + 1);
  }
  return best;
}

}  // namespace

std::string GpuIdentity::label() const {
  const std::string id = "[10de:" + hex_id(device_id, "0123456789abcdef") + "]";
  std::string_view shown = name;
  if (shown.starts_with("NVIDIA ")) shown.remove_prefix(7);
  for (const std::string_view series : {"GeForce RTX", "GeForce GTX", "GeForce GT "}) {
    if (shown.starts_with(series)) shown.remove_prefix(8);
  }
  if (!shown.empty()) return std::string(shown) + " " + (chip.empty() ? id : "(" + chip + ")");
  return chip.empty() ? "unknown NVIDIA GPU " + id : chip + " " + id;
}

GpuIdentity Knowledge::gpu(std::uint16_t device_id) const {
  GpuIdentity gpu;
  gpu.device_id = device_id;
  const std::string_view text = impl_->text("pci_devices");
  const Row row = find_device_row(text, hex_id(device_id, "0123456789ABCDEF"));
  Table columns;
  columns.header = split_cells(text.substr(0, text.find('\n')));
  if (columns.header.back().ends_with('\r')) columns.header.back().remove_suffix(1);
  if (row.size() != columns.header.size()) return gpu;
  fill_from_device_row(gpu, columns, row);
  fill_from_chip(gpu, *this);
  return gpu;
}

std::vector<GpuIdentity> Knowledge::gpus_named(std::string_view name) const {
  const std::string wanted = folded(name);
  std::vector<GpuIdentity> whole, part;
  if (wanted.empty()) return whole;
  const Table& devices = table("pci_devices");
  for (const Row& row : devices.rows) {
    const Match match = match_row(wanted, devices.cell(row, "name"), devices.cell(row, "other_names"));
    if (match == Match::None) continue;
    GpuIdentity gpu;
    gpu.device_id = static_cast<std::uint16_t>(std::stoul(std::string(devices.cell(row, "device_id")), nullptr, 16));
    fill_from_device_row(gpu, devices, row);
    fill_from_chip(gpu, *this);
    (match == Match::Whole ? whole : part).push_back(std::move(gpu));
  }
  whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

Served driver_serves(const DriverVersion& driver, const GpuIdentity& gpu) {
  if (!gpu.in_table || gpu.gpu_class == "Jetson") return Served::Unknown;  // Jetson drivers follow L4T, not these branches
  // Support does not come back: what the 390 branch served last, no later branch serves, not even one that we do not know.
  if (gpu.last_driver_branch && driver.branch > *gpu.last_driver_branch) return Served::DroppedByDriver;
  if (gpu.first_driver && driver.branch < gpu.first_driver->branch) return Served::TooOldDriver;
  if (gpu.known_up_to_branch != 0 && driver.branch > gpu.known_up_to_branch) return Served::Unknown;
  return gpu.first_driver || gpu.last_driver_branch ? Served::Yes : Served::Unknown;
}

}  // namespace gpuvet
