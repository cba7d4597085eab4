// Libraries that a text says are not found, pairs that do not fit, and builds without code for the GPU.

#include <algorithm>
#include <array>
#include <cstdlib>

#include "knowledge/cuda_libraries.h"
#include "knowledge/gpu_targets.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/observed.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Context = RuleContext;
using Result = std::optional<Finding>;

/// Python environments of the text, with or without a framework in what is shown of them.
std::span<const PythonEnvironment> environments(const Context& context) {
  const auto* list = context.machine.python.environments.get();
  return list == nullptr ? std::span<const PythonEnvironment>() : std::span<const PythonEnvironment>(*list);
}

/// The first library of CUDA (not of the driver) that a message says is not found.
const Observation* missing_library(const Context& context) {
  for (const char* meaning : {"shared-library-not-found", "dll-not-found", "tensorflow-dynamic-library-not-loaded"}) {
    for (const Observation* o : all_observed(context.machine, meaning)) {
      const std::string_view library = value_of(*o, "library");
      if (library.empty() || library.starts_with("libcuda.so") || library.starts_with("libnvidia-")) continue;
      return o;
    }
  }
  return nullptr;
}

/// "libcudart.so.11.0" → "libcudart.so"; "cudart64_110.dll" → "cudart64_".
std::string stem_of(std::string_view library) {
  if (const std::size_t at = library.find(".so"); at != std::string_view::npos) return std::string(library.substr(0, at + 3));
  const std::size_t end =
      library.find_first_of("0123456789", library.find('_') == std::string_view::npos ? 0 : library.find('_'));
  return std::string(library.substr(0, end));
}

/// cuDNN's parts change their names with the major release: they stand for each other.
bool same_family(std::string_view name, std::string_view library) {
  if (name.starts_with(stem_of(library)) && name.size() > stem_of(library).size()) return true;
  return name.starts_with("libcudnn") && library.starts_with("libcudnn") && name.find(".so.") != std::string_view::npos &&
         library.find(".so.") != std::string_view::npos &&
         name.substr(name.find(".so."), 5) != library.substr(library.find(".so."), 5);
}

/// Is `file` ("libcudart.so.11.1.74") a file that serves the name ("libcudart.so.11.0")? By the same name, or one that extends
/// it.
bool serves(std::string_view file, std::string_view library) {
  return file == library || (file.starts_with(library) && file.size() > library.size() && file[library.size()] == '.');
}

/// The DLL is there, and this process does not look where it is.
Result dll_on_disk(const Context& context) {
  const Observation* missing = missing_library(context);
  if (missing == nullptr || !value_of(*missing, "library").ends_with(".dll")) return std::nullopt;
  for (const Observation* seen : all_observed(context.machine, "library-seen"))
    if (value_of(*seen, "name") == value_of(*missing, "library")) return text_finding(0.93, {missing, seen});
  return std::nullopt;
}

/// CuPy's modules are linked to CUDA's DLLs; Windows tells which module it could not load, not which DLL was missing.
Result cupy_on_windows(const Context& context) {
  const Observation* failed = observed(context.machine, "dll-load-failed");
  const Observation* cupy = observed(context.machine, "cupy-import-failed");
  if (cupy == nullptr)
    for (const Observation& o : observations(context.machine))
      if (cupy == nullptr && o.origin.text.find("cupy") != std::string::npos) cupy = &o;
  if (failed == nullptr || cupy == nullptr) return std::nullopt;
  return text_finding(0.7, {failed, cupy});
}

/// Modules of Java and Rust: Windows searches PATH for what they need.
Result native_module_on_windows(const Context& context) {
  return finding_of_message(context.machine, "native-dll-not-loaded", 0.8, "native", "install-cuda-of-module-on-windows");
}

Result on_disk(const Context& context) {
  const Observation* missing = missing_library(context);
  if (missing == nullptr || value_of(*missing, "library").ends_with(".dll")) return std::nullopt;
  const std::string_view library = value_of(*missing, "library");
  for (const Observation* seen : all_observed(context.machine, "library-seen"))
    if (serves(value_of(*seen, "name"), library)) return text_finding(0.93, {missing, seen});
  return std::nullopt;
}

/// The wheel that brings a library: its name below "nvidia-"; empty: not known.
std::string_view wheel_of(std::string_view library) {
  struct Entry {
    std::string_view start, wheel;
  };
  // Longer names first. https://pypi.org/user/nvidia/
  constexpr std::array<Entry, 13> wheels{{{"libcudart.so", "cuda-runtime"},
                                          {"libcublas", "cublas"},
                                          {"libcudnn", "cudnn"},
                                          {"libcufft", "cufft"},
                                          {"libcurand", "curand"},
                                          {"libcusolver", "cusolver"},
                                          {"libcusparseLt", "cusparselt"},
                                          {"libcusparse", "cusparse"},
                                          {"libnccl.so", "nccl"},
                                          {"libnvJitLink", "nvjitlink"},
                                          {"libnvrtc", "cuda-nvrtc"},
                                          {"libcupti", "cuda-cupti"},
                                          {"libnvToolsExt", "nvtx"}}};
  for (const Entry& entry : wheels)
    if (library.starts_with(entry.start)) return entry.wheel;
  return {};
}

