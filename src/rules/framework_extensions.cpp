// Extensions for torch that were compiled for another torch release, C++ ABI or CUDA, or for other GPUs.

#include "rules/framework_extensions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "knowledge/gpu_code_verdict.h"
#include "loader/library_family.h"
#include "loader/machine_rules.h"
#include "rules/evidence.h"
#include "rules/framework.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number at the front of `text`, taken off it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "cu12torch2.5cxx11abiFALSE" (flash-attn and its kind).
std::optional<ExtensionTag> tag_of_release_wheel(std::string_view text) {
  const std::size_t at = text.find("torch2.");
  if (at == std::string_view::npos) return std::nullopt;
  ExtensionTag tag;
  std::string_view rest = text.substr(at + 7);
  const auto minor = take_number(rest);
  if (!minor) return std::nullopt;
  tag.torch = "2." + std::to_string(*minor);
  if (contains_ignoring_case(rest, "cxx11abitrue")) tag.cxx11_abi = true;
  if (contains_ignoring_case(rest, "cxx11abifalse")) tag.cxx11_abi = false;
  if (const std::size_t cu = text.substr(0, at).rfind("cu"); cu != std::string_view::npos) {
    std::string_view number = text.substr(cu + 2);
    if (const auto cuda = take_number(number)) tag.cuda_major = *cuda >= 100 ? *cuda / 10 : *cuda;
  }
  return tag;
}

/// "pt25cu124" (PyG's wheels): torch 2.5, CUDA 12.4.
std::optional<ExtensionTag> tag_of_pyg_wheel(std::string_view text) {
  const std::size_t at = text.find("+pt");
  if (at == std::string_view::npos || text.size() < at + 5 || !is_digit(text[at + 3])) return std::nullopt;
  ExtensionTag tag;
  std::string_view rest = text.substr(at + 4);
  const auto minor = take_number(rest);
  if (!minor) return std::nullopt;
  tag.torch = std::string(1, text[at + 3]) + "." + std::to_string(*minor);
  if (rest.starts_with("cu")) {
    rest.remove_prefix(2);
    if (const auto cuda = take_number(rest); cuda && *cuda >= 90) tag.cuda_major = *cuda / 10;
  }
  return tag;
}

/// The last part of an address, percent signs as they are: the version's "+" is "%2B" there.
std::string wheel_name(const std::string& url) {
  std::string name = url.substr(url.rfind('/') + 1);
  for (std::size_t at = name.find("%2B"); at != std::string::npos; at = name.find("%2B")) name.replace(at, 3, "+");
  return name;
}

}  // namespace

std::string torch_pinned_by(const PythonPackage& package) {
  for (const std::string& requirement : package.requirements) {
    if (!requirement.starts_with("torch") || requirement.find("extra") != std::string::npos) continue;
    std::string_view rest = std::string_view(requirement).substr(5);
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '(')) rest.remove_prefix(1);
    if (!rest.starts_with("==")) continue;
    rest.remove_prefix(2);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    rest = rest.substr(0, rest.find_first_of(" ;),"));
    if (!rest.empty() && rest.find('*') == std::string_view::npos) return std::string(rest);
  }
  return {};
}

std::optional<ExtensionTag> extension_tag(const PythonPackage& package) {
  for (const std::string& text : {package.version, wheel_name(package.url)}) {
    if (text.empty()) continue;
    for (auto tag : {tag_of_release_wheel(text), tag_of_pyg_wheel(text)}) {
      if (!tag) continue;
      tag->text = text;
      return tag;
    }
  }
  return std::nullopt;
}

