#pragma once
// rpm databases without librpm. A package is a "header" blob: big-endian counts, index entries (tag, type, offset, count), data.
// Format: rpm's docs/manual/format_header.md; the databases' formats are named beside each reader.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/bytes.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

struct RpmPackage {
  std::string name, version, release, architecture;
  std::optional<std::uint32_t> epoch;
};

/// The header in `blob`; nothing when it is none. Range-checked; O(index entries).
std::optional<RpmPackage> parse_rpm_header(std::string_view blob);

/// A header's first bytes hold its index and, nearly always, the name: those of packages that nobody asks for need no more.
inline constexpr std::size_t rpm_header_start = 8192;
/// True unless the start of a header tells the name of a package that is not relevant.
bool rpm_header_worth_reading(std::string_view start);

/// What a reader may read of one database in all: a hostile one can name the same pages over and over.
inline constexpr std::uint64_t rpm_read_budget = std::uint64_t{512} << 20;

/// Each reader calls `found` for every relevant package of its database; an error when the file is not of that format.
using RpmFound = std::function<void(const RpmPackage&)>;
tl::expected<void, std::string> read_rpm_sqlite(FileReader& file, const RpmFound& found);
tl::expected<void, std::string> read_rpm_ndb(FileReader& file, const RpmFound& found);
tl::expected<void, std::string> read_rpm_bdb(FileReader& file, const RpmFound& found);

}  // namespace gpuvet
