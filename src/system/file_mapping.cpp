#include "system/file_mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace gpuvet {
namespace {

/// The mapped places, for the handler: a fixed table, which it may read at any time.
struct Place {
  std::atomic<std::uintptr_t> start{0}, end{0};  ///< end 0: free; 1: being filled
};
constexpr std::size_t max_places = 256;
std::array<Place, max_places> places;

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// Zeros from the page that could not be read to the end of the file; then the program goes on. Any other SIGBUS ends it.
void on_bus_error(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Place& place : places) {
    const auto start = place.start.load(), end = place.end.load();
    if (at < start || at >= end) continue;
    const auto in_page = at % page_size();
    void* const wanted = static_cast<char*>(info->si_addr) - in_page;
    if (::mmap(wanted, end - (at - in_page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == wanted) {
      errno = error;
      return;
    }
  }
  ::signal(SIGBUS, SIG_DFL);  // the access is tried again, and ends the program
}

bool handle_bus_errors() {
  (void)page_size();
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, nullptr) == 0;
}

int free_place() {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (std::uintptr_t free = 0; places[i].end.compare_exchange_strong(free, 1)) return static_cast<int>(i);
  return -1;
}

}  // namespace

FileMapping::FileMapping(int fd, std::uint64_t size) {
  static const bool handled = handle_bus_errors();
  if (!handled || size == 0 || size > SIZE_MAX) return;
  const int slot = free_place();
  if (slot < 0) return;
  Place& place = places[static_cast<std::size_t>(slot)];
  void* const start = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) {
    place.end.store(0);
    return;
  }
  place.start.store(reinterpret_cast<std::uintptr_t>(start));
  place.end.store(reinterpret_cast<std::uintptr_t>(start) + static_cast<std::uintptr_t>(size));
  bytes_ = {static_cast<const char*>(start), static_cast<std::size_t>(size)};
  slot_ = slot;
}

FileMapping::~FileMapping() {
  if (slot_ < 0) return;
  places[static_cast<std::size_t>(slot_)].end.store(0);
  ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), slot_(std::exchange(other.slot_, -1)) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(slot_, other.slot_);
  return *this;
}

}  // namespace gpuvet
