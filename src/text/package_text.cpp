// Packages in a text: lists of dpkg, apt, rpm, dnf, zypper and pacman, and what apt and dnf say while they install.

#include <algorithm>
#include <array>
#include <string>

#include "text/driver_text_parts.h"
#include "text/re2_text.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

constexpr std::size_t most_packages = 600;

struct Patterns {
  RE2 dpkg{
      R"re(^\s*([uihrp][ncHUFWti])(R?)\s+([a-z0-9][^\s:]*)(?::(\S+))?\s+(\d\S*)(?:\s+(amd64|arm64|i386|all|ppc64el|armhf)\b|\s*$))re"};
  // "nvidia-driver-535/jammy-updates,now 535.129.03-0ubuntu0.22.04.1 amd64 [installed,automatic]"
  RE2 apt{R"re(^\s*([a-z0-9][a-z0-9.+-]+)/\S+ (\d\S*) (amd64|arm64|all|i386|ppc64el) \[([^\]]+)\])re"};
  RE2 upgradable_from{R"re((?:upgradable from|可从该版本升级|可升级自)[:：] ?(\d[^\s\],]*))re"};
  RE2 policy_name{R"re(^([a-z0-9][a-z0-9.+-]+):\s*$)re"};
  RE2 policy_installed{R"re(^\s+(?:Installed: |已安装：)(\S+))re"};
  RE2 rpm{R"re(^\s*([A-Za-z0-9][A-Za-z0-9_.+-]*?)-((?:\d+:)?\d[^-\s]*-[^-\s]+)\.(x86_64|aarch64|noarch|ppc64le|i686)\s*$)re"};
  // "akmod-nvidia.x86_64   3:525.60.11-1.fc37   @rpmfusion-nonfree-updates"
  RE2 dnf{R"re(^\s*([A-Za-z0-9][A-Za-z0-9_.+-]*?)\.(x86_64|aarch64|noarch|ppc64le|i686)\s+((?:\d+:)?\d\S*)\s+(@?\S+)\s*$)re"};
  // "i+ | nvidia-driver-G06-kmp-default | package | 550.100_k6.4.0-25.1 | x86_64 | repo"
  RE2 zypper{
      R"re(^\s*i\+?\s*\|\s*([A-Za-z0-9][A-Za-z0-9_.+-]*)\s*\|\s*package\s*\|\s*(\d\S*)\s*\|\s*(x86_64|aarch64|noarch)\s*\|)re"};
  RE2 pacman{R"re(^\s*(local/)?((?:lib32-)?[a-z][a-z0-9.+_-]*) ((?:\d+:)?\d\S*-\d[\d.]*)(?:\s.*)?$)re"};
  RE2 setting_up{R"re(^\s*(?:Setting up|正在设置) ([a-z0-9][a-z0-9.+-]*)(?::\S+)? \((\d[^)\s]*)\))re"};
  RE2 unpacking{
      R"re(^\s*(?:Unpacking|正在解压) ([a-z0-9][a-z0-9.+-]*)(?::\S+)? \((\d[^)\s]*)\)(?: over| 以覆盖)? \((\d[^)\s]*)\))re"};
  RE2 removing{R"re(^\s*(?:Removing|正在卸载) ([a-z0-9][a-z0-9.+-]*)(?::\S+)? \((\d[^)\s]*)\))re"};
  // "  Upgrading        : nvidia-driver-libs-3:555.42.02-1.fc40.x86_64      5/16"
  RE2 dnf_step{
      R"re(^\s*(Installing|Upgrading|Downgrading|Erasing|Removing)\s*:\s*([A-Za-z0-9][A-Za-z0-9_.+-]*?)-((?:\d+:)?\d[^-\s]*-[^-\s]+)\.(?:x86_64|aarch64|noarch|i686)\s+\d+/\d+\s*$)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

bool matters(std::string_view name) {
  constexpr std::array<std::string_view, 14> starts{"linux-headers", "linux-image", "linux-modules", "kernel",    "dkms",
                                                    "akmod",         "docker",      "containerd",    "podman",    "mokutil",
                                                    "bumblebee",     "envycontrol", "supergfxctl",   "libxnvctrl"};
  constexpr std::array<std::string_view, 5> parts{"nvidia", "cuda", "cudnn", "nccl", "nouveau"};
  return std::ranges::any_of(starts, [&](std::string_view s) { return name.starts_with(s); }) ||
         std::ranges::any_of(parts, [&](std::string_view s) { return name.find(s) != std::string_view::npos; });
}

/// dpkg's second letter.
std::string status_of(char letter) {
  switch (letter) {
    case 'c':
      return "config-files";
    case 'H':
      return "half-installed";
    case 'U':
      return "unpacked";
    case 'F':
      return "half-configured";
    case 'W':
    case 't':
      return "triggers-pending";
    case 'n':
      return {};
    default:
      return "installed";
  }
}

struct Found {
  std::string_view name, version, architecture, manager;
  std::string status = "installed";
  bool held = false;
};

void add_package(Machine& machine, const PastedText& text, std::size_t line, const Found& found) {
  if (!matters(found.name) || found.status.empty() || in_container(text, line)) return;
  Packages& packages = machine.packages;
  set_fact(packages.installed, std::vector<Package>(), text, line);
  set_fact(packages.manager, std::string(found.manager), text, line);
  auto& list = *packages.installed.get();
  const bool known = std::ranges::any_of(list, [&](const Package& p) {
    return p.name == found.name && p.version == found.version && p.architecture == found.architecture;
  });
  if (known || list.size() >= most_packages) return;
  Package package;
  package.name = found.name;
  package.version = found.version;
  package.architecture = found.architecture;
  package.manager = found.manager;
  package.status = found.status;
  package.held = found.held;
  package.origin = origin_of(text, line);
  list.push_back(std::move(package));
}

// ---- one line of each list --------------------------------------------------------------------------------------------

std::optional<Found> of_dpkg(const std::string& line) {
  StringPiece state, error, name, qualifier, version, architecture;
  if (!RE2::PartialMatch(piece(line), patterns().dpkg, &state, &error, &name, &qualifier, &version, &architecture))
    return std::nullopt;
  return Found{view(name), view(version), view(architecture), "dpkg", status_of(view(state)[1]), view(state)[0] == 'h'};
}

std::optional<Found> of_apt(const std::string& line) {
  StringPiece name, version, architecture, mark, from;
  if (!RE2::PartialMatch(piece(line), patterns().apt, &name, &version, &architecture, &mark)) return std::nullopt;
  // `apt list --upgradable` prints the candidate's version and names the installed one behind.
  if (RE2::PartialMatch(mark, patterns().upgradable_from, &from))
    return Found{view(name), view(from), view(architecture), "dpkg"};
  if (view(mark).find("installed") == std::string_view::npos && view(mark).find("已安装") == std::string_view::npos)
    return std::nullopt;
  return Found{view(name), view(version), view(architecture), "dpkg"};
}

std::optional<Found> of_rpm(const std::string& line) {
  StringPiece name, version, architecture;
  if (!RE2::PartialMatch(piece(line), patterns().rpm, &name, &version, &architecture)) return std::nullopt;
  return Found{view(name), view(version), view(architecture), "rpm"};
}

/// "available": the list is of what could be installed; what is installed has an '@' in front of its source.
std::optional<Found> of_dnf(const std::string& line, bool available) {
  StringPiece name, architecture, version, source;
  if (!RE2::PartialMatch(piece(line), patterns().dnf, &name, &architecture, &version, &source)) return std::nullopt;
  if (!view(source).starts_with('@') && (available || view(source) != "installed")) return std::nullopt;
  return Found{view(name), view(version), view(architecture), "rpm"};
}

std::optional<Found> of_zypper(const std::string& line) {
  StringPiece name, version, architecture;
  if (!RE2::PartialMatch(piece(line), patterns().zypper, &name, &version, &architecture)) return std::nullopt;
  return Found{view(name), view(version), view(architecture), "rpm"};
}

std::optional<Found> of_pacman(const PastedText& text, std::size_t i) {
  StringPiece local, name, version;
  if (!RE2::PartialMatch(piece(text.lines[i].text), patterns().pacman, &local, &name, &version) || !matters(view(name)))
    return std::nullopt;
  const PasteSegment* segment = segment_of(text, i);
  const bool query = segment != nullptr && i >= segment->first && arguments_of(*segment).starts_with("-Q") &&
                     (runs(*segment, "pacman") || runs(*segment, "yay") || runs(*segment, "paru"));
  if (!query && local.empty()) return std::nullopt;
  return Found{view(name), view(version), {}, "pacman"};
}

void read_lists(const PastedText& text, Machine& machine) {
  bool available = false;  // dnf's section
  std::string policy;      // apt-cache policy: the package whose lines follow
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    if (line.size() > 500) continue;
    if (line.starts_with("Available Packages") || line.starts_with("Available packages")) available = true;
    if (line.starts_with("Installed Packages") || line.starts_with("Installed packages")) available = false;
    StringPiece word;
    if (RE2::PartialMatch(piece(line), patterns().policy_name, &word)) {
      policy = view(word);
    } else if (!policy.empty() && RE2::PartialMatch(piece(line), patterns().policy_installed, &word)) {
      if (view(word).front() >= '0' && view(word).front() <= '9') add_package(machine, text, i, {policy, view(word), {}, "dpkg"});
      policy.clear();
    } else if (!line.starts_with(' ')) {
      policy.clear();
    }
    std::optional<Found> found = of_dpkg(line);
    if (!found) found = of_apt(line);
    if (!found) found = of_rpm(line);
    if (!found) found = of_dnf(line, available);
    if (!found) found = of_zypper(line);
    if (!found) found = of_pacman(text, i);
    if (found) add_package(machine, text, i, *found);
  }
}

// ---- transactions -----------------------------------------------------------------------------------------------------

std::optional<PackageChange> change_of(const std::string& line) {
  const Patterns& p = patterns();
  StringPiece name, now, before, step;
  const auto text = [](const StringPiece& s) { return std::string(view(s)); };
  if (RE2::PartialMatch(piece(line), p.unpacking, &name, &now, &before))
    return PackageChange{"upgrade", text(name), text(before), text(now)};
  if (RE2::PartialMatch(piece(line), p.setting_up, &name, &now)) return PackageChange{"install", text(name), {}, text(now)};
  if (RE2::PartialMatch(piece(line), p.removing, &name, &before)) return PackageChange{"remove", text(name), text(before), {}};
  if (!RE2::PartialMatch(piece(line), p.dnf_step, &step, &name, &now)) return std::nullopt;
  const bool removes = view(step) == "Erasing" || view(step) == "Removing";
  const char* action = removes                       ? "remove"
                       : view(step) == "Upgrading"   ? "upgrade"
                       : view(step) == "Downgrading" ? "downgrade"
                                                     : "install";
  return removes ? PackageChange{action, text(name), text(now), {}} : PackageChange{action, text(name), {}, text(now)};
}

void add_change(PackageTransaction& transaction, PackageChange change) {
  // apt announces, unpacks, then sets up: one change.
  const auto same = std::ranges::find(transaction.changes, change.name, &PackageChange::name);
  if (same == transaction.changes.end()) {
    if (transaction.changes.size() < most_packages) transaction.changes.push_back(std::move(change));
  } else if (same->action == "remove" && change.action == "install") {
    *same = {"upgrade", change.name, same->old_version, change.new_version};
  } else if (same->new_version.empty() && same->action == "install") {
    *same = std::move(change);
  }
}

/// apt's plan: below this headline stand names only, indented.
bool is_plan_of_new_packages(std::string_view line) {
  return line.find("The following NEW packages will be installed") != std::string_view::npos ||
         line.find("下列【新】软件包将被安装") != std::string_view::npos;
}

std::vector<PackageChange> names_of_plan(std::string_view line) {
  std::vector<PackageChange> changes;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return changes;
    const std::string_view name = line.substr(0, line.find(' '));
    if (matters(name)) changes.push_back({"install", std::string(name), {}, {}});
    line.remove_prefix(name.size());
  }
}

