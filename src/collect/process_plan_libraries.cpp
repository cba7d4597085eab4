// What loaded libraries open by themselves: the parts of cuDNN, NVRTC's builtins, the driver, network plug-ins of NCCL.

#include <algorithm>

#include "collect/ldconf.h"
#include "collect/process_plan_names.h"
#include "collect/process_plan_parts.h"
#include "elf/cuda_library_version.h"
#include "elf/dlopen_names.h"
#include "knowledge/framework_loading.h"

namespace gpuvet {
namespace {

constexpr int max_rounds = 4;
constexpr std::size_t max_steps = 512;
constexpr std::size_t max_entries = 256, max_parts = 4;
constexpr std::size_t max_searched = std::size_t{256} << 20;  // larger files are frameworks, for which the table has rows

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }
std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// "9.10" of "9.10.2".
std::string_view minor_of(std::string_view version) {
  const auto first = version.find('.');
  return first == std::string_view::npos ? version : version.substr(0, version.find('.', first + 1));
}

/// The names of a row for one caller; those that need a release that is not known are left out.
std::vector<std::string> names_for(const PlanSource& source, const LoadingRow& row, const LoadedObject& caller,
                                   const std::string& program_folder) {
  std::vector<std::string> out;
  const std::string& soname = caller.file->soname;
  const auto at = soname.find(".so.");
  for (std::string name : row.names) {
    if (name.find("{version") != std::string::npos) {
      const std::string version = release_of_library(source, *caller.file);
      if (version.empty()) continue;
      name = replaced(replaced(std::move(name), "{version_minor}", minor_of(version)), "{version}", version);
    }
    if (name.find("{soversion}") != std::string::npos) {
      if (at == std::string::npos) continue;
      name = replaced(std::move(name), "{soversion}", std::string_view(soname).substr(at + 4));
    }
    // "./X": beside the caller; "%program/X": beside the program.
    if (name.starts_with("%program/")) {
      if (program_folder.empty()) continue;
      name = program_folder + name.substr(8);
    }
    if (name.starts_with("./")) name = std::string(folder_of(caller.path)) + name.substr(1);
    out.push_back(std::move(name));
  }
  return out;
}

bool is_called_by(const LoadingRow& row, const LoadedObject& object) {
  if (object.file == nullptr) return false;
  const std::string_view name = object.file->soname.empty() ? name_of(object.path) : std::string_view(object.file->soname);
  return glob_match(row.caller, name);
}

void add_steps_of(const PlanSource& source, const LoadingRow& row, const LoadedObject& object, ProcessPlan& plan) {
  const auto add = [&](std::vector<std::string> names) {
    if (names.empty() || plan.steps.size() >= max_steps) return;
    plan.steps.push_back({std::move(names), object.path, row.global, true, row.why, {}});
  };
  const LibraryFile* program = plan.program.empty() ? nullptr : source.objects.open(plan.program);
  const std::string folder = program == nullptr ? "" : std::string(folder_of(program->real_path));
  std::vector<std::string> names = names_for(source, row, object, folder);
  // A copy beside the caller is worth knowing, also where no rule of the loader leads to it.
  for (const std::string& name : names)
    if (name.find('/') == std::string::npos) (void)source.objects.open(std::string(folder_of(object.path)) + "/" + name);
  if (!row.each) return add(std::move(names));
  for (std::string& name : names) add({std::move(name)});
}

/// GPU libraries that programs open by name. X11 and its like are no matter of ours.
bool is_gpu_soname(std::string_view name) {
  static constexpr std::string_view stems[] = {
      "libcuda.",        "libcudart.",   "libcudnn",      "libcublas",   "libcufft.",       "libcurand.",
      "libcusolver",     "libcusparse",  "libcutensor",   "libcupti.",   "libnvrtc",        "libnvJitLink.",
      "libnvvm.",        "libnccl",      "libnvidia-ml.", "libnvinfer",  "libnvToolsExt.",  "libcufile.",
      "libnvshmem_host", "libggml-cuda", "libnvjpeg.",    "libnvcuvid.", "libnvonnxparser", "libnpp"};
  return std::ranges::any_of(stems, [&](std::string_view stem) { return name.starts_with(stem); });
}

}  // namespace

