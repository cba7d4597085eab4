// rpm's "ndb" (openSUSE: Packages.db): 4096-byte pages of slots, each naming a blob of 16-byte blocks; little-endian.
// Format: rpm, lib/backend/ndb/rpmpkg.c.
#include <algorithm>

#include "collect/packages_parts.h"
#include "collect/rpm_header.h"

namespace gpuvet {
namespace {

constexpr std::uint32_t database_magic = 0x506d7052;  // "RpmP"
constexpr std::uint32_t slot_magic = 0x746f6c53;      // "Slot"
constexpr std::uint32_t blob_magic = 0x53626c42;      // "BlbS"
constexpr std::uint64_t page = 4096, slot_size = 16, block = 16, header_size = 32;
constexpr std::uint32_t max_slot_pages = 4096;
constexpr std::size_t max_blob = std::size_t{16} << 20;

/// Reads one package; takes what it read off the budget.
void read_blob(FileReader& file, std::uint64_t offset, std::uint64_t& budget, const RpmFound& found) {
  const auto head = file.read_at(offset, 16);
  if (!head) return;
  const ByteView view{*head};
  const std::uint32_t length = view.u32(12);
  if (!view.has(0, 16) || view.u32(0) != blob_magic || length > max_blob) return;
  const auto start = file.read_at(offset + 16, std::min<std::size_t>(length, rpm_header_start));
  budget -= std::min<std::uint64_t>(budget, rpm_header_start);
  if (!start || !rpm_header_worth_reading(*start)) return;
  budget -= std::min<std::uint64_t>(budget, length);
  const auto blob = file.read_at(offset + 16, length);
  if (!blob) return;
  if (const auto package = parse_rpm_header(*blob); package && relevant_package(package->name)) found(*package);
}

}  // namespace

tl::expected<void, std::string> read_rpm_ndb(FileReader& file, const RpmFound& found) {
  const auto head = file.read_at(0, header_size);
  if (!head || ByteView{*head}.u32(0) != database_magic) return failure("no ndb database");
  const std::uint32_t slot_pages = ByteView{*head}.u32(12);
  if (slot_pages == 0 || slot_pages > max_slot_pages) return failure("ndb: impossible number of slot pages");
  std::uint64_t budget = rpm_read_budget;
  for (std::uint32_t i = 0; i < slot_pages && budget > 0; ++i) {
    const auto slots = file.read_at(i * page, page);
    if (!slots) break;
    const ByteView view{*slots};
    for (std::uint64_t at = i == 0 ? header_size : 0; budget > 0 && view.has(at, slot_size); at += slot_size) {
      if (view.u32(at) == slot_magic && view.u32(at + 8) != 0)
        read_blob(file, std::uint64_t{view.u32(at + 8)} * block, budget, found);
    }
  }
  return {};
}

}  // namespace gpuvet
