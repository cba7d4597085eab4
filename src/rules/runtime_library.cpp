// The list of the runtime-library link's rules; the more specific comes first.

#include "rules/runtime_library.h"

#include <array>

namespace gpuvet {

std::span<const Rule> runtime_library_rules() {
  using namespace runtime_library;
  static constexpr std::array rules = {
      Rule{"binary-file-damaged", damaged_binary},
      Rule{"glibc-too-old-for-wheel", glibc_too_old},
      Rule{"nvjitlink-mismatch-ld-library-path", nvjitlink_mismatch},
      Rule{"cublaslt-mismatch", cublaslt_mismatch},
      Rule{"mixed-cudnn-sublibraries", mixed_cudnn},
      Rule{"wrong-cudnn-version-loaded", wrong_cudnn},
      Rule{"nccl-version-mismatch", nccl_mismatch},
      Rule{"cuda-runtime-lib-not-on-path", not_on_path},
      Rule{"toolkit-version-not-what-framework-wants", other_release},
      Rule{"cuda-runtime-lib-missing", nowhere},
      Rule{"duplicate-nvidia-pip-libs", duplicate_wheels},
      Rule{"cuda-lib-shadowed-ld-library-path", shadowed_by_library_path},
      Rule{"nvrtc-builtins-mismatch", nvrtc_builtins},
      Rule{"ld-preload-breaks-cuda", preload_breaks},
      Rule{"multiple-cudart-in-process", multiple_cudart},
  };
  return rules;
}

}  // namespace gpuvet
