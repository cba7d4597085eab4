#pragma once
// .modinfo: NUL-terminated "key=value" strings. Read from the section, or found in a stream that has no section table yet.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "elf/elf.h"

namespace gpuvet {

/// The pairs of a .modinfo section. Strings without '=' are left out; padding NULs are skipped.
ModuleInfo parse_modinfo(std::string_view section);

/// The pairs of the section in an ELF file, by positioned reads.
tl::expected<ModuleInfo, std::string> read_modinfo_section(FileReader& file);

/// Finds .modinfo in a module that arrives in pieces. The section table stands at the end of a relocatable file, so the section
/// is known by its contents: the run of key=value strings around "vermagic=", which every module has exactly once.
class ModinfoScanner {
 public:
  /// True when the run is complete; `info` then has it.
  bool feed(std::string_view piece);
  /// The stream has ended: what was found so far, complete or not.
  bool finish();
  ModuleInfo info;

 private:
  bool scan(bool at_end);
  std::string window_;
  std::size_t searched_ = 0;
};

}  // namespace gpuvet