/// A wheel of the environment has the library, and who asks does not look into wheels.
Result in_wheel(const Context& context) {
  const Observation* missing = missing_library(context);
  if (missing == nullptr) return std::nullopt;
  const std::string_view library = value_of(*missing, "library");
  const std::string_view wheel = wheel_of(library);
  const auto known = cuda_library(context.knowledge, library);
  if (wheel.empty() || !known) return std::nullopt;
  const auto majors = known->cuda_majors();
  for (const PythonEnvironment& environment : environments(context)) {
    for (const PythonPackage& package : environment.packages) {
      const std::string name = "nvidia-" + std::string(wheel);
      if (package.name != name && !package.name.starts_with(name + "-cu")) continue;
      // cuDNN and NCCL count their own releases, the others stand behind "-cu".
      const bool same = known->cuda.empty() ? package.version.starts_with(known->release + ".")
                                            : std::ranges::any_of(majors, [&](std::uint32_t major) {
                                                return package.name.ends_with("-cu" + std::to_string(major));
                                              });
      if (!same) continue;
      Finding finding = text_finding(0.9, {missing});
      finding.evidence.push_back(quote(package));
      finding.parameters = {{"library", std::string(library)}, {"package", package.name}};
      finding.variant = "in-wheel";
      finding.repair = {make_action("add-wheel-folders-to-library-path")};
      return finding;
    }
  }
  return std::nullopt;
}

/// Said by cuDNN's own loader of its parts: which file is meant, and whether it is on the disk, stays open.
Result opened_by_name(const Context& context) {
  const Observation* part = observed(context.machine, "cudnn-part-not-loaded");
  if (part == nullptr)
    for (const Observation* o : all_observed(context.machine, "cuda-library-not-loaded"))
      if (part == nullptr && o->signature == "cublas-symbol-not-loaded") part = o;
  if (part == nullptr || part->origin.text.find("CUDNN_STATUS") != std::string::npos) return std::nullopt;
  // Two lines that say the same are surer than one.
  Finding finding = text_finding(all_observed(context.machine, "cudnn-part-not-loaded").size() > 1 ? 0.78 : 0.56, {part});
  finding.variant = "opened-by-name";
  finding.repair = {make_action("add-wheel-folders-to-library-path"), make_action("find-library-and-add-folder")};
  finding.confirm =
      "find / -xdev \\( -name 'libcudnn*.so.*' -o -name 'libcublasLt.so.*' \\) 2>/dev/null; ldconfig -p | grep -e libcudnn -e "
      "libcublas";
  return finding;
}

/// Only files of another release of the library are shown, or the toolkit is of a release that brings another name.
Result other_release(const Context& context) {
  const Observation* missing = missing_library(context);
  if (missing == nullptr) return std::nullopt;
  const std::string_view library = value_of(*missing, "library");
  const Observation* other = nullptr;
  for (const Observation* seen : all_observed(context.machine, "library-seen")) {
    const std::string_view name = value_of(*seen, "name");
    if (serves(name, library)) return std::nullopt;
    if (same_family(name, library)) other = seen;
  }
  if (other != nullptr) return text_finding(0.92, {missing, other});
  const auto known = cuda_library(context.knowledge, library);
  if (!known || known->cuda.empty()) return std::nullopt;
  const auto majors = known->cuda_majors();
  for (const Observation* nvcc : all_observed(context.machine, "nvcc-version")) {
    const auto have = CudaVersion::parse(value_of(*nvcc, "release"));
    if (!have) continue;
    if (std::ranges::find(majors, have->major) == majors.end()) return text_finding(0.9, {missing, nvcc});
  }
  return std::nullopt;
}

/// Symbols that every release of the CUDA runtime has: where they are missing, the library was not found at all.
bool in_every_cudart(std::string_view symbol) {
  for (const char* name : {"cudaGetLastError", "cudaMalloc", "cudaFree", "cudaMemcpy", "cudaMemcpyAsync", "cudaLaunchKernel",
                           "cudaGetErrorString", "cudaSetDevice", "cudaGetDevice", "cudaStreamSynchronize",
                           "__cudaRegisterFatBinary", "__cudaUnregisterFatBinary", "__cudaRegisterFunction"})
    if (symbol == name) return true;
  return false;
}

