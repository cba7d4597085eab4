// What WSL shows of itself: the GPU's only node /dev/dxg, the driver libraries that Windows lends in /usr/lib/wsl/lib, and
// whatever of a Linux driver stands in their way (NVIDIA CUDA on WSL User Guide; data/facts/wsl.tsv).

#include <algorithm>
#include <array>

#include "model/release_version.h"
#include "model/windows_driver.h"
#include "rules/container.h"
#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/user_driver.h"

namespace gpuvet {

std::span<const Rule> wsl_rules() {
  using namespace wsl;
  static constexpr std::array rules = {
      Rule{"wsl1-not-wsl2", is_wsl1},
      Rule{"wsl-windows-too-old", windows_too_old},
      Rule{"wsl-linux-driver-installed-inside", linux_driver_inside},
      Rule{"wsl-driver-libs-in-image-or-distro", foreign_driver_libraries},
      Rule{"wsl-libcuda-so-not-in-ldcache", libraries_not_on_loader_path},
      Rule{"wsl-windows-driver-too-old", windows_driver_too_old},
      Rule{"wsl-gpu-in-tcc-mode", gpu_in_tcc_mode},
  };
  return rules;
}

namespace wsl {
namespace {

constexpr std::uint32_t first_branch_for_wsl = 495;  ///< facts/wsl.tsv, windows_driver_min

/// Packages that bring a driver's module or its libraries for computing.
std::vector<const Package*> linux_driver_packages(const Machine& machine) {
  std::vector<const Package*> packages;
  for (const DriverPackage& part : driver_packages(machine))
    if (part.role == PackageRole::Module || part.role == PackageRole::Compute) packages.push_back(part.package);
  return packages;
}

/// A copy of Windows' own library: of the release that Windows lends, or that was mounted into the container.
bool is_release_of_windows(const Machine& machine, const DriverLibrary& library) {
  const std::string* version = library.version.get();
  const auto* libraries = machine.user_driver.libraries.get();
  if (version == nullptr || libraries == nullptr) return false;
  return std::ranges::any_of(*libraries, [&](const DriverLibrary& other) {
    return (other.kind == "wsl" || other.bind_mounted) && other.version.is(*version);
  });
}

/// What a process gets instead of Windows' library; null: it gets Windows' own, or none. A stub or a compat copy is another
/// story.
const DriverLibrary* foreign_winner(const RuleContext& context) {
  for (const DriverLibrary* winner : {context.libcuda, context.libnvml}) {
    if (winner == nullptr || winner->bind_mounted || is_release_of_windows(context.machine, *winner)) continue;
    if (winner->kind == "driver" || winner->kind == "empty" || winner->kind == "not-elf" || winner->kind == "cut-off")
      return winner;
  }
  return nullptr;
}

const DriverLibrary* lent_by_windows(const Machine& machine, std::string_view name) {
  const auto* libraries = machine.user_driver.libraries.get();
  if (libraries == nullptr) return nullptr;
  const auto is_lent = [&](const DriverLibrary& library) { return library.kind == "wsl" && library.name == name; };
  const auto found = std::ranges::find_if(*libraries, is_lent);
  return found == libraries->end() ? nullptr : &*found;
}

/// Does a process get some libcuda of Windows, or could it if its folder were searched?
bool has_lent_libcuda(const Machine& machine) {
  const DriverLibrary* lent = lent_by_windows(machine, "libcuda.so.1");
  return lent != nullptr && lent->path.starts_with("/usr/lib/wsl/lib");
}

/// NVIDIA's number of the driver that is installed in Windows, as its .inf in the driver store tells it.
std::optional<DriverVersion> driver_in_store(const Machine& machine) {
  const std::string* version = machine.wsl.windows_driver.get();
  return version == nullptr ? std::nullopt : driver_of_windows_version(*version);
}

Origin quote_store(const Machine& machine) {
  const Fact<std::string>& version = machine.wsl.windows_driver;
  const auto driver = driver_in_store(machine);
  if (!driver) return quote(version, "/usr/lib/wsl/drivers");
  return {version.origin().source, 0, "driver " + driver->text + " (" + *version.get() + ")"};
}

/// The number in front of "-microsoft-standard-WSL2".
std::optional<ReleaseVersion> kernel_number(const Machine& machine) {
  const std::string* release = machine.os.kernel.get();
  return release == nullptr ? std::nullopt : ReleaseVersion::parse(release->substr(0, release->find('-')));
}

Finding with_foreign_library(const DriverLibrary& winner, const Machine& machine) {
  Finding finding;
  finding.parameters["path"] = winner.path;
  const std::string* version = winner.version.get();
  finding.evidence.push_back({winner.path, 0,
                              winner.kind == "empty" ? std::string("an empty file, found first")
                                                     : "found first" + (version != nullptr ? ", driver " + *version : "")});
  if (const DriverLibrary* lent = lent_by_windows(machine, winner.name))
    finding.evidence.push_back({lent->path, 0, "the library of the Windows driver"});
  return finding;
}

}  // namespace

std::optional<Finding> is_wsl1(const RuleContext& context) {
  Finding finding;
  finding.evidence = {quote(context.machine.os.wsl, "/proc/sys/kernel/osrelease")};
  finding.repair = {make_action("convert-to-wsl2")};
  return finding;
}

/// [gpu] enabled=false of /etc/wsl.conf, or gpuSupport=false of the Windows user's .wslconfig.
std::optional<Finding> gpu_switched_off(const Machine& machine) {
  const Fact<bool>& enabled = machine.wsl.gpu_enabled;
  if (!enabled.is(false) || (has_lent_libcuda(machine) && device_node(machine, "/dev/dxg") != nullptr)) return std::nullopt;
  const Origin& origin = enabled.origin();
  Finding finding;
  finding.variant = "switched-off";
  finding.parameters = {{"setting", origin.text}, {"file", origin.source}};
  finding.evidence = {origin};
  finding.repair = {make_action("remove-wsl-setting", {{"setting", origin.text}, {"file", origin.source}})};
  return finding;
}

/// "10.0.19043" and older; every Windows 11 has a higher build.
bool is_windows_before_gpu(const Machine& machine) {
  const std::string* build = machine.wsl.windows_build.get();
  const auto version = build != nullptr ? ReleaseVersion::parse(*build) : std::nullopt;
  const auto least = ReleaseVersion::parse("10.0.19044");  // facts/wsl.tsv, windows_version
  return version && least && *version < *least;
}

std::optional<Finding> windows_too_old(const RuleContext& context) {
  const Machine& machine = context.machine;
  if (auto finding = gpu_switched_off(machine)) return finding;
  if (!machine.device_nodes.nodes.is_known() || device_node(machine, "/dev/dxg") != nullptr) return std::nullopt;
  const auto kernel = kernel_number(machine);
  const auto least = ReleaseVersion::parse("5.10.43.3");  // facts/wsl.tsv, wsl_kernel_min_microsoft
  if (!kernel || !least) return std::nullopt;
  Finding finding;
  const bool old_build = is_windows_before_gpu(machine);
  finding.variant = old_build ? "old-build" : *kernel < *least ? "" : "no-dxg";
  finding.parameters = {{"kernel", *machine.os.kernel.get()}, {"build", machine.wsl.windows_build.value_or("?")}};
  finding.evidence = {quote(machine.os.kernel, "/proc/sys/kernel/osrelease", *machine.os.kernel.get()),
                      {"/dev/dxg", 0, "not there"}};
  if (old_build) finding.evidence.push_back(quote(machine.wsl.windows_build, "Windows", *machine.wsl.windows_build.get()));
  if (finding.variant == "no-dxg") finding.repair.push_back(make_action("let-wsl-see-gpu"));
  finding.repair.push_back(make_action("update-wsl"));
  return finding;
}

std::optional<Finding> linux_driver_inside(const RuleContext& context) {
  const auto packages = linux_driver_packages(context.machine);
  if (packages.empty()) return std::nullopt;
  const DriverLibrary* winner = foreign_winner(context);
  Finding finding = winner != nullptr ? with_foreign_library(*winner, context.machine) : Finding{};
  if (winner == nullptr) {
    // Windows' libraries still come first: nothing is broken yet.
    finding.variant = "harmless";
    finding.severity = Severity::Note;
  }
  for (std::size_t i = 0; i < packages.size() && i < 4; ++i) finding.evidence.push_back(quote(*packages[i]));
  finding.repair = {make_action("remove-linux-driver-from-wsl")};
  return finding;
}

std::optional<Finding> foreign_driver_libraries(const RuleContext& context) {
  if (!context.in(World::Wsl2)) return std::nullopt;
  const DriverLibrary* winner = foreign_winner(context);
  const bool container = context.in(World::Container);
  if (winner == nullptr || (!container && !linux_driver_packages(context.machine).empty())) return std::nullopt;
  Finding finding = with_foreign_library(*winner, context.machine);
  if (container) {
    finding.repair = {make_action("remove-driver-libraries-from-image")};
  } else {
    finding.repair = {make_action("move-stray-library", {{"path", winner->path}})};
  }
  return finding;
}

std::optional<Finding> libraries_not_on_loader_path(const RuleContext& context) {
  const UserDriver& driver = context.machine.user_driver;
  const DriverLibrary* lent = lent_by_windows(context.machine, "libcuda.so.1");
  if (lent == nullptr || context.libcuda != nullptr || driver.search_complete.is(false)) return std::nullopt;
  // Where the driver store alone has it, Windows has not shown its libraries to this distribution.
  if (!lent->path.starts_with("/usr/lib/wsl/lib/")) return std::nullopt;
  Finding finding;
  finding.evidence = {{lent->path, 0, "there, but the loader does not search its folder"}};
  for (const SearchFolder& folder : context.machine.loader.folders)
    if (folder.rule == "ld.so.conf") finding.evidence.push_back({folder.path, 0, "searched"});
  if (finding.evidence.size() > 6) finding.evidence.resize(6);
  finding.repair = {make_action("add-wsl-library-folder")};
  return finding;
}

/// /dev/dxg is there, and nothing of NVIDIA's in /usr/lib/wsl/lib.
std::optional<Finding> no_driver_for_wsl(const RuleContext& context) {
  const Machine& machine = context.machine;
  const bool given = device_node(machine, "/dev/dxg") != nullptr && !machine.wsl.gpu_enabled.is(false);
  // A container gets what its engine mounts; a process that finds another libcuda has another trouble.
  if (!given || context.in(World::Container) || context.libcuda != nullptr || has_lent_libcuda(machine)) return std::nullopt;
  if (!machine.user_driver.libraries.is_known() || machine.user_driver.search_complete.is(false)) return std::nullopt;
  Finding finding;
  finding.evidence = {{"/usr/lib/wsl/lib/libcuda.so.1", 0, "not there"}};
  const auto driver = driver_in_store(machine);
  if (driver && driver->branch >= first_branch_for_wsl) {
    finding.variant = "not-placed";
    finding.parameters["driver"] = driver->text;
    finding.repair.push_back(make_action("restart-wsl"));
  } else if (!driver) {
    finding.variant = machine.wsl.driver_store.is_absent() ? "no-driver" : "no-libraries";
  }
  if (!machine.wsl.windows_driver.is_not_seen()) finding.evidence.push_back(quote_store(machine));
  finding.repair.push_back(make_action("install-windows-driver-for-wsl"));
  return finding;
}

/// What is told of the driver that a program gets from Windows: its own number is the one that Windows' tables count by.
void name_windows_driver(const Machine& machine, Finding& finding) {
  const auto driver = driver_in_store(machine);
  if (!driver) return;
  finding.parameters["driver"] = driver->text;
  finding.evidence.insert(finding.evidence.begin(), quote_store(machine));
}

std::optional<Finding> windows_driver_too_old(const RuleContext& context) {
  if (auto finding = no_driver_for_wsl(context)) return finding;
  if (context.libcuda == nullptr || context.libcuda->kind != "wsl") return std::nullopt;
  const auto driver = running_driver(context);
  const bool before_wsl = driver && driver->version.branch < first_branch_for_wsl;
  // What the finding of the other worlds says, with the repair on Windows' side.
  if (auto finding = user_driver::driver_too_old_for_wheel(context)) {
    finding->variant = "framework";
    // A build for an older CUDA would not help: these drivers bring no CUDA into WSL at all.
    if (before_wsl && finding->repair.size() > 1) finding->repair.resize(1);
    name_windows_driver(context.machine, *finding);
    return finding;
  }
  if (auto finding = user_driver::driver_too_old_for_app(context)) {
    finding->variant = "program";
    name_windows_driver(context.machine, *finding);
    return finding;
  }
  if (!before_wsl) return std::nullopt;
  Finding finding;
  finding.parameters = {{"driver", driver->version.text}};
  finding.evidence = {driver->origin};
  name_windows_driver(context.machine, finding);
  finding.repair = {make_action("update-driver-in-windows")};
  return finding;
}

std::optional<Finding> gpu_in_tcc_mode(const RuleContext& context) {
  const std::string* model = context.machine.wsl.driver_model.get();
  if (model == nullptr || model->find("TCC") == std::string::npos) return std::nullopt;
  Finding finding;
  // Other cards of this computer are seen.
  if (model->find("WDDM") != std::string::npos || model->find("MCDM") != std::string::npos) {
    finding.variant = "one-of-several";
    finding.severity = Severity::Note;
  }
  finding.evidence = {quote(context.machine.wsl.driver_model, "nvidia-smi.exe", *model)};
  finding.repair = {make_action("switch-gpu-to-wddm")};
  return finding;
}

}  // namespace wsl
}  // namespace gpuvet
