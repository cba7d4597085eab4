#include <cstddef>
#include <cstdint>
#include <string>

#include "collect/ldconf.h"
#include "system/recorded.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  gpuvet::RecordedTree tree;
  tree.add_file("/etc/ld.so.conf", text);
  tree.add_file("/etc/ld.so.conf.d/a.conf", text);
  const auto system = gpuvet::make_recorded_system(std::move(tree));
  std::vector<std::string> problems;
  (void)gpuvet::read_ldconf(*system, problems);
  const auto half = std::string_view(text).substr(0, text.size() / 2);
  (void)gpuvet::glob_match(half, std::string_view(text).substr(half.size()));
  return 0;
}
