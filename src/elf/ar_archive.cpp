#include "elf/ar_archive.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "elf/bytes.h"

namespace gpuvet {
namespace {

constexpr std::size_t longest_name = 4096;
constexpr std::uint64_t largest_name_table = std::uint64_t{16} << 20;
constexpr std::size_t most_members = std::size_t{1} << 20;

std::optional<std::uint64_t> decimal(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string without(std::string_view name, char last) {
  while (!name.empty() && (name.back() == ' ' || name.back() == '\0')) name.remove_suffix(1);
  if (!name.empty() && name.back() == last) name.remove_suffix(1);
  return std::string(name);
}

/// The name of a member: its own, or where its header says that it is.
std::string member_name(FileReader& file, const ArHeader& header, std::uint64_t content, std::string_view long_names) {
  if (header.bsd_name_size > 0) {
    const auto name =
        file.read_at(content, static_cast<std::size_t>(std::min<std::uint64_t>(header.bsd_name_size, longest_name)));
    return name ? without(*name, '\0') : "";
  }
  if (header.name.size() > 1 && header.name.front() == '/') {
    const auto at = decimal(std::string_view(header.name).substr(1));
    const auto name = ByteView{long_names}.slice(at.value_or(long_names.size()), longest_name);
    return without(name.substr(0, name.find('\n')), '/');
  }
  return without(header.name, '/');
}

}  // namespace

bool is_ar_archive(std::string_view first_bytes) { return first_bytes.starts_with("!<arch>\n"); }
bool is_thin_ar_archive(std::string_view first_bytes) { return first_bytes.starts_with("!<thin>\n"); }

bool ArHeader::is_table() const {
  return name == "/" || name == "//" || name == "/SYM64/" || name.starts_with("__.SYMDEF") || name == "/<ECSYMBOLS>/";
}

std::optional<ArHeader> parse_ar_header(std::string_view bytes) {
  if (bytes.size() < ar_header_size || bytes.substr(58, 2) != "`\n") return std::nullopt;
  const auto size = decimal(bytes.substr(48, 10));
  if (!size) return std::nullopt;
  ArHeader header;
  const auto name = bytes.substr(0, 16);
  header.name = name.substr(0, name.find_last_not_of(' ') + 1);
  header.size = *size;
  if (header.name.starts_with("#1/")) {
    const auto length = decimal(std::string_view(header.name).substr(3));
    if (!length || *length > header.size) return std::nullopt;
    header.bsd_name_size = *length;
  }
  return header;
}

tl::expected<void, std::string> for_each_ar_member(FileReader& file, const std::function<bool(const ArMember&)>& receive) {
  std::string long_names;
  std::uint64_t at = ar_magic_size;
  for (std::size_t count = 0; at < file.size(); ++count) {
    if (count == most_members) return failure("more than a million members");
    const auto bytes = file.read_at(at, ar_header_size);
    if (!bytes) return failure(bytes.error().message);
    const auto header = parse_ar_header(*bytes);
    if (!header) return failure("damaged archive: no member at byte " + std::to_string(at));
    const auto content = at + ar_header_size;
    const auto size = std::min(header->size, file.size() - content);
    if (header->name == "//") {
      if (auto names = file.read_at(content, static_cast<std::size_t>(std::min(header->size, largest_name_table))); names)
        long_names = std::move(*names);
    }
    if (!header->is_table()) {
      const auto before = std::min(header->bsd_name_size, size);
      const ArMember member{member_name(file, *header, content, long_names), content + before, size - before};
      const bool table = member.name.starts_with("__.SYMDEF");
      if (!table && !receive(member)) return {};
    }
    if (size < header->size) return failure("the archive is cut off in its member at byte " + std::to_string(at));
    at = content + size + size % 2;
  }
  return {};
}

}  // namespace gpuvet
