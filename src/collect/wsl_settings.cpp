#include "collect/wsl_settings.h"

#include <algorithm>

#include "collect/lines.h"

namespace gpuvet {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, fits);
}

/// The value with quotes, escapes and a comment behind it taken away.
std::string plain_value(std::string_view text) {
  std::string value;
  std::size_t kept = 0;  // what stands in quotes, or is no blank at the end
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
      kept = value.size();
      continue;
    }
    if (c == '#' && !quoted) break;
    if (c == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      value += next == 'n' ? '\n' : next == 't' ? '\t' : next;
    } else {
      value += c;
    }
    if (quoted || (c != ' ' && c != '\t')) kept = value.size();
  }
  value.resize(kept);
  return value;
}

/// "gpu" of "[gpu]  # comment"; empty: no section's line.
std::string section_name(std::string_view line) {
  const std::size_t end = line.find(']');
  if (line.empty() || line.front() != '[' || end == std::string_view::npos) return {};
  const std::string_view rest = trim(line.substr(end + 1));
  const std::string_view name = line.substr(1, end - 1);
  return is_name(name) && (rest.empty() || rest.front() == '#') ? lower(name) : std::string();
}

}  // namespace

std::vector<WslSetting> parse_wsl_settings(std::string_view text) {
  constexpr std::size_t most = 256;
  std::vector<WslSetting> settings;
  std::string section;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for_each_joined_line(text, [&](std::string_view whole, std::uint32_t number) {
    const std::string_view line = trim(whole);
    if (line.starts_with('[')) {
      if (std::string name = section_name(line); !name.empty()) section = std::move(name);
      return true;
    }
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) return true;
    const std::string_view key = trim(line.substr(0, equals));
    if (!is_name(key)) return true;
    const std::string name = section.empty() ? lower(key) : section + "." + lower(key);
    if (find_setting(settings, name) == nullptr)
      settings.push_back({name, plain_value(trim(line.substr(equals + 1))), std::string(line.substr(0, max_quote)), number});
    return settings.size() < most;
  });
  return settings;
}

const WslSetting* find_setting(const std::vector<WslSetting>& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &WslSetting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::optional<bool> wsl_switch(std::string_view value) {
  const std::string word = lower(value);
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0") return false;
  return std::nullopt;
}

}  // namespace gpuvet
