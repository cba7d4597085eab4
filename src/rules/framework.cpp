// The list of the framework link's rules; the more specific comes first.

#include "rules/framework.h"

#include <array>

#include "rules/framework_packages.h"

namespace gpuvet {

std::span<const Rule> framework_rules() {
  using namespace framework;
  static constexpr std::array rules = {
      Rule{"package-without-windows-build", no_windows_build},
      Rule{"framework-has-no-gpu-build-for-os", no_gpu_build_for_os},
      Rule{"placeholder-nvidia-package", placeholder_package},
      Rule{"jetson-desktop-wheel", jetson_desktop_wheel},
      Rule{"cpu-only-framework-aarch64", cpu_only_aarch64},
      Rule{"python-too-new-for-gpu-wheel", python_too_new},
      Rule{"framework-in-other-environment", framework_in_other_environment},
      Rule{"framework-not-installed", framework_not_installed},
      Rule{"opencv-without-cuda", opencv_without_cuda},
      Rule{"jax-cuda-plugin-missing", jax_plugin_missing},
      Rule{"conda-pip-mixed", conda_pip_mixed},
      Rule{"several-builds-of-one-framework", several_builds},
      Rule{"tensorflow-cuda-libs-missing", tensorflow_libraries_missing},
      Rule{"cpu-only-framework", cpu_only},
      Rule{"gpu-arch-dropped-by-framework", arch_dropped},
      Rule{"no-kernel-image-arch-missing", arch_missing},
      Rule{"torchvision-cuda-mismatch", torchvision_mismatch},
      Rule{"extension-arch-missing", extension_arch_missing},
      Rule{"extension-abi-mismatch-with-torch", extension_abi_mismatch},
  };
  return rules;
}

}  // namespace gpuvet
