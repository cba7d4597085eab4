// The contract between programs and the driver, by the programs' own files: functions of libcuda that they are linked against,
// and the CUDA runtime that they bring. Frameworks of Python have rules of their own (user_driver_frameworks.cpp).

#include <algorithm>

#include "knowledge/cuda_libraries.h"
#include "loader/library_family.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/hardware.h"
#include "rules/program.h"
#include "rules/program_facts.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

using Kind = SymbolConflict::Kind;

/// The driver that this very process gets: where it loads another libcuda than others (by an RPATH, say) that copy decides, if it
/// is newer, as cuda-compat's is. Nothing where that is not told, or where other rules have to speak first.
std::optional<RunningDriver> driver_of_process(const RuleContext& context, const ProcessView& view) {
  auto driver = running_driver(context);
  const LoadedObject* libcuda = loaded_library(view.now, "libcuda");
  if (!driver || libcuda == nullptr || driver->from_windows) return driver;
  const std::string* text = libcuda->file->driver_version.get();
  const auto version = libcuda->file->stub || text == nullptr ? std::nullopt : DriverVersion::parse(*text);
  if (!version || *version < driver->version) return std::nullopt;
  if (driver->version < *version) {
    driver->native = context.knowledge.native_cuda(*version);
    driver->version = *version;
    driver->origin = {libcuda->path, 0, "driver " + *text};
  }
  return driver;
}

// ---- functions of the driver -------------------------------------------------------------------------------------------

/// A function that a file is linked against, that its libcuda does not export, and that is younger than that driver; or that no
/// table knows and without which the program does not start.
struct LackedFunction {
  const LoadedObject* wanted_by = nullptr;
  const LoadedObject* libcuda = nullptr;
  std::string name;  ///< the youngest of them
  std::optional<DriverEntryPoint> since;
  std::size_t count = 0;
  bool at_load = false;
};

bool is_driver_function(std::string_view name) {
  return name.starts_with("cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z';
}

std::optional<LackedFunction> lacked_function(const RuleContext& context, const ProcessView& view, const CudaVersion& native) {
  std::optional<LackedFunction> worst;
  for (const SymbolConflict& conflict : view.conflicts) {
    const LoadedObject* owner = object_at(view, conflict.expected_in);
    const LoadedObject* wanted_by = object_at(view, conflict.wanted_by);
    if (conflict.kind != Kind::SymbolMissing || conflict.note || owner == nullptr || wanted_by == nullptr) continue;
    if (owner->file == nullptr || stem_of(*owner) != "libcuda" || owner->file->stub) continue;
    // A part that is opened if it can be (a second back end) is passed over: the program goes on without it.
    if (is_optional_part(view, *wanted_by)) continue;
    for (const std::string& name : conflict.symbols) {
      const auto since = driver_entry_point(context.knowledge, name);
      // What a library lacks, the program that opens it may bring.
      const bool unlisted = !since && conflict.at_load && view.plan->kind == "program" && is_driver_function(name);
      const bool listed = since && native < since->cuda;
      const bool known_worse = worst && (!since || (worst->since && since->cuda <= worst->since->cuda));
      if ((!listed && !unlisted) || known_worse) continue;
      worst = LackedFunction{wanted_by, owner, name, since, conflict.count, conflict.at_load};
    }
  }
  return worst;
}

/// No table tells which driver has it: the newest that serves the GPUs here may.
Finding unlisted_function(const RuleContext& context, const ProcessView& view, const RunningDriver& driver,
                          const LackedFunction& lacked) {
  Finding finding;
  finding.variant = "function-unlisted";
  finding.parameters = {{"program", view.label()},
                        {"file", std::string(base_name(lacked.wanted_by->path))},
                        {"function", lacked.name},
                        {"driver", driver.version.text},
                        {"native", driver.native->text()}};
  finding.evidence = {driver.origin,
                      {lacked.wanted_by->path, 0, "linked against " + lacked.name + " of libcuda.so.1"},
                      {lacked.libcuda->path, 0, "does not export " + lacked.name}};
  if (!driver.from_windows && recommended_branch(context) > driver.version.branch)
    add_driver_update(context, driver.version, *driver.native, finding);
  else if (!driver.from_windows && !context.in(World::Container))
    finding.repair.push_back(make_action("update-driver"));
  return finding;
}

std::optional<Finding> judge_functions(const RuleContext& context, const ProcessView& view, const RunningDriver& driver) {
  if (!driver.native) return std::nullopt;
  const auto lacked = lacked_function(context, view, *driver.native);
  if (!lacked) return std::nullopt;
  if (!lacked->since) return unlisted_function(context, view, driver, *lacked);
  const DriverEntryPoint& since = *lacked->since;
  Finding finding;
  finding.variant = driver.from_windows ? "function-windows" : "";
  finding.parameters = {{"program", view.label()},       {"file", std::string(base_name(lacked->wanted_by->path))},
                        {"function", lacked->name},      {"count", std::to_string(lacked->count)},
                        {"cuda", since.cuda.text()},     {"branch", "R" + std::to_string(since.branch)},
                        {"driver", driver.version.text}, {"native", driver.native->text()}};
  finding.evidence = {driver.origin,
                      {lacked->wanted_by->path, 0, "linked against " + lacked->name + " of libcuda.so.1"},
                      {lacked->libcuda->path, 0, "does not export " + lacked->name},
                      {since.source, 0, lacked->name + " since CUDA " + since.cuda.text()}};
  const auto least = DriverVersion::parse(std::to_string(since.branch) + ".0");
  if (least) add_driver_update(context, *least, since.cuda, finding);
  return finding;
}

// ---- the CUDA runtime --------------------------------------------------------------------------------------------------

struct BroughtRuntime {
  const LoadedObject* object = nullptr;
  CudaVersion cuda;
  bool inside = false;  ///< linked into the file
};

/// CUDA runtimes that come with the program's start, or with what was asked for: not those of parts that it opens if it can.
std::vector<BroughtRuntime> runtimes_of(const ProcessView& view) {
  std::vector<BroughtRuntime> all;
  for (const LoadedObject& object : view.now.objects) {
    if (object.file == nullptr || is_optional_part(view, object)) continue;
    const bool library = stem_of(object) == "libcudart";
    const std::string* release = library ? object.file->library_version.get() : object.file->runtime_inside.get();
    const auto cuda = release != nullptr ? CudaVersion::parse(*release) : std::nullopt;
    if (cuda) all.push_back({&object, *cuda, !library});
  }
  return all;
}

std::optional<Finding> judge_runtime(const RuleContext& context, const ProcessView& view, const RunningDriver& driver) {
  const auto runtimes = runtimes_of(view);
  const auto too_new = [&](const BroughtRuntime& r) { return fit_of(context, driver, r.cuda) == DriverFit::TooOld; };
  // A process with a second runtime that the driver serves may do its work with that one.
  if (runtimes.empty() || !std::ranges::all_of(runtimes, too_new)) return std::nullopt;
  const BroughtRuntime& runtime = runtimes.front();
  const auto least = least_driver_for_framework(context.knowledge, runtime.cuda, driver.from_windows);
  if (!least) return std::nullopt;
  Finding finding;
  finding.variant = driver.from_windows ? "runtime-windows" : "runtime";
  finding.parameters = {{"program", view.label()},
                        {"file", std::string(base_name(runtime.object->path))},
                        {"cuda", runtime.cuda.text()},
                        {"major", std::to_string(runtime.cuda.major)},
                        {"least", least->text},
                        {"driver", driver.version.text},
                        {"native", driver.native ? driver.native->text() : "?"}};
  finding.evidence = {driver.origin};
  if (runtime.inside)
    finding.evidence.push_back({runtime.object->path, 0, "the CUDA " + runtime.cuda.text() + " runtime is linked into it"});
  else
    finding.evidence.push_back(quote(view, *runtime.object));
  add_driver_update(context, *least, runtime.cuda, finding);
  return finding;
}

/// A build that the present driver serves: of any release of its CUDA major where only the runtime is too new.
Action build_for_driver(const RuleContext& context, const ProcessView& view, const RunningDriver& driver, bool runtime) {
  const CudaVersion& native = *driver.native;
  std::optional<CudaVersion> newest;
  for (const CudaRelease& release : context.knowledge.cuda_releases()) {
    const auto version = CudaVersion::parse(release.version);
    if (version && version->major == native.major && (!newest || *newest < *version)) newest = version;
  }
  const bool any_minor = runtime && newest && native < *newest && fit_of(context, driver, *newest) == DriverFit::MinorVersion;
  if (!any_minor) return make_action("use-program-for-older-cuda", {{"program", view.label()}, {"cuda", native.text()}});
  return make_action("use-program-for-cuda-major",
                     {{"program", view.label()}, {"cuda", native.text()}, {"major", std::to_string(native.major)}});
}

}  // namespace

