#pragma once
// The bytes of the audit library (audit.c), carried inside gpuvet. cmake/audit.cmake builds it.

#include <string_view>

namespace gpuvet {

/// A shared object for the dynamic loaders of this architecture; empty: the compiler that built gpuvet could not make one.
std::string_view audit_library();

}  // namespace gpuvet
