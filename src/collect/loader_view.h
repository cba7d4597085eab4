#pragma once
// What a new process' dynamic loader sees of the driver's libraries. Filled by collect_user_driver before the copies are judged
// by the search.

#include <string>
#include <string_view>
#include <vector>

#include "collect/collect.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Class and machine of the programs of this system: what a process' libraries must match.
struct ProgramKind {
  std::string elf_class;
  std::string machine;
};

/// From os.architecture, else from the ELF header of a shell; empty fields when neither is seen.
ProgramKind program_kind(System& system, const Machine& machine);

/// Libraries whose copies are looked for: "libcuda.so", "libnvidia-ml.so", … (beginnings of file names).
bool is_driver_library_name(std::string_view file_name);
/// The soname of that library: "libcuda.so.1"; empty for other names.
std::string driver_soname(std::string_view file_name);

/// Folders that the loader of this distribution searches without being told, in order (ld.so --help; facts/loader_facts.tsv).
std::vector<std::string> default_folders(System& system, const Machine& machine);

/// Folders outside the search path where copies usually lie: toolkit stubs, compat packages, WSL, Tegra, alternatives, …
std::vector<std::string> usual_folders(System& system);

/// Fills machine.loader. `problems` receives what could not be read: then the search was not complete.
void collect_loader_view(System& system, Machine& machine, std::vector<std::string>& problems);

}  // namespace gpuvet
