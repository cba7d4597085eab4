#include "render/distribution.h"

#include <algorithm>
#include <array>

#include "knowledge/embedded.h"
#include "knowledge/table.h"
#include "model/version.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

using Values = std::map<std::string, std::string>;

// ---- what is installed -----------------------------------------------------------------------------------------------

const std::vector<Package>& installed_packages(const Machine& machine) {
  static const std::vector<Package> none;
  const auto* packages = machine.packages.installed.get();
  return packages == nullptr ? none : *packages;
}

template <class Predicate>
bool any_package(const Machine& machine, Predicate predicate) {
  const auto& packages = installed_packages(machine);
  return std::any_of(packages.begin(), packages.end(),
                     [&](const Package& p) { return p.status != "config-files" && predicate(p); });
}

bool name_is(const Package& package, std::string_view name) { return package.name == name; }

bool installed_at_branch(const Machine& machine, std::string_view name, std::uint32_t branch) {
  return any_package(machine, [&](const Package& p) {
    if (!name_is(p, name)) return false;
    const auto version = driver_version_in_package_version(p.version);
    return branch == 0 || (version && version->branch == branch);
  });
}

bool repository_mentions(const Machine& machine, std::string_view text) {
  return std::any_of(machine.packages.repositories.begin(), machine.packages.repositories.end(), [&](const Origin& o) {
    return o.text.find(text) != std::string::npos || o.source.find(text) != std::string::npos;
  });
}

bool has_nvidia_repository(const Machine& machine) {
  return repository_mentions(machine, "developer.download.nvidia.com/compute/cuda");
}

bool from_rpmfusion(const Machine& machine) {
  return any_package(
      machine, [](const Package& p) { return p.name.starts_with("akmod-nvidia") || p.name.starts_with("xorg-x11-drv-nvidia"); });
}

/// "distribution", "nvidia" or "rpmfusion": where the driver came from, else where this distribution's users get it.
std::string_view preferred_origin(const Machine& machine, std::string_view family) {
  const bool nvidia_packages = any_package(machine, [](const Package& p) {
    return p.name.starts_with("cuda-drivers") || p.name == "nvidia-open" || p.name.starts_with("nvidia-open-5") ||
           p.name.ends_with("-signed-cuda-kmp-default");
  });
  if (family == "fedora" || family == "rhel") {
    if (from_rpmfusion(machine)) return "rpmfusion";
    const bool nvidia_rpms =
        any_package(machine, [](const Package& p) { return p.name == "nvidia-driver" || p.name.starts_with("kmod-nvidia"); });
    if (nvidia_packages || nvidia_rpms || has_nvidia_repository(machine)) return "nvidia";
    return family == "fedora" ? "rpmfusion" : "nvidia";
  }
  if (nvidia_packages && family != "arch") return "nvidia";
  const bool has_driver = any_package(
      machine, [](const Package& p) { return p.name.starts_with("nvidia-driver") || p.name.starts_with("nvidia-kernel"); });
  return family == "debian" && !has_driver && has_nvidia_repository(machine) ? "nvidia" : "distribution";
}

/// Sub-selection that this machine already made: server or headless packages on Ubuntu, DKMS on Arch.
std::string preferred_style(const Machine& machine, std::string_view family) {
  if (family == "ubuntu") {
    const bool headless = any_package(machine, [](const Package& p) { return p.name.starts_with("nvidia-headless-"); });
    const bool server = any_package(machine, [](const Package& p) {
      return (p.name.starts_with("nvidia-driver-") || p.name.starts_with("nvidia-headless-") ||
              p.name.starts_with("libnvidia-compute-")) &&
             p.name.find("-server") != std::string::npos;
    });
    return headless ? (server ? "headless-server" : "headless") : server ? "server" : "desktop";
  }
  const bool dkms =
      any_package(machine, [](const Package& p) { return p.name == "nvidia-dkms" || p.name == "nvidia-open-dkms"; });
  const bool lts = any_package(machine, [](const Package& p) {
    return p.name == "nvidia-lts" || p.name == "nvidia-lts-open" || p.name == "linux-lts-headers";
  });
  return dkms ? "dkms" : lts && family == "arch" ? "lts" : "any";
}

std::string default_flavor(const Machine& machine, std::uint32_t branch) {
  if (const std::string* loaded = machine.kernel_driver.flavor.get()) return *loaded;
  const bool open = any_package(machine, [](const Package& p) {
    return p.name.find("nvidia") != std::string::npos && p.name.find("-open") != std::string::npos;
  });
  if (open) return "open";
  const bool driver = any_package(
      machine, [](const Package& p) { return p.name.starts_with("nvidia-driver") || p.name.starts_with("cuda-drivers"); });
  // NVIDIA's own default is the open module from 560 on (driver installation guide, kernel modules).
  return !driver && branch >= 560 ? "open" : "proprietary";
}