/// ld's own word that it did not find a library, or the undefined symbol that tells it.
const Observation* not_found_by_linker(const Context& context) {
  if (const Observation* told = observed(context.machine, "linker-does-not-find")) return told;
  for (const Observation* o : all_observed(context.machine, "linker-finds-older-cuda"))
    if (in_every_cudart(value_of(*o, "symbol"))) return o;
  return nullptr;
}

Result not_found_while_linking(const Context& context) {
  const Observation* told = not_found_by_linker(context);
  if (told == nullptr) return std::nullopt;
  Finding finding = text_finding(0.85, {told});
  finding.variant = "linker";
  finding.parameters = {{"library", std::string(value_of(*told, "library"))}};
  finding.repair = {make_action("let-linker-find-library")};
  return finding;
}

/// ld: a library that is linked wants a symbol that the CUDA library it found does not have yet.
Result older_for_linker(const Context& context) {
  const Observation* told = observed(context.machine, "linker-finds-older-cuda");
  if (told == nullptr || not_found_by_linker(context) != nullptr) return std::nullopt;
  const std::string library(value_of(*told, "library"));
  Finding finding = text_finding(0.85, {told});
  finding.variant = "linker";
  finding.parameters = {{"library", library}, {"symbol", std::string(value_of(*told, "symbol"))}};
  finding.repair = {make_action("link-with-cuda-of-linked-library")};
  finding.confirm = "nvcc --version | tail -2; find / -xdev -name '" + library + "*' 2>/dev/null";
  return finding;
}

/// torch's own libraries fit each other unless they are of two releases.
Result two_torches(const Context& context) {
  return finding_of_message(context.machine, "two-torch", 0.93, "two-torch", "start-without-ld-library-path",
                            "echo \"$LD_LIBRARY_PATH\"; find / -xdev -name 'libtorch_cpu.so' 2>/dev/null");
}

/// Messages of a loader that found the wrong copy, and LD_LIBRARY_PATH leading to another toolkit.
Result shadowed(const Context& context) {
  const std::string_view path = variable(context.machine, "LD_LIBRARY_PATH");
  if (path.find("cuda") == std::string_view::npos) return std::nullopt;
  for (const Observation& o : observations(context.machine)) {
    const bool library_trouble = o.meaning == "undefined-symbol" || o.meaning == "symbol-version-not-found" ||
                                 o.meaning == "jax-no-gpu" || o.meaning == "cuda-library-older" ||
                                 o.meaning == "cudnn-version-mismatch" ||
                                 o.origin.text.find("Unable to load cu") != std::string::npos ||
                                 o.origin.text.find("library was not found") != std::string::npos;
    if (!library_trouble) continue;
    Finding finding = text_finding(0.82, {&o});
    finding.evidence.push_back(quote_variable(context.machine, "LD_LIBRARY_PATH"));
    return finding;
  }
  return std::nullopt;
}

/// Wheels of one library for two CUDA majors in one environment, and a symbol of that library is missing.
Result duplicate_wheels(const Context& context) {
  for (const PythonEnvironment& environment : environments(context)) {
    for (const PythonPackage& package : environment.packages) {
      if (!package.name.starts_with("nvidia-") || !package.name.ends_with("-cu12")) continue;
      const std::string stem = package.name.substr(0, package.name.size() - 5);
      const PythonPackage* other = find_package(environment, stem + "-cu13");
      if (other == nullptr) other = find_package(environment, stem + "-cu11");
      if (other == nullptr) continue;
      const Observation* symbol = nullptr;
      for (const Observation* o : all_observed(context.machine, "undefined-symbol"))
        if (symbol == nullptr) symbol = o;
      for (const Observation& o : observations(context.machine))
        if (symbol == nullptr && o.origin.text.find("undefined symbol") != std::string::npos) symbol = &o;
      Finding finding = text_finding(symbol != nullptr ? 0.96 : 0.4, {symbol});
      finding.evidence.push_back(quote(package));
      finding.evidence.push_back(quote(*other));
      return finding;
    }
  }
  return std::nullopt;
}

/// A CUDA library that torch's own libraries need: a torch for the same CUDA major has loaded it already. Wheels for CUDA 10 and
/// 11 carried a libcudart of another name ("libcudart-d0da41ae.so.11.0"), which does not serve others.
bool loaded_by_torch(std::string_view library) {
  if (library.starts_with("libcudart.so."))
    return library.starts_with("libcudart.so.12") || library.starts_with("libcudart.so.13");
  return library.starts_with("libcublas.so.") || library.starts_with("libcublasLt.so.");
}

/// Packages that import torch before their compiled part.
bool imports_torch_first(std::string_view file) {
  for (const char* name : {"flash_attn/", "flash_attn_interface", "vllm/", "sgl_kernel/", "xformers/", "mamba_ssm/",
                           "causal_conv1d/", "apex/", "flashinfer/", "mmcv/", "detectron2/", "exllamav2/", "auto_gptq/",
                           "torch_scatter/", "torch_sparse/", "torch_cluster/", "pytorch3d/", "transformer_engine/"})
    if (file.find(name) != std::string_view::npos) return true;
  return false;
}

