// Image archives: whatever the bytes are, they are read or refused, and nothing of the merged tree leads out of it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "image/image_system.h"

namespace {

void walk(gpuvet::System& system, const std::string& folder, int depth) {
  const auto entries = system.list(folder, 64);
  if (!entries || depth == 8) return;
  for (const auto& entry : *entries) {
    const std::string path = (folder == "/" ? "" : folder) + "/" + entry.name;
    (void)system.read_head(path, 64);
    if (const auto real = system.real_path(path); real && (!real->starts_with('/') || real->find("/../") != std::string::npos))
      std::abort();
    if (entry.type == gpuvet::FileType::Directory) walk(system, path, depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image = gpuvet::read_image_bytes({reinterpret_cast<const char*>(data), size}, "amd64");
  if (image) walk(*gpuvet::make_image_system(*image), "/", 0);
  return 0;
}
