#pragma once
// GPU code in the members of archives: wheels, zip, conda packages, tar with any of the usual compressions, Debian packages.
// Members pass through as a stream; nothing is unpacked to disk and nothing is kept.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// What a file is, as far as its first bytes (and, where bytes alone say too little, its name) tell.
enum class FileSort : std::uint8_t {
  Nothing,  ///< no file that could hold GPU code
  Code,     ///< ELF, static archive, fatbin, cubin, PTX text, PE: for read_gpu_code
  Archive,  ///< for read_gpu_code_archive
};
/// `head`: the first sniffed_bytes of the file, or all of it.
inline constexpr std::size_t sniffed_bytes = 512;
FileSort sort_of_file(std::string_view head, std::string_view name);
/// "x.whl", "x.tar.zst", …
bool is_named_as_archive(std::string_view name);

struct ArchiveLimits {
  std::uint64_t output = std::uint64_t{32} << 30;        ///< bytes that come out of one archive
  std::uint64_t free_output = std::uint64_t{256} << 20;  ///< up to here any ratio is fine
  std::uint64_t ratio = 200;                             ///< then at most so many bytes out for one byte in
  std::uint64_t directory = std::uint64_t{12} << 20;     ///< of a zip: read before its first member
  std::int64_t members = 400000;
  /// Of a zip, whose members decompress independently: so many at once, each with a reader of its own (some 20 MiB).
  unsigned threads = 1;
};

struct ArchiveOutcome {
  std::string state;  ///< as GpuCodeFile::state: "" read to the end, "damaged", "unreadable" (encrypted), "limit"
  std::string problem;
  std::int64_t members = 0;
};

/// Calls `found` with each member that has GPU code, or that could not be read to its end, in the order of the archive. `path` is
/// the archive's: members are "PATH:MEMBER". With several threads `file` is read by all of them.
ArchiveOutcome read_gpu_code_archive(FileReader& file, std::string_view path, const ArchiveLimits& limits,
                                     const std::function<void(GpuCodeFile)>& found);

}  // namespace gpuvet
