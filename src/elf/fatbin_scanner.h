#pragma once
// Finds GPU code in bytes that come in order, wherever it lies: fatbin containers by their magic number, entry by entry, and
// cubins outside of any container. Bodies are hopped over: `wanted` tells which byte it needs next, so that a reader with
// positioned reads can leave out the rest. Nothing it reads decides how much memory it takes.

#include <cstdint>
#include <string>
#include <string_view>

#include "elf/fatbin.h"
#include "elf/gpu_code_tally.h"

namespace gpuvet {

class FatbinScanner {
 public:
  static constexpr std::uint64_t unknown_size = ~std::uint64_t{0};

  /// `size`: of the file, where it is known. `peek`: payloads may be decompressed where only they tell whether there is code at
  /// all.
  FatbinScanner(std::uint64_t size, bool peek, GpuCodeTally& tally) : size_(size), peek_(peek), tally_(tally) {}

  /// The next byte it needs. What lies before it may be left out.
  std::uint64_t wanted() const { return position_ + held_.size(); }
  /// Bytes of the file from `offset` on; `offset` is at most `wanted()`.
  void feed(std::uint64_t offset, std::string_view piece);
  /// Goes on at `offset`, a multiple of 4 beyond `wanted()`: the bytes between hold nothing.
  void jump(std::uint64_t offset);
  /// The file ends here: a container that is still open is cut off.
  void finish(std::uint64_t file_size);

  bool searching() const { return state_ == State::Search; }
  std::uint64_t last_end() const { return last_end_; }  ///< where the last container ended
  bool full() const { return full_; }                   ///< too much was found: the rest is not looked at
  std::uint64_t damaged() const { return damaged_; }    ///< containers whose entries do not fill them
  std::uint64_t first_damaged() const { return first_damaged_; }
  std::uint64_t rejected() const { return rejected_; }  ///< headers of containers without one good entry
  std::uint64_t first_rejected() const { return first_rejected_; }

 private:
  enum class State : std::uint8_t { Search, Container, Entry, Payload, CubinHeader, Cubin };

  // Each step looks at bytes that begin at position_ and either moves on or asks for more of them (false).
  bool step(std::string_view bytes);
  bool search(std::string_view bytes);
  bool container(std::string_view bytes);
  bool entry(std::string_view bytes);
  bool payload(std::string_view bytes);
  bool cubin_header(std::string_view bytes);
  bool cubin(std::string_view bytes);
  bool ask(std::uint64_t bytes);
  /// Steps through a piece that begins at position_ and keeps what the next piece must complete.
  void run(std::string_view piece);

  void count(const FatbinEntry& entry, char variant);
  void close();
  void damage();
  void leave_container(std::uint64_t offset);
  void uncount(const FatbinEntry& entry);
  void keep(std::uint64_t offset, CodeUnit unit);
  void search_from(std::uint64_t offset);
  bool wants_payload(const FatbinEntry& entry) const;

  std::uint64_t size_;
  bool peek_;
  GpuCodeTally& tally_;

  State state_ = State::Search;
  std::uint64_t position_ = 0;
  std::string held_;        ///< bytes from position_ on that were not enough
  std::uint64_t need_ = 0;  ///< bytes that are enough

  std::uint64_t start_ = 0, end_ = 0;  ///< of the open container or cubin
  CodeUnit unit_;
  FatbinEntry entry_;
  unsigned entries_ = 0, empty_entries_ = 0;

  std::uint64_t last_end_ = 0;
  bool full_ = false;
  std::uint64_t damaged_ = 0, first_damaged_ = 0, rejected_ = 0, first_rejected_ = 0;
};

}  // namespace gpuvet
