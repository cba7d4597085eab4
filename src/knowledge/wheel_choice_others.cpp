// TensorFlow, JAX, CuPy, onnxruntime: which build.

#include <algorithm>

#include "knowledge/framework_cells.h"
#include "knowledge/wheel_choice_parts.h"

namespace gpuvet {
namespace {

constexpr std::string_view jax_pages = "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html";

bool is_windows(const WheelNeeds& needs) {
  return needs.platform == Platform::WindowsX86_64 || needs.platform == Platform::WindowsArm64;
}

/// One release (and CUDA major) that could be installed.
struct Option {
  ReleaseVersion release;
  WheelChoice choice;
  WheelObstacle obstacle = WheelObstacle::None;
  std::string needed_driver;
  PythonRange python;
};

/// Keeps the user's release where an option of it serves, else takes the nearest newer, else the nearest older; without a
/// release the newest. Options of one release stand best first.
WheelChoice best_option(std::vector<Option> options, const WheelNeeds& needs, std::string_view framework) {
  std::stable_sort(options.begin(), options.end(), [](const Option& a, const Option& b) { return a.release < b.release; });
  WheelChoice none;
  none.framework = std::string(framework);
  none.obstacle = options.empty() ? WheelObstacle::UnknownFramework : WheelObstacle::UnknownRelease;
  if (options.empty() || (needs.release && options.back().release < *needs.release)) return none;
  const Option* chosen = nullptr;
  const Option* reference = nullptr;  // whose obstacle is told
  for (const Option& option : options) {
    const bool older = needs.release && option.release < *needs.release;
    if (!older && !reference) reference = &option;
    if (option.obstacle != WheelObstacle::None) continue;
    if (!needs.release) {
      if (!chosen || chosen->release < option.release) chosen = &option;
    } else if (!chosen || chosen->release < *needs.release) {
      // Ascending: the last older one is replaced by the first that is not older.
      if (!chosen || chosen->release < option.release) chosen = &option;
    }
  }
  if (!needs.release) reference = &options.back();
  const bool driver_could_change = reference && reference->obstacle == WheelObstacle::DriverTooOld && !needs.driver_stays;
  const bool goes_back = chosen && needs.release && chosen->release < *needs.release;
  if (chosen && !(goes_back && driver_could_change)) {
    WheelChoice choice = chosen->choice;
    choice.found = true;
    choice.same_release = needs.release && chosen->release == *needs.release;
    choice.older_release = goes_back;
    choice.obstacle = choice.same_release || !needs.release || !reference ? WheelObstacle::None : reference->obstacle;
    return choice;
  }
  if (!reference) return none;
  none.obstacle = reference->obstacle;
  none.cuda = reference->choice.cuda;
  if (none.obstacle == WheelObstacle::DriverTooOld) none.needed_driver = reference->needed_driver;
  if (none.obstacle == WheelObstacle::PythonTooNew) none.needed_python = reference->python.newest();
  if (none.obstacle == WheelObstacle::PythonTooOld) none.needed_python = reference->python.oldest();
  return none;
}

std::string driver_text(const std::optional<DriverVersion>& driver) { return driver ? driver->text : std::string(); }

std::string text_of(const WheelNeeds& needs, const ReleaseVersion& row) {
  // A patch release that the table does not list is the user's own all the same.
  return needs.release && needs.release->phase == 0 && needs.release->minor_text() == row.minor_text() && row < *needs.release
             ? needs.release->public_text()
             : row.public_text();
}

Option tensorflow_option(const Knowledge& knowledge, const TensorFlowRelease& release, const WheelNeeds& needs) {
  Option option;
  const std::string version = text_of(needs, release.release);
  option.release = *ReleaseVersion::parse(version);
  option.python = release.python;
  WheelChoice& choice = option.choice;
  choice.framework = "tensorflow";
  choice.release = version;
  choice.variant = release.and_cuda_extra ? "and-cuda" : "";
  choice.cuda = release.cuda;
  choice.packages = {"tensorflow" + std::string(release.and_cuda_extra ? "[and-cuda]" : "") + "==" + version};
  choice.conda_spec = release.cuda->major < 12 ? ""
                                               : "tensorflow=" + release.release.minor_text() +
                                                     ".*=cuda* cuda-version=" + std::to_string(release.cuda->major);
  choice.by_minor_version = fit_of_driver(knowledge, needs, *release.cuda) == DriverFit::MinorVersion;
  choice.inferred = release.targets.inferred || !release.targets.known();
  choice.source = release.source;
  option.needed_driver =
      driver_text(is_windows(needs) || needs.windows_driver ? release.min_driver_windows : release.min_driver_linux);
  const bool has_build = needs.platform == Platform::LinuxX86_64 || (is_windows(needs) && release.windows_native_gpu);
  if (!has_build) {
    option.obstacle = WheelObstacle::NoBuild;
  } else if (fit_of_driver(knowledge, needs, *release.cuda) == DriverFit::TooOld) {
    option.obstacle = WheelObstacle::DriverTooOld;
  } else {
    option.obstacle = obstacle_of_gpus(knowledge, release.targets, *release.cuda, needs);
    if (option.obstacle == WheelObstacle::None) option.obstacle = obstacle_of_python(release.python, needs);
  }
  return option;
}

Option jax_option(const Knowledge& knowledge, const JaxRelease& release, const JaxCuda& cuda, const WheelNeeds& needs) {
  Option option;
  option.release = release.release;
  option.python = release.python;
  WheelChoice& choice = option.choice;
  choice.framework = "jax";
  choice.release = release.release.public_text();
  choice.variant = cuda.extra;
  const CudaVersion least{cuda.major, 0, 0};
  choice.cuda = cuda.built_with ? cuda.built_with : std::optional<CudaVersion>(least);
  choice.packages = {"jax[" + cuda.extra + "]==" + choice.release};
  if (cuda.extra.ends_with("_pip") || cuda.extra == "cuda") choice.find_links = std::string(jax_pages);
  choice.conda_spec = cuda.major < 12 ? ""
                                      : "jax=" + choice.release + " jaxlib=" + choice.release +
                                            "=*cuda* cuda-version=" + std::to_string(cuda.major);
  choice.by_minor_version = fit_of_driver(knowledge, needs, *choice.cuda) == DriverFit::MinorVersion;
  choice.inferred = cuda.targets.inferred;
  choice.source = release.source;
  option.needed_driver = driver_text(cuda.min_driver_linux);
  const bool linux_wheel = needs.platform == Platform::LinuxX86_64 || needs.platform == Platform::LinuxAarch64;
  if (!linux_wheel || cuda.extra.empty()) {
    option.obstacle = WheelObstacle::NoBuild;
  } else if (fit_of_driver(knowledge, needs, *choice.cuda) == DriverFit::TooOld) {
    option.obstacle = WheelObstacle::DriverTooOld;
  } else {
    option.obstacle = obstacle_of_gpus(knowledge, cuda.targets, *choice.cuda, needs);
    if (option.obstacle == WheelObstacle::None) option.obstacle = obstacle_of_gpus(knowledge, cuda.major, needs);
    if (option.obstacle == WheelObstacle::None) option.obstacle = obstacle_of_python(release.python, needs);
  }
  return option;
}

/// Obstacles of a wheel of which only the CUDA major matters.
WheelObstacle obstacle_of_major(const Knowledge& knowledge, std::uint32_t major, const PythonRange& python,
                                const WheelNeeds& needs) {
  if (fit_of_driver(knowledge, needs, CudaVersion{major, 0, 0}) == DriverFit::TooOld) return WheelObstacle::DriverTooOld;
  const WheelObstacle gpu = obstacle_of_gpus(knowledge, major, needs);
  return gpu != WheelObstacle::None ? gpu : obstacle_of_python(python, needs);
}

Option major_option(const Knowledge& knowledge, const FrameworkRow& row, std::uint32_t major, const WheelNeeds& needs) {
  Option option;
  option.python = parse_python_range(row.python);
  option.choice.cuda = CudaVersion{major, 0, 0};
  option.choice.source = row.source;
  option.choice.by_minor_version = fit_of_driver(knowledge, needs, CudaVersion{major, 0, 0}) == DriverFit::MinorVersion;
  option.needed_driver = driver_text(least_driver_for_framework(knowledge, {major, 0, 0}, is_windows(needs)));
  option.obstacle = obstacle_of_major(knowledge, major, option.python, needs);
  return option;
}

/// "13.6" of the row "13.6", "1.26" of "1.21-1.26 (PyPI)": the last release that the row names.
std::optional<ReleaseVersion> last_of_row(const FrameworkRow& row) {
  const std::string cell = row.version.substr(0, row.version.find(' '));
  const std::size_t dash = cell.find('-');
  return ReleaseVersion::parse(dash == std::string::npos ? cell : cell.substr(dash + 1));
}

bool row_has(const FrameworkRow& row, const ReleaseVersion& release, const Knowledge& knowledge, std::string_view name) {
  const auto rows = framework_rows(knowledge, name, release);
  return std::any_of(rows.begin(), rows.end(), [&](const FrameworkRow& r) { return r.version == row.version; });
}

}  // namespace

WheelChoice choose_tensorflow(const Knowledge& knowledge, const WheelNeeds& needs) {
  std::vector<Option> options;
  for (const TensorFlowRelease& release : tensorflow_releases(knowledge)) {
    // Before 2.1 the GPU build was a package of its own, for Python versions that nobody installs any more.
    if (release.cuda && *ReleaseVersion::parse("2.1") < release.release)
      options.push_back(tensorflow_option(knowledge, release, needs));
  }
  return best_option(std::move(options), needs, "tensorflow");
}

WheelChoice choose_jax(const Knowledge& knowledge, const WheelNeeds& needs) {
  std::vector<Option> options;
  for (const JaxRelease& release : jax_releases(knowledge)) {
    // The newest CUDA major that serves comes first.
    for (auto cuda = release.cuda.rbegin(); cuda != release.cuda.rend(); ++cuda) {
      Option option = jax_option(knowledge, release, *cuda, needs);
      const bool last = cuda + 1 == release.cuda.rend();
      if (option.obstacle != WheelObstacle::None && !last) continue;
      options.push_back(std::move(option));
      break;
    }
  }
  return best_option(std::move(options), needs, "jax");
}

WheelChoice choose_cupy(const Knowledge& knowledge, const WheelNeeds& needs) {
  std::vector<Option> options;
  for (const FrameworkRow& row : framework_rows(knowledge, "cupy")) {
    const auto last = last_of_row(row);
    if (row.newest_on_pypi || !last) continue;
    for (const std::uint32_t major : {13u, 12u, 11u}) {
      const std::string package = "cupy-cuda" + std::to_string(major) + "x";
      if (row.package.find(package) == std::string::npos) continue;
      Option option = major_option(knowledge, row, major, needs);
      option.release = needs.release && row_has(row, *needs.release, knowledge, "cupy") ? *needs.release : *last;
      const bool own = needs.release && option.release == *needs.release;
      option.choice.framework = "cupy";
      option.choice.release = option.release.public_text();
      option.choice.variant = "cuda" + std::to_string(major) + "x";
      // CuPy 14 brings the toolkit's libraries by the extra [ctk]; older wheels want a toolkit on the machine.
      const std::string extra = last->release[0] >= 14 ? "[ctk]" : "";
      option.choice.packages = {package + extra + "==" + option.choice.release + (own ? "" : ".*")};
      option.choice.conda_spec = "cupy=" + last->minor_text() + " cuda-version=" + std::to_string(major);
      const bool serves = option.obstacle == WheelObstacle::None;
      options.push_back(std::move(option));
      if (serves) break;
    }
  }
  // Of several majors that do not serve, the lowest asks for the oldest driver: it stands last and is the one to tell.
  std::vector<Option> one_a_release;
  for (Option& option : options) {
    if (!one_a_release.empty() && one_a_release.back().release == option.release) {
      one_a_release.back() = std::move(option);
    } else {
      one_a_release.push_back(std::move(option));
    }
  }
  return best_option(std::move(one_a_release), needs, "cupy");
}

WheelChoice choose_onnxruntime(const Knowledge& knowledge, const WheelNeeds& needs) {
  std::vector<Option> options;
  for (const FrameworkRow& row : framework_rows(knowledge, "onnxruntime-gpu")) {
    const auto last = last_of_row(row);
    const auto majors = cuda_majors_in(row.cuda_needed);
    if (row.newest_on_pypi || !last || majors.empty() || row.version.find("feed") != std::string::npos) continue;
    Option option = major_option(knowledge, row, majors.front(), needs);
    const bool own = needs.release && row_has(row, *needs.release, knowledge, "onnxruntime-gpu");
    option.release = own ? *needs.release : *last;
    option.choice.framework = "onnxruntime-gpu";
    option.choice.release = own ? needs.release->public_text() : last->minor_text() + ".*";
    // From 1.21 on extras bring the libraries; those of 1.27 name placeholders (other_frameworks.tsv).
    const bool extras = !(option.release < *ReleaseVersion::parse("1.21")) && majors.front() == 12;
    option.choice.packages = {"onnxruntime-gpu" + std::string(extras ? "[cuda,cudnn]" : "") + "==" + option.choice.release};
    option.choice.cuda = cuda_in(row.cuda_needed);
    if (!option.choice.cuda) option.choice.cuda = CudaVersion{majors.front(), 0, 0};
    option.choice.variant = "cuda" + std::to_string(majors.front());
    const bool has_wheel = needs.platform == Platform::LinuxX86_64 || needs.platform == Platform::WindowsX86_64;
    if (!has_wheel) option.obstacle = WheelObstacle::NoBuild;
    options.push_back(std::move(option));
  }
  return best_option(std::move(options), needs, "onnxruntime-gpu");
}

}  // namespace gpuvet
