// make.log, and the small files of /proc/driver/nvidia, on any bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collect/kernel_driver_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const gpuvet::MakeLog log = gpuvet::parse_make_log("make.log", text);
  if (log.error_lines.size() > 8 || (log.error.empty() != log.error_lines.empty())) std::abort();
  gpuvet::driver_version_in_banner(text);
  gpuvet::flavor_in_banner(text);
  gpuvet::parse_proc_gpu("0000:01:00.0", text, text);
  gpuvet::parse_proc_modules_line(text, 1);
  return 0;
}
