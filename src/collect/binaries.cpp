#include "collect/binaries.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "collect/process_plan.h"
#include "elf/gpu_code.h"
#include "knowledge/gpu_targets.h"
#include "knowledge/knowledge.h"
#include "loader/library_family.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_files = 32;
constexpr int max_milliseconds = 500;
constexpr int max_milliseconds_of_program = 20'000, max_milliseconds_of_extension = 2'000;
constexpr std::uint64_t most_bytes_without_gpu = std::uint64_t{256} << 20;

bool is_of_nvidia(std::string_view soname) {
  for (const char* start : {"libcu", "libnv", "libnccl", "libnpp"})
    if (soname.starts_with(start)) return true;
  return false;
}

bool links_cuda(const LibraryFile& file) {
  return std::ranges::any_of(file.needed, [](const std::string& needed) {
    return needed.starts_with("libcudart.so") || needed.starts_with("libcuda.so") || needed.starts_with("libc10_cuda.so");
  });
}

/// Files that may have kernels: they use a CUDA runtime or the driver, are called so, or carry a runtime inside (a program's
/// own).
bool may_have_kernels(const LoadedObject& object, const ProcessPlan& plan) {
  const LibraryFile& file = *object.file;
  if (file.state != "elf" || is_of_nvidia(file.soname) || object.rule == "loader") return false;
  const bool of_system = object.rule == "default" || object.rule == "ld.so.cache";
  if (plan.kind != "python" && !of_system) return true;
  const std::string_view name = base_name(object.path);
  for (const char* part : {"cuda", "tensorflow", "xla"})
    if (name.find(part) != std::string_view::npos) return true;
  return links_cuda(file);
}

/// Paths of files that may have kernels; with them: are they a program's own, which is what was asked for?
std::map<std::string, bool> files_with_kernels(const Machine& machine) {
  std::map<std::string, bool> paths;
  ViewSource source(machine.loader);
  for (const ProcessPlan& plan : machine.loader.plans) {
    if (plan.kind == extensions_kind) continue;
    const LibraryFile* program = source.open(main_path_of(plan));
    const Forecast all = forecast(source, machine_loader_rules(machine, program), plan, machine.environment);
    for (const LoadedObject& object : all.objects)
      if (object.file != nullptr && may_have_kernels(object, plan)) paths[object.file->path] |= plan.kind != "python";
  }
  return paths;
}

/// Modules that packages bring for torch and that call CUDA.
std::vector<std::string> extensions_with_kernels(const Machine& machine) {
  std::vector<std::string> paths;
  ViewSource source(machine.loader);
  for (const ProcessPlan& plan : machine.loader.plans) {
    if (plan.kind != extensions_kind) continue;
    for (const LoadStep& step : plan.steps) {
      const LibraryFile* file = step.names.empty() ? nullptr : source.open(step.names.front());
      if (file != nullptr && links_cuda(*file)) paths.push_back(file->path);
    }
  }
  return paths;
}

/// Every GPU here has machine code among what was found.
bool serves_all(const GpuCodeFile& file, const std::vector<ComputeCapability>& gpus) {
  return !gpus.empty() && std::ranges::all_of(gpus, [&](const ComputeCapability& gpu) {
    return std::ranges::any_of(file.targets, [&](const GpuCodeTarget& code) {
      const auto target = code.kind == "sass" ? parse_gpu_arch(code.arch) : std::nullopt;
      return target && serves(*target, gpu) == Serves::Yes;
    });
  });
}

std::vector<ComputeCapability> capabilities_here(const Machine& machine) {
  std::vector<ComputeCapability> all;
  for (const MachineGpu& gpu : nvidia_gpus(machine, Knowledge()))
    if (gpu.identity.compute_capability) all.push_back(*gpu.identity.compute_capability);
  return all;
}

/// Headers tell what the CUDA runtime finds. Before a program is said to lack code, its whole file is searched. Where no GPU is
/// seen, small files are: the answer may be asked of a snapshot, for another machine's GPU. `whole_file_ms` 0: headers do.
GpuCodeFile read_code(FileReader& reader, int whole_file_ms, const std::vector<ComputeCapability>& gpus) {
  GpuCodeOptions options;
  options.headers_only = true;
  options.decompress_limit = 0;
  options.time_limit_ms = max_milliseconds;
  GpuCodeFile file = read_gpu_code(reader, options);
  if (whole_file_ms == 0 || file.targets.empty() || serves_all(file, gpus)) return file;
  if (gpus.empty() && reader.size() > most_bytes_without_gpu) return file;
  options = GpuCodeOptions();
  options.time_limit_ms = whole_file_ms;
  return read_gpu_code(reader, options);
}

}  // namespace

void collect_gpu_code(System& system, Machine& machine) {
  std::vector<GpuCodeFile> found;
  const auto add = [&](const std::string& path, int whole_file_ms, const std::vector<ComputeCapability>& gpus) {
    const auto reader = system.open(path);
    if (!reader) return;
    GpuCodeFile file = read_code(**reader, whole_file_ms, gpus);
    if (file.containers == 0 && file.targets.empty()) return;
    file.path = path;
    if (const auto real = system.real_path(path)) file.real_path = *real;
    found.push_back(std::move(file));
  };
  const auto files = files_with_kernels(machine);
  const bool programs = std::ranges::any_of(files, [](const auto& file) { return file.second; });
  const auto extensions = extensions_with_kernels(machine);
  const auto gpus = programs || !extensions.empty() ? capabilities_here(machine) : std::vector<ComputeCapability>();
  for (const auto& [path, of_program] : files) {
    if (found.size() >= max_files) break;
    add(path, of_program ? max_milliseconds_of_program : 0, gpus);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(max_milliseconds_of_extension);
  for (const std::string& path : extensions) {
    if (found.size() >= 2 * max_files || std::chrono::steady_clock::now() > end) break;
    const bool known = std::ranges::any_of(found, [&](const GpuCodeFile& file) { return file.path == path; });
    if (!known) add(path, gpus.empty() ? 0 : max_milliseconds_of_extension, gpus);
  }
  machine.gpu_code = Fact<std::vector<GpuCodeFile>>::known(std::move(found));
}

tl::expected<void, PlanError> collect_binaries(System& system, Machine& machine, const Purpose& purpose,
                                               std::vector<CollectorTime>* times) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  const auto took = [&](const char* name) {
    const auto now = Clock::now();
    if (times != nullptr) times->push_back({name, std::chrono::duration<double, std::milli>(now - start).count()});
    start = now;
  };
  auto planned = collect_process_plans(system, machine, purpose);
  took("process-plans");
  if (!machine.loader.plans.empty()) collect_gpu_code(system, machine);
  took("gpu-code");
  return planned;
}

}  // namespace gpuvet
