// The list of the runtime-library link's rules; the more specific comes first.

#include "rules/runtime_library.h"

#include <array>

namespace gpuvet {

std::span<const Rule> runtime_library_rules() {
  using namespace runtime_library;
  static constexpr std::array rules = {
      Rule{"glibc-too-old-for-wheel", glibc_too_old},
      Rule{"cuda-runtime-lib-not-on-path", not_on_path},
      Rule{"toolkit-version-not-what-framework-wants", other_release},
      Rule{"cuda-runtime-lib-missing", nowhere},
      Rule{"duplicate-nvidia-pip-libs", duplicate_wheels},
  };
  return rules;
}

}  // namespace gpuvet
