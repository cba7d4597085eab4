// GPU code of files that come as a stream: members of wheels and other compressed archives.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "elf/ar_archive.h"
#include "elf/elf_header.h"
#include "elf/fatbin_scanner.h"
#include "elf/file_places.h"
#include "elf/gpu_code.h"
#include "elf/gpu_code_record.h"
#include "elf/gpu_code_tally.h"

namespace gpuvet {
namespace {

// Section headers end the file, with their names right before them in what every usual linker writes.
constexpr std::uint64_t names_before_headers = std::uint64_t{256} << 10;
constexpr std::size_t largest_tail = std::size_t{8} << 20;

/// The first and the last part of a file that is gone: enough for its section table.
class EndsReader final : public FileReader {
 public:
  EndsReader(std::string_view head, std::uint64_t tail_offset, std::string_view tail, std::uint64_t size)
      : head_(head), tail_offset_(tail_offset), tail_(tail), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    const ByteView part{offset >= tail_offset_ ? tail_ : head_};
    return std::string(part.slice(offset >= tail_offset_ ? offset - tail_offset_ : offset, length));
  }

 private:
  std::string_view head_;
  std::uint64_t tail_offset_;
  std::string_view tail_;
  std::uint64_t size_;
};

/// One file that is no archive.
class PlainStream {
 public:
  PlainStream() : scanner_(FatbinScanner::unknown_size, true, tally_) {}
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  void feed(std::string_view piece) {
    if (head_.size() < code_head_size) {
      head_.append(piece.substr(0, code_head_size - head_.size()));
      find_tail();
    }
    if (size_ + piece.size() > tail_offset_ && tail_.size() < largest_tail) {
      const auto skip = tail_offset_ > size_ ? tail_offset_ - size_ : 0;
      tail_.append(piece.substr(skip, largest_tail - tail_.size()));
    }
    scanner_.feed(std::min(size_, scanner_.wanted()), piece);
    size_ += piece.size();
  }

  void finish(GpuCodeFile& into) {
    scanner_.finish(size_);
    EndsReader ends(head_, tail_offset_, tail_, size_);
    into.size = static_cast<std::int64_t>(size_);
    put_gpu_code(scanner_, tally_, read_file_parts(ends), head_, into);
  }

  bool full() const { return scanner_.full(); }

 private:
  /// Where the section headers of an ELF file are.
  void find_tail() {
    if (tail_offset_ != FatbinScanner::unknown_size) return;
    const auto header = parse_elf_header(std::string_view(head_).substr(0, 64));
    if (!header || header->section_offset == 0) return;
    const auto offset = header->section_offset;
    tail_offset_ = offset > names_before_headers ? offset - names_before_headers : 0;
    // What the head already has before the tail begins is not lost.
    if (tail_offset_ < size_) tail_ = head_.substr(tail_offset_, size_ - tail_offset_);
  }

  GpuCodeTally tally_;
  FatbinScanner scanner_;
  std::uint64_t size_ = 0;
  std::string head_, tail_;
  std::uint64_t tail_offset_ = FatbinScanner::unknown_size;
};

/// A static archive: its members one after another.
class ArStream {
 public:
  void feed(std::string_view piece) {
    while (!piece.empty() && !stopped_) {
      if (left_ > 0) {
        const auto part = piece.substr(0, left_);
        if (member_) member_->feed(part);
        left_ -= part.size();
        piece.remove_prefix(part.size());
        if (left_ == 0) close_member();
        continue;
      }
      const auto take = std::min(piece.size(), ar_header_size - header_.size() + skip_);
      const auto skipped = std::min(take, skip_);
      skip_ -= skipped;
      header_.append(piece.substr(skipped, take - skipped));
      piece.remove_prefix(take);
      if (header_.size() == ar_header_size) open_member();
    }
  }

  void finish(GpuCodeFile& into) {
    if (left_ > 0 || !header_.empty()) set_problem("damaged", "the archive is cut off", total_);
    if (member_) close_member();
    const auto size = into.size;
    into = std::move(total_);
    into.size = size;
  }

 private:
  void open_member() {
    const auto header = parse_ar_header(header_);
    header_.clear();
    if (!header) {
      set_problem("damaged", "damaged archive", total_);
      stopped_ = true;
      return;
    }
    left_ = header->size;
    skip_ = header->size % 2;
    // A BSD name before the content shifts it by a multiple of 4 at most by chance; such archives are of macOS, without CUDA.
    if (!header->is_table()) member_ = std::make_unique<PlainStream>();
    if (left_ == 0) close_member();
  }
  void close_member() {
    if (!member_) return;
    GpuCodeFile record;
    member_->finish(record);
    add_gpu_code(record, total_);
    if (!record.problem.empty()) set_problem(record.state, record.problem, total_);
    stopped_ = stopped_ || member_->full();
    member_.reset();
  }

  std::string header_;
  std::size_t skip_ = ar_magic_size;  ///< bytes before the next header
  std::uint64_t left_ = 0;            ///< of the open member
  std::unique_ptr<PlainStream> member_;
  GpuCodeFile total_;
  bool stopped_ = false;
};

}  // namespace

struct GpuCodeStream::State {
  std::string first;  ///< until they tell an archive from other files
  std::unique_ptr<PlainStream> plain;
  std::unique_ptr<ArStream> archive;
  std::uint64_t size = 0;
  bool thin = false;

  void decide() {
    thin = is_thin_ar_archive(first);
    if (is_ar_archive(first))
      archive = std::make_unique<ArStream>();
    else
      plain = std::make_unique<PlainStream>();
  }
  void pass(std::string_view piece) {
    if (archive) archive->feed(piece);
    if (plain) plain->feed(piece);
  }
};

GpuCodeStream::GpuCodeStream() : state_(new State) {}
GpuCodeStream::~GpuCodeStream() { delete state_; }

void GpuCodeStream::feed(std::string_view piece) {
  state_->size += piece.size();
  if (state_->archive || state_->plain) {
    state_->pass(piece);
    return;
  }
  state_->first += piece;
  if (state_->first.size() < ar_magic_size) return;
  state_->decide();
  state_->pass(std::exchange(state_->first, {}));
}

GpuCodeFile GpuCodeStream::finish() {
  GpuCodeFile record;
  if (!state_->archive && !state_->plain) {
    state_->decide();
    state_->pass(std::exchange(state_->first, {}));
  }
  record.size = static_cast<std::int64_t>(state_->size);
  if (state_->archive) state_->archive->finish(record);
  if (state_->plain) state_->plain->finish(record);
  if (state_->thin) set_problem("unreadable", "a thin archive: its members are files of their own", record);
  return record;
}

}  // namespace gpuvet
