// GSP firmware of the driver: /lib/firmware/nvidia/VERSION. (Folders named after a chip there are nouveau's, from
// linux-firmware.)
#include <algorithm>

#include "collect/kernel_driver_parts.h"
#include "model/version.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

/// Where the kernel looks, in its order (drivers/base/firmware_loader/main.c: updates/RELEASE, updates, RELEASE, plain); "path"
/// of firmware_class first.
std::vector<std::string> firmware_roots(System& system) {
  std::vector<std::string> roots;
  if (const auto custom = system.read_line("/sys/module/firmware_class/parameters/path"); custom && custom->starts_with('/'))
    roots.push_back(*custom);
  for (const char* folder : {"/lib/firmware/updates", "/lib/firmware", "/usr/lib/firmware/updates", "/usr/lib/firmware"})
    roots.emplace_back(folder);
  return roots;
}

std::string without_compression(std::string_view name) {
  for (std::string_view suffix : {".xz", ".zst"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return printable(name, 128);
}

void add_folder(System& system, const std::string& folder, const std::string& version, std::vector<FirmwareFolder>& out) {
  const auto entries = system.list(folder, 128);
  if (!entries) return;
  auto known = std::find_if(out.begin(), out.end(), [&](const FirmwareFolder& f) { return f.version == version; });
  if (known == out.end()) known = out.insert(out.end(), FirmwareFolder{version, {}});
  for (const auto& entry : *entries) {
    std::string name = without_compression(entry.name);
    if (entry.type == FileType::Directory || std::find(known->files.begin(), known->files.end(), name) != known->files.end())
      continue;
    if (entry.type == FileType::Link && !system.exists(folder + "/" + entry.name)) continue;
    known->files.push_back(std::move(name));
  }
}

}  // namespace

void collect_firmware(System& system, Machine& machine) {
  std::vector<FirmwareFolder> folders;
  std::vector<std::string> seen;
  bool any_root = false, denied = false;
  for (const std::string& root : firmware_roots(system)) {
    const auto real = system.real_path(root);
    if (!real) {
      denied |= real.error().code == ErrorCode::Denied;
      continue;
    }
    if (std::find(seen.begin(), seen.end(), *real) != seen.end()) continue;
    seen.push_back(*real);
    any_root = true;
    const auto entries = system.list(root + "/nvidia", 4096);
    if (!entries) {
      denied |= entries.error().code == ErrorCode::Denied;
      continue;
    }
    for (const auto& entry : *entries) {
      if (DriverVersion::parse(entry.name))
        add_folder(system, root + "/nvidia/" + entry.name, printable(entry.name, 64), folders);
    }
  }
  auto& fact = machine.kernel_driver.firmware;
  const Origin origin{"/lib/firmware/nvidia", 0, {}};
  if (denied)
    fact = Fact<std::vector<FirmwareFolder>>::not_seen("/lib/firmware/nvidia: permission denied", origin);
  else if (!any_root)
    fact = Fact<std::vector<FirmwareFolder>>::absent(origin);
  else
    fact = Fact<std::vector<FirmwareFolder>>::known(std::move(folders), origin);
}

}  // namespace gpuvet
