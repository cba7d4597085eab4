// Is this a virtual machine, whose, and in which cloud: from DMI, the CPU flags, Xen's folder, the device tree.
// The strings are those that hypervisors and clouds write into their firmware tables; systemd-detect-virt and cloud-init's
// ds-identify look at the same ones.

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

constexpr const char* dmi = "/sys/class/dmi/id/";

struct Dmi {
  std::string vendor, product, version, bios_vendor, bios_version, board_vendor, asset_tag;
  bool seen = false;
};

Dmi read_dmi(System& system) {
  const auto text = [&](const char* name) { return system.read_line(dmi + std::string(name)).value_or(""); };
  Dmi found{text("sys_vendor"),   text("product_name"), text("product_version"),   text("bios_vendor"),
            text("bios_version"), text("board_vendor"), text("chassis_asset_tag"), false};
  found.seen = !found.vendor.empty() || !found.product.empty();
  return found;
}

/// A row fits when each of its texts that is not empty begins the DMI text of its column.
struct DmiSign {
  std::string_view vendor, product, bios_vendor;
  std::string_view answer;
};

bool fits(const DmiSign& sign, const Dmi& seen) {
  return seen.vendor.starts_with(sign.vendor) && seen.product.starts_with(sign.product) &&
         seen.bios_vendor.starts_with(sign.bios_vendor);
}

constexpr DmiSign hypervisor_signs[] = {
    {"VMware", "", "", "vmware"},
    {"", "VMware", "", "vmware"},
    {"innotek GmbH", "", "", "virtualbox"},
    {"", "VirtualBox", "", "virtualbox"},
    {"Oracle Corporation", "VirtualBox", "", "virtualbox"},
    {"Microsoft Corporation", "Virtual Machine", "", "hyperv"},
    {"Xen", "", "", "xen"},
    {"", "HVM domU", "", "xen"},
    {"", "", "Xen", "xen"},
    {"Parallels", "", "", "parallels"},
    {"BHYVE", "", "", "bhyve"},
    {"", "BHYVE", "", "bhyve"},
    {"Apple Inc.", "Apple Virtualization", "", "apple"},
    {"QEMU", "", "", "qemu"},
    {"Bochs", "", "", "qemu"},
    {"", "", "SeaBIOS", "qemu"},
    {"", "KVM", "", "kvm"},
    {"Red Hat", "KVM", "", "kvm"},
    {"Red Hat", "RHEV Hypervisor", "", "kvm"},
    {"oVirt", "", "", "kvm"},
    {"Nutanix", "AHV", "", "kvm"},
    {"OpenStack Foundation", "", "", "kvm"},
    {"", "OpenStack", "", "kvm"},
    {"Google", "Google Compute Engine", "", "kvm"},
    {"Amazon EC2", "", "", "kvm"},
    {"Alibaba Cloud", "", "", "kvm"},
    {"Tencent Cloud", "", "", "kvm"},
    {"Huawei Cloud", "", "", "kvm"},
    {"DigitalOcean", "", "", "kvm"},
    {"Hetzner", "vServer", "", "kvm"},
    {"Scaleway", "SCW", "", "kvm"},
    {"Vultr", "", "", "kvm"},
    {"Akamai", "", "", "kvm"},
    {"Linode", "", "", "kvm"},
    {"OVHcloud", "OpenStack", "", "kvm"},
};

constexpr DmiSign cloud_signs[] = {
    {"Amazon EC2", "", "", "aws"},
    {"Google", "Google Compute Engine", "", "gcp"},
    {"Alibaba Cloud", "", "", "alibaba"},
    {"Tencent Cloud", "", "", "tencent"},
    {"Huawei Cloud", "", "", "huawei"},
    {"DigitalOcean", "", "", "digitalocean"},
    {"Hetzner", "vServer", "", "hetzner"},
    {"Scaleway", "SCW", "", "scaleway"},
    {"Vultr", "", "", "vultr"},
    {"Akamai", "", "", "linode"},
    {"Linode", "", "", "linode"},
    {"OVHcloud", "", "", "ovh"},
    {"OpenStack", "", "", "openstack"},
    {"", "OpenStack", "", "openstack"},
};

constexpr std::string_view azure_asset_tag = "7783-7084-3265-9085-8269-3286-77";

template <std::size_t n>
std::string_view first_fit(const DmiSign (&signs)[n], const Dmi& seen) {
  for (const DmiSign& sign : signs) {
    if (fits(sign, seen)) return sign.answer;
  }
  return {};
}

Origin dmi_origin(const Dmi& seen) { return origin_of(dmi + std::string("sys_vendor"), seen.vendor + " / " + seen.product); }

// ---- hypervisor -------------------------------------------------------------------------------------------------------

enum class CpuFlag { NotSeen, No, Yes };

/// The "hypervisor" flag: CPUID leaf 1, ECX bit 31, which only a hypervisor sets. x86 alone has it.
CpuFlag hypervisor_flag(System& system) {
  const auto text = system.read_head("/proc/cpuinfo", 65536);
  CpuFlag flag = CpuFlag::NotSeen;
  if (!text) return flag;
  for_each_line(*text, [&](std::string_view line, std::uint32_t) {
    if (!line.starts_with("flags")) return true;
    flag = CpuFlag::No;
    for (const std::string_view word : words(line)) {
      if (word == "hypervisor") flag = CpuFlag::Yes;
    }
    return false;
  });
  return flag;
}

