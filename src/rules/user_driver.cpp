// The list of the user-mode driver's rules; the more specific comes first.

#include "rules/user_driver.h"

#include <array>

namespace gpuvet {

std::span<const Rule> user_driver_rules() {
  using namespace user_driver;
  static constexpr std::array rules = {
      Rule{"stub-libcuda-loaded", stub_libcuda_loaded},
      Rule{"driver-too-old-for-container-image", driver_too_old_for_container_image},
      Rule{"compat-libcuda-shadows-driver-in-container", compat_libcuda_shadows_driver},
      Rule{"forward-compat-on-unsupported-gpu", forward_compat_on_unsupported_gpu},
      Rule{"driver-too-old-for-wheel", driver_too_old_for_wheel},
      Rule{"driver-too-old-for-app", driver_too_old_for_app},
      Rule{"ptx-newer-than-driver", ptx_newer_than_driver},
      Rule{"libcuda-missing", libcuda_missing},
      Rule{"nvml-missing", nvml_missing},
      Rule{"fabric-manager-version-mismatch", fabric_manager_version_mismatch},
      Rule{"fabric-manager-not-running", fabric_manager_not_running},
      Rule{"vgpu-guest-driver-mismatch", vgpu_guest_driver_mismatch},
      Rule{"vgpu-unlicensed", vgpu_unlicensed},
      Rule{"libcuda-so-symlink-missing", libcuda_so_symlink_missing},
      Rule{"multiple-libcuda", multiple_libcuda},
      Rule{"nvidia-persistenced-down", nvidia_persistenced_down},
  };
  return rules;
}

}  // namespace gpuvet
