#pragma once
// ELF bytes → records. Every offset and count is range-checked; nothing is cast onto the file. Both byte orders, 32 and 64 bit.
// Format: the gABI (System V ABI, chapters 4 and 5) and glibc's elf.h for GNU extensions.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Key=value pairs of a kernel module's .modinfo section ("version", "vermagic", "license", "srcversion", …); several values
/// of one key are kept in order.
using ModuleInfo = std::vector<std::pair<std::string, std::string>>;

/// .modinfo of a (decompressed) module image or of the first part of one, as long as that part holds it.
tl::expected<ModuleInfo, std::string> read_module_info(std::string_view elf_bytes);

/// Reads what a loader and the rules need from an ELF file by positioned reads: class, machine, soname, needed, RPATH/RUNPATH,
/// flags, versions, whether it is a toolkit stub, and the driver version inside. `state` says why there is nothing.
/// `path` and `real_path` are filled by the caller.
LibraryFile read_library_file(FileReader& file);

}  // namespace gpuvet
