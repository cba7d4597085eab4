#include "collect/binaries.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "collect/process_plan.h"
#include "elf/gpu_code.h"
#include "knowledge/cuda_libraries.h"
#include "knowledge/gpu_code_verdict.h"
#include "knowledge/gpu_targets.h"
#include "knowledge/knowledge.h"
#include "loader/library_family.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_files = 32;
constexpr int max_milliseconds = 500;
constexpr int max_milliseconds_of_program = 20'000;
constexpr std::uint64_t most_bytes_without_gpu = std::uint64_t{256} << 20;
constexpr std::uint64_t most_bytes_of_more_proof = std::uint64_t{64} << 20;

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
  const bool of_system = object.rule == "default" || object.rule == "ld.so.cache";
  if (plan.kind != "python" && !of_system) return true;
  const std::string_view name = base_name(object.path);
  for (const char* part : {"cuda", "tensorflow", "xla"})
    if (name.find(part) != std::string_view::npos) return true;
  return std::ranges::any_of(file.needed, [](const std::string& needed) {
    return needed.starts_with("libcudart.so") || needed.starts_with("libcuda.so") || needed.starts_with("libc10_cuda.so");
  });
}

/// CUDA majors of a library with code for many GPUs; none for other files. CUPTI does nobody's work.
std::vector<std::uint32_t> majors_of(const Knowledge& knowledge, const LibraryFile& file) {
  if (file.state != "elf" || !chooses_among_containers(file.soname) || file.soname.starts_with("libcupti")) return {};
  const auto library = cuda_library(knowledge, file.soname);
  return library ? library->cuda_majors() : std::vector<std::uint32_t>();
}

/// This GPU is older than all that CUDA of these majors compiles for.
bool is_dropped(const Knowledge& knowledge, const std::vector<std::uint32_t>& majors, const ComputeCapability& gpu) {
  const auto oldest = oldest_gpu(knowledge, majors);
  return oldest && gpu < *oldest;
}

/// Its release may be too new or too old for a GPU here: everywhere else nothing has to be read to know that it serves. Wheels of
/// frameworks have PTX for newer GPUs.
bool may_leave_gpu_out(const Knowledge& knowledge, const LibraryFile& file, bool of_program,
                       const std::vector<ComputeCapability>& gpus) {
  const auto majors = majors_of(knowledge, file);
  if (majors.empty()) return false;
  return std::ranges::any_of(gpus, [&](const ComputeCapability& gpu) {
    return is_dropped(knowledge, majors, gpu) || (of_program && !all_releases_serve(knowledge, majors, gpu));
  });
}

struct FilesWithKernels {
  std::map<std::string, bool> own;            ///< paths; with them: are they a program's own, which is what was asked for?
  std::vector<const LibraryFile*> libraries;  ///< of CUDA, small ones first
};