Forecast forecast_so_far(const PlanSource& source, const ProcessPlan& plan,
                         const std::map<std::string, std::string>& environment) {
  const LibraryFile* program = nullptr;
  if (!plan.program.empty()) {
    program = source.objects.open(plan.program);
  } else if (!plan.steps.empty() && !plan.steps.front().names.empty()) {
    program = source.objects.open(plan.steps.front().names.front());
  }
  LoaderRules rules = source.objects.rules(source.machine, program);
  rules.want_tried = false;
  return forecast(source.objects, rules, plan, environment);
}

std::vector<std::map<std::string, std::string>> environments_of(const Machine& machine) {
  std::vector<std::map<std::string, std::string>> out{machine.environment};
  if (!machine.environment.contains("LD_LIBRARY_PATH") && !machine.environment.contains("LD_PRELOAD")) return out;
  out.push_back(machine.environment);
  out.back().erase("LD_LIBRARY_PATH");
  out.back().erase("LD_PRELOAD");
  return out;
}

std::vector<std::string> parts_with_cuda(const PlanSource& source, const std::string& program) {
  std::vector<std::string> parts;
  const std::string real = source.system.real_path(program).value_or(program);
  const std::string above = std::string(folder_of(folder_of(real)));
  const std::string own = above + "/lib/" + std::string(name_of(real));
  const auto look_into = [&](const std::string& folder) {
    const auto entries = source.system.list(folder, max_entries);
    std::vector<std::string> folders;
    if (!entries) return folders;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.type == FileType::Directory) folders.push_back(folder + "/" + entry.name);
      const bool is_part = entry.name.find("cuda") != std::string::npos && entry.name.ends_with(".so");
      if (is_part && !entry.name.starts_with("libcuda") && parts.size() < max_parts) parts.push_back(folder + "/" + entry.name);
    }
    return folders;
  };
  for (const std::string& folder : look_into(own)) (void)look_into(folder);
  return parts;
}

std::string release_of_library(const PlanSource& source, const LibraryFile& file) {
  const LibraryFile* library = &file;
  if (file.soname.starts_with("libcudnn.so."))
    library = source.objects.open(std::string(folder_of(file.path)) + "/libcudnn_graph" + file.soname.substr(8));
  if (library == nullptr) return "";
  if (const std::string* known = library->library_version.get()) return *known;
  const auto reader = source.objects.reader(*library);
  return reader ? read_cuda_library_version(*reader, *library).value_or("") : "";
}

FrameworkLoading library_rows(const PlanSource& source) { return framework_loading(source.knowledge, "library", std::nullopt); }

void add_library_steps(const PlanSource& source, ProcessPlan& plan, const FrameworkLoading& loading,
                       std::optional<Forecast> known) {
  std::set<std::string> done;
  for (int round = 0; round < max_rounds; ++round) {
    const std::size_t before = plan.steps.size();
    for (const auto& environment : environments_of(source.machine)) {
      const Forecast so_far = known ? std::move(*known) : forecast_so_far(source, plan, environment);
      known.reset();
      for (const LoadedObject& object : so_far.objects) {
        if (!done.insert(object.path).second) continue;
        for (const LoadingRow& row : loading.rows)
          if (is_called_by(row, object)) add_steps_of(source, row, object, plan);
      }
    }
    if (plan.steps.size() == before) return;
  }
}

std::optional<Forecast> add_dlopen_names(const PlanSource& source, ProcessPlan& plan, const FrameworkLoading& known) {
  const std::size_t before = plan.steps.size();
  Forecast so_far = forecast_so_far(source, plan, source.machine.environment);
  for (const LoadedObject& object : so_far.objects) {
    if (object.file == nullptr || object.rule == "loader" || object.file->size > static_cast<std::int64_t>(max_searched))
      continue;
    const bool in_table = std::ranges::any_of(known.rows, [&](const LoadingRow& row) { return is_called_by(row, object); });
    // libc, libstdc++ and their like come from the default folders and name nothing of ours.
    const bool own = object.loader < 0 || (object.rule != "default" && object.rule != "ld.so.cache");
    if (in_table || !own) continue;
    const auto reader = source.objects.reader(*object.file);
    if (!reader) continue;
    for (std::string& name : read_dlopen_names(*reader)) {
      if (!is_gpu_soname(name) || plan.steps.size() >= max_steps) continue;
      const std::string why = "a name in " + std::string(name_of(object.path));
      plan.steps.push_back({{std::move(name)}, object.path, false, true, why, {}});
    }
  }
  return plan.steps.size() == before ? std::optional(std::move(so_far)) : std::nullopt;
}

}  // namespace gpuvet
