// rpm's Berkeley DB hash (RHEL/Rocky 8, CentOS 7: Packages), read without libdb: pages in either byte order, values on hash pages
// or in chains of overflow pages. Format: Berkeley DB's dbinc/db_page.h (public headers of Berkeley DB 5).
#include <algorithm>

#include "collect/packages_parts.h"
#include "collect/rpm_header.h"

namespace gpuvet {
namespace {

constexpr std::uint32_t hash_magic = 0x00061561, hash_magic_swapped = 0x61150600;
constexpr std::uint8_t hash_page_unsorted = 2, overflow_page = 7, hash_page = 13;
constexpr std::uint8_t item_on_page = 1, item_off_page = 3;
constexpr std::uint64_t page_header = 26;
constexpr std::uint32_t max_pages = 1u << 19;
constexpr std::size_t max_value = std::size_t{16} << 20;

struct Database {
  FileReader& file;
  std::uint32_t page_size = 0;
  std::uint32_t last_page = 0;
  bool big_endian = false;
  std::uint64_t budget = rpm_read_budget;

  Result<std::string> page(std::uint32_t number) {
    budget -= std::min<std::uint64_t>(budget, page_size);
    return file.read_at(std::uint64_t{number} * page_size, page_size);
  }
};

/// The chain of overflow pages that starts at `first`, up to `length` bytes; stops at anything odd.
std::string read_overflow(Database& db, std::uint32_t first, std::uint32_t length) {
  std::string value;
  if (length > max_value) return value;
  std::uint32_t number = first;
  for (std::uint32_t steps = 0; number != 0 && value.size() < length && db.budget > 0 && steps <= length / db.page_size + 2;
       ++steps) {
    const auto bytes = db.page(number);
    if (!bytes) break;
    const ByteView view{*bytes, db.big_endian};
    if (view.u8(25) != overflow_page) break;
    value += view.slice(page_header, view.u16(22));
    number = view.u32(16);
  }
  value.resize(std::min<std::size_t>(value.size(), length));
  return value;
}

/// Items of a hash page come in pairs key, value; their offsets stand behind the page header and fall.
void read_hash_page(Database& db, const ByteView& view, const RpmFound& found) {
  const std::uint16_t entries = view.u16(20);
  for (std::uint32_t i = 1; i < entries && db.budget > 0 && view.has(page_header + i * 2, 2); i += 2) {
    const std::uint16_t at = view.u16(page_header + i * 2);
    const std::uint16_t before = view.u16(page_header + (i - 1) * 2);
    std::string value;
    if (view.u8(at) == item_off_page && view.has(at, 12)) {
      const std::uint32_t first = view.u32(at + 4), length = view.u32(at + 8);
      value = read_overflow(db, first, std::min<std::uint32_t>(length, rpm_header_start));
      if (!rpm_header_worth_reading(value)) continue;
      if (length > value.size()) value = read_overflow(db, first, length);
    } else if (view.u8(at) == item_on_page && before > at) {
      value = view.slice(at + 1u, before - at - 1u);
    }
    if (const auto package = parse_rpm_header(value); package && relevant_package(package->name)) found(*package);
  }
}

tl::expected<Database, std::string> open_database(FileReader& file) {
  const auto meta = file.read_at(0, 512);
  if (!meta) return failure("no Berkeley DB");
  const std::uint32_t magic = ByteView{*meta}.u32(12);
  if (magic != hash_magic && magic != hash_magic_swapped) return failure("no Berkeley DB hash");
  Database db{file};
  db.big_endian = magic == hash_magic_swapped;
  const ByteView view{*meta, db.big_endian};
  db.page_size = view.u32(20);
  db.last_page = view.u32(32);
  const bool possible =
      db.page_size >= 512 && db.page_size <= 65536 && (db.page_size & (db.page_size - 1)) == 0 && view.u8(24) == 0;
  if (!possible) return failure("Berkeley DB with an impossible page size, or encrypted");
  return db;
}

}  // namespace

tl::expected<void, std::string> read_rpm_bdb(FileReader& file, const RpmFound& found) {
  auto db = open_database(file);
  if (!db) return tl::unexpected(db.error());
  const std::uint64_t pages = std::min<std::uint64_t>({std::uint64_t{db->last_page} + 1, file.size() / db->page_size, max_pages});
  for (std::uint32_t number = 1; number < pages && db->budget > 0; ++number) {
    const auto head = file.read_at(std::uint64_t{number} * db->page_size, page_header);
    if (!head) break;
    const std::uint8_t type = ByteView{*head}.u8(25);
    if (type != hash_page && type != hash_page_unsorted) continue;
    const auto bytes = db->page(number);
    if (bytes) read_hash_page(*db, ByteView{*bytes, db->big_endian}, found);
  }
  return {};
}

}  // namespace gpuvet