FilesWithKernels files_with_kernels(const Machine& machine, const Knowledge& knowledge,
                                    const std::vector<ComputeCapability>& gpus) {
  FilesWithKernels found;
  ViewSource source(machine.loader);
  for (const ProcessPlan& plan : machine.loader.plans) {
    const bool of_program = plan.kind != "python";
    const LibraryFile* program = source.open(main_path_of(plan));
    const Forecast all = forecast(source, machine_loader_rules(machine, program), plan, machine.environment);
    for (const LoadedObject& object : all.objects) {
      if (object.file == nullptr) continue;
      if (may_have_kernels(object, plan)) found.own[object.file->path] |= of_program;
      const bool known = std::ranges::find(found.libraries, object.file) != found.libraries.end();
      if (!known && may_leave_gpu_out(knowledge, *object.file, of_program, gpus)) found.libraries.push_back(object.file);
    }
  }
  std::ranges::stable_sort(found.libraries, {}, &LibraryFile::size);
  return found;
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

std::vector<ComputeCapability> capabilities_here(const Machine& machine, const Knowledge& knowledge) {
  std::vector<ComputeCapability> all;
  for (const MachineGpu& gpu : nvidia_gpus(machine, knowledge))
    if (gpu.identity.compute_capability) all.push_back(*gpu.identity.compute_capability);
  return all;
}

/// Headers tell what the CUDA runtime finds. Before a program is said to lack code, its whole file is searched. Where no GPU is
/// seen, small files are: the answer may be asked of a snapshot, for another machine's GPU.
GpuCodeFile read_code(FileReader& reader, bool of_program, const std::vector<ComputeCapability>& gpus) {
  GpuCodeOptions options;
  options.headers_only = true;
  options.decompress_limit = 0;
  options.time_limit_ms = max_milliseconds;
  GpuCodeFile file = read_gpu_code(reader, options);
  if (!of_program || file.targets.empty() || serves_all(file, gpus)) return file;
  if (gpus.empty() && reader.size() > most_bytes_without_gpu) return file;
  options = GpuCodeOptions();
  options.time_limit_ms = max_milliseconds_of_program;
  return read_gpu_code(reader, options);
}

bool serves_some(const GpuCodeFile& file, const std::vector<ComputeCapability>& gpus, const Knowledge& knowledge) {
  return std::ranges::any_of(gpus, [&](const ComputeCapability& gpu) {
    const CodeVerdict verdict = judge_gpu_code(file, gpu, {}, knowledge).verdict;
    return verdict == CodeVerdict::Native || verdict == CodeVerdict::Jit;
  });
}

void keep(System& system, const std::string& path, GpuCodeFile file, std::vector<GpuCodeFile>& found) {
  if (file.containers == 0 && file.targets.empty()) return;
  file.path = path;
  if (const auto real = system.real_path(path)) file.real_path = *real;
  found.push_back(std::move(file));
}

GpuCodeFile read_library(FileReader& reader, const std::string& path, bool headers_only, std::int64_t limit_ms) {
  GpuCodeOptions options;
  options.headers_only = headers_only;
  options.time_limit_ms = static_cast<int>(limit_ms);
  GpuCodeFile file = read_gpu_code(reader, options);
  file.path = path;  // its name tells how its containers are meant
  return file;
}

/// Is the whole library worth reading where its headers have nothing for the GPUs here? cuFFT's show a stub only, and its PTX
/// serves newer GPUs: not for these.
bool is_suspect(const Knowledge& knowledge, const LibraryFile& library, const GpuCodeFile& headers,
                const std::vector<ComputeCapability>& gpus) {
  const auto majors = majors_of(knowledge, library);
  return !headers.targets.empty() ||
         std::ranges::all_of(gpus, [&](const ComputeCapability& gpu) { return is_dropped(knowledge, majors, gpu); });
}

/// CUDA's own libraries keep code elsewhere too (cuFFT nearly all), and have up to half a gigabyte: one that is known to serve no
/// GPU here is proof enough, so of larger ones behind it only headers are read.
void read_libraries(System& system, const std::vector<const LibraryFile*>& libraries, const std::vector<ComputeCapability>& gpus,
                    const Knowledge& knowledge, std::vector<GpuCodeFile>& found) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(max_milliseconds_of_program);
  bool proven = false;
  for (const LibraryFile* library : libraries) {
    if (found.size() >= max_files) return;
    const auto reader = system.open(library->path);
    if (!reader) continue;
    GpuCodeFile file = read_library(**reader, library->path, true, max_milliseconds);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    const bool wanted = (!proven || (*reader)->size() <= most_bytes_of_more_proof) && left > 0;
    if (wanted && !serves_some(file, gpus, knowledge) && is_suspect(knowledge, *library, file, gpus)) {
      file = read_library(**reader, library->path, false, left);
      proven = proven || (file.state.empty() && !serves_some(file, gpus, knowledge));
    }
    keep(system, library->path, std::move(file), found);
  }
}

}  // namespace

void collect_gpu_code(System& system, Machine& machine) {
  const Knowledge knowledge;
  const auto gpus = capabilities_here(machine, knowledge);
  const FilesWithKernels files = files_with_kernels(machine, knowledge, gpus);
  std::vector<GpuCodeFile> found;
  for (const auto& [path, of_program] : files.own) {
    if (found.size() >= max_files) break;
    if (const auto reader = system.open(path)) keep(system, path, read_code(**reader, of_program, gpus), found);
  }
  read_libraries(system, files.libraries, gpus, knowledge, found);
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
