// conda-meta/*.json, direct_url.json, kernel.json, cpp_lib.json: whole or cut off.
#include <cstddef>
#include <cstdint>

#include "collect/python_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gpuvet::json_scalar(text, "channel");
  gpuvet::for_each_json_scalar(text, [](std::string_view, std::string_view) { return true; });
  return 0;
}
