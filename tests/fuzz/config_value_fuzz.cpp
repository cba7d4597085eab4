// The first byte chooses the format.
#include <cstdint>
#include <string_view>

#include "config/config_value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: (void)gpuvet::parse_json_config(text); break;
    case 1: (void)gpuvet::parse_yaml_config(text); break;
    default: (void)gpuvet::parse_toml_config(text); break;
  }
  return 0;
}
