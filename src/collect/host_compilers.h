#pragma once
// C and C++ compilers that nvcc or an extension build could take, and the C library's headers that they would read.

#include <string>
#include <string_view>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Fills machine.toolkits.compilers and libc_headers. Looks at CC, CXX, CUDAHOSTCXX, NVCC_CCBIN and nvcc's -ccbin, then PATH,
/// then the usual folders, and beside each nvcc that was found.
void collect_host_compilers(System& system, Machine& machine);

/// "gcc", "g++", "cc", "c++", "clang", "clang++" (with a version: "gcc-12"; conda's with a triplet) are compilers' names.
bool is_compiler_name(std::string_view name);

/// "13" of "x86_64-linux-gnu-gcc-13", "17" of "clang-17"; empty when the name has no version.
std::string version_in_compiler_name(std::string_view name);

/// "2.41" of features.h: `#define __GLIBC__ 2` and `#define __GLIBC_MINOR__ 41`; empty when it lacks one of them.
std::string glibc_version_in_header(std::string_view text);

}  // namespace gpuvet
