// libarchive stays in this file.

#include "elf/gpu_code_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "elf/gpu_code.h"

namespace gpuvet {
namespace {

using std::string_view_literals::operator""sv;  // NOLINT(misc-unused-using-decls): used below

constexpr std::size_t block_size = std::size_t{256} << 10;
constexpr std::size_t longest_name = 4096;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}
bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return text.ends_with(end); });
}

/// PTX begins with comments and then a .version line.
bool looks_like_ptx(std::string_view head, std::string_view name) {
  if (name.ends_with(".ptx")) return true;
  const std::size_t at = head.find(".version ");
  return at != std::string_view::npos && (at == 0 || head[at - 1] == '\n') && head.find('\0') == std::string_view::npos;
}

bool is_tar(std::string_view head) { return head.size() >= 262 && head.substr(257, 5) == "ustar"; }

/// What all levels of one archive share, and all who read it.
struct Budget {
  const ArchiveLimits& limits;
  std::atomic<std::uint64_t> in = 0, out = 0;
  std::atomic<std::int64_t> members = 0;
  std::atomic<bool> exceeded = false;

  bool take(std::uint64_t bytes) {
    const std::uint64_t all = out += bytes;
    if (all > limits.output || (all > limits.free_output && all / limits.ratio > in)) exceeded = true;
    return !exceeded;
  }
};

/// Which members somebody reads already: readers of one archive go through the same members in the same order.
class Claims {
 public:
  bool take(std::int64_t member) {
    const std::lock_guard lock(mutex_);
    if (taken_.size() <= static_cast<std::size_t>(member)) taken_.resize(static_cast<std::size_t>(member) + 1);
    if (taken_[static_cast<std::size_t>(member)]) return false;
    return taken_[static_cast<std::size_t>(member)] = true;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> taken_;
};

/// Bytes of the archive file for libarchive.
struct Source {
  FileReader& file;
  Budget& budget;
  std::uint64_t offset = 0, before_open = 0;
  bool open = false;  ///< the first member was reached: a zip's directory is read
  bool failed = false;
  std::vector<char> buffer = std::vector<char>(block_size);

  static la_ssize_t read(archive*, void* data, const void** block) {
    Source& self = *static_cast<Source*>(data);
    *block = self.buffer.data();
    if (!self.open && self.before_open > self.budget.limits.directory) {
      self.budget.exceeded = true;
      return -1;
    }
    const auto got = self.file.read_into(self.offset, self.buffer.data(), self.buffer.size());
    if (!got) {
      self.failed = true;
      return -1;
    }
    self.offset += *got;
    self.budget.in += *got;
    if (!self.open) self.before_open += *got;
    return static_cast<la_ssize_t>(*got);
  }
  static la_int64_t skip(archive*, void* data, la_int64_t request) {
    Source& self = *static_cast<Source*>(data);
    if (request <= 0 || self.offset >= self.file.size()) return 0;
    const std::uint64_t step = std::min(static_cast<std::uint64_t>(request), self.file.size() - self.offset);
    self.offset += step;
    return static_cast<la_int64_t>(step);
  }
  static la_int64_t seek(archive*, void* data, la_int64_t offset, int whence) {
    Source& self = *static_cast<Source*>(data);
    const auto size = static_cast<la_int64_t>(std::min<std::uint64_t>(self.file.size(), INT64_MAX));
    const la_int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_END ? size : static_cast<la_int64_t>(self.offset);
    la_int64_t target = 0;
    if (__builtin_add_overflow(base, offset, &target) || target < 0 || target > size) return ARCHIVE_FATAL;
    self.offset = static_cast<std::uint64_t>(target);
    return target;
  }
};

/// Bytes of a member of an outer archive, for the inner one.
struct MemberSource {
  archive* outer;
  Budget& budget;

  static la_ssize_t read(archive*, void* data, const void** block) {
    MemberSource& self = *static_cast<MemberSource*>(data);
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(self.outer, block, &size, &offset);
    if (result == ARCHIVE_EOF) return 0;
    if (result < ARCHIVE_WARN || !self.budget.take(size)) return -1;
    return static_cast<la_ssize_t>(size);
  }
};

struct ArchiveFree {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using Handle = std::unique_ptr<archive, ArchiveFree>;

/// Only what packages are made of: no external programs, no rarely fuzzed formats.
Handle new_reader() {
  Handle handle(archive_read_new());
  if (!handle) return handle;
  archive* a = handle.get();
  archive_read_support_filter_gzip(a);
  archive_read_support_filter_bzip2(a);
  archive_read_support_filter_xz(a);
  archive_read_support_filter_zstd(a);
  archive_read_support_format_tar(a);
  archive_read_support_format_gnutar(a);
  archive_read_support_format_zip(a);
  archive_read_support_format_ar(a);
  return handle;
}

std::string member_name(archive_entry* entry, std::int64_t number) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) return "member " + std::to_string(number);
  return std::string(name).substr(0, longest_name);
}

