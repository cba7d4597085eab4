#include "text/log_kind.h"

#include <array>
#include <charconv>
#include <initializer_list>

namespace gpuvet {

namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (has(text, word)) return true;
  }
  return false;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (text.starts_with(word)) return true;
  }
  return false;
}

bool names_nvidia(std::string_view text) { return has_any(text, {"nvidia", "NVIDIA", "nouveau"}); }

bool hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::size_t hex_run(std::string_view s, std::size_t at, std::size_t most) {
  std::size_t n = 0;
  while (n < most && at + n < s.size() && hex(s[at + n])) ++n;
  return n;
}

/// "0000:01:00" (with any function behind), or of the IOMMU's short form "01:00.0", at `at`; empty: none.
std::string address_at(std::string_view s, std::size_t at, bool short_form) {
  const std::size_t first = hex_run(s, at, 9);
  if (at + first >= s.size() || s[at + first] != ':') return {};
  const std::size_t second_at = at + first + 1, second = hex_run(s, second_at, 3);
  if (second != 2) return {};
  const std::size_t third_at = second_at + 3;
  std::string out;
  if (first >= 4 && first <= 8 && s.size() > third_at && s[third_at - 1] == ':' && hex_run(s, third_at, 3) == 2) {
    out = s.substr(at, first + 6);
  } else if (short_form && first == 2 && s.size() > third_at && s[third_at - 1] == '.' && hex(s[third_at])) {
    out = "0000:" + std::string(s.substr(at, 5));
  }
  for (char& c : out) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string find_address(std::string_view text, bool last, bool short_form) {
  std::string found;
  for (std::size_t at = 0; at < text.size() && at < 1000;) {
    const std::size_t run = hex_run(text, at, 64);
    if (run == 0) {
      ++at;
      continue;
    }
    // letters before a run of hex digits ("face:…") make it part of a word
    const bool inside_word =
        at > 0 && ((text[at - 1] >= 'g' && text[at - 1] <= 'z') || text[at - 1] == '_' || text[at - 1] == '.');
    std::string here = inside_word ? std::string() : address_at(text, at, short_form);
    if (!here.empty()) {
      found = std::move(here);
      if (!last) return found;
      at += found.size();
    } else {
      at += run;
    }
  }
  return found;
}

std::int64_t number_after(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return error == std::errc() && value >= 0 && end != nullptr ? value : -1;
}

/// "Xid (PCI:0000:03:00): 79, …" and "SXid (PCI:0000:c1:00.0): 12028, …"
LogKind xid(const char* kind, std::string_view text, std::size_t at) {
  LogKind out{kind, {}, -1};
  const std::size_t close = text.find("): ", at);
  if (close != std::string_view::npos) {
    out.pci = find_address(text.substr(at, close - at), false, false);
    out.code = number_after(text, close + 3);
    // Channels that are torn down name the error that began it (nv_xid.c of the open module).
    constexpr std::string_view cause = " caused by previous Xid ";
    if (const std::size_t told = text.find(cause, close); told != std::string_view::npos)
      if (const std::int64_t first = number_after(text, told + cause.size()); first > 0) out.code = first;
  }
  return out;
}

bool about_signatures(std::string_view text) {
  return has_any(text, {"unsigned module", "unavailable key", "Lockdown: ", "locked down from", "Secure boot", "PKCS#7",
                        "rejected by service"});
}

bool about_module_loading(std::string_view text) {
  return has_any(text, {"disagrees about version of symbol", "version magic", "Unknown symbol", "module verification failed",
                        "duplicate symbol"});
}

bool iommu_matters(std::string_view text) {
  return has_any(text, {"fault", "FAULT", "Event logged", "IOMMU enabled", "efault domain type", "event 0x"}) &&
         !has_any(text, {"fault reporting", "fault recording"});
}

bool pci_matters(std::string_view text) {
  if (has(text, "[10de:") || has(text, "change power state") || has(text, "D3cold")) return true;
  if (has(text, "pciehp: ")) return has_any(text, {"Link Down", "not present", "Power fault", "Surprise", "Link Up"});
  if (!has(text, "BAR ") && !has(text, "bridge window")) return false;
  return has_any(text, {"no space", "can't assign", "failed to assign", "can't claim", "can't reserve", "error updating",
                        "invalid", "not assigned"});
}

/// A line of a call trace or of the module list that follows an oops.
bool is_trace(std::string_view text) {
  if (starts_with_any(text, {"Modules linked in:", "Call Trace", "Workqueue:", "CPU:", "Hardware name:"})) return true;
  return has(text, "+0x") && has(text, "/0x") && !starts_with_any(text, {"RIP: ", "NVRM", "nvidia", "BUG"});
}

LogKind device_kind(const char* kind, std::string_view text) { return {kind, find_address(text, false, false), -1}; }

LogKind bus_kind(std::string_view text) {
  if (has_any(text, {"AER: ", "PCIe Bus Error", "error status/mask"})) {
    if (has_any(text, {"AER: enabled", "AER: Root Port"})) return {};
    return {"aer", find_address(text, true, false), -1};
  }
  if (has_any(text, {"DMAR: ", "AMD-Vi", "iommu: ", "arm-smmu"})) {
    return iommu_matters(text) ? LogKind{"iommu", find_address(text, true, true), -1} : LogKind{};
  }
  return pci_matters(text) ? device_kind("pci", text) : LogKind{};
}

LogKind driver_kind(std::string_view text) {
  if (starts_with_any(text, {"nvidia-uvm", "nvidia_uvm"})) return device_kind("nvidia-uvm", text);
  if (starts_with_any(text, {"nvidia-modeset", "nvidia_modeset"})) return device_kind("nvidia-modeset", text);
  if (has_any(text, {"[nvidia-drm]", "nvidia_drm", "nvidia-drm"})) return device_kind("nvidia-drm", text);
  if (has_any(text, {"vfio-pci", "vfio_pci"})) return device_kind("vfio", text);
  if (has_any(text, {"bbswitch", "witcheroo"})) return device_kind("gpu-switch", text);
  if (has_any(text, {"nouveau", "nova_core", "NovaCore"})) return device_kind("nouveau", text);
  if (has(text, "dxgk:")) return {"dxg", {}, -1};
  if (has(text, "firmware load for nvidia/") || (has(text, "firmware") && has(text, "gsp"))) return device_kind("firmware", text);
  // The audio function announces itself as "input: HDA NVIDIA HDMI/DP…".
  return names_nvidia(text) && !starts_with_any(text, {"input: ", "usb ", "hid", "snd_"}) ? device_kind("nvidia", text)
                                                                                          : LogKind{};
}

LogKind kernel_kind(std::string_view text) {
  if (starts_with_any(text, {"Linux version ", "Command line: ", "Kernel command line: "})) return {"boot", {}, -1};
  if (const std::size_t nvrm = text.find("NVRM"); nvrm < 80) {
    const std::size_t at = text.find("Xid (", nvrm);
    return at != std::string_view::npos ? xid("xid", text, at) : device_kind("nvrm", text);
  }
  if (const std::size_t at = text.find("SXid ("); at != std::string_view::npos) return xid("sxid", text, at);
  if (has_any(text, {"avc: ", "apparmor=", "type=1400"})) {
    return has_any(text, {"denied", "DENIED"}) && names_nvidia(text) ? LogKind{"audit", {}, -1} : LogKind{};
  }
  if (about_signatures(text)) return {"secure-boot", {}, -1};
  if (about_module_loading(text)) return names_nvidia(text) ? device_kind("module", text) : LogKind{};
  if (starts_with_any(text, {"PM: suspend entry", "PM: hibernation: hibernation entry", "PM: hibernation entry"}))
    return {"suspend", {}, -1};
  if (starts_with_any(text, {"PM: suspend exit", "PM: hibernation: hibernation exit", "PM: hibernation exit"}) ||
      has(text, "from system sleep state")) {
    return {"resume", {}, -1};
  }
  if (is_trace(text)) return {};
  if (LogKind bus = bus_kind(text); bus.kind != nullptr) return bus;
  if (has_any(text, {"DMAR: ", "AMD-Vi", "AER: enabled"})) return {};
  return driver_kind(text);
}

/// Programs whose lines say something about the driver; others that merely name it (a shell, cron, sudo) do not.
LogKind program_kind(std::string_view tag, std::string_view text) {
  if (tag == "audit" || tag == "audispd" || tag == "auditd") {
    return has_any(text, {"denied", "DENIED"}) && names_nvidia(text) ? LogKind{"audit", {}, -1} : LogKind{};
  }
  if (tag.starts_with("setroubleshoot")) return names_nvidia(text) ? LogKind{"audit", {}, -1} : LogKind{};
  const bool own = tag.find("nvidia") != std::string_view::npos || tag.starts_with("nv-") || tag.starts_with("nv_");
  if (own) return {"user", {}, -1};
  if (text.starts_with("NVRM")) return kernel_kind(text);
  static constexpr std::array<std::string_view, 23> programs = {"systemd",
                                                                "systemd-modules-load",
                                                                "systemd-udevd",
                                                                "(udev-worker)",
                                                                "modprobe",
                                                                "kmod",
                                                                "dkms",
                                                                "gpu-manager",
                                                                "dockerd",
                                                                "containerd",
                                                                "kubelet",
                                                                "k3s",
                                                                "podman",
                                                                "crio",
                                                                "akmods",
                                                                "akmodsbuild",
                                                                "supergfxd",
                                                                "system76-power",
                                                                "optimus-manager",
                                                                "bumblebeed",
                                                                "Xorg",
                                                                "gdm-x-session",
                                                                "envycontrol"};
  for (std::string_view program : programs) {
    if (tag == program)
      return names_nvidia(text) || has_any(text, {"select device driver", "rejected by service"}) ? LogKind{"user", {}, -1}
                                                                                                  : LogKind{};
  }
  return {};
}

}  // namespace

std::string pci_address_in(std::string_view text, bool last) { return find_address(text, last, false); }

LogKind log_kind(const LogLine& line) { return line.from_kernel() ? kernel_kind(line.text) : program_kind(line.tag, line.text); }

}  // namespace gpuvet
