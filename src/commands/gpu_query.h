#pragma once
// A GPU as people name it: "RTX 4090", "sm_120", "12.0", "10de:2684".

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "knowledge/knowledge.h"

namespace gpuvet {

struct NamedGpu {
  std::string label;  ///< "RTX 4090 (8.9)", "sm_120 (12.0)"
  ComputeCapability capability;
};

struct GpuQueryError {
  bool ambiguous = false;          ///< GPUs of several compute capabilities have this name; else none has it
  std::vector<std::string> names;  ///< those, or names that come near
};

tl::expected<NamedGpu, GpuQueryError> find_gpu(const Knowledge& knowledge, std::string_view text);

}  // namespace gpuvet
