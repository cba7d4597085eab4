// What the wheels themselves say: two majors of NVIDIA's libraries side by side, a C library older than a wheel was built for.

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "model/version.h"
#include "rules/cuda_needs.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_packages.h"
#include "rules/framework_repair.h"
#include "rules/runtime_library.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

struct Wheel {
  const PythonPackage* package;
  std::string family;      ///< "cublas"
  std::uint32_t cuda = 0;  ///< 12 of "-cu12"; of a name without suffix the version's major
};

std::optional<Wheel> as_wheel(const PythonPackage& package) {
  static constexpr std::array<std::string_view, 12> families{"cublas",   "cuda-cupti", "cuda-nvrtc", "cuda-runtime",
                                                             "cudnn",    "cufft",      "curand",     "cusolver",
                                                             "cusparse", "nccl",       "nvjitlink",  "cufile"};
  if (!package.name.starts_with("nvidia-") || !is_from_wheel(package) || is_placeholder(package)) return std::nullopt;
  std::string family = package.name.substr(7);
  std::uint32_t cuda = 0;
  if (const std::size_t at = family.rfind("-cu");
      at != std::string::npos && family.find_first_not_of("0123456789", at + 3) == std::string::npos) {
    for (const char c : std::string_view(family).substr(at + 3, 2)) cuda = cuda * 10 + static_cast<std::uint32_t>(c - '0');
    family.resize(at);
  }
  if (std::ranges::find(families, family) == families.end()) return std::nullopt;
  // The names without a suffix began with CUDA 13; cuFFT and others count in their own way.
  if (cuda == 0) cuda = 13;
  return Wheel{&package, std::move(family), cuda};
}

/// The soname's number in a family for a CUDA major; two wheels with the same one and the same folder overwrite each other.
bool share_a_file(const Wheel& a, const Wheel& b) {
  const bool versioned = a.family == "cudnn" || a.family == "nccl";
  // The libraries of CUDA 13 lie in nvidia/cu13, all others in nvidia/FAMILY.
  if (!versioned && (a.cuda >= 13) != (b.cuda >= 13)) return false;
  if (a.family == "cudnn") return a.package->version.substr(0, 2) == b.package->version.substr(0, 2);
  // libnccl.so.2, libcurand.so.10, libcusolver.so.11 have one name for CUDA 11 and 12.
  return a.family == "nccl" || a.family == "curand" || a.family == "cusolver";
}

bool names(const PythonPackage& package, std::string_view wanted) {
  return std::ranges::any_of(package.requirements, [&](const std::string& requirement) {
    const std::size_t end = std::min(requirement.find_first_of(" <>=!~;[("), requirement.size());
    return normalised_distribution_name(requirement.substr(0, end)) == wanted;
  });
}

/// Asked for by a framework, or by another library that one asks for; libraries that only ask for each other are left over.
bool is_required(const PythonEnvironment& environment, const PythonPackage& wanted, int depth = 2) {
  return std::ranges::any_of(environment.packages, [&](const PythonPackage& package) {
    if (package.state == "files-missing" || package.name == wanted.name || !names(package, wanted.name)) return false;
    return !package.name.starts_with("nvidia-") || (depth > 0 && is_required(environment, package, depth - 1));
  });
}

/// CuPy and ONNX Runtime take libraries that their metadata does not name.
bool is_loaded(const RuleContext& context, const PythonEnvironment& environment, const Wheel& wheel) {
  return std::ranges::any_of(cuda_needs(context, environment), [&](const CudaNeeds& needs) {
    return needs.framework != "torch" && needs.cuda_major == wheel.cuda;
  });
}

struct Pair {
  Wheel older, newer;
  bool overwritten = false;
};

std::vector<Pair> pairs_of(const PythonEnvironment& environment) {
  std::map<std::string, std::vector<Wheel>> by_family;
  for (const PythonPackage& package : environment.packages)
    if (auto wheel = as_wheel(package)) by_family[wheel->family].push_back(std::move(*wheel));
  std::vector<Pair> pairs;
  for (auto& [family, wheels] : by_family) {
    std::ranges::sort(wheels, {}, &Wheel::cuda);
    if (wheels.size() < 2 || wheels.front().cuda == wheels.back().cuda) continue;
    pairs.push_back({wheels.front(), wheels.back(), share_a_file(wheels.front(), wheels.back())});
  }
  return pairs;
}

// ---- C library ---------------------------------------------------------------------------------------------------------

struct GlibcVersion {
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const GlibcVersion&, const GlibcVersion&) = default;
};

