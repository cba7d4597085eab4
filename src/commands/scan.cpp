// gpuvet scan PATH…

#include <algorithm>

#include "collect/gpu_code_scan.h"
#include "collect/working_folder.h"
#include "commands/gpu_query.h"
#include "commands/input.h"
#include "commands/output_file.h"
#include "render/messages.h"
#include "render/scan.h"

namespace gpuvet {
namespace {

using Variables = std::map<std::string, std::string>;

/// The folder in which gpuvet was started: the paths that the user names are relative to it.
std::string starting_folder(System& system, const Options& options, const Variables& variables) {
  if (!options.root.empty()) return "/";
  if (std::string here = working_folder(system); !here.empty()) return here;
  const auto pwd = variables.find("PWD");
  return pwd != variables.end() && pwd->second.starts_with('/') ? pwd->second : "/";
}

std::string absolute(const std::string& folder, std::string path) {
  while (path.starts_with("./")) path.erase(0, path.find_first_not_of('/', 1));
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.starts_with('/')) return path;
  if (path.empty() || path == ".") return folder;
  return (folder == "/" ? "" : folder) + "/" + path;
}

std::optional<DriverVersion> driver_of(const Machine& machine) {
  const auto* libraries = machine.user_driver.libraries.get();
  if (libraries == nullptr) return std::nullopt;
  for (const DriverLibrary& library : *libraries) {
    if (library.name != "libcuda.so.1" || !library.wins) continue;
    if (const auto* version = library.version.get()) return DriverVersion::parse(*version);
  }
  return std::nullopt;
}

/// Only what a verdict asks for: the bus and the driver's libraries.
Machine look_at_machine(Inspected& inspected) {
  Machine machine;
  machine.source = inspected.system->is_live() ? "host" : "root";
  for (const auto collector : {collect_environment, collect_os, collect_pci, collect_kernel_driver, collect_user_driver})
    collector(*inspected.system, inspected.collect, machine);
  return machine;
}

void add_machine_gpus(const Machine& machine, const Knowledge& knowledge, std::vector<ScanGpu>& gpus) {
  for (const MachineGpu& gpu : nvidia_gpus(machine, knowledge)) {
    const auto& capability = gpu.identity.compute_capability;
    if (!capability) continue;
    ScanGpu found{"this", gpu.identity.label() + " " + capability->text(), *capability};
    const bool known = std::ranges::any_of(gpus, [&](const ScanGpu& other) { return other.label == found.label; });
    if (!known) gpus.push_back(std::move(found));
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

std::string unknown_gpu(const std::string& name, const GpuQueryError& error, Language language) {
  if (error.ambiguous)
    return message(Message::ScanAmbiguousGpu, language, {{"name", printable(name)}, {"names", joined(error.names)}});
  std::string text = message(Message::ScanUnknownGpu, language, {{"name", printable(name)}});
  if (!error.names.empty())
    text +=
        (language == Language::Chinese ? "；" : "; ") + message(Message::DidYouMean, language, {{"name", joined(error.names)}});
  return text;
}

/// Fills `gpus` and the driver. Errors are whole sentences.
tl::expected<void, std::string> ask_for(const Options& options, const Machine& machine, const Knowledge& knowledge,
                                        ScanReport& report) {
  if (options.gpus.empty()) add_machine_gpus(machine, knowledge, report.gpus);
  bool here = options.gpus.empty();
  for (const std::string& name : options.gpus) {
    if (name == "this") {
      const std::size_t before = report.gpus.size();
      add_machine_gpus(machine, knowledge, report.gpus);
      if (report.gpus.size() == before) return tl::unexpected(std::string(message(Message::ScanNoGpuHere, options.language)));
      here = true;
      continue;
    }
    const auto gpu = find_gpu(knowledge, name);
    if (!gpu) return tl::unexpected(unknown_gpu(name, gpu.error(), options.language));
    report.gpus.push_back({name, gpu->label, gpu->capability});
  }
  if (!options.driver.empty()) {
    report.context.driver = DriverVersion::parse(options.driver);
    if (!report.context.driver) return tl::unexpected(std::string(message(Message::ScanBadDriver, options.language)));
  } else if (here) {
    report.context.driver = driver_of(machine);
  }
  return {};
}

/// Nothing is there, or what no file is: as check and trace answer for a program.
bool is_misnamed(System& system, const std::string& path) {
  const auto status = system.status(path);
  if (!status) return status.error().code == ErrorCode::NotFound;
  return status->type != FileType::Regular && status->type != FileType::Directory;
}

void judge(GpuCodeScan scan, const Knowledge& knowledge, ScanReport& report) {
  for (GpuCodeFile& code : scan.files) {
    ScanReport::File file{std::move(code), {}};
    for (const ScanGpu& gpu : report.gpus)
      file.verdicts.push_back(judge_gpu_code(file.code, gpu.capability, report.context, knowledge));
    report.files.push_back(std::move(file));
  }
  for (ScanProblem& problem : scan.problems) report.problems.emplace_back(std::move(problem.path), std::move(problem.why));
  report.files_seen = scan.files_seen;
  report.files_read = scan.files_read;
  report.bytes_read = scan.bytes_read;
  report.stopped = scan.stopped;
}

std::string render(const Options& options, const ScanReport& report, const Knowledge& knowledge) {
  const RenderOptions how = render_options(options);
  if (options.format == "json") return render_scan_json(report, knowledge, how);
  if (options.format == "markdown") return render_scan_markdown(report, knowledge, how);
  return render_scan_text(report, knowledge, how);
}

}  // namespace

int run_scan(const Options& options) {
  if (options.scan_paths.empty()) return fail(std::string(message(Message::ScanNoPath, options.language)));
  const auto knowledge = load_knowledge(options);
  if (!knowledge) return fail(knowledge.error());
  auto inspected = open_inspected(options);
  if (!inspected) return fail(inspected.error());
  Machine machine;
  const bool ask_machine = options.gpus.empty() || std::ranges::find(options.gpus, "this") != options.gpus.end();
  if (ask_machine && options.snapshot.empty()) {
    machine = look_at_machine(*inspected);
  } else if (ask_machine) {
    Purpose purpose;
    auto loaded = load_machine(options, purpose, nullptr);
    if (!loaded) return fail(loaded.error().text, loaded.error().exit_code);
    machine = std::move(*loaded);
  }
  ScanReport report;
  const Variables& variables = inspected->collect.environment;
  read_jit_variables(variables, report.context);
  if (const auto asked = ask_for(options, machine, *knowledge, report); !asked) return fail(asked.error());
  const std::string folder = starting_folder(*inspected->system, options, variables);
  for (const std::string& path : options.scan_paths) report.roots.push_back(absolute(folder, path));
  for (const std::string& path : report.roots) report.misnamed |= is_misnamed(*inspected->system, path);
  judge(scan_gpu_code(*inspected->system, report.roots), *knowledge, report);
  const int printed = print(render(options, report, *knowledge));
  return printed != 0 ? printed : exit_code(report);
}

}  // namespace gpuvet
