#include <algorithm>
#include <charconv>

#include "commands/kb_topics.h"

namespace gpuvet::kb {

void Answer::add(std::string key, std::string label, std::string value, std::string source) {
  if (!value.empty()) entries.push_back({std::move(key), std::move(label), std::move(value), std::move(source)});
}

std::string folded(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string bare_name(std::string_view name) {
  std::string text = folded(name);
  for (const std::string_view word : {"nvidia", "geforce"}) {
    if (const std::size_t at = text.find(word); at != std::string::npos) text.erase(at, word.size());
  }
  return text;
}

std::optional<std::uint16_t> parse_device_id(std::string_view text) {
  if (folded(text.substr(0, 5)) == "10de:") text.remove_prefix(5);
  if (folded(text.substr(0, 2)) == "0x") text.remove_prefix(2);
  std::uint16_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (text.size() != 4 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> cuda_minor_releases(const Knowledge& knowledge) {
  std::vector<CudaVersion> versions;
  for (const CudaRelease& release : knowledge.cuda_releases()) {
    if (auto version = CudaVersion::parse(release.version)) {
      version->update = 0;
      versions.push_back(*version);
    }
  }
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  std::vector<std::string> texts;
  for (const CudaVersion& version : versions) texts.push_back(version.text());
  return texts;
}

std::string ranges(const std::vector<std::string>& values, const std::vector<std::string>& order) {
  std::string text;
  std::size_t i = 0;
  while (i < order.size()) {
    const auto wanted = [&](std::size_t at) { return std::find(values.begin(), values.end(), order[at]) != values.end(); };
    if (!wanted(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end + 1 < order.size() && wanted(end + 1)) ++end;
    text += (text.empty() ? "" : ", ") + order[i];
    if (end > i) text += (end == i + 1 ? ", " : " – ") + order[end];
    i = end + 1;
  }
  return text;
}

}  // namespace gpuvet::kb