/// What was done to packages, one transaction a command (or the whole text).
void read_transactions(const PastedText& text, Machine& machine) {
  const PasteSegment* segment = nullptr;
  PackageTransaction open;
  const auto close = [&] {
    if (!open.changes.empty()) machine.packages.history.push_back(std::move(open));
    open = {};
  };
  bool in_plan = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    if (line.size() > 500 || in_container(text, i)) continue;
    std::vector<PackageChange> changes;
    if (in_plan && line.starts_with("  "))
      changes = names_of_plan(line);
    else
      in_plan = is_plan_of_new_packages(line);
    if (auto change = change_of(line); change && matters(change->name)) changes.push_back(std::move(*change));
    if (changes.empty()) continue;
    const PasteSegment* here = segment_of(text, i);
    if (here != segment) close();
    segment = here;
    if (open.changes.empty()) {
      open.command = here != nullptr ? here->command : std::string();
      open.origin = origin_of(text, i);
    }
    for (PackageChange& change : changes) add_change(open, std::move(change));
  }
  close();
  constexpr std::size_t most = 20;
  auto& history = machine.packages.history;
  if (history.size() > most) history.erase(history.begin(), history.end() - most);
}

}  // namespace

void read_packages(const PastedText& text, Machine& machine) {
  read_lists(text, machine);
  read_transactions(text, machine);
}

}  // namespace gpuvet
