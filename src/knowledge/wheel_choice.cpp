// PyTorch: which build. The other frameworks are in wheel_choice_others.cpp.

#include "knowledge/wheel_choice.h"

#include <algorithm>
#include <functional>

#include "knowledge/wheel_choice_parts.h"

namespace gpuvet {
namespace {

using Builds = std::vector<TorchBuild>;

bool has(const TorchBuild& build, std::string_view word) { return build.status.find(word) != std::string::npos; }

/// Builds that the tables only expect, or that no install page offers, are chosen for nobody who does not have that release.
bool is_offered(const TorchBuild& build, const WheelNeeds& needs) {
  if (!build.is_cuda() || has(build, "planned") || has(build, "not on the install matrix")) return false;
  return !has(build, "inferred") || (needs.release && build.release == *needs.release);
}

/// The better of two builds of one release: PyPI's own, then no experimental one, then native before minor-version
/// compatibility, then the newer CUDA.
bool is_better(const Knowledge& knowledge, const WheelNeeds& needs, const TorchBuild& a, const TorchBuild& b) {
  const auto by = [](bool x, bool y) { return x != y ? (x ? 1 : -1) : 0; };
  if (const int order = by(a.is_pypi_default(needs.platform), b.is_pypi_default(needs.platform))) return order > 0;
  if (const int order = by(has(b, "experimental"), has(a, "experimental"))) return order > 0;
  const auto native = [&](const TorchBuild& build) { return fit_of_driver(knowledge, needs, *build.cuda) == DriverFit::Native; };
  if (const int order = by(native(a), native(b))) return order > 0;
  return *b.cuda < *a.cuda;
}

/// Distinct releases of the table with an offered build, ascending.
std::vector<ReleaseVersion> releases_of(const Builds& builds) {
  std::vector<ReleaseVersion> releases;
  for (const TorchBuild& build : builds) releases.push_back(build.release);
  std::sort(releases.begin(), releases.end());
  releases.erase(std::unique(releases.begin(), releases.end()), releases.end());
  return releases;
}

/// The user's release, then newer ones, the nearest first; without one the newest first.
std::vector<ReleaseVersion> order_of_trial(const std::vector<ReleaseVersion>& releases, const WheelNeeds& needs) {
  std::vector<ReleaseVersion> order;
  if (!needs.release) return {releases.rbegin(), releases.rend()};
  for (const ReleaseVersion& release : releases) {
    if (!(release < *needs.release)) order.push_back(release);
  }
  return order;
}

std::vector<ReleaseVersion> older_ones(const std::vector<ReleaseVersion>& releases, const WheelNeeds& needs) {
  std::vector<ReleaseVersion> order;
  for (auto it = releases.rbegin(); it != releases.rend(); ++it) {
    if (needs.release && *it < *needs.release) order.push_back(*it);
  }
  return order;
}

using Better = std::function<bool(const TorchBuild&, const TorchBuild&)>;

/// The best build of the first release that has one; null: none.
const TorchBuild* first_that_serves(const Knowledge& knowledge, const Builds& builds, const std::vector<ReleaseVersion>& order,
                                    const WheelNeeds& needs, const Better& better) {
  for (const ReleaseVersion& release : order) {
    const TorchBuild* best = nullptr;
    for (const TorchBuild& build : builds) {
      if (build.release != release || obstacle_of(knowledge, build, needs) != WheelObstacle::None) continue;
      if (!best || better(build, *best)) best = &build;
    }
    if (best) return best;
  }
  return nullptr;
}

/// "torch==2.6.0"; releases before 2.0 are told apart by the local version.
void add_requirements(const Knowledge& knowledge, const TorchBuild& build, const WheelNeeds& needs, WheelChoice& choice) {
  const std::string local = build.release < *ReleaseVersion::parse("2.0") ? "+" + build.variant : "";
  choice.packages.push_back("torch==" + choice.release + local);
  const auto companions = torch_companions(knowledge, build.release);
  if (!companions) return;
  const auto wants = [&](std::string_view name) {
    return std::find(needs.companions.begin(), needs.companions.end(), name) != needs.companions.end();
  };
  if (wants("torchvision") && !companions->torchvision.empty())
    choice.packages.push_back("torchvision==" + companions->torchvision + local);
  if (wants("torchaudio") && !companions->torchaudio.empty()) choice.packages.push_back("torchaudio==" + companions->torchaudio);
}

/// conda-forge, which names its GPU builds cuda…; CUDA 11 builds ended there with 2.5 (feedstock's build matrix). What it had
/// before 2.0 was not checked.
std::string conda_spec(const TorchBuild& build, const WheelNeeds& needs) {
  if (build.release < *ReleaseVersion::parse("2.0")) return {};
  if (build.cuda->major < 11 || (build.cuda->major == 11 && *ReleaseVersion::parse("2.5.99") < build.release)) return {};
  std::string spec = "pytorch=" + build.release.minor_text() + ".*=cuda* cuda-version=" + std::to_string(build.cuda->major);
  for (const std::string& companion : needs.companions) {
    if (companion == "torchvision" || companion == "torchaudio") spec += " " + companion;
  }
  return spec;
}

WheelChoice to_choice(const Knowledge& knowledge, const TorchBuild& build, const WheelNeeds& needs) {
  WheelChoice choice;
  choice.found = true;
  choice.framework = "torch";
  choice.release = build.release.public_text();
  choice.variant = build.variant;
  choice.cuda = build.cuda;
  choice.same_release = needs.release && build.release == *needs.release;
  choice.older_release = needs.release && build.release < *needs.release;
  choice.by_minor_version = fit_of_driver(knowledge, needs, *build.cuda) == DriverFit::MinorVersion;
  choice.inferred = build.targets(needs.platform).inferred || !build.targets(needs.platform).known() || has(build, "inferred");
  choice.source = build.source;
  choice.conda_spec = conda_spec(build, needs);
  if (build.release < *ReleaseVersion::parse("1.10")) {
    choice.find_links = "https://download.pytorch.org/whl/torch_stable.html";
  } else if (build.release < *ReleaseVersion::parse("1.11")) {
    choice.find_links = torch_index(build.variant) + "/torch_stable.html";
  } else {
    choice.index = torch_index(build.variant);
  }
  add_requirements(knowledge, build, needs, choice);
  return choice;
}

WheelObstacle first_obstacle(const Knowledge& knowledge, const Builds& builds, const ReleaseVersion& release,
                             const WheelNeeds& needs) {
  WheelObstacle first = WheelObstacle::NoBuild;
  for (const TorchBuild& build : builds) {
    if (build.release != release) continue;
    const WheelObstacle obstacle = obstacle_of(knowledge, build, needs);
    if (obstacle == WheelObstacle::None) return obstacle;
    if (first == WheelObstacle::NoBuild || build.is_pypi_default(needs.platform)) first = obstacle;
  }
  return first;
}

/// What is wrong with the builds of a release; what cannot be changed (GPU, platform) is told before driver and Python.
WheelObstacle obstacle_of_release(const Knowledge& knowledge, const Builds& builds, const ReleaseVersion& release,
                                  const WheelNeeds& needs) {
  WheelNeeds fixed = needs;
  fixed.driver.reset();
  fixed.native_cuda.reset();
  fixed.python.reset();
  const WheelObstacle obstacle = first_obstacle(knowledge, builds, release, fixed);
  return obstacle != WheelObstacle::None ? obstacle : first_obstacle(knowledge, builds, release, needs);
}

/// Nothing serves: which one need would have to be given up?
WheelChoice no_choice(const Knowledge& knowledge, const Builds& builds, const std::vector<ReleaseVersion>& order,
                      const WheelNeeds& needs) {
  WheelChoice none;
  none.framework = "torch";
  none.obstacle = WheelObstacle::NoBuild;
  const auto least_driver = [&](const TorchBuild& a, const TorchBuild& b) {
    const auto x = least_driver_of(knowledge, a, needs), y = least_driver_of(knowledge, b, needs);
    return x && y && *x < *y;
  };
  const auto without = [&](auto change) {
    WheelNeeds changed = needs;
    change(changed);
    return first_that_serves(knowledge, builds, order, changed, least_driver);
  };
  const auto no_driver = [](WheelNeeds& n) {
    n.driver.reset();
    n.native_cuda.reset();
  };
  if (const TorchBuild* build = without(no_driver)) {
    none.obstacle = WheelObstacle::DriverTooOld;
    none.cuda = build->cuda;
    if (const auto least = least_driver_of(knowledge, *build, needs)) none.needed_driver = least->text;
    return none;
  }
  const TorchBuild* build = without([](WheelNeeds& n) { n.python.reset(); });
  if (!build) {
    build = without([&](WheelNeeds& n) {
      no_driver(n);
      n.python.reset();
    });
  }
  if (build && needs.python) {
    const bool too_new = build->python.newest() && *build->python.newest() < *needs.python;
    none.obstacle = too_new ? WheelObstacle::PythonTooNew : WheelObstacle::PythonTooOld;
    none.needed_python = too_new ? build->python.newest() : build->python.oldest();
    return none;
  }
  if (needs.release || !order.empty())
    none.obstacle = obstacle_of_release(knowledge, builds, needs.release ? *needs.release : order.front(), needs);
  return none;
}

}  // namespace

std::string torch_index(std::string_view variant) { return "https://download.pytorch.org/whl/" + std::string(variant); }

std::optional<DriverVersion> least_driver_of(const Knowledge& knowledge, const TorchBuild& build, const WheelNeeds& needs) {
  for (const ComputeCapability& gpu : needs.gpus) {
    if (code_for(build.targets(needs.platform), gpu) != GpuCode::RunsByPtx || !build.cuda) continue;
    // PTX wants a driver that is as new as the compiler.
    const auto release = knowledge.cuda_release(build.cuda->text());
    if (release && release->driver_linux && !needs.windows_driver) return release->driver_linux;
  }
  return needs.windows_driver || needs.platform == Platform::WindowsX86_64 ? build.min_driver_windows : build.min_driver_linux;
}

WheelObstacle obstacle_of(const Knowledge& knowledge, const TorchBuild& build, const WheelNeeds& needs) {
  if (!build.is_cuda() || !build.has_platform(needs.platform)) return WheelObstacle::NoBuild;
  if (fit_of_driver(knowledge, needs, *build.cuda) == DriverFit::TooOld) return WheelObstacle::DriverTooOld;
  const WheelObstacle gpu = obstacle_of_gpus(knowledge, build.targets(needs.platform), *build.cuda, needs);
  if (gpu != WheelObstacle::None) return gpu;
  return obstacle_of_python(build.python, needs);
}

WheelChoice choose_torch(const Knowledge& knowledge, const WheelNeeds& needs) {
  Builds builds = torch_builds(knowledge);
  const auto newest = std::max_element(builds.begin(), builds.end(),
                                       [](const TorchBuild& a, const TorchBuild& b) { return a.release < b.release; });
  WheelChoice choice;
  choice.framework = "torch";
  choice.obstacle = WheelObstacle::UnknownRelease;
  if (newest == builds.end() || (needs.release && newest->release < *needs.release)) return choice;
  std::erase_if(builds, [&](const TorchBuild& build) { return !is_offered(build, needs); });
  const auto releases = releases_of(builds);
  const auto order = order_of_trial(releases, needs);
  const auto better = [&](const TorchBuild& a, const TorchBuild& b) { return is_better(knowledge, needs, a, b); };
  const TorchBuild* build = first_that_serves(knowledge, builds, order, needs, better);
  if (!build) {
    choice = no_choice(knowledge, builds, order, needs);
    // Going back is an answer where nothing else can change: the GPU is what it is, and so may be the driver.
    const bool stays = choice.obstacle == WheelObstacle::DriverTooOld
                           ? needs.driver_stays
                           : choice.obstacle != WheelObstacle::NoBuild || needs.release;
    if (stays) build = first_that_serves(knowledge, builds, older_ones(releases, needs), needs, better);
    if (!build) return choice;
  }
  choice = to_choice(knowledge, *build, needs);
  if (needs.release && !choice.same_release) choice.obstacle = obstacle_of_release(knowledge, builds, *needs.release, needs);
  return choice;
}

}  // namespace gpuvet