// ---- the table -------------------------------------------------------------------------------------------------------

const Knowledge::Table& package_table() {
  static const Knowledge::Table table = [] {
    for (const EmbeddedTable& t : embedded_tables()) {
      if (t.name != "distribution_packages") continue;
      if (auto parsed = parse_table(t.name, t.text)) return std::move(*parsed);
    }
    return Knowledge::Table();
  }();
  return table;
}

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > 100000) return 0;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

/// "470,510-550" and the like.
bool lists_branch(std::string_view list, std::uint32_t branch) {
  for (const std::string_view item : split_cells(list, ',')) {
    const std::size_t dash = item.find('-');
    const std::uint32_t first = number(item.substr(0, dash));
    const std::uint32_t last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
    if (branch >= first && branch <= last && first != 0) return true;
  }
  return false;
}

bool lists_release(std::string_view list, std::string_view version_id) {
  if (list.empty()) return true;
  const std::string_view major = version_id.substr(0, version_id.find('.'));
  for (const std::string_view item : split_cells(list, ',')) {
    if (item == major || item == version_id) return true;
  }
  return false;
}

struct Wanted {
  const Machine& machine;
  std::string_view family;
  std::string_view origin;
  std::uint32_t branch;
  std::string flavor, style;
};

class Row {
 public:
  Row(const Knowledge::Table& table, const std::vector<std::string_view>& cells) : table_(table), cells_(cells) {}
  std::string_view operator[](std::string_view column) const { return table_.cell(cells_, column); }

 private:
  const Knowledge::Table& table_;
  const std::vector<std::string_view>& cells_;
};

bool branch_fits(const Row& row, const Wanted& wanted) {
  const std::string_view branches = row["branches"];
  if (branches == "any") return wanted.branch == 0;
  if (branches != "current") return wanted.branch != 0 && lists_branch(branches, wanted.branch);
  // "current" stands for whatever the repository has: right when no branch is asked for, or when it is what is installed.
  if (wanted.branch == 0) return true;
  for (const std::string_view name : split_cells(row["packages"], ' ')) {
    if (!installed_at_branch(wanted.machine, name, wanted.branch)) return false;
  }
  return true;
}

bool row_fits(const Row& row, const Wanted& wanted) {
  const auto equal_or_any = [](std::string_view cell, std::string_view value) {
    return cell == "any" || cell.empty() || cell == value;
  };
  return row["distribution"] == wanted.family && row["origin"] == wanted.origin && equal_or_any(row["flavor"], wanted.flavor) &&
         equal_or_any(row["style"], wanted.style) && lists_release(row["releases"], wanted.machine.os.version_id.value_or("")) &&
         branch_fits(row, wanted);
}

// ---- NVIDIA's repository ---------------------------------------------------------------------------------------------

std::string repository_name(const Machine& machine, std::string_view family) {
  std::string version = machine.os.version_id.value_or("");
  const std::string major = version.substr(0, version.find('.'));
  if (major.empty()) return {};
  if (family == "ubuntu") {
    version.erase(std::remove(version.begin(), version.end(), '.'), version.end());
    return machine.os.id.is("ubuntu") ? "ubuntu" + version : "";
  }
  if (family == "debian") return machine.os.id.is("debian") ? "debian" + major : "";
  if (family == "rhel") return machine.os.id.is("amzn") ? "amzn" + version : "rhel" + major;
  if (family == "fedora") return "fedora" + major;
  return {};
}

/// Commands that add NVIDIA's repository, as its installation guide has them; empty when unknown or there already.
std::vector<std::string> add_repository(const Machine& machine, std::string_view family) {
  const std::string name = repository_name(machine, family);
  const std::string* architecture = machine.os.architecture.get();
  if (has_nvidia_repository(machine) || name.empty() || architecture == nullptr) return {};
  const std::string folder = *architecture == "aarch64" ? "sbsa" : *architecture;
  const std::string url = "https://developer.download.nvidia.com/compute/cuda/repos/" + name + "/" + folder + "/";
  if (family == "ubuntu" || family == "debian") {
    return {"wget " + url + "cuda-keyring_1.1-1_all.deb", "sudo dpkg -i cuda-keyring_1.1-1_all.deb", "sudo apt update"};
  }
  const std::string repo = url + "cuda-" + name + ".repo";
  if (family == "fedora" && number(machine.os.version_id.value_or("")) >= 41)
    return {"sudo dnf config-manager addrepo --from-repofile=" + repo};
  return {"sudo dnf config-manager --add-repo " + repo};
}