/// torch is there and the CUDA runtime that a part compiled for it wants is not: that part is for a torch of another CUDA.
Result extension_for_other_cuda(const Context& context) {
  const Observation* missing = missing_library(context);
  if (missing == nullptr) return std::nullopt;
  const std::string_view library = value_of(*missing, "library");
  const Observation* told = observed(context.machine, "extension-not-loaded");
  if (told != nullptr && (loaded_by_torch(library) || library.starts_with("libnvrtc.so.")))
    return text_finding(loaded_by_torch(library) ? 0.8 : 0.6, {told, missing});
  if (!loaded_by_torch(library)) return std::nullopt;
  for (const Observation* frame : all_observed(context.machine, "failing-frame"))
    if (imports_torch_first(value_of(*frame, "file")) && frame->origin.line < missing->origin.line &&
        missing->origin.line - frame->origin.line <= 4)
      return text_finding(0.8, {missing, frame});
  return std::nullopt;
}

/// cuDNN's handle could not be made. Where XLA tells that most of the memory is free, it is not for want of memory.
Result no_memory_for_handle(const Context& context) {
  const Observation* failed = observed(context.machine, "library-handle-failed");
  if (failed == nullptr) return std::nullopt;
  if (const Observation* memory = observed(context.machine, "gpu-memory-free")) {
    const double free = std::strtod(std::string(value_of(*memory, "free")).c_str(), nullptr);
    const double total = std::strtod(std::string(value_of(*memory, "total")).c_str(), nullptr);
    if (free > total / 4 && free > 1e9) return std::nullopt;
  }
  return text_finding(0.55, {failed});
}

// ---- GPU code ---------------------------------------------------------------------------------------------------------

const Observation* no_kernel(const Context& context) {
  if (const Observation* error = observed_error(context.machine, 209)) return error;
  if (const Observation* error = observed_error(context.machine, 98)) return error;
  if (const Observation* image = observed(context.machine, "no-kernel-image")) return image;
  if (const Observation* gpu = observed(context.machine, "gpu-not-in-build")) return gpu;
  // PyTorch tells a GPU's capability and its own range only where the one is outside the other.
  const Observation* range = observed(context.machine, "capability-range");
  if (range == nullptr) range = observed(context.machine, "least-capability");
  return observed(context.machine, "gpu-capability") != nullptr ? range : nullptr;
}

/// Files of packages that launch kernels of their own, and little else.
bool calls_own_kernels(std::string_view file) {
  for (const char* name : {"flash_attn/",      "xformers/ops",
                           "bitsandbytes/",    "apex/",
                           "deepspeed/ops/",   "vllm/_custom_ops",
                           "vllm_flash_attn/", "sageattention/",
                           "causal_conv1d/",   "mamba_ssm/ops/",
                           "torch_scatter/",   "torch_sparse/",
                           "pytorch3d/",       "detectron2/layers/",
                           "mmcv/ops/",        "exllama",
                           "auto_gptq/",       "flashinfer/",
                           "sgl_kernel/",      "spconv/",
                           "gsplat/",          "diff_gaussian_rasterization/",
                           "tinycudann/",      "selective_scan"})
    if (file.find(name) != std::string_view::npos) return true;
  return false;
}

/// A message about a file of an extension, not of the framework itself.
const Observation* in_extension(const Context& context) {
  for (const Observation& o : observations(context.machine)) {
    for (const char* name :
         {"flash_attn", "xformers", "bitsandbytes", "csrc/libbitsandbytes", "apex", "deepspeed", "vllm/_C", "sageattention",
          "causal_conv1d", "mamba_ssm", "torch_scatter", "pytorch3d", "detectron2", "exllama", "auto_gptq"})
      if (o.origin.text.find(name) != std::string::npos && (o.meaning == "cuda-error" || o.meaning == "no-kernel-image"))
        return &o;
  }
  // The error's own line is torch's; the frame above it is the extension's.
  const Observation* error = no_kernel(context);
  if (error == nullptr) return nullptr;
  for (const Observation* frame : all_observed(context.machine, "failing-frame"))
    if (calls_own_kernels(value_of(*frame, "file")) && frame->origin.line < error->origin.line &&
        error->origin.line - frame->origin.line <= 12)
      return frame;
  return nullptr;
}

std::optional<ComputeCapability> capability_of(const Observation& observation) {
  const auto target = parse_gpu_arch(value_of(observation, "arch"));
  return target ? std::optional(target->capability) : std::nullopt;
}

