// nvidia-smi's outputs: the table in all its header generations, -L, -q, --query-gpu, and what they say of driver and GPUs.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "model/version.h"
#include "text/printable.h"
#include "text/re2_text.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

struct Patterns {
  // "KMD Version" and "CUDA UMD Version" since R610.
  RE2 header{
      R"re(NVIDIA-SMI\s+([0-9][0-9.]+)\s+(?:(?:Driver|KMD) Version:\s*([0-9][0-9.]+|N/A))?\s*(?:CUDA (?:UMD )?Version:\s*([0-9]+\.[0-9]+|ERR!|N/A))?)re"};
  RE2 row{
      R"re(^\s*\|?\s*(\d{1,3})\s+([A-Z][^|]*?)\s+(On|Off|N/A|TCC|WDDM|MCDM|ERR!)\s*\|?\s*(?:([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]))?)re"};
  RE2 memory{R"re((\d+)\s*MiB\s*/\s*(\d+)\s*MiB)re"};
  RE2 mode{R"re((Default|E\. Process|E\. Thread|Exclusive_Process|Exclusive_Thread|Prohibited)\s*\|?\s*$)re"};
  RE2 list{R"re(^\s*GPU (\d+): (.+?) \(UUID: (?:GPU-|[A-Z]))re"};
  RE2 instance{R"re(^\s*MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\))re"};
  RE2 process{R"re(^\|\s+(\d+)\s+(?:N/A\s+N/A|\d+\s+\d+)?\s*(\d+)\s+(C|G|C\+G|M\+C)\s+(.*?)\s+(\d+)MiB\s*\|)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

// More rows are no list of one machine's GPUs, and every one costs.
constexpr int most_rows = 256;

/// "00000000:01:00.0" → "0000:01:00.0"
std::string short_address(std::string_view address) {
  std::string out(address);
  if (out.size() > 12) out.erase(0, out.size() - 12);
  for (char& c : out)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// What the header's driver version means: the kernel driver's on Linux; on Windows and under WSL the Windows driver's, whose
/// numbers differ from those of nvidia-smi beside it.
void take_driver(const PastedText& text, std::size_t line, std::string_view smi, std::string_view driver, std::string_view cuda,
                 Machine& machine) {
  const bool windows = in_windows(text, line) || (!smi.empty() && !driver.empty() && smi != driver &&
                                                  smi.find('.') != smi.rfind('.') && driver.find('.') == driver.rfind('.'));
  if (!driver.empty() && DriverVersion::parse(driver)) {
    if (windows)
      add_observation(machine, text, line, "windows-driver", {{"version", std::string(driver)}});
    else
      set_fact(machine.kernel_driver.version, std::string(driver), text, line);
  }
  if (!cuda.empty() && cuda.front() != 'E' && cuda.front() != 'N')
    add_observation(machine, text, line, "driver-cuda", {{"cuda", std::string(cuda)}, {"driver", std::string(driver)}});
  if (cuda == "ERR!" || cuda == "N/A") add_observation(machine, text, line, "smi-without-cuda", {});
}

void read_table(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  const Patterns& p = patterns();
  bool in_table = false;
  int index = -1, rows = 0;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece a, b, c, d;
    if (line.find("NVIDIA-SMI") != std::string::npos && RE2::PartialMatch(piece(line), p.header, &a, &b, &c)) {
      take_driver(text, i, view(a), view(b), view(c), machine);
      add_observation(machine, text, i, "smi-works", {});
      in_table = true;
      index = -1;
      continue;
    }
    if (line.find('|') == std::string::npos) {
      if (!trimmed(line).empty() && !line.starts_with('+')) in_table = in_table && line.find("---") != std::string::npos;
      continue;
    }
    int number = 0;
    if (RE2::PartialMatch(piece(line), p.process)) continue;
    if (RE2::PartialMatch(piece(line), p.row, &number, &b, &c, &d)) {
      if (++rows > most_rows) return;
      index = number;
      if (view(b) != "ERR!") add_gpu(machine, knowledge, text, i, view(b), d.empty() ? "" : short_address(view(d)), index);
      add_observation(
          machine, text, i, "smi-gpu",
          {{"index", std::to_string(index)}, {"name", std::string(trimmed(view(b)))}, {"mode", std::string(view(c))}});
      if (line.find("ERR!") != std::string::npos)
        add_observation(machine, text, i, "smi-err", {{"index", std::to_string(index)}});
      continue;
    }
    if (!in_table && index < 0) continue;
    int used = 0, total = 0;
    if (RE2::PartialMatch(piece(line), p.memory, &used, &total) && index >= 0) {
      StringPiece mode;
      RE2::PartialMatch(piece(line), p.mode, &mode);
      add_observation(machine, text, i, "smi-memory",
                      {{"index", std::to_string(index)},
                       {"used", std::to_string(used)},
                       {"total", std::to_string(total)},
                       {"compute-mode", std::string(view(mode))}});
      if (line.find("ERR!") != std::string::npos)
        add_observation(machine, text, i, "smi-err", {{"index", std::to_string(index)}});
    } else if (index >= 0 && line.find("Enabled") != std::string::npos && line.find("MIG") == std::string::npos) {
      add_observation(machine, text, i, "smi-mig", {{"index", std::to_string(index)}, {"state", "enabled"}});
    }
  }
}

void read_list(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  const Patterns& p = patterns();
  int rows = 0;
  for (std::size_t i = 0; i < text.lines.size() && rows < most_rows; ++i) {
    const std::string& line = text.lines[i].text;
    int index = 0;
    StringPiece name, uuid;
    if (line.find("UUID: ") == std::string::npos) continue;
    ++rows;
    if (RE2::PartialMatch(piece(line), p.list, &index, &name)) {
      add_gpu(machine, knowledge, text, i, view(name), "", index);
      add_observation(machine, text, i, "smi-works", {});
      add_observation(machine, text, i, "smi-gpu", {{"index", std::to_string(index)}, {"name", std::string(view(name))}});
    } else if (int device = 0; RE2::PartialMatch(piece(line), p.instance, &name, &device, &uuid)) {
      add_observation(machine, text, i, "mig-instance",
                      {{"profile", std::string(view(name))}, {"uuid", std::string(view(uuid))}});
    }
  }
}

/// `nvidia-smi -q`: "key : value" lines under headings that have no value.
void read_query(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  struct Heading {
    std::size_t indent;
    std::string name;
  };
  std::vector<Heading> headings;
  int gpu = -1;
  std::string address;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    const std::string_view body = trimmed(line);
    if (body.empty()) continue;
    const std::size_t indent = line.find_first_not_of(" \t");
    const std::size_t colon = line.find(" : ");
    if (colon == std::string::npos) {
      if (body.size() > 60 || !std::isalpha(static_cast<unsigned char>(body.front()))) continue;
      while (!headings.empty() && headings.back().indent >= indent) headings.pop_back();
      headings.push_back({indent, std::string(body)});
      if (body.starts_with("GPU 0") && body.find(':') != std::string_view::npos) {
        ++gpu;
        address = short_address(body.substr(4));
      }
      continue;
    }
    const std::string_view key = trimmed(std::string_view(line).substr(0, colon)),
                           value = trimmed(std::string_view(line).substr(colon + 3));
    if (key.empty() || key.size() > 48) continue;
    while (!headings.empty() && headings.back().indent >= indent) headings.pop_back();
    const std::string section = headings.empty() ? "" : headings.back().name;
    if ((key == "Driver Version" || key == "KMD Version") && indent == 0 && version_word(value) == value) {
      take_driver(text, i, "", version_word(value), "", machine);
      add_observation(machine, text, i, "smi-works", {});
    } else if ((key == "CUDA Version" || key == "CUDA UMD Version") && indent == 0) {
      take_driver(text, i, "", "", version_word(value), machine);
    } else if (key == "Product Name" && gpu < most_rows && section != "vGPU Software Licensed Product") {
      add_gpu(machine, knowledge, text, i, value, address, gpu);
    } else {
      constexpr std::string_view wanted[] = {"Compute Mode",
                                             "License Status",
                                             "Pending",
                                             "Remapping Failure Occurred",
                                             "Uncorrectable Error",
                                             "State",
                                             "Status",
                                             "Current",
                                             "Retired Pages",
                                             "Double Bit ECC",
                                             "Persistence Mode",
                                             "Addressing Mode",
                                             "CC status",
                                             "HW Slowdown",
                                             "HW Thermal Slowdown",
                                             "HW Power Brake Slowdown",
                                             "Active"};
      if (std::ranges::find(wanted, key) != std::end(wanted))
        add_observation(machine, text, i, "smi-field",
                        {{"section", section}, {"key", std::string(key)}, {"value", std::string(value)}});
    }
  }
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// `nvidia-smi --query-gpu=… --format=csv`: the fields are named by the header or, without one, by the command.
void read_csv(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string_view line = trimmed(text.lines[i].text);
    std::vector<std::string_view> names;
    std::size_t first = i + 1;
    if ((line.starts_with("name") || line.starts_with("index") || line.starts_with("driver_version") ||
         line.starts_with("gpu_name")) &&
        (line.find("driver_version") != std::string_view::npos || line.find("memory.") != std::string_view::npos ||
         line.find("compute_cap") != std::string_view::npos || line.find("uuid") != std::string_view::npos)) {
      names = cells_of(line);
    } else if (const auto query = value_behind(line, "--query-gpu=", " "); query && line.find("csv") != std::string_view::npos) {
      names = cells_of(*query);
    } else {
      continue;
    }
    for (std::string_view& name : names) name = name.substr(0, name.find(' '));
    int index = -1;
    for (std::size_t row = first; row < text.lines.size() && row < first + 32; ++row) {
      const auto cells = cells_of(trimmed(text.lines[row].text));
      if (cells.size() != names.size()) break;
      if (cells.front() == names.front()) continue;  // the header behind the command
      ++index;
      std::string_view gpu, address;
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (names[c] == "index") index = number_of(cells[c]).value_or(index);
        if (names[c] == "name" || names[c] == "gpu_name") gpu = cells[c];
        if (names[c] == "pci.bus_id" || names[c] == "gpu_bus_id") address = cells[c];
        if (names[c] == "driver_version") take_driver(text, row, "", cells[c], "", machine);
        if (names[c] == "compute_mode")
          add_observation(machine, text, row, "smi-field", {{"key", "Compute Mode"}, {"value", std::string(cells[c])}});
        if (names[c] == "compute_cap")
          add_observation(machine, text, row, "gpu-capability", {{"capability", std::string(cells[c])}});
      }
      if (!gpu.empty()) add_gpu(machine, knowledge, text, row, gpu, address.empty() ? "" : short_address(address), index);
    }
  }
}

}  // namespace

void read_nvidia_smi(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    // `nvidia-smi conf-compute -grs`
    const std::string& line = text.lines[i].text;
    static const RE2 not_ready{R"re((?i)(?:Confidential Compute|CC) GPUs Ready State\s*:\s*not[- ]ready)re"};
    if (RE2::PartialMatch(piece(line), not_ready)) add_observation(machine, text, i, "conf-compute-not-ready", {});
    if (line.find("No GPU instances found") != std::string::npos || line.find("No compute instances found") != std::string::npos)
      add_observation(machine, text, i, "mig-no-instances", {});
  }
  read_table(text, knowledge, machine);
  read_list(text, knowledge, machine);
  read_query(text, knowledge, machine);
  read_csv(text, knowledge, machine);
}

}  // namespace gpuvet
