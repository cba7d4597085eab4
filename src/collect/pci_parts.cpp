#include "collect/pci_parts.h"

#include <algorithm>
#include <limits>

#include "collect/lines.h"

namespace gpuvet {
namespace {

bool all_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

constexpr std::uint64_t resource_unset = 0x20000000;  // IORESOURCE_UNSET, include/linux/ioport.h

}  // namespace

bool is_pci_address(std::string_view text) {
  const std::size_t size = text.size();
  if (size < 12 || size > 16) return false;
  const std::size_t domain = size - 8;  // "DDDD" before ":BB:DD.F"
  return all_hex(text.substr(0, domain)) && text[domain] == ':' && all_hex(text.substr(domain + 1, 2)) &&
         text[domain + 3] == ':' && all_hex(text.substr(domain + 4, 2)) && text[domain + 6] == '.' && text[domain + 7] >= '0' &&
         text[domain + 7] <= '7';
}

std::vector<std::string> addresses_in_path(std::string_view path) {
  std::vector<std::string> found;
  for (const std::string_view part : split(path, '/')) {
    if (is_pci_address(part)) found.emplace_back(part);
  }
  return found;
}

tl::expected<std::vector<PciBar>, std::string> parse_pci_resource(std::string_view text) {
  constexpr std::uint32_t last_line = 7;  // six BARs and the ROM; bridge windows and SR-IOV follow
  std::vector<PciBar> bars;
  std::string error;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (number > last_line) return false;
    const auto fields = words(line);
    const auto start = fields.size() == 3 ? hexadecimal(fields[0]) : std::nullopt;
    const auto end = start ? hexadecimal(fields[1]) : std::nullopt;
    const auto flags = end ? hexadecimal(fields[2]) : std::nullopt;
    if (!flags) {
      error = "line " + std::to_string(number) + " is not \"start end flags\"";
      return false;
    }
    if (*flags == 0) return true;
    const bool assigned = (*flags & resource_unset) == 0 && *end > *start;
    const std::uint64_t length = *end - *start;
    const std::uint64_t size = assigned ? (length == std::numeric_limits<std::uint64_t>::max() ? length : length + 1) : 0;
    bars.push_back({static_cast<std::int64_t>(number) - 1, assigned ? *start : 0, size, *flags});
    return true;
  });
  if (!error.empty()) return tl::unexpected(error);
  return bars;
}

std::optional<std::int64_t> parse_aer_total(std::string_view text) {
  std::optional<std::int64_t> total, sum;
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    const auto fields = words(line);
    const auto count = fields.size() < 2 ? std::nullopt : decimal(fields.back());
    if (!count || *count < 0) return true;
    if (fields[0].starts_with("TOTAL_ERR")) {
      total = *count;
    } else {
      const std::int64_t before = sum.value_or(0);
      sum =
          before > std::numeric_limits<std::int64_t>::max() - *count ? std::numeric_limits<std::int64_t>::max() : before + *count;
    }
    return true;
  });
  return total ? total : sum;
}

Fact<std::int64_t> find_acs_control(const ReadConfig& read) {
  constexpr std::uint32_t first = 0x100, end = 0x1000, acs_id = 0x000d;
  constexpr int most = (end - first) / 8;  // no list of distinct capabilities is longer
  std::uint32_t at = first;
  for (int i = 0; i < most; ++i) {
    const auto header = read(at);
    if (!header) return Fact<std::int64_t>::not_seen("the extended configuration space cannot be read");
    if (*header == 0 || *header == 0xffffffff) break;
    if ((*header & 0xffff) == acs_id) {
      const auto registers = read(at + 4);  // capability in the low half, control in the high one
      if (!registers) return Fact<std::int64_t>::not_seen("the extended configuration space cannot be read");
      return Fact<std::int64_t>::known(*registers >> 16);
    }
    at = (*header >> 20) & ~3u;
    if (at < first || at > end - 8) break;
  }
  return Fact<std::int64_t>::absent();
}

}  // namespace gpuvet
