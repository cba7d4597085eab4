// A snapshot from anywhere: no crash, and what is accepted comes back the same once written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto machine = gpuvet::machine_from_json(text);
  if (!machine) return 0;
  const std::string written = gpuvet::machine_to_json(*machine);
  const auto again = gpuvet::machine_from_json(written);
  if (!again || gpuvet::machine_to_json(*again) != written) std::abort();
  return 0;
}
