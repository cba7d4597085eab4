// What WSL2 shows of Windows without asking it: the driver store that is mounted in /usr/lib/wsl/drivers, /etc/wsl.conf, and the
// .wslconfig of the Windows user on the mounted drive C.

#include <algorithm>

#include "collect/collect.h"
#include "collect/lines.h"
#include "collect/wsl_settings.h"
#include "model/windows_driver.h"
#include "text/pasted_text.h"

namespace gpuvet {
namespace {

constexpr const char* store = "/usr/lib/wsl/drivers";
constexpr const char* wsl_conf = "/etc/wsl.conf";
constexpr std::size_t settings_limit = 65536;

// ---- driver store -----------------------------------------------------------------------------------------------------

/// "nv_dispi.inf" of the folder "nv_dispi.inf_amd64_3b0b0ab3fa07d1a3"; empty: not a display driver of NVIDIA. (Windows names a
/// folder of its store after the .inf; NVIDIA's are nv_disp*, nvlt*, nvmd*, nvam* and other makers' editions beginning with nv.)
std::string inf_name(std::string_view folder) {
  const std::size_t end = folder.find(".inf_");
  return folder.starts_with("nv") && end != std::string_view::npos ? std::string(folder.substr(0, end + 4)) : std::string();
}

struct StoreFolder {
  std::string path;
  Fact<std::string> version;  ///< DriverVer of its .inf
};

/// "30.0.14.7212" of "DriverVer = 09/13/2021, 30.0.14.7212 ; comment" in the section [Version].
Fact<std::string> driver_version_of(System& system, const std::string& inf) {
  // [Version] comes first; the rest is a list of all GPUs. The file is ASCII or UTF-16 with a mark.
  const auto head = system.read_head(inf, settings_limit);
  if (!head) return not_seen_because<std::string>(head.error(), inf);
  Fact<std::string> version = Fact<std::string>::absent(origin_of(inf, "no DriverVer"));
  for_each_line(decoded_text(*head), [&](std::string_view line, std::uint32_t number) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || lower(trim(line.substr(0, equals))) != "driverver") return true;
    std::string_view value = line.substr(equals + 1);
    value = value.substr(0, value.find(';'));
    const std::size_t comma = value.find(',');
    const std::string_view text = comma == std::string_view::npos ? std::string_view() : trim(value.substr(comma + 1));
    if (driver_of_windows_version(text))
      version = Fact<std::string>::known(std::string(text), origin_of(inf, trim(line), number));
    return false;
  });
  return version;
}

bool same_bytes(System& system, const std::string& one, const std::string& other) {
  constexpr std::size_t limit = std::size_t{4} << 20;
  const auto first = system.status(one), second = system.status(other);
  if (!first || !second || first->size != second->size || first->size == 0 || first->size > limit) return false;
  const auto a = system.read_file(one, limit), b = system.read_file(other, limit);
  return a && b && *a == *b;
}

/// The driver's installation copies these into /usr/lib/wsl/lib: the folder that has the same ones is the one in use.
bool is_in_use(System& system, const std::string& folder) {
  return same_bytes(system, folder + "/libcuda_loader.so", "/usr/lib/wsl/lib/libcuda.so.1") ||
         same_bytes(system, folder + "/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi");
}

bool is_newer(const StoreFolder& a, const StoreFolder& b) {
  const auto version = [](const StoreFolder& folder) {
    const std::string* text = folder.version.get();
    return text == nullptr ? std::nullopt : driver_of_windows_version(*text);
  };
  return version(a) > version(b);
}

/// Windows keeps folders of earlier drivers, and one for each kind of card.
std::vector<StoreFolder> nvidia_folders(System& system, const std::vector<DirectoryEntry>& entries) {
  constexpr std::size_t most = 16;
  std::vector<StoreFolder> folders;
  for (const DirectoryEntry& entry : entries) {
    const std::string inf = inf_name(entry.name);
    if (inf.empty() || entry.type != FileType::Directory || folders.size() == most) continue;
    const std::string path = store + ("/" + entry.name);
    // Sound, USB and network parts of the card have drivers of their own there: the display driver alone brings libcuda.
    if (!system.exists(path + "/libcuda.so.1.1") && !system.exists(path + "/libcuda_loader.so") &&
        !system.exists(path + "/nvlddmkm.sys"))
      continue;
    folders.push_back({path, driver_version_of(system, path + "/" + inf)});
  }
  return folders;
}

void collect_driver_store(System& system, Wsl& wsl) {
  const auto entries = system.list(store);
  if (!entries) {
    wsl.driver_store = not_seen_because<std::string>(entries.error(), store);
    wsl.windows_driver = not_seen_because<std::string>(entries.error(), store);
    return;
  }
  std::vector<StoreFolder> folders = nvidia_folders(system, *entries);
  if (folders.empty()) {
    // A mount of Windows' whole store has hundreds of folders; an empty folder is none.
    const bool mounted = !entries->empty();
    const Origin origin = origin_of(store, mounted ? "no display driver of NVIDIA" : "empty");
    wsl.driver_store = mounted ? Fact<std::string>::absent(origin) : Fact<std::string>::not_seen("the folder is empty", origin);
    wsl.windows_driver = wsl.driver_store;
    return;
  }
  std::ranges::stable_sort(folders, is_newer);
  auto chosen = folders.begin();
  if (folders.size() > 1) {
    const auto used = std::ranges::find_if(folders, [&](const StoreFolder& folder) { return is_in_use(system, folder.path); });
    if (used != folders.end()) chosen = used;
  }
  wsl.driver_store = Fact<std::string>::known(
      chosen->path, origin_of(store, folders.size() > 1 ? std::to_string(folders.size()) + " drivers of NVIDIA" : ""));
  wsl.windows_driver = chosen->version;
}

