#include "loader/search_path.h"

namespace gpuvet {

std::optional<std::int64_t> cache_flags(std::string_view elf_class, std::string_view machine) {
  // FLAG_ELF_LIBC6 (3) with the machine's bits of glibc's sysdeps/generic/ldconfig.h.
  if (machine == "x86_64") return elf_class == "64" ? 0x0303 : 0x0803;
  if (machine == "i386") return 0x0003;
  if (machine == "aarch64") return 0x0a03;
  if (machine == "ppc64") return 0x0503;
  if (machine == "s390x") return 0x0403;
  return std::nullopt;
}

std::vector<std::string> split_library_path(std::string_view value) {
  std::vector<std::string> folders;
  if (value.empty()) return folders;  // set to nothing is as good as not set
  while (true) {
    const auto end = value.find_first_of(":;");
    auto folder = std::string(value.substr(0, end));
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    folders.push_back(folder.empty() ? "." : folder);
    if (end == std::string_view::npos) return folders;
    value.remove_prefix(end + 1);
  }
}

}  // namespace gpuvet
