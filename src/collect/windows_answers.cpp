#include "collect/windows_answers.h"

#include <algorithm>

#include "collect/lines.h"
#include "model/version.h"
#include "model/windows_driver.h"
#include "text/pasted_text.h"
#include "text/printable.h"

namespace gpuvet {
namespace {

constexpr std::size_t longest_line = 400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The first "1.2.3" or longer in the line; empty: none.
std::string dotted_version(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!is_digit(line[at]) || (at > 0 && (is_digit(line[at - 1]) || line[at - 1] == '.'))) continue;
    std::size_t end = at;
    int dots = 0;
    while (end < line.size() && (is_digit(line[end]) || (line[end] == '.' && end + 1 < line.size() && is_digit(line[end + 1]))))
      dots += line[end++] == '.' ? 1 : 0;
    if (dots >= 2 && end - at <= 32) return std::string(line.substr(at, end - at));
    at = end;
  }
  return {};
}

template <class F>
void for_each_answer(std::string_view output, F&& f) {
  const std::string text = decoded_text(std::string(output));
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    line = trim(line.substr(0, longest_line));
    return line.empty() || f(line);
  });
}

bool has(std::string_view line, std::string_view word) { return line.find(word) != std::string_view::npos; }

}  // namespace

WslVersionAnswer parse_wsl_version(std::string_view output) {
  WslVersionAnswer answer;
  for_each_answer(output, [&](std::string_view line) {
    const std::string version = dotted_version(line);
    if (version.empty()) return true;
    if (has(line, "WSL") && !has(line, "WSLg") && answer.wsl.empty()) answer.wsl = version;
    if (has(line, "Windows") && version.starts_with("10.0.") && answer.windows.empty()) answer.windows = version;
    return true;
  });
  return answer;
}

std::vector<SmiGpuAnswer> parse_smi_gpus(std::string_view output) {
  constexpr std::size_t most = 64;
  std::vector<SmiGpuAnswer> gpus;
  for_each_answer(output, [&](std::string_view line) {
    const auto fields = split(line, ',');
    if (fields.size() < 3) return true;
    const std::string_view driver = trim(fields[fields.size() - 2]), model = trim(fields.back());
    if (!DriverVersion::parse(driver)) return true;
    const bool known = model == "WDDM" || model == "TCC" || model == "MCDM";
    gpus.push_back({std::string(driver), known ? std::string(model) : std::string()});
    return gpus.size() < most;
  });
  return gpus;
}

PowershellAnswer parse_powershell(std::string_view output) {
  PowershellAnswer answer;
  for_each_answer(output, [&](std::string_view line) {
    if (line.starts_with("build=") && answer.build.empty()) answer.build = dotted_version(line);
    if (!line.starts_with("display=") || !has(line, "NVIDIA") || !answer.nvidia_driver.empty()) return true;
    const std::string_view version = trim(line.substr(line.rfind('|') + 1));
    if (driver_of_windows_version(version)) answer.nvidia_driver = version;
    return true;
  });
  return answer;
}

std::string first_words(std::string_view output) {
  std::string words;
  for_each_answer(output, [&](std::string_view line) {
    words = printable(line, 160);
    return false;
  });
  return words;
}

}  // namespace gpuvet
