#include <cstdint>
#include <string_view>

#include "collect/packages_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)gpuvet::parse_apt_history(text, "log");
  (void)gpuvet::parse_dnf_rpm_log(text, "log");
  (void)gpuvet::parse_pacman_log(text, "log");
  (void)gpuvet::parse_zypp_history(text, "log");
  return 0;
}