std::vector<ExtensionModules> extension_modules(const Machine& machine, const PythonEnvironment& environment) {
  std::vector<ExtensionModules> all;
  for (const ProcessPlan& plan : machine.loader.plans) {
    if (plan.kind != extensions_kind || plan.prefix != environment.prefix) continue;
    for (const LoadStep& step : plan.steps) {
      const ExtensionOwner owner = owner_of_extension(step);
      if (owner.package.empty() || step.names.empty()) continue;
      const std::string& path = step.names.front();
      const auto file = std::ranges::find(machine.loader.files, path, &LibraryFile::path);
      if (file == machine.loader.files.end()) continue;
      if (all.empty() || all.back().package.name != owner.package) {
        const PythonPackage* known = find_package(environment, owner.package);
        all.push_back({});
        if (known != nullptr) all.back().package = *known;
        all.back().package.name = owner.package;
        all.back().package.version = owner.version;
      }
      all.back().files.push_back(&*file);
      for (const Origin& problem : plan.problems)
        if (problem.source == path)
          all.back().other_python.push_back({path, 0, problem.text.substr(problem.text.rfind(' ') + 1)});
    }
  }
  return all;
}

namespace framework {
namespace {

std::string python_of(const PythonEnvironment& environment) {
  return environment.interpreter.value_or(environment.prefix + "/bin/python");
}

/// Distributions with compiled code against libtorch whose pin of torch is one of the C++ interface.
constexpr std::array compiled_against_pin = {"xformers",       "vllm",       "sgl-kernel", "fbgemm-gpu",
                                             "torch-tensorrt", "torchcodec", "flash-attn"};

bool has_compiled_pin(const PythonPackage& package) {
  return std::ranges::find(compiled_against_pin, package.name) != compiled_against_pin.end();
}

struct Mismatch {
  std::string variant;  ///< "" torch release, "abi", "cuda"
  std::string wanted;
  Origin origin;
};

std::optional<Mismatch> mismatch_of(const RuleContext& context, const FrameworkInstall& torch, const PythonPackage& package) {
  const std::string minor = torch.version->minor_text();
  if (const auto tag = extension_tag(package)) {
    const Origin origin{package.folder, 0, package.name + " " + tag->text};
    if (tag->torch != minor) return Mismatch{"", tag->torch, origin};
    const auto* abi = torch.build != nullptr ? torch.build->cxx11_abi.get() : nullptr;
    if (tag->cxx11_abi && abi != nullptr && *abi != *tag->cxx11_abi)
      return Mismatch{"abi", *tag->cxx11_abi ? "TRUE" : "FALSE", origin};
    if (tag->cuda_major && torch.cuda && torch.cuda->major != *tag->cuda_major)
      return Mismatch{"cuda", std::to_string(*tag->cuda_major), origin};
    return std::nullopt;
  }
  if (!has_compiled_pin(package) || package.manager == "conda") return std::nullopt;
  std::string wanted = torch_pinned_by(package);
  Origin origin{package.folder + "/METADATA", 0, "Requires-Dist: torch==" + wanted};
  if (wanted.empty() && package.name == "xformers") {
    if (const auto version = ReleaseVersion::parse(package.version))
      wanted = torch_of_companion(context.knowledge, "xformers", *version);
    // 0.0.35 on is built for the stable interface of 2.10 and later.
    if (const auto release = ReleaseVersion::parse(wanted); release && *ReleaseVersion::parse("2.9.99") < *release)
      return std::nullopt;
    origin = quote(package);
  }
  const auto release = ReleaseVersion::parse(wanted);
  if (!release || release->minor_text() == minor) return std::nullopt;
  return Mismatch{"", wanted, origin};
}

/// Wheels on PyPI for one torch release each: the index never has "the build for another torch" of the same release.
bool has_one_wheel_per_release(const PythonPackage& package) {
  return has_compiled_pin(package) && package.name != "flash-attn" && !extension_tag(package);
}

/// The torch release that the extension names, with the CUDA variant that serves driver and GPU.
std::vector<Action> go_back_to_torch(const RuleContext& context, const PythonEnvironment& environment,
                                     const std::string& wanted) {
  const auto release = ReleaseVersion::parse(wanted);
  if (!release) return {};
  WheelNeeds needs = wheel_needs(context, environment, "torch");
  needs.release = release;
  const WheelChoice choice = choose_wheel(context.knowledge, needs);
  if (!choice.found || !choice.same_release) return {};
  return install_choice(context, environment, choice);
}

/// The release of xformers for this torch; else the torch of the extension; else a build from source for this torch.
std::vector<Action> fit_extension(const RuleContext& context, const FrameworkInstall& torch, const PythonPackage& package,
                                  const std::string& wanted) {
  const PythonEnvironment& environment = *torch.environment;
  if (package.name == "xformers") {
    const auto companions = torch_companions(context.knowledge, *torch.version);
    if (companions && !companions->xformers.empty())
      return {install_packages(environment, {"xformers==" + companions->xformers, "torch==" + torch.version->public_text()})};
  }
  if (has_one_wheel_per_release(package)) {
    auto steps = go_back_to_torch(context, environment, wanted);
    if (!steps.empty()) return steps;
  }
  const auto version = ReleaseVersion::parse(package.version);
  return {make_action("reinstall-torch-extension",
                      {{"package", package.name},
                       {"requirement", version ? package.name + "==" + version->public_text() : package.name},
                       {"torch", torch.version->public_text()},
                       {"environment", environment.prefix},
                       {"python", python_of(environment)}})};
}

/// A package that is not part of what was asked for breaks only the programs that import it.
Severity severity_of(const RuleContext& context, const PythonPackage& package) {
  const bool meant = context.purpose.name == framework_of_package(package.name) || context.purpose.name == package.name;
  return meant ? Severity::Error : Severity::Warning;
}

/// The worse finding, the earlier of equals.
void keep_worse(std::optional<Finding>& kept, Finding finding) {
  if (!kept || kept->severity < finding.severity) kept = std::move(finding);
}

Finding mismatch_finding(const RuleContext& context, const FrameworkInstall& torch, const PythonPackage& package) {
  Finding finding;
  finding.severity = severity_of(context, package);
  finding.parameters = {{"extension", package.name + " " + package.version},
                        {"name", package.name},
                        {"torch", torch.version->text},
                        {"cuda", torch.cuda ? torch.cuda->text() : "-"},
                        {"environment", label_of(*torch.environment)}};
  return finding;
}

/// What the modules themselves say: torch's symbols that this torch does not have, or another Python in all their names.
std::optional<Finding> mismatch_of_modules(const RuleContext& context, const FrameworkInstall& torch,
                                           const ExtensionModules& modules) {
  Finding finding = mismatch_finding(context, torch, modules.package);
  for (const LibraryFile* file : modules.files) {
    for (const std::string& symbol : file->wanted_symbols) {
      if (owners_of_symbol(symbol).empty() || finding.evidence.size() >= 3) continue;
      finding.evidence.push_back({file->path, 0, "wants " + symbol + ", which torch " + torch.version->text + " does not have"});
    }
  }
  if (!finding.evidence.empty()) {
    finding.variant = "symbols";
    finding.parameters["symbol"] = finding.evidence.front().text.substr(6, finding.evidence.front().text.find(',') - 6);
    finding.parameters["file"] = std::string(base_name(finding.evidence.front().source));
  } else if (modules.other_python.size() == modules.files.size()) {
    finding.variant = "python";
    finding.parameters["wanted"] = modules.other_python.front().text;
    finding.parameters["python"] = torch.environment->python.value_or("?");
    for (const Origin& origin : modules.other_python)
      finding.evidence.push_back({origin.source, 0, "made for Python " + origin.text});
  } else {
    return std::nullopt;
  }
  finding.evidence.push_back(torch.origin);
  finding.repair = fit_extension(context, torch, modules.package, {});
  return finding;
}

}  // namespace

std::optional<Finding> extension_abi_mismatch(const RuleContext& context) {
  std::optional<Finding> first;
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    if (!wants_framework(context, environment, "torch")) continue;
    const auto torch = framework_install(context, environment, "torch");
    if (!torch || !torch->version || torch->version->phase < 0) continue;
    for (const ExtensionModules& modules : extension_modules(context.machine, environment))
      if (auto finding = mismatch_of_modules(context, *torch, modules)) keep_worse(first, std::move(*finding));
    for (const PythonPackage& package : environment.packages) {
      if (package.state == "files-missing") continue;
      const auto mismatch = mismatch_of(context, *torch, package);
      if (!mismatch) continue;
      Finding finding = mismatch_finding(context, *torch, package);
      finding.variant = mismatch->variant;
      finding.parameters["wanted"] = mismatch->wanted;
      finding.evidence = {mismatch->origin, torch->origin};
      if (torch->package != nullptr) finding.evidence.push_back(quote(*torch->package));
      finding.repair = fit_extension(context, *torch, package, mismatch->variant.empty() ? mismatch->wanted : std::string());
      keep_worse(first, std::move(finding));
    }
  }
  return first;
}