/// One archive, or an archive inside of one.
class Walk {
 public:
  Walk(archive* handle, std::string prefix, Budget& budget, const std::function<void(GpuCodeFile)>& found, int depth,
       Claims* claims = nullptr)
      : archive_(handle), prefix_(std::move(prefix)), budget_(budget), found_(found), depth_(depth), claims_(claims) {}

  ArchiveOutcome run(bool& opened) {
    ArchiveOutcome outcome;
    archive_entry* entry = nullptr;
    for (;;) {
      const int result = archive_read_next_header(archive_, &entry);
      opened = true;
      if (result == ARCHIVE_EOF) break;
      if (result < ARCHIVE_WARN) return finish(outcome, "damaged", error_text());
      ++outcome.members;
      member_ = outcome.members;
      if (outcome.members > budget_.limits.members) return finish(outcome, "limit", "too many members");
      if (claims_ != nullptr && !claims_->take(outcome.members)) continue;
      if (++budget_.members > budget_.limits.members) return finish(outcome, "limit", "too many members");
      const auto type = archive_entry_filetype(entry);
      if (type != AE_IFREG && type != 0) continue;  // 0: an ar member without a mode
      if (archive_entry_is_data_encrypted(entry) != 0) {
        ++encrypted_;
        continue;
      }
      if (!read_member(member_name(entry, outcome.members))) break;
    }
    if (budget_.exceeded) return finish(outcome, "limit", "expands to far more than packages do; stopped");
    if (!inner_.state.empty()) return finish(outcome, inner_.state, inner_.problem);
    if (encrypted_ > 0) return finish(outcome, "unreadable", std::to_string(encrypted_) + " encrypted members");
    return outcome;
  }

  std::int64_t member() const { return member_; }            ///< that is read now, from 1
  std::int64_t encrypted() const { return encrypted_; }      ///< members
  std::int64_t first_inner() const { return first_inner_; }  ///< member whose archive could not be read to its end; 0: none

 private:
  ArchiveOutcome finish(ArchiveOutcome outcome, std::string state, std::string problem) const {
    if (budget_.exceeded) state = "limit";
    outcome.state = std::move(state);
    outcome.problem = std::move(problem);
    return outcome;
  }

  std::string error_text() const {
    const char* text = archive_error_string(archive_);
    return text != nullptr ? text : "not readable";
  }

  /// False: stop here.
  bool read_member(const std::string& name) {
    if (depth_ == 0 && is_named_as_archive(name)) return read_inner(name);
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    std::string head;
    int result = ARCHIVE_OK;
    // The first bytes decide; blocks of libarchive are seldom shorter than that.
    while (head.size() < sniffed_bytes && (result = next_block(&block, &size, &offset)) == ARCHIVE_OK && offset == position_)
      append(head, block, size);
    if (budget_.exceeded) return false;
    const bool wanted = sort_of_file(std::string_view(head).substr(0, sniffed_bytes), name) == FileSort::Code;
    if (!wanted) {
      position_ = 0;
      return pass_over(result);
    }
    return stream_member(name, head, result, block, size, offset);
  }

  /// libarchive skips to the next member itself, but it would not count what it decompresses on the way.
  bool pass_over(int result) {
    const bool by_seek = depth_ == 0 && archive_filter_count(archive_) <= 1;
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    while (!by_seek && result == ARCHIVE_OK) result = next_block(&block, &size, &offset);
    return !budget_.exceeded;
  }

  int next_block(const void** block, std::size_t* size, la_int64_t* offset) {
    const int result = archive_read_data_block(archive_, block, size, offset);
    if (result == ARCHIVE_WARN) return ARCHIVE_OK;
    if (result == ARCHIVE_OK && !budget_.take(*size)) return ARCHIVE_FATAL;
    return result;
  }

