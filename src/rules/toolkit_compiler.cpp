// The host compiler and the C library's headers that nvcc works with.

#include <algorithm>
#include <charconv>

#include "rules/evidence.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

std::optional<std::int64_t> major_of(const HostCompiler& compiler) {
  const auto* version = compiler.version.get();
  if (version == nullptr) return std::nullopt;
  std::int64_t major = 0;
  const auto [end, error] = std::from_chars(version->data(), version->data() + version->size(), major);
  if (error != std::errc() || major <= 0 || major > 999) return std::nullopt;
  return major;
}

bool is_clang(const HostCompiler& compiler) {
  return compiler.name.find("clang") != std::string::npos || compiler.real_path.find("/clang") != std::string::npos;
}

const HostCompiler* found_by(const std::vector<HostCompiler>& compilers, std::string_view how) {
  const auto found = std::ranges::find_if(compilers, [&](const HostCompiler& c) { return c.found_by == how; });
  return found != compilers.end() ? &*found : nullptr;
}

bool names_compiler(const Machine& machine, std::string_view name) {
  const std::string_view value = variable(machine, name);
  if (!name.ends_with("_FLAGS")) return !value.empty();
  return value.find("-ccbin") != std::string_view::npos || value.find("--compiler-bindir") != std::string_view::npos;
}

bool accepts_any_compiler(const Machine& machine) {
  for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"})
    if (variable(machine, name).find("-allow-unsupported-compiler") != std::string_view::npos) return true;
  return false;
}

struct Range {
  std::optional<std::int64_t> least, greatest;
  Origin origin;
};

Range range_of(const Toolkit& toolkit, bool clang) {
  const auto& least = clang ? toolkit.clang_min : toolkit.gcc_min;
  const auto& greatest = clang ? toolkit.clang_max : toolkit.gcc_max;
  Range range;
  if (const auto* value = least.get()) range.least = *value;
  if (const auto* value = greatest.get()) range.greatest = *value;
  range.origin = greatest.is_known() ? greatest.origin() : least.origin();
  if (range.origin.source.empty()) range.origin.source = toolkit.path;
  return range;
}

bool is_inside(const Range& range, std::int64_t major) {
  return (!range.least || major >= *range.least) && (!range.greatest || major <= *range.greatest);
}

/// Another compiler on this machine that this nvcc takes: the newest g++.
const HostCompiler* fitting_compiler(const Machine& machine, const Toolkit& toolkit) {
  const HostCompiler* best = nullptr;
  const auto* compilers = machine.toolkits.compilers.get();
  if (compilers == nullptr) return nullptr;
  for (const HostCompiler& compiler : *compilers) {
    const auto major = major_of(compiler);
    if (!major || is_clang(compiler) || compiler.found_by == "beside nvcc" || !is_inside(range_of(toolkit, false), *major))
      continue;
    if (compiler.name.find("g++") == std::string::npos) continue;
    if (best == nullptr || *major > *major_of(*best)) best = &compiler;
  }
  return best;
}

/// "2.41" against 2.41, by number.
bool at_least(std::string_view version, int major, int minor) {
  const auto parsed = CudaVersion::parse(version);  // two numbers with a dot between them
  return parsed && (static_cast<int>(parsed->major) > major ||
                    (static_cast<int>(parsed->major) == major && static_cast<int>(parsed->minor) >= minor));
}

/// The newest release of the toolkit that may be advised, when it is newer than this one.
std::optional<CudaVersion> newer_release(const RuleContext& context, const Toolkit& toolkit) {
  const auto advised = CudaVersion::parse(advised_release(context)), own = cuda_version_of(toolkit);
  if (!advised || !own || *advised <= *own) return std::nullopt;
  return advised;
}

}  // namespace