std::optional<ComputeCapability> capability(const Context& context) {
  for (const Observation* o : all_observed(context.machine, "gpu-not-in-build"))
    if (const auto told = capability_of(*o)) return told;
  for (const MachineGpu& gpu : context.gpus)
    if (gpu.identity.compute_capability) return gpu.identity.compute_capability;
  for (const Observation* o : all_observed(context.machine, "gpu-capability"))
    for (const char* name : {"capability", "arch"})
      if (const auto parsed = ComputeCapability::parse(value_of(*o, name))) return parsed;
  return std::nullopt;
}

/// What the text says that the build was compiled for: "sm_50 sm_60 compute_90".
std::vector<ComputeCapability> targets_of_build(const Context& context) {
  std::vector<ComputeCapability> targets;
  const Observation* list = observed(context.machine, "build-architectures");
  std::string_view rest = list == nullptr ? std::string_view() : value_of(*list, "list");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" ,."), rest.size());
    if (const auto target = parse_gpu_arch(rest.substr(0, end))) targets.push_back(target->capability);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return targets;
}

/// Which side of the build's targets the GPU is on. Where the text does not list them: Turing and newer are in every build that
/// is maintained, so an older GPU was dropped.
bool surely_old(const Context& context) {
  const auto cc = capability(context);
  const auto targets = targets_of_build(context);
  if (cc && !targets.empty()) return *cc < *std::ranges::min_element(targets);
  return cc && (cc->major < 7 || (cc->major == 7 && cc->minor < 5));
}

/// PyTorch names the GPU and lists what it was built for: nothing is left open.
bool told_by_torch(const Context& context) {
  const Observation* gpu = observed(context.machine, "gpu-not-in-build");
  return gpu != nullptr && capability_of(*gpu) && !targets_of_build(context).empty() && in_extension(context) == nullptr;
}

Finding in_words_of_torch(const Context& context) {
  const Observation* gpu = observed(context.machine, "gpu-not-in-build");
  const Observation* list = observed(context.machine, "build-architectures");
  Finding finding = text_finding(0.96, {gpu, list});
  finding.variant = "told";
  std::string targets(value_of(*list, "list"));
  while (targets.ends_with('.')) targets.pop_back();
  finding.parameters = {
      {"gpu", std::string(value_of(*gpu, "gpu"))}, {"capability", capability_of(*gpu)->text()}, {"targets", targets}};
  const auto* environments = context.machine.python.environments.get();
  PythonEnvironment environment;
  if (environments != nullptr && !environments->empty()) environment = environments->front();
  if (environment.machine.empty()) environment.machine = context.machine.os.architecture.value_or("x86_64");
  finding.repair = reinstall_framework(context, environment, "torch");
  // The newest build is of a CUDA that an older driver may not serve, and this text does not tell the driver.
  if (finding.repair.empty() || running_driver(context)) return finding;
  const auto cuda = finding.repair.back().parameters.find("cuda");
  const auto version = cuda == finding.repair.back().parameters.end() ? std::nullopt : CudaVersion::parse(cuda->second);
  const auto least = version ? least_driver_for_framework(context.knowledge, *version, false) : std::nullopt;
  if (least) finding.repair.push_back(make_action("check-driver-version", {{"least", least->text}, {"cuda", version->text()}}));
  return finding;
}

/// The line that names the GPU, where one does.
const Observation* named_gpu(const Context& context) { return observed(context.machine, "gpu-capability", {{"by", "name"}}); }

/// A capability that only NVIDIA's boards with their own memory have (data/facts/gpu_architectures.tsv): desktop code of the same
/// major does not run there.
bool is_board(const Context& context) {
  if (context.in(World::Jetson)) return true;
  const auto gpu = capability(context);
  if (!gpu || context.machine.os.architecture.is("x86_64")) return false;
  constexpr ComputeCapability boards[] = {{5, 3}, {6, 2}, {7, 2}, {8, 7}};
  return std::ranges::find(boards, *gpu) != std::end(boards);
}

/// The framework that the text shows at work.
std::string framework_told(const Context& context) {
  for (const PythonEnvironment& environment : environments(context))
    for (const char* name : {"torch", "jax", "tensorflow", "onnxruntime-gpu"})
      if (find_package(environment, name) != nullptr) return name;
  for (const auto& [word, name] : {std::pair("torch", "torch"), std::pair("jax", "jax"), std::pair("tensorflow", "tensorflow")})
    for (const Observation& o : observations(context.machine))
      if (o.signature.starts_with(word) || o.origin.text.find(word) != std::string::npos) return name;
  return "framework";
}