/// Of the tags "cp312-cp312-manylinux_2_28_x86_64", "…-manylinux2014_x86_64": the oldest glibc that one of them asks for.
std::optional<GlibcVersion> glibc_of_tags(const std::vector<std::string>& tags) {
  std::optional<GlibcVersion> least;
  for (const std::string& tag : tags) {
    std::size_t at = 0;
    while ((at = tag.find("manylinux", at)) != std::string::npos) {
      at += 9;
      GlibcVersion version;
      if (tag.compare(at, 2, "1_") == 0) version = {2, 5};
      if (tag.compare(at, 5, "2010_") == 0) version = {2, 12};
      if (tag.compare(at, 5, "2014_") == 0) version = {2, 17};
      if (tag.compare(at, 3, "_2_") == 0) {
        const std::string_view digits = std::string_view(tag).substr(at + 3, 2);
        for (const char c : digits)
          if (c >= '0' && c <= '9') version.minor = version.minor * 10 + static_cast<std::uint32_t>(c - '0');
        version.major = 2;
      }
      if (version.major == 0) return std::nullopt;
      if (!least || version < *least) least = version;
    }
  }
  return least;
}

std::optional<GlibcVersion> glibc_of(const Machine& machine) {
  const auto* text = machine.os.glibc.get();
  const auto version = text != nullptr ? ReleaseVersion::parse(*text) : std::nullopt;
  if (!version || version->release.size() < 2) return std::nullopt;
  return GlibcVersion{version->release[0], version->release[1]};
}

std::string text_of(const GlibcVersion& version) { return std::to_string(version.major) + "." + std::to_string(version.minor); }

/// Nix, Guix and Homebrew bring a C library of their own.
bool has_own_libc(const PythonEnvironment& environment) {
  for (const std::string& path : {environment.prefix, environment.base, environment.interpreter.value_or("")})
    for (const char* store : {"/nix/", "/gnu/store/", "/home/linuxbrew/"})
      if (path.starts_with(store)) return true;
  return false;
}

}  // namespace

namespace runtime_library {

std::optional<Finding> duplicate_wheels(const RuleContext& context) {
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    const auto pairs = pairs_of(environment);
    if (pairs.empty()) continue;
    Finding finding;
    std::vector<std::string> older, newer, to_remove;
    bool overwritten = false, left_over = false;
    for (const Pair& pair : pairs) {
      older.push_back(pair.older.package->name);
      newer.push_back(pair.newer.package->name);
      finding.evidence.push_back(quote(*pair.older.package));
      finding.evidence.push_back(quote(*pair.newer.package));
      overwritten = overwritten || pair.overwritten;
      for (const Wheel* wheel : {&pair.older, &pair.newer}) {
        if (is_required(environment, *wheel->package) || is_loaded(context, environment, *wheel)) continue;
        left_over = true;
        to_remove.push_back(wheel->package->name);
      }
    }
    if (finding.evidence.size() > 12) finding.evidence.resize(12);
    finding.parameters = {{"older", join(older, ", ")}, {"newer", join(newer, ", ")}, {"environment", label_of(environment)}};
    // Two frameworks may each need their own major: different names, different folders, both are found.
    if (!overwritten && !left_over) finding.severity = Severity::Note;
    finding.variant = overwritten ? "overwritten" : left_over ? "" : "each-needed";
    const bool all_of_both = to_remove.size() == older.size() + newer.size();
    if (left_over && !all_of_both) finding.repair.push_back(uninstall_packages(environment, to_remove));
    if (overwritten || all_of_both)
      finding.repair.push_back(make_action("separate-cuda-environments", {{"environment", environment.prefix}}));
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> glibc_too_old(const RuleContext& context) {
  if (auto finding = system_library_too_old(context)) return finding;
  const auto here = glibc_of(context.machine);
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    if (has_own_libc(environment)) continue;
    const bool musl = environment.libc == "musl";
    if (!here && !musl) continue;
    for (const PythonPackage& package : environment.packages) {
      if (!is_from_wheel(package) || !is_gpu_framework(package.name)) continue;
      if (context.purpose.asked() && !wants_framework(context, environment, framework_of_package(package.name))) continue;
      const auto needed = glibc_of_tags(package.tags);
      if (!needed || (!musl && *needed <= *here)) continue;
      Finding finding;
      finding.parameters = {{"package", package.name + " " + package.version},
                            {"needed", text_of(*needed)},
                            {"here", musl ? "musl" : text_of(*here)},
                            {"environment", label_of(environment)}};
      finding.variant = musl ? "musl" : "";
      finding.evidence = {quote(package), {package.folder + "/WHEEL", 0, "Tag: " + package.tags.front()}};
      if (!musl) finding.evidence.push_back(quote(context.machine.os.glibc, "libc.so.6", "glibc " + text_of(*here)));
      finding.repair.push_back(make_action("use-newer-base-system", {{"glibc", text_of(*needed)}}));
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace runtime_library
}  // namespace gpuvet
