// What a text shows against guesses: a message that several causes print names them all, and another line may rule some out.

#include <algorithm>

#include "rules/observed.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Kinds = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view kind, Kinds kinds) { return std::ranges::find(kinds, kind) != kinds.end(); }

bool shows_gpu(const RuleContext& context) {
  if (!context.gpus.empty()) return true;
  return std::ranges::any_of(observations(context.machine), [](const Observation& o) {
    return is_one_of(o.meaning, {"smi-works", "smi-gpu", "gpu", "nvidia-pci-device", "nvrm-legacy-gpu"});
  });
}

bool shows_loaded_driver(const RuleContext& context) {
  return context.machine.kernel_driver.version.is_known() || observed(context.machine, "smi-works") != nullptr;
}

bool shows_libcuda(const RuleContext& context) {
  return std::ranges::any_of(observations(context.machine), [](const Observation& o) {
    // Triton's own words: it found the run-time name and wants the one without a number.
    return (o.meaning == "library-seen" && value_of(o, "name").starts_with("libcuda.so.1")) ||
           o.signature == "triton-libcuda-symlink";
  });
}

/// A GPU is listed, and only those of others.
bool shows_other_gpus_only(const RuleContext& context) {
  return observed(context.machine, "other-gpu") != nullptr && !shows_gpu(context);
}

bool shows_jax_plugin(const RuleContext& context) {
  const auto* environments = context.machine.python.environments.get();
  if (environments == nullptr) return false;
  return std::ranges::any_of(*environments, [](const PythonEnvironment& environment) {
    return std::ranges::any_of(environment.packages,
                               [](const PythonPackage& package) { return package.name.starts_with("jax-cuda"); });
  });
}

/// A program in the container did not find NVIDIA's management library: it never had the driver, so it has not lost the GPU.
bool shows_container_without_driver(const RuleContext& context) {
  return std::ranges::any_of(observations(context.machine), [](const Observation& o) {
    return o.origin.text.find("libnvidia-ml.so.1: cannot open") != std::string::npos;
  });
}

}  // namespace

bool contradicted_by_text(const RuleContext& context, std::string_view kind) {
  if (is_one_of(kind, {"no-nvidia-gpu-in-machine", "dgpu-switched-off-on-laptop"})) return shows_gpu(context);
  if (is_one_of(kind, {"driver-not-installed", "module-not-loaded", "module-missing-for-running-kernel", "nouveau-holds-the-gpu",
                       "secure-boot-module-rejected"}))
    return shows_loaded_driver(context);
  if (kind == "libcuda-missing") return shows_libcuda(context);
  if (is_one_of(kind, {"wsl-windows-driver-too-old", "wsl-gpu-in-tcc-mode"})) return shows_other_gpus_only(context);
  if (kind == "toolkit-not-installed") return observed(context.machine, "nvcc-version") != nullptr;
  if (kind == "container-lost-gpu-after-daemon-reload") return shows_container_without_driver(context);
  // No build was ever compiled for older boards than these; what they lack is a build for them.
  if (kind == "gpu-arch-dropped-by-framework") return context.in(World::Jetson);
  if (is_one_of(kind, {"jax-cuda-plugin-missing", "cpu-only-framework"})) return shows_jax_plugin(context);
  return false;
}

}  // namespace gpuvet
