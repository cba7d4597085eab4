#include "collect/binaries.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "collect/process_plan.h"
#include "elf/gpu_code.h"
#include "loader/library_family.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_files = 32;
constexpr int max_milliseconds = 500;

bool is_of_nvidia(std::string_view soname) {
  for (const char* start : {"libcu", "libnv", "libnccl", "libnpp"})
    if (soname.starts_with(start)) return true;
  return false;
}

/// Files that may have kernels: they use a CUDA runtime or the driver, are called so, or carry a runtime inside (a program's
/// own).
bool may_have_kernels(const LoadedObject& object, const ProcessPlan& plan) {
  const LibraryFile& file = *object.file;
  if (file.state != "elf" || is_of_nvidia(file.soname) || object.rule == "loader") return false;
  if (plan.kind != "python") return object.rule != "default" && object.rule != "ld.so.cache";
  const std::string_view name = base_name(object.path);
  for (const char* part : {"cuda", "tensorflow", "xla"})
    if (name.find(part) != std::string_view::npos) return true;
  return std::ranges::any_of(file.needed, [](const std::string& needed) {
    return needed.starts_with("libcudart.so") || needed.starts_with("libcuda.so") || needed.starts_with("libc10_cuda.so");
  });
}

std::set<std::string> files_with_kernels(const Machine& machine) {
  std::set<std::string> paths;
  ViewSource source(machine.loader);
  for (const ProcessPlan& plan : machine.loader.plans) {
    const LibraryFile* program = source.open(plan.program);
    const Forecast all = forecast(source, machine_loader_rules(machine, program), plan, machine.environment);
    for (const LoadedObject& object : all.objects)
      if (object.file != nullptr && may_have_kernels(object, plan)) paths.insert(object.file->path);
  }
  return paths;
}

}  // namespace

void collect_gpu_code(System& system, Machine& machine) {
  std::vector<GpuCodeFile> found;
  GpuCodeOptions options;
  options.headers_only = true;
  options.decompress_limit = 0;
  options.time_limit_ms = max_milliseconds;
  for (const std::string& path : files_with_kernels(machine)) {
    if (found.size() >= max_files) break;
    const auto reader = system.open(path);
    if (!reader) continue;
    GpuCodeFile file = read_gpu_code(**reader, options);
    if (file.containers == 0 && file.targets.empty()) continue;
    file.path = path;
    if (const auto real = system.real_path(path)) file.real_path = *real;
    found.push_back(std::move(file));
  }
  machine.gpu_code = Fact<std::vector<GpuCodeFile>>::known(std::move(found));
}

void collect_binaries(System& system, Machine& machine, const Purpose& purpose, std::vector<CollectorTime>* times) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  const auto took = [&](const char* name) {
    const auto now = Clock::now();
    if (times != nullptr) times->push_back({name, std::chrono::duration<double, std::milli>(now - start).count()});
    start = now;
  };
  collect_process_plans(system, machine, purpose);
  took("process-plans");
  if (!machine.loader.plans.empty()) collect_gpu_code(system, machine);
  took("gpu-code");
}

}  // namespace gpuvet
