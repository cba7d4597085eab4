// What may keep the kernel from loading a module or a process from opening a node: Secure Boot, lockdown, SELinux.

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

constexpr const char* efivars = "/sys/firmware/efi/efivars";
constexpr const char* global_guid = "8be4df61-93ca-11d2-aa0d-00e098032b8c";  // EFI_GLOBAL_VARIABLE
constexpr const char* shim_guid = "605dab50-e046-4300-abb6-3dd810dd8b23";

struct EfiVariable {
  std::uint32_t attributes = 0;
  unsigned char value = 0;
};

/// Files of efivarfs: four bytes of attributes, then the value.
std::optional<EfiVariable> read_efi_variable(System& system, const std::string& name, const char* guid) {
  const auto bytes = system.read_head(std::string(efivars) + "/" + name + "-" + guid, 16);
  if (!bytes || bytes->size() < 5) return std::nullopt;
  EfiVariable variable;
  for (unsigned i = 0; i < 4; ++i)
    variable.attributes |= static_cast<std::uint32_t>(static_cast<unsigned char>((*bytes)[i])) << (8 * i);
  variable.value = static_cast<unsigned char>((*bytes)[4]);
  return variable;
}

/// shim lets its user switch validation off; the kernel then treats Secure Boot as off, unless the variable is
/// non-volatile and so could have been set by anybody (drivers/firmware/efi/libstub/secureboot.c).
bool shim_is_insecure(System& system) {
  const auto mok = read_efi_variable(system, "MokSBStateRT", shim_guid);
  constexpr std::uint32_t non_volatile = 1;
  return mok && mok->value == 1 && (mok->attributes & non_volatile) == 0;
}

Fact<bool> find_secure_boot(System& system) {
  const std::string path = std::string(efivars) + "/SecureBoot-" + global_guid;
  if (const auto variable = read_efi_variable(system, "SecureBoot", global_guid)) {
    if (variable->value == 1 && shim_is_insecure(system)) {
      return Fact<bool>::known(false,
                               origin_of(std::string(efivars) + "/MokSBStateRT-" + shim_guid, "validation switched off in shim"));
    }
    return Fact<bool>::known(variable->value == 1, origin_of(path, std::to_string(variable->value)));
  }
  if (const auto head = system.read_head(path, 16); !head && head.error().code == ErrorCode::Denied)
    return not_seen_because<bool>(head.error(), path);
  const auto firmware = system.list("/sys/firmware");
  // Container runtimes hide /sys/firmware behind an empty folder.
  if (!firmware || firmware->empty()) return Fact<bool>::not_seen("no /sys/firmware here", origin_of(path));
  if (!system.is_directory("/sys/firmware/efi")) return Fact<bool>::absent(origin_of("/sys/firmware", "not started by UEFI"));
  const auto variables = system.list(efivars);
  if (!variables || variables->empty()) return Fact<bool>::not_seen("the UEFI variables are not visible", origin_of(efivars));
  return Fact<bool>::absent(origin_of(efivars, "no SecureBoot variable"));
}

/// "none [integrity] confidentiality" → "integrity".
Fact<std::string> find_lockdown(System& system) {
  constexpr const char* path = "/sys/kernel/security/lockdown";
  const auto text = system.read_line(path);
  if (!text) {
    const auto securityfs = system.list("/sys/kernel/security");
    const bool mounted = securityfs && !securityfs->empty();
    if (mounted && text.error().code == ErrorCode::NotFound) return Fact<std::string>::absent(origin_of(path));
    return not_seen_because<std::string>(text.error(), path);
  }
  const std::size_t open = text->find('['), close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return Fact<std::string>::not_seen("unknown form", origin_of(path, *text));
  return Fact<std::string>::known(text->substr(open + 1, close - open - 1), origin_of(path, *text));
}

/// SELINUX= of its configuration: what the next boot will do, and very likely what this one did.
Fact<bool> configured_selinux(System& system) {
  constexpr const char* path = "/etc/selinux/config";
  const auto text = system.read_file(path, 65536);
  Fact<bool> found = Fact<bool>::not_seen("no /sys/fs/selinux here", origin_of(path));
  if (!text) return found;
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    line = trim(line);
    if (!line.starts_with("SELINUX=")) return true;
    const std::string value = lower(trim(line.substr(8)));
    if (value == "disabled") found = Fact<bool>::absent(origin_of(path, line, number));
    if (value == "enforcing" || value == "permissive")
      found = Fact<bool>::known(value == "enforcing", origin_of(path, line, number));
    return true;
  });
  return found;
}

Fact<bool> find_selinux(System& system, const Fact<std::string>& command_line, bool in_container) {
  constexpr const char* path = "/sys/fs/selinux/enforce";
  const auto enforce = system.read_line(path);
  if (enforce) return Fact<bool>::known(*enforce == "1", origin_of(path, *enforce));
  if (enforce.error().code == ErrorCode::Denied) return not_seen_because<bool>(enforce.error(), path);
  const std::string* text = command_line.get();
  for (const std::string_view word : words(text ? std::string_view(*text) : std::string_view())) {
    if (word == "selinux=0") return Fact<bool>::absent(command_line.origin());
    if (word == "enforcing=0") return Fact<bool>::known(false, command_line.origin());
  }
  if (system.is_live() && system.is_directory("/sys/fs")) return Fact<bool>::absent(origin_of("/sys/fs", "no selinux"));
  // A capture of a running machine seldom holds /sys/fs/selinux; an image or a container says nothing about the running kernel.
  if (!in_container && system.exists("/proc/sys/kernel/osrelease")) return configured_selinux(system);
  return Fact<bool>::not_seen("no /sys/fs/selinux here", origin_of(path));
}

}  // namespace

void collect_security(System& system, OperatingSystem& os) {
  os.secure_boot = find_secure_boot(system);
  os.lockdown = find_lockdown(system);
  os.selinux_enforcing = find_selinux(system, os.kernel_command_line, os.container.is_known());
}

}  // namespace gpuvet
