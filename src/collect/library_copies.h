#pragma once
// Where copies of a library lie that the loader does not come to: toolkits' folders, wheels and environments, the system's
// folders.

#include <string>
#include <string_view>
#include <vector>

#include "collect/object_files.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Folders of this machine in which libraries usually lie, each real folder once. Uses machine.python where it was collected.
/// At most 2,048; one listing a folder.
std::vector<std::string> usual_library_folders(System& system, const Machine& machine);

/// Usable copies (ELF, of this class and machine) of a file name in those folders, each real file once, at most `limit`.
std::vector<const LibraryFile*> find_library_copies(SystemObjects& objects, const std::vector<std::string>& folders,
                                                    std::string_view name, std::string_view elf_class, std::string_view machine,
                                                    std::size_t limit = 16);

}  // namespace gpuvet
