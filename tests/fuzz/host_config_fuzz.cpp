#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collect/host_compilers.h"
#include "collect/toolkit_condition.h"
#include "collect/toolkit_host_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)gpuvet::read_host_config(text, "/h");
  (void)gpuvet::read_math_declarations(text, "/m", gpuvet::functions_of_glibc_2_41);
  (void)gpuvet::evaluate_condition(text, {{"__GNUC__", 13}});
  (void)gpuvet::glibc_version_in_header(text);
  (void)gpuvet::version_in_compiler_name(text.substr(0, 100));
  return 0;
}
