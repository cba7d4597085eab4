#pragma once
// Names of kernel modules: the same module has several, depending on who asks and who packaged it.

#include <string>
#include <string_view>

namespace gpuvet {

/// The kernel's own form of a module name: '-' becomes '_'.
std::string module_name_with_underscores(std::string_view name);

/// Which of NVIDIA's modules a file is, whatever the distribution calls it: Debian's "nvidia-current-uvm" and
/// "nvidia-tesla-470-uvm" are "nvidia-uvm", "nvidia-legacy-390xx" is "nvidia". Answers "nvidia", "nvidia-uvm",
/// "nvidia-modeset", "nvidia-drm", "nvidia-peermem", "nvidia-vgpu-vfio", "nvidia-fs"; empty for every other module,
/// in-tree ones like nvidiafb and nvidia-wmi-ec-backlight among them.
std::string_view nvidia_module_role(std::string_view name);

}  // namespace gpuvet
