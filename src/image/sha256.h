#pragma once
// SHA-256 (FIPS 180-4) of short documents: the manifests and configurations whose digests an image archive names.

#include <string>
#include <string_view>

namespace gpuvet {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace gpuvet
