#pragma once
// A set of names with numbers, for some hundred thousand symbol names: open addressing, no copies of the names.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace gpuvet {

class NameTable {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  void reserve(std::size_t count) {
    std::size_t slots = 16;
    while (slots < count * 2) slots *= 2;
    slots_.assign(slots, 0);
  }
  /// Number of the name, in the order of first insertion. reserve() must have made room.
  std::uint32_t insert(std::string_view name) {
    std::uint32_t& slot = slots_[place(name)];
    if (slot == 0) names_.push_back(name), slot = static_cast<std::uint32_t>(names_.size());
    return slot - 1;
  }
  std::uint32_t find(std::string_view name) const {
    if (slots_.empty()) return none;
    const std::uint32_t slot = slots_[place(name)];
    return slot == 0 ? none : slot - 1;
  }
  std::size_t size() const { return names_.size(); }

 private:
  std::size_t place(std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<std::string_view>{}(name)&mask;
    while (slots_[at] != 0 && names_[slots_[at] - 1] != name) at = (at + 1) & mask;
    return at;
  }

  std::vector<std::uint32_t> slots_;  ///< number + 1; 0: free
  std::vector<std::string_view> names_;
};

}  // namespace gpuvet