Result arch_missing_on_board(const Context& context) {
  const Observation* error = no_kernel(context);
  if (error == nullptr || !is_board(context) || told_by_torch(context) || in_extension(context) != nullptr) return std::nullopt;
  Finding finding = text_finding(0.93, {error, named_gpu(context)});
  finding.variant = "board";
  finding.parameters = {{"framework", framework_told(context)}};
  finding.repair = {make_action("use-jetpack-wheel", finding.parameters)};
  finding.confirm = "cat /etc/nv_tegra_release";
  return finding;
}

Result arch_missing(const Context& context) {
  if (told_by_torch(context)) return surely_old(context) ? std::nullopt : Result(in_words_of_torch(context));
  const Observation* error = no_kernel(context);
  if (error == nullptr) return std::nullopt;
  const bool extension = in_extension(context) != nullptr;
  if (surely_old(context)) return text_finding(0.35, {error});
  return text_finding(extension                                          ? 0.45
                      : capability(context) || context.in(World::Jetson) ? 0.9
                                                                         : 0.62,
                      {error, named_gpu(context)});
}

/// A program that was compiled by its user, for another GPU than this one.
Result program_for_other_gpu(const Context& context) {
  return finding_of_message(context.machine, "program-built-for-other-gpu", 0.93, "", "compile-for-this-gpu",
                            "nvidia-smi --query-gpu=name,compute_cap --format=csv");
}

/// A module without code for the GPU has none of its symbols either; so has a program that asks for a wrong one.
Result symbol_not_in_module(const Context& context) {
  const Observation* error = observed_error(context.machine, 13);
  return error == nullptr ? std::nullopt : Result(text_finding(0.4, {error}));
}

/// TensorFlow says that its kernels have to be compiled for this GPU, and then a kernel cannot be started.
Result not_compiled_for_gpu(const Context& context) {
  const Observation* announced = observed(context.machine, "jit-from-ptx");
  if (announced == nullptr) return std::nullopt;
  for (const int code : {400, 218, 200, 209}) {
    const Observation* error = observed_error(context.machine, code);
    if (error != nullptr) return text_finding(0.88, {announced, error});
  }
  return std::nullopt;
}

Result arch_dropped(const Context& context) {
  if (told_by_torch(context)) return surely_old(context) ? Result(in_words_of_torch(context)) : std::nullopt;
  const Observation* error = no_kernel(context);
  if (error == nullptr) return std::nullopt;
  if (surely_old(context)) return text_finding(0.88, {error, named_gpu(context)});
  return capability(context) ? std::nullopt : Result(text_finding(0.3, {error}));
}

Result extension_arch(const Context& context) {
  const Observation* error = in_extension(context);
  if (error == nullptr) return std::nullopt;
  return text_finding(0.82, {error, no_kernel(context)});
}

Result linux_build_on_windows(const Context& context) {
  return finding_of_message(context.machine, "bitsandbytes-linux-build-on-windows", 0.93, "linux-build",
                            "install-bitsandbytes-for-windows");
}

/// mmcv, detectron2 and the like tell of an operator that it has no CUDA code.
Result extension_without_cuda(const Context& context) {
  return finding_of_message(
      context.machine, "extension-without-cuda", 0.85, "extension", "rebuild-extension-with-cuda",
      "python3 -c \"import torch; print(torch.cuda.is_available(), torch.version.cuda)\"   # True: torch itself is fine");
}

/// The installed build is for the CPU: its version or its own words say so, and no GPU was seen by it.
Result cpu_build(const Context& context) {
  const Observation* absent = observed(context.machine, "gpu-not-available");
  for (const PythonEnvironment& environment : environments(context)) {
    for (const FrameworkBuild& build : environment.frameworks) {
      if (build.flavour != "cpu" && build.version.find("+cpu") == std::string::npos) continue;
      Finding finding = text_finding(absent != nullptr ? 0.93 : 0.7, {absent});
      finding.evidence.push_back(quote(build));
      return finding;
    }
    for (const PythonPackage& package : environment.packages) {
      if (package.version.find("+cpu") == std::string::npos) continue;
      Finding finding = text_finding(absent != nullptr ? 0.93 : 0.7, {absent});
      finding.evidence.push_back(quote(package));
      return finding;
    }
  }
  return std::nullopt;
}

/// conda's "pytorch" and pip's "torch" in one environment write the same files.
Result torch_twice(const Context& context) {
  for (const PythonEnvironment& environment : environments(context)) {
    const PythonPackage* conda = find_package(environment, "pytorch");
    const PythonPackage* pip = find_package(environment, "torch");
    if (conda == nullptr || pip == nullptr || conda->version == pip->version) continue;
    Finding finding = text_finding(0.85, {});
    finding.evidence = {quote(*conda), quote(*pip)};
    return finding;
  }
  return std::nullopt;
}