  void append(std::string& head, const void* block, std::size_t size) {
    head.append(static_cast<const char*>(block), size);
    position_ += static_cast<la_int64_t>(size);
  }

  /// Feeds a member to the reader of streams, beginning with what was read to look at it.
  bool stream_member(const std::string& name, const std::string& head, int result, const void* block, std::size_t size,
                     la_int64_t offset) {
    GpuCodeStream stream;
    stream.feed(head);
    while (result == ARCHIVE_OK) {
      if (!feed_block(stream, block, size, offset)) break;
      result = next_block(&block, &size, &offset);
    }
    GpuCodeFile file = stream.finish();
    file.path = prefix_ + ":" + name;
    file.size = position_;
    position_ = 0;
    const bool broken = result != ARCHIVE_EOF;
    if (broken) {
      file.state = budget_.exceeded ? "limit" : "damaged";
      file.problem = budget_.exceeded ? "expands to far more than packages do; stopped" : error_text();
    }
    if (broken || shows_gpu_code(file) || !file.state.empty()) found_(std::move(file));
    return !budget_.exceeded;
  }

  /// A block may begin behind a hole of a sparse member: zeros, which count as output.
  bool feed_block(GpuCodeStream& stream, const void* block, std::size_t size, la_int64_t offset) {
    static constexpr std::array<char, 65536> zeros{};
    while (position_ < offset) {
      const auto step = std::min<la_int64_t>(offset - position_, zeros.size());
      if (!budget_.take(static_cast<std::uint64_t>(step))) return false;
      stream.feed(std::string_view(zeros.data(), static_cast<std::size_t>(step)));
      position_ += step;
    }
    if (size > 0 && offset == position_) {
      stream.feed(std::string_view(static_cast<const char*>(block), size));
      position_ += static_cast<la_int64_t>(size);
    }
    return true;
  }

  bool read_inner(const std::string& name) {
    Handle inner = new_reader();
    MemberSource source{archive_, budget_};
    if (!inner || archive_read_open(inner.get(), &source, nullptr, &MemberSource::read, nullptr) != ARCHIVE_OK) return true;
    bool opened = false;
    const ArchiveOutcome outcome = Walk(inner.get(), prefix_ + ":" + name, budget_, found_, depth_ + 1).run(opened);
    if (!outcome.state.empty() && inner_.state.empty()) {
      inner_ = {outcome.state, name + ": " + outcome.problem, 0};
      first_inner_ = member_;
    }
    return !budget_.exceeded;
  }

  archive* archive_;
  std::string prefix_;
  Budget& budget_;
  const std::function<void(GpuCodeFile)>& found_;
  int depth_;
  Claims* claims_;  ///< null: all members are this one's
  std::int64_t member_ = 0, first_inner_ = 0;
  la_int64_t position_ = 0;  ///< in the current member: bytes that were fed or looked at
  std::int64_t encrypted_ = 0;
  ArchiveOutcome inner_;
};

}  // namespace

/// By name: what a compressed stream holds is only known after decompression, and most are no tar.
bool is_named_as_archive(std::string_view name) {
  return ends_with_any(name, {".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tbz", ".tar.zst", ".tzst",
                              ".conda", ".whl", ".zip", ".egg"});
}

FileSort sort_of_file(std::string_view head, std::string_view name) {
  if (starts_with_any(head, {"!<arch>\ndebian-binary"sv, "PK\3\4"sv, "PK\5\6"sv})) return FileSort::Archive;
  if (starts_with_any(head, {"\x7f"
                             "ELF"sv,
                             "!<arch>\n"sv, "!<thin>\n"sv, "\x50\xed\x55\xba"sv, "MZ"sv}))
    return FileSort::Code;
  if (is_tar(head)) return FileSort::Archive;
  const bool compressed = starts_with_any(head, {"\x1f\x8b"sv,
                                                 "\xfd"
                                                 "7zXZ\0"sv,
                                                 "BZh"sv, "\x28\xb5\x2f\xfd"sv});
  if (compressed) return is_named_as_archive(name) ? FileSort::Archive : FileSort::Nothing;
  return looks_like_ptx(head, name) ? FileSort::Code : FileSort::Nothing;
}

