#include "rules/driver_packages.h"

#include <algorithm>
#include <array>

#include "model/module_name.h"

namespace gpuvet {
namespace {

enum class Match : std::uint8_t { Exact, Prefix, Suffix };
struct NameRule {
  std::string_view text;
  Match match;
  PackageRole role;
};

constexpr auto N = PackageRole::NoDriver, M = PackageRole::Module, C = PackageRole::Compute, O = PackageRole::Other;

// First match decides. Names as the distributions' own archives and NVIDIA's repositories have them (packages.debian.org,
// packages.ubuntu.com, rpmfusion.org/Howto/NVIDIA, en.opensuse.org/SDB:NVIDIA_drivers, archlinux.org/packages,
// docs.nvidia.com/datacenter/tesla/driver-installation-guide).
constexpr std::array own_numbering = std::to_array<NameRule>({
    {"nvidia-settings", Match::Prefix, N},
    {"nvidia-xconfig", Match::Prefix, N},
    {"nvidia-modprobe", Match::Prefix, N},
    {"nvidia-persistenced", Match::Prefix, N},
    {"nvidia-prime", Match::Prefix, N},
    {"nvidia-container", Match::Prefix, N},
    {"nvidia-docker", Match::Prefix, N},
    {"nvidia-cuda-", Match::Prefix, N},
    {"nvidia-installer-cleanup", Match::Exact, N},
    {"nvidia-support", Match::Exact, N},
    {"nvidia-gpu-firmware", Match::Exact, N},
    {"nvidia-texture-tools", Match::Prefix, N},
    {"nvidia-fs", Match::Prefix, N},
    {"nvidia-gds", Match::Prefix, N},
    {"nvidia-imex", Match::Prefix, N},
    {"nvidia-fabric", Match::Prefix, N},
    {"nvidia-vaapi", Match::Prefix, N},
    {"nvidia-mig", Match::Prefix, N},
    {"nvidia-cg-", Match::Prefix, N},
    {"nvidia-detect", Match::Exact, N},
    {"nvidia-legacy-check", Match::Exact, N},
    {"nvidia-cudnn", Match::Prefix, N},
    {"nvidia-nsight", Match::Prefix, N},
    {"nvidia-visual-profiler", Match::Prefix, N},
    {"nvidia-profiler", Match::Prefix, N},
    {"nvidia-opencl-common", Match::Exact, N},
    {"nvidia-opencl-dev", Match::Exact, N},
    {"nvidia-suspend-common", Match::Exact, N},
    {"nvidia-driver-pinning", Match::Prefix, N},
    {"nvidia-driver-assistant", Match::Exact, N},
    {"nvidia-libxnvctrl", Match::Prefix, N},
    {"nvidia-libXNVCtrl", Match::Prefix, N},
    {"libxnvctrl", Match::Prefix, N},
    {"libnvidia-container", Match::Prefix, N},
    {"libnvidia-egl-", Match::Prefix, N},
    {"nvidia-egl-", Match::Prefix, N},
    {"libnvidia-nscq", Match::Prefix, N},
    {"libnvsdm", Match::Prefix, N},
    {"lib32-", Match::Prefix, N},
    {"-prime", Match::Suffix, N},
    {"-32bit", Match::Suffix, N},
    {"-pinning", Match::Suffix, N},
});

constexpr std::array dpkg_names = std::to_array<NameRule>({
    {"linux-modules-nvidia-fs", Match::Prefix, N},
    {"linux-modules-nvidia-", Match::Prefix, M},
    {"linux-objects-nvidia-", Match::Prefix, M},
    {"linux-signatures-nvidia-", Match::Prefix, O},
    {"nvidia-dkms-", Match::Prefix, M},
    {"nvidia-kernel-open", Match::Prefix, M},
    {"nvidia-kernel-dkms", Match::Exact, M},
    {"-kernel-dkms", Match::Suffix, M},
    {"-kernel-open-dkms", Match::Suffix, M},
    {"nvidia-kernel-source", Match::Prefix, M},
    {"nvidia-kernel-common", Match::Exact, N},
    {"libnvidia-compute", Match::Prefix, C},
    {"libcuda1", Match::Prefix, C},
    {"libnvidia-ml1", Match::Prefix, C},
    {"-cuda1", Match::Suffix, C},
    {"libnvidia-ml-dev", Match::Exact, N},
    {"libnvidia-", Match::Prefix, O},
    {"libcuda", Match::Prefix, N},
    {"xserver-xorg-video-nvidia", Match::Prefix, O},
    {"firmware-nvidia-gsp", Match::Prefix, O},
    {"firmware-nvidia-tesla", Match::Prefix, O},
    {"cuda-drivers", Match::Prefix, O},
    {"nvidia-", Match::Prefix, O},
    {"libcuda1-dev", Match::Exact, N},
});

constexpr std::array rpm_names = std::to_array<NameRule>({
    {"akmod-nvidia", Match::Prefix, M},
    {"kmod-nvidia", Match::Prefix, M},
    {"-kmp-default", Match::Suffix, M},
    {"-kmp-azure", Match::Suffix, M},
    {"-kmp-longterm", Match::Suffix, M},
    {"-kmp-preempt", Match::Suffix, M},
    {"-cuda-libs", Match::Suffix, C},
    {"nvidia-compute-G", Match::Prefix, C},
    {"nvidia-driver-NVML", Match::Exact, C},
    {"libnvidia-ml", Match::Exact, C},
    {"nvidia-x11-drv-libs", Match::Exact, C},
    {"nvidia-computeG", Match::Prefix, C},
    {"xorg-x11-drv-nvidia", Match::Prefix, O},
    {"xorg-x11-nvidia", Match::Prefix, O},
    {"libnvidia-", Match::Prefix, O},
    {"x11-video-nvidia", Match::Prefix, O},
    {"kernel-firmware-nvidia-gsp", Match::Prefix, O},
    {"cuda-drivers", Match::Prefix, O},
    {"nvidia-", Match::Prefix, O},
});

constexpr std::array pacman_names = std::to_array<NameRule>({
    {"nvidia", Match::Exact, M},
    {"nvidia-lts", Match::Exact, M},
    {"nvidia-open", Match::Exact, M},
    {"nvidia-open-lts", Match::Exact, M},
    {"-dkms", Match::Suffix, M},
    {"nvidia-utils", Match::Exact, C},
    {"xx-utils", Match::Suffix, C},
    {"opencl-nvidia", Match::Prefix, O},
});

bool matches(const NameRule& rule, std::string_view name) {
  if (rule.match == Match::Exact) return name == rule.text;
  return rule.match == Match::Prefix ? name.starts_with(rule.text) : name.ends_with(rule.text);
}

template <class Table>
std::optional<PackageRole> role_in(const Table& table, std::string_view name) {
  for (const NameRule& rule : table)
    if (matches(rule, name)) return rule.role;
  return std::nullopt;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

/// "550" at `at`, followed by the end, a '-' or "xx": a branch, never the "32" of "lib32" or a full version.
std::optional<std::uint32_t> branch_at(std::string_view name, std::size_t at) {
  if (at + 3 > name.size() || !std::all_of(name.begin() + at, name.begin() + at + 3, digit)) return std::nullopt;
  auto rest = name.substr(at + 3);
  if (rest.starts_with("xx")) rest.remove_prefix(2);
  if (!rest.empty() && rest.front() != '-') return std::nullopt;
  const int number = (name[at] - '0') * 100 + (name[at + 1] - '0') * 10 + (name[at + 2] - '0');
  if (number < 300) return std::nullopt;  // "-107-" of a kernel release
  return static_cast<std::uint32_t>(number);
}

/// openSUSE's module packages carry the kernel behind the driver: "550.120_k6.4.0_150600.21-lp156.4.1".
std::optional<DriverVersion> package_driver_version(std::string_view version) {
  if (auto cut = version.find("_k"); cut != std::string_view::npos) version = version.substr(0, cut);
  auto parsed = driver_version_in_package_version(version);
  // A kernel's own number ("6.8.0-49.49") or a date is no driver version.
  if (parsed && (parsed->branch < 100 || parsed->branch > 9999)) return std::nullopt;
  return parsed;
}

bool foreign_architecture(const Package& package, const Machine& machine) {
  const auto* own = machine.os.architecture.get();
  const bool is_32_bit = package.architecture == "i386" || package.architecture == "i586" || package.architecture == "i686";
  return is_32_bit && !(own && own->size() == 4 && (*own)[0] == 'i');
}

bool on_disk(const Package& package) { return package.status != "config-files" && package.status != "not-installed"; }

/// How early depmod's search order finds the folder: updates/ first, built-in order last.
int folder_rank(std::string_view path) {
  if (path.find("/updates/") != std::string_view::npos) return 0;
  if (path.find("/extra/") != std::string_view::npos) return 1;
  if (path.find("/weak-updates/") != std::string_view::npos) return 2;
  return 3;
}

}  // namespace

PackageRole driver_package_role(std::string_view name, std::string_view manager) {
  if (manager == "pacman") {
    if (auto role = role_in(own_numbering, name)) return *role;
    // "zfs-dkms" is no driver: only names with nvidia in them.
    if (name.find("nvidia") == std::string_view::npos) return N;
    return role_in(pacman_names, name).value_or(N);
  }
  if (name.find("nvidia") == std::string_view::npos && !name.starts_with("libcuda1") && !name.starts_with("cuda-drivers"))
    return N;
  if (auto role = role_in(own_numbering, name)) return *role;
  return manager == "rpm" ? role_in(rpm_names, name).value_or(N) : role_in(dpkg_names, name).value_or(N);
}

std::optional<std::uint32_t> branch_in_package_name(std::string_view name) {
  for (std::size_t at = name.find('-'); at != std::string_view::npos; at = name.find('-', at + 1))
    if (auto branch = branch_at(name, at + 1)) return branch;
  return std::nullopt;
}

std::vector<DriverPackage> driver_packages(const Machine& machine) {
  std::vector<DriverPackage> found;
  const auto* installed = machine.packages.installed.get();
  if (!installed) return found;
  for (const auto& package : *installed) {
    auto role = driver_package_role(package.name, package.manager);
    if (role == PackageRole::NoDriver || !on_disk(package) || foreign_architecture(package, machine)) continue;
    found.push_back({&package, role, package_driver_version(package.version)});
  }
  return found;
}

std::optional<DriverVersion> driver_version_of_packages(const Machine& machine) {
  const auto packages = driver_packages(machine);
  for (auto role : {PackageRole::Module, PackageRole::Compute, PackageRole::Other}) {
    std::optional<DriverVersion> newest;
    for (const auto& package : packages)
      if (package.role == role && package.version && (!newest || *newest < *package.version)) newest = package.version;
    if (newest) return newest;
  }
  return std::nullopt;
}

const ModuleFile* module_file_for(const Machine& machine, std::string_view kernel, std::string_view name) {
  const auto* files = machine.kernel_driver.module_files.get();
  if (!files) return nullptr;
  const ModuleFile* best = nullptr;
  for (const auto& file : *files) {
    if (file.kernel != kernel || (file.name != name && nvidia_module_role(file.name) != name)) continue;
    if (!best || folder_rank(file.path) < folder_rank(best->path)) best = &file;
  }
  return best;
}

}  // namespace gpuvet
