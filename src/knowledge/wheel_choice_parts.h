#pragma once
// Inside of the wheel choice: the questions that every framework's choice asks.

#include "knowledge/wheel_choice.h"

namespace gpuvet {

/// Unknown when the driver is not known: nothing stands in the way then.
DriverFit fit_of_driver(const Knowledge& knowledge, const WheelNeeds& needs, const CudaVersion& cuda);
/// GpuTooNew, GpuDropped, DriverTooOld (only PTX serves, and the driver's compiler is older), or None.
WheelObstacle obstacle_of_gpus(const Knowledge& knowledge, const GpuTargets& targets, const CudaVersion& cuda,
                               const WheelNeeds& needs);
/// The same where only the toolkit's range is known (kernels are compiled on the spot).
WheelObstacle obstacle_of_gpus(const Knowledge& knowledge, std::uint32_t cuda_major, const WheelNeeds& needs);
WheelObstacle obstacle_of_python(const PythonRange& range, const WheelNeeds& needs);
/// Least driver for a build on these GPUs.
std::optional<DriverVersion> least_driver_of(const Knowledge& knowledge, const TorchBuild& build, const WheelNeeds& needs);

WheelChoice choose_torch(const Knowledge& knowledge, const WheelNeeds& needs);
WheelChoice choose_tensorflow(const Knowledge& knowledge, const WheelNeeds& needs);
WheelChoice choose_jax(const Knowledge& knowledge, const WheelNeeds& needs);
WheelChoice choose_cupy(const Knowledge& knowledge, const WheelNeeds& needs);
WheelChoice choose_onnxruntime(const Knowledge& knowledge, const WheelNeeds& needs);

}  // namespace gpuvet