// ---- settings ---------------------------------------------------------------------------------------------------------

Fact<bool> switch_of(const std::vector<WslSetting>& settings, std::string_view name, const std::string& path) {
  const WslSetting* setting = find_setting(settings, name);
  const auto value = setting != nullptr ? wsl_switch(setting->value) : std::nullopt;
  return value ? Fact<bool>::known(*value, origin_of(path, setting->line, setting->number))
               : Fact<bool>::absent(origin_of(path, "not told"));
}

std::vector<WslSetting> read_settings(System& system, const std::string& path) {
  // On Windows' side a link could lead anywhere, and Notepad may have written UTF-16.
  const auto status = system.status(path, false);
  if (!status || status->type != FileType::Regular) return {};
  auto text = system.read_file(path, settings_limit);
  return text ? parse_wsl_settings(decoded_text(std::move(*text))) : std::vector<WslSetting>();
}

/// The folder under which drive C is mounted: "/mnt/" unless [automount] root says another.
std::string drives_folder(const std::vector<WslSetting>& settings) {
  const WslSetting* root = find_setting(settings, "automount.root");
  std::string folder = root != nullptr && root->value.starts_with('/') ? root->value : "/mnt/";
  if (!folder.ends_with('/')) folder += '/';
  return folder;
}

/// The Windows user whose folders are on the judged process' PATH.
std::string user_on_path(const Machine& machine, const std::string& users) {
  const auto path = machine.environment.find("PATH");
  if (path == machine.environment.end()) return {};
  for (const std::string_view folder : split(path->second, ':')) {
    if (!folder.starts_with(users) || folder.size() <= users.size()) continue;
    const std::string_view rest = folder.substr(users.size());
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name != "." && name != ".." && name != "Public" && name != "Default") return std::string(name);
  }
  return {};
}

/// The .wslconfig that WSL was started with; `why` when it is not told which.
std::string find_user_settings(System& system, const Machine& machine, const std::string& users, std::string& why) {
  if (const std::string name = user_on_path(machine, users); !name.empty()) return users + name + "/.wslconfig";
  std::string found;
  for (const DirectoryEntry& entry : entries_of(system, users, 256)) {
    if (entry.type != FileType::Directory) continue;
    const std::string path = users + entry.name + "/.wslconfig";
    const auto status = system.status(path, false);
    if (!status || status->type != FileType::Regular) continue;
    if (!found.empty()) {
      why = "several users of Windows have a .wslconfig";
      return {};
    }
    found = path;
  }
  return found;
}

void collect_user_settings(System& system, const Machine& machine, const std::string& drives, Wsl& wsl) {
  const std::string users = drives + "c/Users/";
  if (!system.is_directory(users)) {
    wsl.memory_limit = Fact<std::string>::not_seen("drive C of Windows is not mounted", origin_of(users));
    return;
  }
  std::string why;
  const std::string path = find_user_settings(system, machine, users, why);
  if (path.empty()) {
    wsl.memory_limit = why.empty() ? Fact<std::string>::absent(origin_of(users, "no .wslconfig"))
                                   : Fact<std::string>::not_seen(why, origin_of(users));
    return;
  }
  const auto settings = read_settings(system, path);
  const WslSetting* memory = find_setting(settings, "wsl2.memory");
  wsl.memory_limit = memory != nullptr ? Fact<std::string>::known(memory->value, origin_of(path, memory->line, memory->number))
                                       : Fact<std::string>::absent(origin_of(path, "no limit"));
  // One switch for every distribution.
  const Fact<bool> gpu = switch_of(settings, "wsl2.gpusupport", path);
  if (gpu.is(false) && !wsl.gpu_enabled.is(false)) wsl.gpu_enabled = gpu;
}

}  // namespace

void collect_wsl(System& system, const CollectOptions& /*options*/, Machine& machine) {
  if (!machine.os.wsl.is(2)) return;
  collect_driver_store(system, machine.wsl);
  // A container's /etc is its image's.
  if (machine.os.container.is_known()) return;
  const auto settings = read_settings(system, wsl_conf);
  machine.wsl.gpu_enabled = switch_of(settings, "gpu.enabled", wsl_conf);
  machine.wsl.append_library_path = switch_of(settings, "gpu.appendlibpath", wsl_conf);
  machine.wsl.systemd = switch_of(settings, "boot.systemd", wsl_conf);
  collect_user_settings(system, machine, drives_folder(settings), machine.wsl);
}

}  // namespace gpuvet