std::optional<Finding> program_ptx_newer_than_driver(const RuleContext& context) {
  const auto driver = running_driver(context);
  for (const ProcessView& view : context.processes) {
    const auto found = driver && is_program(view) ? unserved_file(context, view, CodeReason::PtxTooNew) : std::nullopt;
    const auto isa = found ? ptx_isa(context.knowledge, found->code.judgement.ptx_isa) : std::nullopt;
    if (!isa || !isa->cuda) continue;
    const ProgramCode& code = found->code;
    Finding finding;
    finding.variant = "program";
    if (found->another_serves) finding.severity = Severity::Warning;
    finding.parameters = {{"program", view.label()},
                          {"file", std::string(base_name(code.file->path))},
                          {"gpu", code.gpu->identity.label()},
                          {"capability", code.gpu->identity.compute_capability->text()},
                          {"targets", target_text(*code.file)},
                          {"isa", isa->version},
                          {"cuda", isa->cuda->text()},
                          {"branch", "R" + std::to_string(isa->driver_branch)},
                          {"driver", driver->version.text}};
    finding.evidence = {
        driver->origin, quote_capability(*code.gpu), {code.file->path, 0, target_text(*code.file) + "; PTX ISA " + isa->version}};
    const auto least = DriverVersion::parse(std::to_string(isa->driver_branch) + ".0");
    if (least) add_driver_update(context, *least, *isa->cuda, finding);
    finding.repair.push_back(make_action(
        "find-program-for-gpu", {{"program", view.label()}, {"capability", code.gpu->identity.compute_capability->text()}}));
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> driver_too_old_for_app(const RuleContext& context) {
  for (const ProcessView& view : context.processes) {
    const auto driver = driver_of_process(context, view);
    if (!driver) continue;
    auto finding = judge_runtime(context, view, *driver);
    if (!finding) finding = judge_functions(context, view, *driver);
    if (!finding) continue;
    // A framework is named by its own rule.
    if (view.plan->kind == "python" && driver_too_old_for_wheel(context)) continue;
    if (is_program(view)) program::put_missing_code_first(context, view, true, *finding);
    if (driver->native)
      finding->repair.push_back(build_for_driver(context, view, *driver, finding->variant.starts_with("runtime")));
    return finding;
  }
  return std::nullopt;
}

}  // namespace gpuvet::user_driver
