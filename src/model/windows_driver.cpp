#include "model/windows_driver.h"

#include <charconv>
#include <cstdio>

namespace gpuvet {

std::optional<DriverVersion> driver_of_windows_version(std::string_view device_version) {
  std::uint32_t numbers[4] = {};
  const char* at = device_version.data();
  const char* const end = at + device_version.size();
  for (int i = 0; i < 4; ++i) {
    const auto [after, error] = std::from_chars(at, end, numbers[i]);
    const bool last = i == 3;
    if (error != std::errc() || (last ? after != end : after == end || *after != '.')) return std::nullopt;
    at = after + (last ? 0 : 1);
  }
  const std::uint32_t digits = numbers[2] % 10 * 10000 + numbers[3];
  // Of another maker, or from before Windows 10: NVIDIA's numbers have had three digits in front since 2008.
  if (numbers[3] > 9999 || digits < 10000) return std::nullopt;
  char text[16];
  std::snprintf(text, sizeof text, "%u.%02u", digits / 100, digits % 100);
  return DriverVersion::parse(text);
}

}  // namespace gpuvet
