// dpkg's database: /var/lib/dpkg/status (deb822 stanzas), or status.d of distroless images.
#include <algorithm>
#include <array>

#include "collect/lines.h"
#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t status_limit = std::size_t{64} << 20;

struct Stanza {
  std::string_view package, status, version, architecture;
  std::uint32_t package_line = 0, status_line = 0;
};

/// "install ok half-configured": want, error flag, state.
void fill_status(Package& package, std::string_view status) {
  const auto parts = words(status);
  package.held = !parts.empty() && parts[0] == "hold";
  package.status = parts.size() > 2 ? std::string(parts[2]) : "installed";
}

void keep(std::vector<Package>& packages, const Stanza& stanza, std::string_view source) {
  if (stanza.package.empty() || !relevant_package(stanza.package)) return;
  Package package;
  package.name = stanza.package;
  package.version = stanza.version;
  package.architecture = stanza.architecture;
  package.manager = "dpkg";
  fill_status(package, stanza.status);
  if (package.status == "not-installed") return;
  const std::string quote =
      package.name + " " + package.version + ": " + std::string(stanza.status.empty() ? "installed" : stanza.status);
  package.origin = origin_of(source, quote, stanza.status_line != 0 ? stanza.status_line : stanza.package_line);
  packages.push_back(std::move(package));
}

}  // namespace

bool relevant_package(std::string_view name) {
  static constexpr std::array<std::string_view, 34> prefixes = {"nvidia",
                                                                "libnvidia",
                                                                "cuda",
                                                                "libcuda",
                                                                "libcudnn",
                                                                "libnccl",
                                                                "libxnvctrl",
                                                                "linux-image",
                                                                "linux-headers",
                                                                "kernel",
                                                                "dkms",
                                                                "akmod",
                                                                "kmod-nvidia",
                                                                "docker",
                                                                "containerd",
                                                                "podman",
                                                                "cri-o",
                                                                "bumblebee",
                                                                "bbswitch",
                                                                "envycontrol",
                                                                "supergfxctl",
                                                                "optimus-manager",
                                                                "datacenter-gpu-manager",
                                                                "rocm",
                                                                "amdgpu",
                                                                "hip-runtime",
                                                                "xserver-xorg-video-nvidia",
                                                                "xorg-x11-drv-nvidia",
                                                                "system76-power",
                                                                "nvlink",
                                                                "libnvsdm",
                                                                "linux-lts",
                                                                "linux-zen",
                                                                "egl-wayland"};
  static constexpr std::array<std::string_view, 3> whole = {"linux", "linux-hardened", "mokutil"};
  if (std::ranges::find(whole, name) != whole.end()) return true;
  // Asked for each of thousands of packages: the first letter tells most of them apart without a call.
  const auto begins = [&](std::string_view prefix) { return name.front() == prefix.front() && name.starts_with(prefix); };
  if (name.empty()) return false;
  if (std::ranges::any_of(prefixes, begins)) return true;
  return name.find("nvidia") != std::string_view::npos;
}

std::vector<Package> parse_dpkg_status(std::string_view text, std::string_view source) {
  std::vector<Package> packages;
  Stanza stanza;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (line.empty()) {
      keep(packages, stanza, source);
      stanza = {};
    } else if (line.starts_with("Package: ")) {
      stanza.package = trim(line.substr(9));
      stanza.package_line = number;
    } else if (line.starts_with("Status: ")) {
      stanza.status = trim(line.substr(8));
      stanza.status_line = number;
    } else if (line.starts_with("Version: ")) {
      stanza.version = trim(line.substr(9));
    } else if (line.starts_with("Architecture: ")) {
      stanza.architecture = trim(line.substr(14));
    }
    return true;
  });
  keep(packages, stanza, source);
  return packages;
}

Result<std::vector<Package>> read_dpkg_packages(System& system) {
  const std::string path = "/var/lib/dpkg/status";
  const auto text = system.read_file(path, status_limit);
  if (text) return parse_dpkg_status(*text, path);
  if (text.error().code != ErrorCode::NotFound || !system.is_directory("/var/lib/dpkg/status.d"))
    return tl::unexpected(text.error());
  std::vector<Package> packages;
  for (const DirectoryEntry& entry : entries_of(system, "/var/lib/dpkg/status.d", 4096)) {
    const std::string file = "/var/lib/dpkg/status.d/" + entry.name;
    if (const auto stanza = system.read_file(file))
      std::ranges::move(parse_dpkg_status(*stanza, file), std::back_inserter(packages));
  }
  return packages;
}

}  // namespace gpuvet
