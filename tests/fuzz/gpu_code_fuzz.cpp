// Any file that may hold GPU code: whole, headers only, as a stream. (What is left of a cut container may differ: a stream cannot
// go back to look for what is whole in it.)
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/bytes.h"
#include "elf/cubin.h"
#include "elf/gpu_code.h"
#include "elf/ptx_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::MemoryReader file(bytes);
  const auto whole = gpuvet::read_gpu_code(file);
  gpuvet::GpuCodeOptions quick;
  quick.headers_only = true;
  (void)gpuvet::read_gpu_code(file, quick);
  gpuvet::GpuCodeStream stream;
  const std::size_t piece = size % 97 + 1;
  for (std::size_t at = 0; at < size; at += piece) stream.feed(bytes.substr(at, piece));
  if (stream.finish().size != whole.size) std::abort();
  (void)gpuvet::look_into_cubin(bytes);
  (void)gpuvet::parse_ptx_head(bytes);
  return 0;
}
