#pragma once
// The GPU code in a file: SASS (cubins), PTX and LTO-IR in fat binaries, in raw cubins, in PTX text. Format: docs/gpu-code.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

struct GpuCodeOptions {
  /// Only hop through the containers of .nv_fatbin and __nv_relfatbin by positioned reads; false: search every byte of the file.
  bool headers_only = false;
  /// Decompress (small) payloads where only they tell whether there is code at all, or a cubin's variant. 0: never.
  std::uint64_t decompress_limit = std::uint64_t{16} << 20;
  /// A file that takes longer is left with the state "limit" and what was found so far. 0: no limit.
  int time_limit_ms = 120'000;
};

/// Is there GPU code to tell of, be it only what nvcc leaves in a file without kernels?
inline bool shows_gpu_code(const GpuCodeFile& file) { return !file.targets.empty() || !file.stub_targets.empty(); }

/// Reads one file: ELF executable, shared library or object, fatbin, cubin, PTX text, static archive (members are summed up in
/// one record; `for_each_archive_member` in gpu_code_archive.h tells them apart). At most a few MiB of memory, whatever the
/// file's size.
GpuCodeFile read_gpu_code(FileReader& file, const GpuCodeOptions& options = {});

/// The same of a file that comes as a stream (a compressed member of a wheel): feed the pieces in order.
class GpuCodeStream {
 public:
  GpuCodeStream();
  ~GpuCodeStream();
  GpuCodeStream(const GpuCodeStream&) = delete;
  GpuCodeStream& operator=(const GpuCodeStream&) = delete;
  void feed(std::string_view piece);
  GpuCodeFile finish();

 private:
  struct State;
  State* state_;
};

}  // namespace gpuvet