std::vector<std::string> add_rpmfusion(const Machine& machine, std::string_view family) {
  if (from_rpmfusion(machine) || repository_mentions(machine, "rpmfusion") || family != "fedora") return {};
  return {
      "sudo dnf install https://mirrors.rpmfusion.org/free/fedora/rpmfusion-free-release-$(rpm -E %fedora).noarch.rpm "
      "https://mirrors.rpmfusion.org/nonfree/fedora/rpmfusion-nonfree-release-$(rpm -E %fedora).noarch.rpm"};
}

std::string where_to_look(std::string_view family) {
  if (family == "debian") return "https://wiki.debian.org/NvidiaGraphicsDrivers";
  if (family == "ubuntu") return "https://ubuntu.com/server/docs/nvidia-drivers-installation";
  if (family == "fedora") return "https://rpmfusion.org/Howto/NVIDIA";
  if (family == "arch") return "https://wiki.archlinux.org/title/NVIDIA";
  if (family == "suse") return "https://en.opensuse.org/SDB:NVIDIA_drivers";
  return "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/";
}

DriverInstallation from_row(const Row& row, const Wanted& wanted) {
  const Values values{{"branch", std::to_string(wanted.branch)}};
  DriverInstallation out;
  if (row["origin"] == "nvidia") out.setup = add_repository(wanted.machine, wanted.family);
  if (row["origin"] == "rpmfusion") out.setup = add_rpmfusion(wanted.machine, wanted.family);
  // RPM Fusion's akmod packages build in the background, and a reboot at once would interrupt that (rpmfusion.org/Howto/NVIDIA).
  if (row["origin"] == "rpmfusion") out.finish = {"sudo akmods --force"};
  if (!row["setup"].empty()) {
    for (const std::string_view command : split_cells(row["setup"], '|')) out.setup.push_back(fill_placeholders(command, values));
  }
  out.packages = fill_placeholders(row["packages"], values);
  out.install = fill_placeholders(row["install"], values);
  return out;
}

}  // namespace

std::vector<std::string> distribution_keys(const Machine& machine) {
  std::vector<std::string> keys;
  const auto add = [&](std::string_view key) {
    if (!key.empty() && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
  };
  const std::string id = machine.os.id.value_or("");
  add(id);
  const std::string like = machine.os.id_like.value_or("");
  for (const std::string_view word : split_cells(like, ' ')) add(word);
  // What ID_LIKE leaves out.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> parents{{{"ubuntu", "debian"},
                                                                                          {"centos", "rhel"},
                                                                                          {"rocky", "rhel"},
                                                                                          {"almalinux", "rhel"},
                                                                                          {"ol", "rhel"},
                                                                                          {"amzn", "rhel"},
                                                                                          {"rhel", "fedora"},
                                                                                          {"manjaro", "arch"},
                                                                                          {"endeavouros", "arch"},
                                                                                          {"cachyos", "arch"},
                                                                                          {"linuxmint", "ubuntu"},
                                                                                          {"pop", "ubuntu"},
                                                                                          {"opensuse-leap", "suse"},
                                                                                          {"opensuse-tumbleweed", "suse"},
                                                                                          {"opensuse", "suse"},
                                                                                          {"sles", "suse"}}};
  for (std::size_t i = 0; i < keys.size() && i < 16; ++i) {
    for (const auto& [child, parent] : parents) {
      if (keys[i] == child) add(parent);
    }
  }
  return keys;
}

DriverInstallation driver_installation(const Machine& machine, std::uint32_t branch, std::string_view flavor) {
  static constexpr std::array<std::string_view, 6> families{"ubuntu", "debian", "rhel", "fedora", "arch", "suse"};
  const std::vector<std::string> keys = distribution_keys(machine);
  std::string_view family;
  for (const std::string& key : keys) {
    const auto found = std::find(families.begin(), families.end(), key);
    if (family.empty() && found != families.end()) family = *found;
  }
  const std::string_view preferred = preferred_origin(machine, family);
  const std::string wanted_flavor = flavor.empty() ? default_flavor(machine, branch) : std::string(flavor);
  std::vector<std::string_view> origins{preferred};
  for (const std::string_view other : {"distribution", "nvidia"}) {
    if (other != preferred) origins.push_back(other);
  }
  for (const std::string_view origin : origins) {
    // A second repository beside RPM Fusion's packages would mix two ways of packaging.
    if (preferred == "rpmfusion" && origin == "nvidia" && from_rpmfusion(machine)) continue;
    for (const std::string& style : {preferred_style(machine, family), std::string("any")}) {
      const Wanted wanted{machine, family, origin, branch, wanted_flavor, style};
      for (const auto& cells : package_table().rows) {
        const Row row(package_table(), cells);
        if (row_fits(row, wanted)) return from_row(row, wanted);
      }
    }
  }
  DriverInstallation unknown;
  unknown.where = where_to_look(family);
  return unknown;
}

}  // namespace gpuvet
