#include <cstddef>
#include <cstdint>
#include <string>

#include "collect/collect.h"
#include "collect/toolkit_parts.h"
#include "system/recorded.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)gpuvet::read_toolkit_manifest(text);
  (void)gpuvet::release_in_package_name(text);
  // The same bytes as every file of a toolkit that is read.
  gpuvet::RecordedTree tree;
  for (const auto* path : {"version.json", "version.txt", "bin/nvcc", "include/cuda.h", "include/crt/host_config.h"})
    tree.add_file("/usr/local/cuda-12.6/" + std::string(path), text, 0755);
  tree.add_file("/modules/cuda/12.6", text);
  gpuvet::Machine machine;
  machine.environment["MODULEPATH"] = "/modules";
  machine.environment["PATH"] = text.substr(0, 256);
  machine.environment["NVCC_PREPEND_FLAGS"] = text.substr(0, 256);
  const auto system = gpuvet::make_recorded_system(std::move(tree));
  gpuvet::collect_toolkits(*system, {}, machine);
  return 0;
}
