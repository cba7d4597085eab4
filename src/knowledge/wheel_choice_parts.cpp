// Driver, GPU and Python against one build; and which framework a distribution belongs to.

#include "knowledge/wheel_choice_parts.h"

namespace gpuvet {
namespace {

WheelObstacle obstacle_of(GpuCode code) {
  switch (code) {
    case GpuCode::TooNew:
      return WheelObstacle::GpuTooNew;
    case GpuCode::Dropped:
    case GpuCode::NotIncluded:
      return WheelObstacle::GpuDropped;
    default:
      return WheelObstacle::None;
  }
}

bool driver_reads_ptx(const Knowledge& knowledge, const WheelNeeds& needs, const CudaVersion& cuda) {
  const DriverFit fit = fit_of_driver(knowledge, needs, cuda);
  return fit == DriverFit::Native || fit == DriverFit::Unknown;
}

}  // namespace

DriverFit fit_of_driver(const Knowledge& knowledge, const WheelNeeds& needs, const CudaVersion& cuda) {
  const bool windows = needs.windows_driver || needs.platform == Platform::WindowsX86_64;
  if (needs.driver) return driver_fit(knowledge, *needs.driver, cuda, windows);
  if (needs.native_cuda) return driver_fit(knowledge, *needs.native_cuda, cuda);
  return DriverFit::Unknown;
}

WheelObstacle obstacle_of_gpus(const Knowledge& knowledge, const GpuTargets& targets, const CudaVersion& cuda,
                               const WheelNeeds& needs) {
  for (const ComputeCapability& gpu : needs.gpus) {
    const GpuCode code = code_for(targets, gpu);
    if (const WheelObstacle obstacle = obstacle_of(code); obstacle != WheelObstacle::None) return obstacle;
    if (code == GpuCode::RunsByPtx && !driver_reads_ptx(knowledge, needs, cuda)) return WheelObstacle::DriverTooOld;
  }
  return WheelObstacle::None;
}

WheelObstacle obstacle_of_gpus(const Knowledge& knowledge, std::uint32_t cuda_major, const WheelNeeds& needs) {
  const auto release = knowledge.cuda_release(std::to_string(cuda_major) + ".0");
  const auto least = release ? ComputeCapability::parse(release->supported_sm_min) : std::nullopt;
  for (const ComputeCapability& gpu : needs.gpus) {
    if (least && gpu < *least) return WheelObstacle::GpuDropped;
  }
  return WheelObstacle::None;
}

WheelObstacle obstacle_of_python(const PythonRange& range, const WheelNeeds& needs) {
  if (!needs.python) return WheelObstacle::None;
  switch (range.fit(*needs.python)) {
    case PythonFit::TooNew:
      return WheelObstacle::PythonTooNew;
    case PythonFit::TooOld:
      return WheelObstacle::PythonTooOld;
    default:
      return WheelObstacle::None;
  }
}

std::string framework_family(std::string_view distribution) {
  const std::string name = normalised_distribution_name(distribution);
  if (name == "torchvision" || name == "torchaudio" || name == "torchtext" || name == "pytorch" || name == "pytorch-gpu")
    return "torch";
  if (name.starts_with("tensorflow") || name == "tf-nightly") return "tensorflow";
  if (name == "jaxlib" || name.starts_with("jax-cuda")) return "jax";
  if (name.starts_with("cupy-")) return "cupy";
  if (name.starts_with("onnxruntime")) return "onnxruntime-gpu";
  return name;
}

WheelChoice choose_wheel(const Knowledge& knowledge, const WheelNeeds& needs) {
  WheelChoice none;
  none.framework = framework_family(needs.framework);
  none.obstacle = WheelObstacle::UnknownFramework;
  const bool thor = !needs.gpus.empty() && needs.gpus.front() == ComputeCapability{11, 0};
  if (needs.jetson && !thor) {
    none.obstacle = WheelObstacle::Jetson;
    return none;
  }
  if (none.framework == "torch") return choose_torch(knowledge, needs);
  if (none.framework == "tensorflow") return choose_tensorflow(knowledge, needs);
  if (none.framework == "jax") return choose_jax(knowledge, needs);
  if (none.framework == "cupy") return choose_cupy(knowledge, needs);
  if (none.framework == "onnxruntime-gpu") return choose_onnxruntime(knowledge, needs);
  return none;
}

}  // namespace gpuvet
