#pragma once
// The release of a CUDA library from its own bytes, never from its file name: the number that its version function returns, or
// the names that it exports. And the glibc and libstdc++ that a library needs at least.

#include <string>
#include <string_view>
#include <vector>

#include "model/fact.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// "12.4" of libcudart, "9.1.0" of libcudnn and its parts, "2.21.5" of libnccl, "12.4.5" of libcublasLt, …; for libnvrtc,
/// libnvrtc-builtins and libnvJitLink the CUDA release. `library` is what read_library_file told of the same file: its soname
/// says which function to look at. Not seen for other libraries, and for those that ask another one: libcublas asks libcublasLt,
/// the front library libcudnn.so.9 asks libcudnn_graph. A few small reads; x86-64 and AArch64.
Fact<std::string> read_cuda_library_version(FileReader& file, const LibraryFile& library);

/// Numbers that a piece of machine code hands on as constants: moved to memory or to a register. Bytes that merely look like such
/// a move are among them.
std::vector<std::uint32_t> constants_in_code(std::string_view code, std::string_view machine);

/// The newest version of a series that a library needs and cannot do without: "2.34" for "GLIBC_", "3.4.30" for "GLIBCXX_",
/// "1.3.13" for "CXXABI_"; empty: none. Versions that are no numbers (GLIBC_PRIVATE, GLIBC_ABI_DT_RELR) do not count.
std::string newest_version_needed(const std::vector<std::string>& version_needs, std::string_view series);

}  // namespace gpuvet
