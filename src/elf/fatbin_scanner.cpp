#include "elf/fatbin_scanner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "elf/bytes.h"
#include "elf/cubin.h"
#include "elf/ptx_text.h"

namespace gpuvet {
namespace {

constexpr std::uint32_t elf_magic = 0x464c457f;
constexpr std::size_t elf_header = 64;
constexpr std::size_t alignment = 4;  // containers were only ever seen at multiples of 8; C arrays of cubins have less

// Cubins without code are 1.5 KiB large, and more with long linker options; with what Thrust's headers leave in one it is 9 KiB
// (CUDA 13.0). PTX without code is its head and variables.
constexpr std::uint64_t largest_stub = std::uint64_t{16} << 10;
constexpr std::uint64_t largest_cubin_held = std::uint64_t{1} << 20;
constexpr std::size_t most_targets_of_container = 256;

std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Does any of the 16 words begin a container or an ELF file? Compilers make vector code of this.
bool block_has_magic(const char* bytes) {
  std::uint32_t words[16];
  std::memcpy(words, bytes, sizeof words);
  std::uint32_t any = 0;
  for (const auto word : words) {
    const bool found = word == fatbin_magic || word == elf_magic;
    any |= static_cast<std::uint32_t>(found);
  }
  return any != 0;
}

/// Offset of the first word that is one of the two magic numbers; the number of bytes looked at when none is.
std::size_t find_magic(std::string_view bytes) {
  static_assert(alignment == sizeof(std::uint32_t));
  std::size_t at = 0;
  for (; at + 64 <= bytes.size() && !block_has_magic(bytes.data() + at); at += 64) continue;
  for (; at + alignment <= bytes.size(); at += alignment) {
    const auto word = word_at(bytes.data() + at);
    if (word == fatbin_magic || word == elf_magic) return at;
  }
  return at;
}

bool is_empty_cubin(std::string_view bytes) {
  const auto content = look_into_cubin(bytes);
  return content && !content->code;
}

CodeTarget target_of(const FatbinEntry& entry, char variant) {
  using Kind = CodeTarget::Kind;
  CodeTarget target;
  target.arch = static_cast<std::uint16_t>(entry.arch);
  target.variant = variant;
  target.kind = entry.kind == FatbinKind::Cubin   ? Kind::Sass
                : entry.kind == FatbinKind::Ptx   ? Kind::Ptx
                : entry.kind == FatbinKind::LtoIr ? Kind::Lto
                                                  : Kind::Other;
  if (target.kind == Kind::Ptx) {
    target.major = entry.major;
    target.minor = entry.minor;
  }
  return target;
}

}  // namespace

void FatbinScanner::feed(std::uint64_t offset, std::string_view piece) {
  while (!full_) {
    const auto skip = wanted() - offset;
    if (skip >= piece.size()) return;
    auto rest = piece.substr(skip);
    if (held_.empty()) {
      run(rest);
      return;
    }
    held_.append(rest.substr(0, need_ - held_.size()));
    if (held_.size() < need_) return;
    const auto held = std::exchange(held_, {});
    run(held);
  }
}

void FatbinScanner::run(std::string_view piece) {
  const auto begin = position_;
  need_ = 0;
  while (!full_ && position_ - begin <= piece.size()) {
    if (!step(piece.substr(position_ - begin))) break;
  }
  if (!full_ && position_ - begin < piece.size()) held_ = piece.substr(position_ - begin);
}

void FatbinScanner::jump(std::uint64_t offset) {
  if (offset <= wanted() || full_) return;
  leave_container(offset);
  held_.clear();
  search_from(offset);
}

void FatbinScanner::finish(std::uint64_t file_size) {
  size_ = std::min(size_, file_size);
  if (full_) return;
  if (state_ == State::Cubin) {
    // It claims more than the file has: what was held back for it is searched like any other bytes.
    const auto held = std::exchange(held_, {});
    keep(start_, std::exchange(unit_, {}));
    search_from(start_ + elf_header);
    if (held.size() > elf_header) run(std::string_view(held).substr(elf_header));
  }
  leave_container(file_size);
}

void FatbinScanner::leave_container(std::uint64_t offset) {
  if (full_ || (state_ != State::Entry && state_ != State::Payload)) return;
  if (state_ == State::Entry && position_ > offset) uncount(entry_);
  if (state_ == State::Entry && position_ == end_ && position_ <= offset)
    close();
  else
    damage();
}

bool FatbinScanner::ask(std::uint64_t bytes) {
  need_ = bytes;
  return false;
}

bool FatbinScanner::step(std::string_view bytes) {
  switch (state_) {
    case State::Search:
      return search(bytes);
    case State::Container:
      return container(bytes);
    case State::Entry:
      return entry(bytes);
    case State::Payload:
      return payload(bytes);
    case State::CubinHeader:
      return cubin_header(bytes);
    case State::Cubin:
      return cubin(bytes);
  }
  return false;
}

void FatbinScanner::search_from(std::uint64_t offset) {
  state_ = State::Search;
  position_ = (offset + alignment - 1) / alignment * alignment;
}

bool FatbinScanner::search(std::string_view bytes) {
  const auto at = find_magic(bytes);
  position_ += at;
  if (bytes.size() - at < alignment) return ask(alignment);
  state_ = word_at(bytes.data() + at) == fatbin_magic ? State::Container : State::CubinHeader;
  return true;
}

bool FatbinScanner::container(std::string_view bytes) {
  if (bytes.size() < fatbin_container_header) return ask(fatbin_container_header);
  const auto size = parse_fatbin_container(bytes.substr(0, fatbin_container_header));
  if (!size) {
    search_from(position_ + alignment);
    return true;
  }
  start_ = position_;
  position_ += fatbin_container_header;
  // A size beyond the file (a cut download) is not believed; the entries are looked at one by one in any case.
  const auto limit = size_ == unknown_size ? std::numeric_limits<std::uint64_t>::max() / 2 : size_;
  end_ = position_ > limit || *size > limit - position_ ? unknown_size : position_ + *size;
  unit_ = {};
  entries_ = empty_entries_ = 0;
  state_ = State::Entry;
  return true;
}

bool FatbinScanner::entry(std::string_view bytes) {
  if (position_ == end_) {
    close();
    return true;
  }
  const auto last = end_ == unknown_size ? size_ : end_;
  const auto room = last > position_ ? last - position_ : 0;
  if (room >= fatbin_entry_header && bytes.size() < fatbin_entry_header) return ask(fatbin_entry_header);
  const auto found = parse_fatbin_entry(bytes.substr(0, fatbin_entry_header), room);
  if (!found || (unit_.targets.size() >= most_targets_of_container)) {
    damage();
    return true;
  }
  entry_ = *found;
  if (wants_payload(entry_)) {
    position_ += entry_.header_size;
    state_ = State::Payload;
    return true;
  }
  count(entry_, entry_.variant());
  position_ += entry_.size();
  return true;
}

/// Only what is small enough to be empty, and only while every entry of the container was.
bool FatbinScanner::wants_payload(const FatbinEntry& entry) const {
  const bool told = entry.kind == FatbinKind::Cubin || entry.kind == FatbinKind::Ptx;
  if (!peek_ || !told || entries_ != empty_entries_) return false;
  return entry.stored_size <= largest_stub && entry.plain_size <= largest_stub;
}

bool FatbinScanner::payload(std::string_view bytes) {
  if (bytes.size() < entry_.stored_size) return ask(entry_.stored_size);
  const auto plain = fatbin_payload(entry_, bytes.substr(0, entry_.stored_size), largest_stub);
  const bool is_ptx = entry_.kind == FatbinKind::Ptx;
  if (plain && (is_ptx ? is_empty_ptx(*plain) : is_empty_cubin(*plain))) ++empty_entries_;
  count(entry_, entry_.variant());
  position_ += entry_.stored_size;
  state_ = State::Entry;
  return true;
}

void FatbinScanner::count(const FatbinEntry& entry, char variant) {
  ++entries_;
  ++unit_.targets[target_of(entry, variant)];
}

/// Its payload turned out to be cut off.
void FatbinScanner::uncount(const FatbinEntry& entry) {
  --entries_;
  const auto at = unit_.targets.find(target_of(entry, entry.variant()));
  if (at != unit_.targets.end() && --at->second == 0) unit_.targets.erase(at);
}

void FatbinScanner::keep(std::uint64_t offset, CodeUnit unit) { full_ = !tally_.add(offset, std::move(unit)); }

void FatbinScanner::close() {
  unit_.stub = entries_ > 0 && entries_ == empty_entries_;
  keep(start_, std::exchange(unit_, {}));
  last_end_ = position_;
  search_from(position_);
}

/// The entries do not fill the container. What was good of it counts; the search goes on behind that.
void FatbinScanner::damage() {
  if (unit_.targets.empty()) {
    if (rejected_++ == 0) first_rejected_ = start_;
    search_from(position_);
    return;
  }
  if (damaged_++ == 0) first_damaged_ = start_;
  close();
}

bool FatbinScanner::cubin_header(std::string_view bytes) {
  if (bytes.size() < elf_header) return ask(elf_header);
  const auto header = parse_cubin_header(bytes.substr(0, elf_header));
  if (!header) {
    search_from(position_ + alignment);
    return true;
  }
  start_ = position_;
  unit_ = {};
  unit_.container = false;
  ++unit_.targets[{CodeTarget::Kind::Sass, static_cast<std::uint16_t>(header->arch), header->variant, 0, 0}];
  end_ = position_ + header->size;
  if (header->size <= largest_cubin_held && end_ <= size_) {
    state_ = State::Cubin;
    return true;
  }
  keep(start_, std::exchange(unit_, {}));
  search_from(position_ + elf_header);
  return true;
}

bool FatbinScanner::cubin(std::string_view bytes) {
  if (bytes.size() < end_ - start_) return ask(end_ - start_);
  const auto content = look_into_cubin(bytes.substr(0, end_ - start_));
  const bool larger = content && content->size > end_ - start_ && content->size <= largest_cubin_held;
  if (larger && start_ + content->size <= size_) {
    end_ = start_ + content->size;
    return true;
  }
  if (content && content->variant != 0) {
    auto target = unit_.targets.begin()->first;
    target.variant = content->variant;
    unit_.targets = {{target, 1}};
  }
  unit_.stub = content && !content->code;
  keep(start_, std::exchange(unit_, {}));
  last_end_ = end_;
  search_from(content ? end_ : start_ + elf_header);
  return true;
}

}  // namespace gpuvet