/// What the guest's clock sources and buses tell, where the firmware tables do not.
std::string guest_interface(System& system) {
  const std::string clocks = system.read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource").value_or("");
  if (clocks.find("kvm-clock") != std::string::npos) return "kvm";
  if (clocks.find("hyperv") != std::string::npos || system.exists("/sys/bus/vmbus")) return "hyperv";
  if (clocks.find("xen") != std::string::npos) return "xen";
  return {};
}

std::optional<Fact<std::string>> xen_hypervisor(System& system) {
  const auto type = system.read_line("/sys/hypervisor/type");
  if (!type || *type != "xen") return std::nullopt;
  const auto capabilities = system.read_line("/proc/xen/capabilities");
  // The control domain drives the real hardware itself.
  if (capabilities && capabilities->find("control_d") != std::string::npos)
    return Fact<std::string>::absent(origin_of("/proc/xen/capabilities", *capabilities));
  return Fact<std::string>::known("xen", origin_of("/sys/hypervisor/type", *type));
}

std::optional<Fact<std::string>> device_tree_hypervisor(System& system) {
  for (const char* path : {"/proc/device-tree/hypervisor/compatible", "/sys/firmware/devicetree/base/hypervisor/compatible"}) {
    const auto text = system.read_line(path);
    if (!text) continue;
    const std::string name = text->find("xen") != std::string::npos      ? "xen"
                             : text->find("vmware") != std::string::npos ? "vmware"
                                                                         : "kvm";
    return Fact<std::string>::known(name, origin_of(path, *text));
  }
  return std::nullopt;
}

Fact<std::string> find_hypervisor(System& system, const Dmi& seen) {
  if (auto xen = xen_hypervisor(system)) return *xen;
  const CpuFlag flag = hypervisor_flag(system);
  std::string name(first_fit(hypervisor_signs, seen));
  // A cloud's bare-metal machines carry its name too ("Amazon EC2 / p5.metal"); their CPU flags tell them apart.
  const bool in_cloud = !first_fit(cloud_signs, seen).empty();
  if (in_cloud && (flag == CpuFlag::No || seen.product.find("metal") != std::string::npos))
    return Fact<std::string>::absent(dmi_origin(seen));
  if (name == "qemu") {
    const std::string better = guest_interface(system);
    if (!better.empty()) name = better;
  }
  if (!name.empty()) return Fact<std::string>::known(name, dmi_origin(seen));
  if (auto found = device_tree_hypervisor(system)) return *found;
  if (flag == CpuFlag::Yes) {
    const std::string interface = guest_interface(system);
    return Fact<std::string>::known(interface.empty() ? "unknown" : interface,
                                    origin_of("/proc/cpuinfo", "flags: … hypervisor …"));
  }
  if (flag == CpuFlag::No) return Fact<std::string>::absent(origin_of("/proc/cpuinfo", "no hypervisor flag"));
  if (seen.seen) return Fact<std::string>::absent(dmi_origin(seen));
  for (const char* tree : {"/proc/device-tree/model", "/sys/firmware/devicetree/base/model"}) {
    if (system.exists(tree)) return Fact<std::string>::absent(origin_of(tree, "no hypervisor node beside it"));
  }
  return Fact<std::string>::not_seen("neither CPU flags nor firmware tables here");
}

// ---- cloud ------------------------------------------------------------------------------------------------------------

/// cloud-init's own answer, in its words.
std::string cloud_of_cloud_init(std::string_view id) {
  if (id == "gce") return "gcp";
  if (id == "aliyun") return "alibaba";
  if (id == "none" || id == "nocloud" || id == "unknown") return {};
  return std::string(id);
}

Fact<std::string> find_cloud(System& system, const Dmi& seen) {
  if (seen.asset_tag == azure_asset_tag)
    return Fact<std::string>::known("azure", origin_of(dmi + std::string("chassis_asset_tag"), seen.asset_tag));
  if (seen.asset_tag == "OracleCloud.com")
    return Fact<std::string>::known("oracle", origin_of(dmi + std::string("chassis_asset_tag"), seen.asset_tag));
  const std::string_view name = first_fit(cloud_signs, seen);
  if (!name.empty()) return Fact<std::string>::known(std::string(name), dmi_origin(seen));
  if (contains_ignoring_case(seen.bios_version, "amazon"))
    return Fact<std::string>::known("aws", origin_of(dmi + std::string("bios_version"), seen.bios_version));
  constexpr const char* cloud_id = "/run/cloud-init/cloud-id";
  if (const auto id = system.read_line(cloud_id)) {
    const std::string cloud = cloud_of_cloud_init(*id);
    if (!cloud.empty()) return Fact<std::string>::known(cloud, origin_of(cloud_id, *id));
  }
  if (seen.seen) return Fact<std::string>::absent(dmi_origin(seen));
  return Fact<std::string>::not_seen("no firmware tables here", origin_of(dmi));
}

}  // namespace

void collect_virtualization(System& system, OperatingSystem& os) {
  const Dmi seen = read_dmi(system);
  os.system_vendor = line_fact(system, dmi + std::string("sys_vendor"), false);
  os.product_name = line_fact(system, dmi + std::string("product_name"), false);
  os.chassis_type = number_fact(system, dmi + std::string("chassis_type"), false);
  os.hypervisor = find_hypervisor(system, seen);
  os.cloud = find_cloud(system, seen);
}

}  // namespace gpuvet
