#pragma once
// Files that the user names on the command line: of this host, whatever --root is. Bounded; devices, sockets and
// FIFOs are refused; standard input and a shell's "<(COMMAND)" may be pipes, which end after a deadline.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "system/file_mapping.h"
#include "system/system.h"

namespace gpuvet {

/// The whole file; "-" is standard input. More than `limit` bytes is TooBig.
Result<std::string> read_user_file(const std::string& path, std::size_t limit);
/// The last `limit` bytes.
Result<System::Tail> read_user_file_tail(const std::string& path, std::size_t limit);
/// The whole file in pieces, of any length; "-" is standard input, which may take its time. A named pipe that stays silent for 30
/// seconds is given up.
Result<void> stream_user_file(const std::string& path, const std::function<void(std::string_view)>& take);
/// A regular file in memory, of any length, for who looks at a few places of a large one.
Result<FileMapping> map_user_file(const std::string& path);
bool is_user_folder(const std::string& path);
/// Names of the *.tsv files in a folder, sorted.
Result<std::vector<std::string>> list_user_tables(const std::string& folder);

}  // namespace gpuvet
