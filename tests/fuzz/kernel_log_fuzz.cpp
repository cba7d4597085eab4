// The kernel log parser on any bytes: every event keeps its bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/kernel_log_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gpuvet::KernelLogOptions options;
  options.boot_time = 1748340000;
  for (const bool one_boot : {false, true}) {
    options.one_boot = one_boot;
    for (const auto& event : gpuvet::parse_kernel_log("fuzz", text, options)) {
      if (event.kind.empty() || event.text.size() > 2000 || event.boot > 0 || event.count < 1 || event.code < -1) std::abort();
    }
  }
  return 0;
}
