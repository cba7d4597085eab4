// METADATA, WHEEL, pyvenv.cfg and the names of folders: all line by line.
#include <cstddef>
#include <cstdint>

#include "collect/python_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto metadata = gpuvet::read_metadata_headers(text);
  for (const auto& requirement : metadata.requirements) gpuvet::requirement_name(requirement);
  gpuvet::read_wheel_tags(text);
  gpuvet::read_venv_config(text);
  const std::string_view line = text.substr(0, text.find('\n'));
  gpuvet::parse_distribution_folder(line);
  gpuvet::parse_conda_file(line);
  gpuvet::cuda_of_tag(line);
  gpuvet::package_matters(line);
  return 0;
}