// ---- extension-arch-missing -----------------------------------------------------------------------------------------

namespace {

/// What an extension's release can run on, as far as its table row says for sure.
struct ExtensionNeeds {
  const PythonPackage* package = nullptr;
  std::optional<ComputeCapability> least;
  GpuTargets targets;
  Origin source;
};

/// "11.8-12.6: 50;60;75 | 12.8: 75;80" → the list for this CUDA release.
GpuTargets targets_for(std::string_view cell, const CudaVersion& cuda) {
  while (!cell.empty()) {
    const std::string_view part = cell.substr(0, cell.find('|'));
    cell = part.size() < cell.size() ? cell.substr(part.size() + 1) : std::string_view();
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view range = part.substr(0, colon);
    while (!range.empty() && range.front() == ' ') range.remove_prefix(1);
    const std::size_t dash = range.find('-');
    const auto low = CudaVersion::parse(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : CudaVersion::parse(range.substr(dash + 1));
    const CudaVersion wanted{cuda.major, cuda.minor, 0};
    if (low && high && *low <= wanted && wanted <= *high) return parse_targets(part.substr(colon + 1));
  }
  return {};
}

bool is_prebuilt(const PythonPackage& package) {
  return extension_tag(package).has_value() || package.url.find(".whl") != std::string::npos;
}

/// The GPU code of an extension's own files: what they carry, and whether some GPU here runs any of them.
struct OwnCode {
  std::string targets;
  bool fails_everywhere = true;  ///< for certain, for want of code
};

std::optional<OwnCode> own_code(const RuleContext& context, const std::vector<const MachineGpu*>& gpus,
                                const ExtensionModules& modules) {
  const auto* code = context.machine.gpu_code.get();
  if (code == nullptr) return std::nullopt;
  OwnCode own;
  CodeContext how;
  std::vector<std::string> arches;
  bool any = false;
  for (const LibraryFile* file : modules.files) {
    const auto found = std::ranges::find(*code, file->path, &GpuCodeFile::path);
    if (found == code->end() || found->targets.empty()) continue;
    any = true;
    for (const GpuCodeTarget& target : found->targets)
      if (std::ranges::find(arches, target.arch) == arches.end()) arches.push_back(target.arch);
    for (const MachineGpu* gpu : gpus) {
      const auto judged = judge_gpu_code(*found, *gpu->identity.compute_capability, how, context.knowledge);
      if (judged.verdict != CodeVerdict::Fails || judged.reason != CodeReason::NoImage) own.fails_everywhere = false;
    }
  }
  if (!any) return std::nullopt;
  own.targets = join(arches, " ");
  return own;
}

std::optional<ExtensionNeeds> needs_of(const RuleContext& context, const FrameworkInstall& torch, const PythonPackage& package) {
  const bool flash = package.name == "flash-attn", bits = package.name == "bitsandbytes", vllm = package.name == "vllm";
  if (!flash && !bits && !vllm) return std::nullopt;
  const auto version = ReleaseVersion::parse(package.version);
  if (!version) return std::nullopt;
  auto rows = framework_rows(context.knowledge, package.name, *version);
  std::erase_if(rows, [&](const FrameworkRow& row) { return row.package != package.name; });
  // Every release of flash-attn 2 has the same floor; of others only listed releases are judged.
  if (rows.empty() && flash && version->release.front() == 2) {
    rows = framework_rows(context.knowledge, "flash-attn");
    std::erase_if(rows, [](const FrameworkRow& row) { return row.package != "flash-attn" || !row.version.starts_with("2."); });
    for (FrameworkRow& row : rows) row.targets_text.clear();
  }
  if (rows.empty()) return std::nullopt;
  ExtensionNeeds needs{&package, rows.front().min_capability, {}, {"release tables", 0, ""}};
  if (bits && torch.cuda) needs.targets = targets_for(rows.front().targets_text, *torch.cuda);
  if (flash && is_prebuilt(package)) needs.targets = parse_targets(rows.front().targets_text);
  needs.source.text = package.name + " " + package.version + ": " +
                      (needs.targets.known() ? "code for " + needs.targets.text()
                                             : "compute capability " + rows.front().min_capability_text + " and newer");
  return needs;
}

Action rebuild_for(const PythonEnvironment& environment, const PythonPackage& package, const MachineGpu& gpu) {
  return make_action(
      "rebuild-extension-for-gpu",
      {{"package", package.name}, {"python", python_of(environment)}, {"capability", gpu.identity.compute_capability->text()}});
}

Finding arch_finding_of_files(const RuleContext& context, const PythonEnvironment& environment, const ExtensionModules& modules,
                              const OwnCode& own, const MachineGpu& gpu) {
  Finding finding;
  finding.severity = severity_of(context, modules.package);
  finding.variant = "other-build";
  finding.parameters = {{"extension", modules.package.name + " " + modules.package.version},
                        {"name", modules.package.name},
                        {"gpu", gpu.identity.label()},
                        {"capability", gpu.identity.compute_capability->text()},
                        {"needs", own.targets},
                        {"environment", label_of(environment)}};
  finding.evidence = {quote_capability(gpu), {modules.files.front()->path, 0, "GPU code for " + own.targets}};
  finding.repair = {rebuild_for(environment, modules.package, gpu)};
  return finding;
}

bool is_served(const ExtensionNeeds& needs, const ComputeCapability& gpu) {
  if (needs.least && gpu < *needs.least) return false;
  const GpuCode code = code_for(needs.targets, gpu);
  return code == GpuCode::Unknown || runs(code);
}

}  // namespace

std::optional<Finding> extension_arch_missing(const RuleContext& context) {
  std::optional<Finding> first;
  const auto gpus = usable_gpus(context);
  if (gpus.empty()) return first;
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    if (!wants_framework(context, environment, "torch")) continue;
    const auto torch = framework_install(context, environment, "torch");
    if (!torch || torch->flavour != "cuda") continue;
    std::map<std::string, bool> known_by_file;
    for (const ExtensionModules& modules : extension_modules(context.machine, environment)) {
      const auto own = own_code(context, gpus, modules);
      if (!own) continue;
      known_by_file[modules.package.name] = true;
      if (own->fails_everywhere) keep_worse(first, arch_finding_of_files(context, environment, modules, *own, *gpus.front()));
    }
    for (const PythonPackage& package : environment.packages) {
      auto needs = package.state == "files-missing" ? std::nullopt : needs_of(context, *torch, package);
      if (!needs) continue;
      // What its files carry is known better than what the table says of its release.
      if (known_by_file.contains(package.name)) needs->targets = {};
      if (known_by_file.contains(package.name) && !needs->least) continue;
      const auto served = [&](const MachineGpu* gpu) { return is_served(*needs, *gpu->identity.compute_capability); };
      if (std::ranges::any_of(gpus, served)) continue;
      Finding finding;
      finding.severity = severity_of(context, package);
      finding.parameters = {{"extension", package.name + " " + package.version},
                            {"name", package.name},
                            {"gpu", gpus.front()->identity.label()},
                            {"capability", gpus.front()->identity.compute_capability->text()},
                            {"needs", needs->targets.known() ? needs->targets.text()
                                      : needs->least         ? needs->least->text() + "+"
                                                             : "?"},
                            {"environment", label_of(environment)}};
      finding.evidence = {quote_capability(*gpus.front()), quote(package), needs->source};
      const bool too_old = needs->least && *gpus.front()->identity.compute_capability < *needs->least;
      finding.variant = too_old ? "" : "other-build";
      finding.repair.push_back(too_old ? make_action("do-without-extension", {{"package", package.name}})
                                       : rebuild_for(environment, package, *gpus.front()));
      keep_worse(first, std::move(finding));
    }
  }
  return first;
}

}  // namespace framework
}  // namespace gpuvet