/// llama.cpp lists what its build can do; layers were asked for on the GPU, or one is there, and no GPU backend is in the list.
Result llama_without_gpu(const Context& context) {
  const Observation* listed = observed(context.machine, "llama-without-gpu-backend");
  const Observation* asked = observed(context.machine, "gpu-layers-asked");
  if (listed == nullptr || (asked == nullptr && context.gpus.empty())) return std::nullopt;
  // Ollama takes its build without CUDA where it saw no GPU: that is another cause's doing.
  for (const Observation& o : observations(context.machine))
    if (o.meaning == "no-gpu-seen" || o.meaning == "cuda-error" || o.meaning == "cuda-initialization-failed") return std::nullopt;
  Finding finding = text_finding(0.85, {listed, asked});
  finding.variant = "llama";
  finding.repair = {make_action("build-llama-with-cuda")};
  finding.confirm = "python3 -c \"import llama_cpp; print(llama_cpp.llama_supports_gpu_offload())\"";
  return finding;
}

/// How a framework tells whether its build has CUDA.
std::string confirming_cuda_of(std::string_view framework) {
  struct Entry {
    std::string_view framework, code;
  };
  constexpr std::array<Entry, 7> ways{
      {{"onnxruntime", "import onnxruntime as ort; print(ort.__version__, ort.get_available_providers())"},
       {"mxnet", "import mxnet; print(mxnet.runtime.Features().is_enabled('CUDA'))"},
       {"xgboost", "import xgboost; print(xgboost.build_info()['USE_CUDA'])"},
       {"paddle", "import paddle; print(paddle.is_compiled_with_cuda())"},
       {"jax", "import jaxlib, jax; print(jaxlib.__version__, jax.devices())"},
       {"tensorflow", "import tensorflow as tf; print(tf.test.is_built_with_cuda())"},
       {"llama.cpp", "import llama_cpp; print(llama_cpp.llama_supports_gpu_offload())"}}};
  for (const Entry& way : ways)
    if (way.framework == framework) return "python3 -c \"" + std::string(way.code) + "\"";
  return {};
}

/// A framework's own words, with the question to this framework.
Result cpu_build_of_framework(const Context& context) {
  for (const Observation* o : all_observed(context.machine, "cpu-build")) {
    const Signature* signature = signature_of(*o);
    const std::string confirm = confirming_cuda_of(value_of(*o, "framework"));
    if (signature == nullptr || signature->kind != "cpu-only-framework" || confirm.empty()) continue;
    Finding finding = text_finding(signature->weight, {o});
    finding.confirm = confirm;
    return finding;
  }
  return std::nullopt;
}

/// onnxruntime lists the providers that its build has, whatever the machine has; or warns that CUDA is not among them.
Result onnxruntime_build(const Context& context, bool both) {
  const Observation* providers = observed(context.machine, "onnxruntime-cpu-providers");
  for (const Observation* o : all_observed(context.machine, "cpu-build"))
    if (providers == nullptr && value_of(*o, "framework") == "onnxruntime") providers = o;
  if (providers == nullptr) return std::nullopt;
  for (const PythonEnvironment& environment : environments(context)) {
    const PythonPackage* plain = find_package(environment, "onnxruntime");
    const PythonPackage* gpu = find_package(environment, "onnxruntime-gpu");
    if (plain == nullptr || (gpu != nullptr) != both) continue;
    Finding finding = text_finding(
        both || !context.gpus.empty() || observed(context.machine, "smi-works") != nullptr ? 0.93 : 0.45, {providers});
    finding.evidence.push_back(quote(*plain));
    if (gpu != nullptr) finding.evidence.push_back(quote(*gpu));
    return finding;
  }
  return std::nullopt;
}

Result two_onnxruntimes(const Context& context) { return onnxruntime_build(context, true); }

/// Wheels of PyPI on a Jetson before JetPack 7: its GPU needs a build of NVIDIA's.
Result desktop_wheel_on_jetson(const Context& context) {
  const Observation* wheel = observed(context.machine, "pypi-torch-for-aarch64");
  const Observation* absent = observed(context.machine, "gpu-not-available");
  if (absent == nullptr || !context.in(World::Jetson)) return std::nullopt;
  if (wheel != nullptr) return text_finding(0.92, {wheel, absent});
  auto finding = cpu_build(context);
  if (finding) finding->rank = 0.96;
  return finding;
}

Result cpu_build_on_aarch64(const Context& context) {
  if (!context.machine.os.architecture.is("aarch64") || context.in(World::Jetson)) return std::nullopt;
  auto finding = cpu_build(context);
  if (finding) finding->rank = 0.95;
  return finding;
}

Result cpu_build_elsewhere(const Context& context) {
  if (context.machine.os.architecture.is("aarch64") || context.in(World::Jetson)) return std::nullopt;
  auto finding = cpu_build(context);
  if (finding) return finding;
  if (const Observation* told = observed(context.machine, "torch-cpu-version")) {
    const Observation* absent = observed(context.machine, "torch-cuda-unavailable");
    return text_finding(absent != nullptr ? 0.93 : 0.7, {told, absent});
  }
  return onnxruntime_build(context, false);
}