namespace {

/// A member with its place in the archive.
struct FoundMember {
  std::int64_t member = 0;
  GpuCodeFile file;
};

/// What one of several readers of an archive came to.
struct Part {
  ArchiveOutcome outcome;
  std::vector<FoundMember> found;
  std::int64_t encrypted = 0, first_inner = 0;
};

ArchiveOutcome open_archive(Source& source, Handle& handle) {
  handle = new_reader();
  if (!handle) return {"unreadable", "no memory", 0};
  archive_read_set_read_callback(handle.get(), &Source::read);
  archive_read_set_skip_callback(handle.get(), &Source::skip);
  archive_read_set_seek_callback(handle.get(), &Source::seek);
  archive_read_set_callback_data(handle.get(), &source);
  if (archive_read_open1(handle.get()) == ARCHIVE_OK) return {};
  const char* text = archive_error_string(handle.get());
  return {source.budget.exceeded ? "limit" : "damaged", text != nullptr ? text : "not readable", 0};
}

Part read_part(FileReader& file, std::string_view path, Budget& budget, Claims& claims) {
  Part part;
  Source source{file, budget};
  Handle handle;
  part.outcome = open_archive(source, handle);
  if (!part.outcome.state.empty()) return part;
  const Walk* now = nullptr;
  const std::function<void(GpuCodeFile)> found = [&](GpuCodeFile one) { part.found.push_back({now->member(), std::move(one)}); };
  Walk walk(handle.get(), std::string(path), budget, found, 0, &claims);
  now = &walk;
  part.outcome = walk.run(source.open);
  part.encrypted = walk.encrypted();
  part.first_inner = walk.first_inner();
  if (source.failed) part.outcome.state = "unreadable";
  return part;
}

Part read_part_safely(FileReader& file, std::string_view path, Budget& budget, Claims& claims) {
  try {
    return read_part(file, path, budget, claims);
  } catch (const std::bad_alloc&) {  // must not leave a thread
    Part part;
    part.outcome = {"unreadable", "not enough memory", 0};
    return part;
  }
}

/// One outcome of all: what each of them meets (a damaged directory) is told once; of what single ones met that of the first
/// member.
ArchiveOutcome joined_outcome(const std::vector<Part>& parts) {
  std::int64_t encrypted = 0;
  const Part* told = nullptr;
  for (const Part& part : parts) {
    encrypted += part.encrypted;
    if (part.outcome.state.empty()) continue;
    const bool sooner =
        told != nullptr && part.first_inner != 0 && told->first_inner != 0 && part.first_inner < told->first_inner;
    const bool graver = told != nullptr && told->outcome.state == "unreadable" && told->encrypted > 0 && part.encrypted == 0;
    if (told == nullptr || sooner || graver) told = &part;
  }
  ArchiveOutcome outcome = told != nullptr ? told->outcome : parts.front().outcome;
  if (told != nullptr && told->encrypted > 0 && outcome.state == "unreadable")
    outcome.problem = std::to_string(encrypted) + " encrypted members";
  return outcome;
}

ArchiveOutcome read_by_parts(FileReader& file, std::string_view path, Budget& budget,
                             const std::function<void(GpuCodeFile)>& found) {
  Claims claims;
  std::vector<Part> parts(std::min(budget.limits.threads, 16U));
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < parts.size(); ++i)
    threads.emplace_back([&, i] { parts[i] = read_part_safely(file, path, budget, claims); });
  parts[0] = read_part_safely(file, path, budget, claims);
  for (std::thread& thread : threads) thread.join();
  std::vector<FoundMember> all;
  for (Part& part : parts) std::ranges::move(part.found, std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &FoundMember::member);
  for (FoundMember& one : all) found(std::move(one.file));
  return joined_outcome(parts);
}

bool is_zip(FileReader& file) {
  const auto head = file.read_at(0, 4);
  return head && head->starts_with("PK\3\4");
}

}  // namespace

ArchiveOutcome read_gpu_code_archive(FileReader& file, std::string_view path, const ArchiveLimits& limits,
                                     const std::function<void(GpuCodeFile)>& found) {
  Budget budget{limits};
  if (limits.threads > 1 && is_zip(file)) return read_by_parts(file, path, budget, found);
  Source source{file, budget};
  Handle handle;
  ArchiveOutcome outcome = open_archive(source, handle);
  if (!outcome.state.empty()) return outcome;
  outcome = Walk(handle.get(), std::string(path), budget, found, 0).run(source.open);
  if (source.failed) outcome.state = "unreadable";
  return outcome;
}

}  // namespace gpuvet