const HostCompiler* host_compiler_for(const RuleContext& context, const Toolkit& toolkit) {
  const Machine& machine = context.machine;
  const auto* compilers = machine.toolkits.compilers.get();
  if (compilers == nullptr) return nullptr;
  // torch's builder passes -ccbin $CC (torch/utils/cpp_extension.py); nvcc alone does not look at CC.
  const bool by_torch = context.purpose.name == "build" && !variable(machine, "CC").empty();
  for (const char* name : {"NVCC_APPEND_FLAGS", "CC", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN", "CUDAHOSTCXX"}) {
    if (std::string_view(name) == "CC" && !by_torch) continue;
    if (names_compiler(machine, name)) return found_by(*compilers, name);
  }
  if (toolkit.origin == "conda") return nullptr;  // its activation scripts choose conda's own compiler
  const std::string folder =
      toolkit.nvcc.is_known() ? toolkit.nvcc.get()->substr(0, toolkit.nvcc.get()->rfind('/')) : toolkit.path + "/bin";
  for (const HostCompiler& compiler : *compilers) {
    const bool own = compiler.path.starts_with(folder + "/") || compiler.path.starts_with(toolkit.path + "/bin/") ||
                     (toolkit.origin == "distribution" && compiler.path.starts_with("/usr/lib/nvidia-cuda-toolkit/"));
    if (compiler.found_by == "beside nvcc" && own) return &compiler;
  }
  for (const char* name : {"gcc", "g++"})
    for (const HostCompiler& compiler : *compilers)
      if (compiler.name == name && compiler.found_by == "PATH") return &compiler;
  return nullptr;
}

std::optional<Finding> judge_host_compiler(const RuleContext& context) {
  const Machine& machine = context.machine;
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  if (toolkit == nullptr || accepts_any_compiler(machine)) return std::nullopt;
  const HostCompiler* compiler = host_compiler_for(context, *toolkit);
  const auto major = compiler != nullptr ? major_of(*compiler) : std::nullopt;
  if (!major) return std::nullopt;
  const Range range = range_of(*toolkit, is_clang(*compiler));
  if (is_inside(range, *major)) return std::nullopt;
  const bool too_old = range.least && *major < *range.least;
  Finding finding;
  finding.severity = severity_if_meant(context);
  finding.variant = too_old ? "too-old" : "";
  finding.parameters = {{"compiler", (is_clang(*compiler) ? "clang " : "gcc ") + compiler->version.value_or("")},
                        {"path", compiler->path},
                        {"toolkit", label(*toolkit)},
                        {"limit", std::to_string(too_old ? *range.least : *range.greatest)}};
  finding.evidence = {
      range.origin,
      {compiler->path, 0, compiler->path + " -> " + compiler->real_path + ", version " + compiler->version.value_or("")}};
  if (compiler->found_by != "PATH" && !variable(machine, compiler->found_by).empty())
    finding.evidence.push_back(quote_variable(machine, compiler->found_by));
  if (const auto* fitting = fitting_compiler(machine, *toolkit)) {
    finding.evidence.push_back({fitting->path, 0, "version " + fitting->version.value_or("") + " is inside the range"});
    finding.repair.push_back(make_action("choose-host-compiler", {{"compiler", fitting->path}}));
  } else if (!too_old && range.greatest) {
    finding.repair.push_back(make_action("install-host-compiler", {{"major", std::to_string(*range.greatest)}}));
  }
  if (const auto newer = newer_release(context, *toolkit); newer && !too_old)
    for (Action& action : install_toolkit_actions(context, newer->text())) finding.repair.push_back(std::move(action));
  return finding;
}

std::optional<Finding> judge_glibc_headers(const RuleContext& context) {
  const Machine& machine = context.machine;
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  const auto* glibc = machine.toolkits.libc_headers.get();
  if (toolkit == nullptr || toolkit->origin == "conda" || glibc == nullptr) return std::nullopt;
  const bool clash_2_41 = at_least(*glibc, 2, 41) && toolkit->headers_fit_glibc_2_41.is(false);
  const bool clash_2_42 = at_least(*glibc, 2, 42) && toolkit->headers_fit_glibc_2_42.is(false);
  if (!clash_2_41 && !clash_2_42) return std::nullopt;
  const Fact<bool>& fact = clash_2_41 ? toolkit->headers_fit_glibc_2_41 : toolkit->headers_fit_glibc_2_42;
  Finding finding;
  finding.severity = severity_if_meant(context);
  const std::string header = fact.origin().source;
  finding.parameters = {{"glibc", *glibc},
                        {"functions", clash_2_41 ? "sinpi, cospi" : "rsqrt"},
                        {"since", clash_2_41 ? "2.41" : "2.42"},
                        {"toolkit", label(*toolkit)},
                        {"header", header.empty() ? toolkit->path + "/include/crt/math_functions.h" : header}};
  finding.evidence = {quote(fact, finding.parameters["header"], finding.parameters["functions"] + " without noexcept"),
                      quote(machine.toolkits.libc_headers, "/usr/include/features.h", "glibc " + *glibc)};
  // 13.0 knows glibc 2.41; 2.42 is known from 13.2 on, whose headers have _NV_RSQRT_SPECIFIER (llvm/llvm-project pull 185701).
  const CudaVersion first_that_fits = at_least(*glibc, 2, 42) ? CudaVersion{13, 2, 0} : CudaVersion{13, 0, 0};
  const auto newer = newer_release(context, *toolkit);
  if (newer && *newer >= first_that_fits)
    for (Action& action : install_toolkit_actions(context, newer->text())) finding.repair.push_back(std::move(action));
  finding.repair.push_back(make_action("patch-cuda-math-header", {{"header", finding.parameters["header"]}}));
  return finding;
}

}  // namespace gpuvet