/// TensorFlow has no CUDA on native Windows from 2.11 on.
Result no_build_for_windows(const Context& context) {
  const Observation* windows = observed(context.machine, "windows");
  if (windows == nullptr || context.in(World::Wsl2)) return std::nullopt;
  for (const PythonEnvironment& environment : environments(context)) {
    const PythonPackage* package = find_package(environment, "tensorflow");
    if (package == nullptr) continue;
    const auto version = ReleaseVersion::parse(package->version);
    const auto first = ReleaseVersion::parse("2.11");
    if (!version || !first || *version < *first) continue;
    const Observation* absent = observed(context.machine, "gpu-not-available");
    Finding finding = text_finding(absent != nullptr ? 0.94 : 0.6, {absent, windows});
    finding.evidence.push_back(quote(*package));
    return finding;
  }
  return std::nullopt;
}

/// pip offers only newer releases than the one asked for: the index's wheels of that release are for older Pythons.
Result python_too_new(const Context& context) {
  const Observation* python = observed(context.machine, "python-version");
  for (const Observation* refused : all_observed(context.machine, "no-matching-distribution")) {
    const auto wanted = ReleaseVersion::parse(value_of(*refused, "wanted"));
    const auto oldest = ReleaseVersion::parse(value_of(*refused, "oldest"));
    if (wanted && oldest && *wanted < *oldest) return text_finding(python != nullptr ? 0.8 : 0.6, {refused, python});
  }
  return std::nullopt;
}

/// The framework brings its own cuDNN, and the part that does not fit lies elsewhere.
Result cudnn_beside_own(const Context& context) {
  const auto is_cudnn = [](const PythonPackage& package) { return package.name.starts_with("nvidia-cudnn-cu"); };
  for (const Observation* part : all_observed(context.machine, "cudnn-mixed")) {
    const std::string_view path = value_of(*part, "path");
    if (path.empty() || path.find("site-packages") != std::string_view::npos) continue;
    for (const PythonEnvironment& environment : environments(context)) {
      const auto own = std::ranges::find_if(environment.packages, is_cudnn);
      if (own == environment.packages.end()) continue;
      Finding finding = text_finding(0.95, {part});
      finding.evidence.push_back(quote(*own));
      return finding;
    }
  }
  return std::nullopt;
}

constexpr Rule rules[] = {
    {"wrong-cudnn-version-loaded", cudnn_beside_own},
    {"python-too-new-for-gpu-wheel", python_too_new},
    {"windows-dll-search-path", dll_on_disk},
    {"windows-dll-search-path", cupy_on_windows},
    {"windows-dll-search-path", native_module_on_windows},
    {"cuda-runtime-lib-not-on-path", on_disk},
    {"cuda-runtime-lib-not-on-path", in_wheel},
    {"cuda-runtime-lib-not-on-path", opened_by_name},
    {"toolkit-version-not-what-framework-wants", other_release},
    {"cuda-runtime-lib-not-on-path", not_found_while_linking},
    {"toolkit-version-not-what-framework-wants", older_for_linker},
    {"extension-abi-mismatch-with-torch", extension_for_other_cuda},
    {"extension-abi-mismatch-with-torch", two_torches},
    {"gpu-memory-exhausted-at-library-init", no_memory_for_handle},
    {"cuda-lib-shadowed-ld-library-path", shadowed},
    {"duplicate-nvidia-pip-libs", duplicate_wheels},
    {"framework-has-no-gpu-build-for-os", no_build_for_windows},
    {"conda-pip-mixed", torch_twice},
    {"several-builds-of-one-framework", two_onnxruntimes},
    {"jetson-desktop-wheel", desktop_wheel_on_jetson},
    {"cpu-only-framework-aarch64", cpu_build_on_aarch64},
    {"cpu-only-framework", cpu_build_elsewhere},
    {"cpu-only-framework", llama_without_gpu},
    {"cpu-only-framework", cpu_build_of_framework},
    {"cpu-only-framework", extension_without_cuda},
    {"package-without-windows-build", linux_build_on_windows},
    {"extension-arch-missing", extension_arch},
    {"no-kernel-image-arch-missing", arch_missing},
    {"no-kernel-image-arch-missing", arch_missing_on_board},
    {"no-kernel-image-arch-missing", not_compiled_for_gpu},
    {"no-kernel-image-arch-missing", program_for_other_gpu},
    {"no-kernel-image-arch-missing", symbol_not_in_module},
    {"gpu-arch-dropped-by-framework", arch_dropped},
};

}  // namespace

std::span<const Rule> observed_library_rules() { return rules; }

}  // namespace gpuvet
