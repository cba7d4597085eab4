#include "text/log_scan.h"

#include <cstring>

namespace gpuvet {

namespace {

/// A word, and where in it the five bytes stand that are looked for first: rare ones make the scan fast.
struct Word {
  std::string_view text;
  std::size_t window = 0;
};

constexpr std::array words = {
    Word{"NVRM:"},
    Word{"NVRM "},
    Word{"nvidia"},
    Word{"NVIDIA"},
    Word{"nouveau"},
    Word{"[10de:"},
    Word{"Linux version"},
    Word{"ommand line: ", 4},
    Word{": BAR ", 1},
    Word{"bridge window"},
    Word{"AER: "},
    Word{"PCIe Bus Error"},
    Word{"DMAR: "},
    Word{"AMD-Vi"},
    Word{"iommu: "},
    Word{"arm-smmu"},
    Word{"PM: suspend"},
    Word{"PM: hibernat"},
    Word{"from system sleep state"},
    Word{"vfio-pci"},
    Word{"vfio_pci"},
    Word{"unsigned module"},
    Word{"unavailable key"},
    Word{"Lockdown: "},
    Word{"locked down from"},
    Word{"Secure boot"},
    Word{"PKCS#7"},
    Word{"rejected by service", 4},
    Word{"change power state", 11},
    Word{"D3cold"},
    Word{"pciehp: "},
    Word{"fabricmanager"},
    Word{"fabric manager"},
    Word{"Fabric Manager"},
    Word{"gridd"},
    Word{"bbswitch"},
    Word{"witcheroo"},
    Word{"-- Boot "},
    Word{"-- Reboot"},
    Word{"dxgk:"},
    Word{"select device driver"},
    Word{"SXid "},
    Word{"nova_core"},
    Word{"NovaCore"},
    Word{"nv-hostengine"},
};

constexpr std::size_t table_bits = 16;

constexpr std::uint32_t slot(std::uint32_t four_bytes) { return (four_bytes * 0x9E3779B1U) >> (32 - table_bits); }

constexpr std::uint32_t four_bytes_of(std::string_view s, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(s[at + i])} << (8 * i);
  return value;
}

using Table = std::array<std::uint8_t, (std::size_t{1} << table_bits) / 8>;

/// One bit for each four bytes that start at a word's window or right behind: looking at every second position finds each word.
constexpr Table make_table() {
  Table table{};
  for (const Word& word : words) {
    for (std::size_t shift : {0, 1}) {
      const std::uint32_t bit = slot(four_bytes_of(word.text, word.window + shift));
      table[bit / 8] = static_cast<std::uint8_t>(table[bit / 8] | (1U << (bit % 8)));
    }
  }
  return table;
}

constexpr Table table = make_table();

std::uint32_t load_four(const char* p) {
  // little-endian whatever the machine: compilers make one load of it
  const auto* b = reinterpret_cast<const unsigned char*>(p);
  return std::uint32_t{b[0]} | std::uint32_t{b[1]} << 8 | std::uint32_t{b[2]} << 16 | std::uint32_t{b[3]} << 24;
}

/// Are the four bytes at `p` in the table? True now and then for others, too.
bool candidate(const char* p) {
  const std::uint32_t bit = slot(load_four(p));
  return (table[bit / 8] >> (bit % 8) & 1) != 0;
}

bool word_around(std::string_view text, std::size_t position) {
  for (const Word& word : words) {
    for (std::size_t shift : {0, 1}) {
      const std::size_t before = word.window + shift;
      if (text[position] != word.text[before]) continue;
      if (position < before || text.size() - (position - before) < word.text.size()) continue;
      if (std::memcmp(text.data() + (position - before), word.text.data(), word.text.size()) == 0) return true;
    }
  }
  return false;
}

}  // namespace

LogScanner::LogScanner(std::string_view text) : text_(text) {}

void LogScanner::count_lines_up_to(std::size_t position) {
  while (counted_ < position) {
    const void* end = std::memchr(text_.data() + counted_, '\n', position - counted_);
    if (end == nullptr) return;
    counted_ = static_cast<std::size_t>(static_cast<const char*>(end) - text_.data()) + 1;
    ++number_;
  }
}

bool LogScanner::next(std::string_view& line, std::uint32_t& number) {
  const char* data = text_.data();
  for (std::size_t i = at_; i + 4 <= text_.size(); i += 2) {
    // four positions at a time as long as none of them is one: independent look-ups overlap
    while (i + 10 <= text_.size() &&
           !(candidate(data + i) | candidate(data + i + 2) | candidate(data + i + 4) | candidate(data + i + 6)))
      i += 8;
    if (i + 4 > text_.size()) break;
    if (!candidate(data + i) || !word_around(text_, i)) continue;
    const std::size_t before = i == 0 ? std::string_view::npos : text_.rfind('\n', i - 1);
    const std::size_t begin = before == std::string_view::npos || before < at_ ? at_ : before + 1;
    const void* found = std::memchr(data + i, '\n', text_.size() - i);
    const std::size_t end = found == nullptr ? text_.size() : static_cast<std::size_t>(static_cast<const char*>(found) - data);
    count_lines_up_to(begin);
    line = text_.substr(begin, end - begin);
    number = number_;
    at_ = end + (found == nullptr ? 0 : 1);
    return true;
  }
  at_ = text_.size();
  return false;
}

}  // namespace gpuvet
