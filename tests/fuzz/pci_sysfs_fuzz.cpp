// sysfs' `resource` and aer_dev_* texts, and the extended capability list of a configuration space.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collect/pci_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto bars = gpuvet::parse_pci_resource(bytes); bars && bars->size() > 7) std::abort();
  if (const auto total = gpuvet::parse_aer_total(bytes); total && *total < 0) std::abort();
  (void)gpuvet::addresses_in_path(bytes);
  int reads = 0;
  (void)gpuvet::find_acs_control([&](std::uint32_t offset) -> std::optional<std::uint32_t> {
    if (++reads > 1000 || offset < 0x100 || offset > 0xffc) std::abort();
    const std::size_t at = offset - 0x100;
    if (at + 4 > size) return std::nullopt;
    return static_cast<std::uint32_t>(data[at] | data[at + 1] << 8 | data[at + 2] << 16) | static_cast<std::uint32_t>(data[at + 3]) << 24;
  });
  return 0;
}
