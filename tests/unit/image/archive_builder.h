#pragma once
// Tar archives and image archives written by hand, header by header (POSIX ustar, pax).

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gpuvet::test {

inline void number(char* to, std::size_t width, unsigned long long value) {
  std::snprintf(to, width, "%0*llo", static_cast<int>(width) - 1, value);
}

/// One header with its content, padded. Types: '0' file, '1' hard link, '2' link, '3' device, '5' folder, 'x' pax records.
inline std::string tar_entry(const std::string& name, char type, const std::string& content = {}, const std::string& link = {},
                             unsigned mode = 0644) {
  std::array<char, 512> h{};
  std::memcpy(h.data(), name.data(), std::min<std::size_t>(name.size(), 100));
  number(&h[100], 8, mode);
  number(&h[108], 8, 0);
  number(&h[116], 8, 0);
  number(&h[124], 12, content.size());
  number(&h[136], 12, 0);
  h[156] = type;
  std::memcpy(&h[157], link.data(), std::min<std::size_t>(link.size(), 100));
  std::memcpy(&h[257], "ustar\00000", 8);
  std::memset(&h[148], ' ', 8);
  unsigned sum = 0;
  for (const char c : h) sum += static_cast<unsigned char>(c);
  std::snprintf(&h[148], 8, "%06o", sum);
  std::string out(h.data(), h.size());
  out += content;
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}

inline std::string file(const std::string& name, const std::string& content, unsigned mode = 0644) {
  return tar_entry(name, '0', content, {}, mode);
}
inline std::string folder(const std::string& name) { return tar_entry(name, '5', {}, {}, 0755); }
inline std::string symlink(const std::string& name, const std::string& target) { return tar_entry(name, '2', {}, target); }
inline std::string hardlink(const std::string& name, const std::string& target) { return tar_entry(name, '1', {}, target); }

inline std::string end_of_tar() { return std::string(1024, '\0'); }

/// A docker-save archive of these layers.
inline std::string docker_archive(const std::vector<std::string>& layers,
                                  const std::string& config = R"({"architecture":"amd64","os":"linux","config":{}})") {
  std::string out = file("c.json", config), names;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = "l" + std::to_string(i) + "/layer.tar";
    out += file(name, layers[i] + end_of_tar());
    names += (names.empty() ? "\"" : ",\"") + name + "\"";
  }
  out += file("manifest.json", R"([{"Config":"c.json","RepoTags":["app:1"],"Layers":[)" + names + "]}]");
  return out + end_of_tar();
}

}  // namespace gpuvet::test
