// GPU code of files with positioned reads: bodies of GPU programs are never read, only the headers before them.

#include "elf/gpu_code.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "elf/ar_archive.h"
#include "elf/cubin.h"
#include "elf/fatbin_scanner.h"
#include "elf/file_places.h"
#include "elf/gpu_code_record.h"
#include "elf/gpu_code_tally.h"

namespace gpuvet {
namespace {

// Among containers the next header is near, and much of the rest is not wanted; elsewhere every byte is. Both fit into caches.
constexpr std::size_t small_window = std::size_t{8} << 10, large_window = std::size_t{256} << 10;

class Deadline {
 public:
  explicit Deadline(int limit_ms) : limited_(limit_ms > 0), end_(Clock::now() + std::chrono::milliseconds(limit_ms)) {}
  bool passed() const { return limited_ && Clock::now() > end_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool limited_;
  Clock::time_point end_;
};

/// A member of an archive as a file of its own.
class PartReader final : public FileReader {
 public:
  PartReader(FileReader& file, std::uint64_t offset, std::uint64_t size) : file_(file), offset_(offset), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return file_.read_at(offset_ + std::min(offset, size_), bounded(offset, length));
  }
  Result<std::size_t> read_into(std::uint64_t offset, char* to, std::size_t length) override {
    return file_.read_into(offset_ + std::min(offset, size_), to, bounded(offset, length));
  }
  std::uint64_t next_data(std::uint64_t offset) override {
    return std::min(file_.next_data(offset_ + std::min(offset, size_)) - offset_, size_);
  }

 private:
  std::size_t bounded(std::uint64_t offset, std::size_t length) const {
    return offset >= size_ ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(length, size_ - offset));
  }
  FileReader& file_;
  std::uint64_t offset_, size_;
};

struct Reading {
  FileReader& file;
  FatbinScanner& scanner;
  std::vector<char>& buffer;
  const Deadline& deadline;
  GpuCodeFile& into;
};

bool all_zero(std::string_view bytes) { return bytes.front() == '\0' && bytes.substr(1) == bytes.substr(0, bytes.size() - 1); }

/// Feeds the scanner what it wants of [begin, end). False: it makes no sense to go on.
bool feed_range(const Reading& reading, std::uint64_t begin, std::uint64_t end) {
  auto& scanner = reading.scanner;
  scanner.jump(begin);
  std::size_t window = small_window;
  while (scanner.wanted() < end && !scanner.full()) {
    if (reading.deadline.passed()) {
      set_problem("limit", "reading took too long; the rest was not read", reading.into);
      return false;
    }
    const auto at = scanner.wanted();
    const bool among_containers = !scanner.searching() || at == scanner.last_end();
    window = among_containers ? small_window : std::min(window * 2, large_window);
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(window, end - at));
    const auto got = reading.file.read_into(at, reading.buffer.data(), length);
    if (!got || *got == 0) {
      set_problem("unreadable", got ? "the file became shorter while it was read" : got.error().message, reading.into);
      return false;
    }
    const std::string_view piece(reading.buffer.data(), *got);
    scanner.feed(at, piece);
    // Only a hole of a sparse file is worth the question where it ends.
    if (scanner.searching() && window == large_window && all_zero(piece)) scanner.jump(reading.file.next_data(at + *got) / 4 * 4);
  }
  return !scanner.full();
}

void read_ranges(const Reading& reading, const FileParts& parts, bool headers_only) {
  if (!headers_only) {
    feed_range(reading, 0, reading.file.size());
    return;
  }
  for (const auto& part : parts.list) {
    if (is_listed_section(part.name) && !feed_range(reading, part.offset, part.end())) return;
  }
}

void read_plain(FileReader& file, const GpuCodeOptions& options, const Deadline& deadline, std::vector<char>& buffer,
                GpuCodeFile& into) {
  const auto head = file.read_at(0, code_head_size);
  if (!head) {
    set_problem("unreadable", head.error().message, into);
    return;
  }
  const auto parts = read_file_parts(file);
  // Files without sections (fatbins, texts) have no headers that would be quicker to read; a cubin is one header.
  const bool headers_only = options.headers_only && !parts.list.empty() && !parse_cubin_header(head->substr(0, 64));
  GpuCodeTally tally;
  FatbinScanner scanner(file.size(), options.decompress_limit > 0, tally);
  read_ranges({file, scanner, buffer, deadline, into}, parts, headers_only);
  scanner.finish(file.size());
  put_gpu_code(scanner, tally, parts, *head, into);
  if (headers_only && into.state.empty()) into.state = "headers";
}

void read_archive(FileReader& file, const GpuCodeOptions& options, const Deadline& deadline, std::vector<char>& buffer,
                  GpuCodeFile& into) {
  const auto walked = for_each_ar_member(file, [&](const ArMember& member) {
    PartReader part(file, member.offset, member.size);
    GpuCodeFile record;
    read_plain(part, options, deadline, buffer, record);
    add_gpu_code(record, into);
    if (!record.problem.empty()) set_problem(record.state, member.name + ": " + record.problem, into);
    if (record.state == "headers" && into.state.empty()) into.state = "headers";
    return record.state != "limit";
  });
  if (!walked) set_problem("damaged", walked.error(), into);
}

}  // namespace

GpuCodeFile read_gpu_code(FileReader& file, const GpuCodeOptions& options) {
  GpuCodeFile record;
  record.size = static_cast<std::int64_t>(file.size());
  const auto magic = file.read_at(0, ar_magic_size);
  if (!magic) {
    set_problem("unreadable", magic.error().message, record);
    return record;
  }
  const Deadline deadline(options.time_limit_ms);
  std::vector<char> buffer(large_window);
  if (is_thin_ar_archive(*magic)) {
    set_problem("unreadable", "a thin archive: its members are files of their own", record);
  } else if (is_ar_archive(*magic)) {
    read_archive(file, options, deadline, buffer, record);
  } else {
    read_plain(file, options, deadline, buffer, record);
  }
  return record;
}

}  // namespace gpuvet
