#include "elf/read_only_data.h"

namespace gpuvet {

std::vector<FileRange> read_only_data(const ElfFile& elf) {
  constexpr std::uint32_t segment_load = 1, flag_execute = 1, flag_write = 2;
  if (const auto section = find_section(elf.file, elf.header, ".rodata")) return {{section->offset, section->size}};
  std::vector<FileRange> ranges;
  for (const bool executable : {false, true})
    for (const auto& s : elf.segments)
      if (s.type == segment_load && !(s.flags & flag_write) && ((s.flags & flag_execute) != 0) == executable)
        ranges.push_back({s.offset, s.file_size});
  return ranges;
}

}  // namespace gpuvet
