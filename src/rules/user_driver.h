#pragma once
// Rules of the user-mode driver, grouped by what they look at.

#include <optional>

#include "rules/rule.h"

namespace gpuvet::user_driver {

// user_driver_libraries.cpp: which copy of a library a new process gets
std::optional<Finding> stub_libcuda_loaded(const RuleContext& context);
std::optional<Finding> libcuda_missing(const RuleContext& context);
std::optional<Finding> nvml_missing(const RuleContext& context);
std::optional<Finding> libcuda_so_symlink_missing(const RuleContext& context);
std::optional<Finding> multiple_libcuda(const RuleContext& context);

// user_driver_compat.cpp: forward compatibility, and what an image asks for
std::optional<Finding> compat_libcuda_shadows_driver(const RuleContext& context);
std::optional<Finding> forward_compat_on_unsupported_gpu(const RuleContext& context);
std::optional<Finding> driver_too_old_for_container_image(const RuleContext& context);

/// Adds cuda-compat of this CUDA release or the next one that the driver's branch carries: only where all GPUs are data-centre
/// ones.
void add_forward_compatibility(const RuleContext& context, const CudaVersion& cuda, Finding& finding);

// user_driver_services.cpp: fabric manager, persistence daemon
std::optional<Finding> fabric_manager_version_mismatch(const RuleContext& context);
std::optional<Finding> fabric_manager_not_running(const RuleContext& context);
std::optional<Finding> nvidia_persistenced_down(const RuleContext& context);

// user_driver_vgpu.cpp: guests of a vGPU
std::optional<Finding> vgpu_unlicensed(const RuleContext& context);
std::optional<Finding> vgpu_guest_driver_mismatch(const RuleContext& context);

// user_driver_frameworks.cpp: the contract between frameworks and the driver
std::optional<Finding> driver_too_old_for_wheel(const RuleContext& context);
std::optional<Finding> ptx_newer_than_driver(const RuleContext& context);

/// Adds how to come to a driver that is new enough, by where the driver comes from; nothing where none serves the GPUs here.
void add_driver_update(const RuleContext& context, const DriverVersion& least, const CudaVersion& cuda, Finding& finding);

// user_driver_app.cpp: the contract between other programs and the driver
std::optional<Finding> driver_too_old_for_app(const RuleContext& context);
/// The part of ptx-newer-than-driver that is about programs.
std::optional<Finding> program_ptx_newer_than_driver(const RuleContext& context);

/// What NVIDIA_REQUIRE_CUDA (and CUDA_VERSION) of an image ask for: its CUDA release; nothing when not told.
std::optional<CudaVersion> image_cuda_version(const Machine& machine);

// image_requirement.cpp
/// A variable NVIDIA_REQUIRE_* of the image ("NAME=VALUE") that this driver surely does not meet; nothing when all are met or
/// when a part of them cannot be judged. `cuda>=` counts as met under minor-version compatibility.
std::optional<std::string> unmet_requirement(const RuleContext& context);

}  // namespace gpuvet::user_driver
