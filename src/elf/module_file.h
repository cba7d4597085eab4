#pragma once
// A kernel module file on disk, plain or compressed: its .modinfo and its signature, without reading more than needed.
// A real nvidia.ko has more than 50 MB; its .modinfo has one or two kilobytes.

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "elf/elf.h"
#include "model/fact.h"
#include "system/system.h"

namespace gpuvet {

struct ModuleFileContent {
  std::string compression;       ///< told from the first bytes, not from the name: "", "xz", "zst", "gz"
  ModuleInfo info;               ///< in the order of the section
  Fact<bool> has_signature;      ///< not seen: compressed, and reading stopped before the end of the file
  Fact<std::string> signer;      ///< known only where the trailer names one; absent: no signature
  std::uint64_t bytes_read = 0;  ///< of the file
  std::uint64_t bytes_decompressed = 0;

  /// First value of a key ("version", "vermagic", …); null: the module does not say.
  const std::string* value(std::string_view key) const;
};

struct ModuleFileLimits {
  /// More than this before .modinfo is complete is an error.
  std::uint64_t decompressed = std::uint64_t{512} << 20;
  /// A compressed module is read to its end (for the signature) only as long as that is no more than this.
  std::uint64_t to_the_end = std::uint64_t{8} << 20;
};

/// Reads .modinfo and the signature trailer. A plain file costs a few positioned reads; a compressed one is decompressed as
/// a stream until its .modinfo is complete. An error says what is wrong with the file.
tl::expected<ModuleFileContent, std::string> read_module_file(FileReader& file, const ModuleFileLimits& limits = {});

/// What stands behind the last section of a signed module.
struct ModuleSignature {
  bool present = false;
  std::string signer;  ///< common name of the issuer in the PKCS#7 signer info, as modinfo(8) prints it; may be empty
};

/// `tail` is the end of the decompressed file, as much as there is, 64 KiB are enough for every real signature.
ModuleSignature read_module_signature(std::string_view tail);

}  // namespace gpuvet
