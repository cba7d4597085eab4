#include <gtest/gtest.h>

#include "collect/collect.h"
#include "collect/os_parts.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

RecordedTree tree_of(const Files& files) {
  RecordedTree tree;
  for (const auto& [path, text] : files) tree.add_file(path, text);
  return tree;
}

OperatingSystem os_of(RecordedTree tree, std::map<std::string, std::string> environment = {}) {
  auto system = make_recorded_system(std::move(tree));
  Machine machine;
  machine.environment = std::move(environment);
  collect_os(*system, {}, machine);
  return machine.os;
}

OperatingSystem os_of(const Files& files, std::map<std::string, std::string> environment = {}) { return os_of(tree_of(files), std::move(environment)); }

/// The first 64 bytes of an x86-64 or AArch64 ELF file.
std::string elf_head(unsigned char machine) {
  std::string head("\x7f" "ELF\2\1\1", 7);
  head.resize(64, '\0');
  head[16] = 3;
  head[18] = static_cast<char>(machine);
  head[20] = 1;
  head[52] = 64;
  return head;
}

TEST(OsRelease, QuotingAndComments) {
  const auto variables = parse_os_release("# a comment\nNAME=\"Rocky \\\"Linux\\\"\"\r\nID='rocky'\nVERSION_ID=9.5\n\n=x\nBROKEN\nEMPTY=\n  ID_LIKE=\"rhel centos fedora\"  \n");
  EXPECT_EQ(variables.at("NAME"), "Rocky \"Linux\"");
  EXPECT_EQ(variables.at("ID"), "rocky");
  EXPECT_EQ(variables.at("VERSION_ID"), "9.5");
  EXPECT_EQ(variables.at("ID_LIKE"), "rhel centos fedora");
  EXPECT_EQ(variables.at("EMPTY"), "");
  EXPECT_EQ(variables.count("BROKEN"), 0u);
}

TEST(OsRelease, EtcThenUsrLib) {
  RecordedTree tree;
  tree.add_file("/usr/lib/os-release", "PRETTY_NAME=\"Arch Linux\"\nID=arch\n");
  tree.add_link("/etc/os-release", "../usr/lib/os-release");
  const auto linked = os_of(tree);
  EXPECT_TRUE(linked.id.is("arch"));
  EXPECT_TRUE(linked.version_id.is_absent());
  EXPECT_EQ(linked.id.origin().source, "/etc/os-release");
  EXPECT_EQ(linked.id.origin().line, 2u);
  EXPECT_TRUE(os_of(Files{{"/usr/lib/os-release", "ID=fedora\nVERSION_ID=41\n"}}).version_id.is("41"));
  EXPECT_TRUE(os_of(Files{{"/etc/os-release", std::string("\0\1\2garbage\xff", 11)}}).id.is_not_seen());
  EXPECT_TRUE(os_of(Files{}).id.is_not_seen());
}

TEST(Kernel, FromProcOnly) {
  EXPECT_TRUE(os_of(Files{{"/proc/sys/kernel/osrelease", "6.8.0-49-generic\n"}}).kernel.is("6.8.0-49-generic"));
  EXPECT_TRUE(os_of(Files{{"/proc/version", "Linux version 5.14.0-503.22.1.el9_5.x86_64 (mockbuild@x) (gcc 11)\n"}}).kernel.is("5.14.0-503.22.1.el9_5.x86_64"));
  EXPECT_TRUE(os_of(Files{}).kernel.is_not_seen());
  const auto os = os_of(Files{{"/proc/stat", "cpu 1 2\nbtime 1748000000\n"}, {"/proc/uptime", "93122.52 1450021.11\n"}, {"/proc/cmdline", "ro quiet\n"}});
  EXPECT_TRUE(os.boot_time.is(1748000000));
  EXPECT_TRUE(os.uptime.is(93122));
  EXPECT_TRUE(os.kernel_command_line.is("ro quiet"));
}

TEST(Architecture, FromProgramsThenFromTheKernelsName) {
  EXPECT_TRUE(os_of(Files{{"/bin/sh", elf_head(62)}}).architecture.is("x86_64"));
  EXPECT_TRUE(os_of(Files{{"/lib/ld-linux-aarch64.so.1", elf_head(183)}}).architecture.is("aarch64"));
  EXPECT_TRUE(os_of(Files{{"/proc/sys/kernel/osrelease", "5.14.0-503.el9.aarch64\n"}}).architecture.is("aarch64"));
  EXPECT_TRUE(os_of(Files{{"/bin/sh", "#!/bin/dash"}}).architecture.is_not_seen());
}

TEST(Glibc, BannerOrSymbolVersions) {
  EXPECT_EQ(glibc_version_in("..GNU C Library (Ubuntu GLIBC 2.35-0ubuntu3.8) stable release version 2.35.\nCopyright"), "2.35");
  EXPECT_EQ(glibc_version_in("GNU C Library (GNU libc) development release version 2.40.9000.\n"), "2.40");
  EXPECT_EQ(glibc_version_in(std::string_view("GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0GLIBC_PRIVATE", 47)), "2.34");
  EXPECT_EQ(glibc_version_in("GNU C Library (cut"), "");
  EXPECT_EQ(glibc_version_in(""), "");
  EXPECT_TRUE(os_of(Files{{"/lib64/libc.so.6", "GNU C Library (GNU libc) stable release version 2.34.\n"}}).glibc.is("2.34"));
  EXPECT_TRUE(os_of(Files{{"/lib/ld-musl-x86_64.so.1", elf_head(62)}}).glibc.is_absent());
  EXPECT_TRUE(os_of(Files{}).glibc.is_not_seen());
}

// ---- worlds -----------------------------------------------------------------------------------------------------------

const Files bare_metal = {{"/proc/sys/kernel/osrelease", "6.8.0-49-generic\n"},
                          {"/proc/1/cgroup", "0::/init.scope\n"},
                          {"/proc/1/comm", "systemd\n"},
                          {"/proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme sse2\n"},
                          {"/sys/class/dmi/id/sys_vendor", "Dell Inc.\n"},
                          {"/sys/class/dmi/id/product_name", "PowerEdge R750\n"},
                          {"/sys/class/dmi/id/chassis_type", "23\n"}};

Files with(Files files, const Files& more) {
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

TEST(Worlds, BareMetal) {
  const auto os = os_of(with(bare_metal, {{"/bin/sh", elf_head(62)}}));
  EXPECT_TRUE(os.container.is_absent());
  EXPECT_TRUE(os.wsl.is_absent());
  EXPECT_TRUE(os.jetson.is_absent());
  EXPECT_TRUE(os.hypervisor.is_absent());
  EXPECT_TRUE(os.cloud.is_absent());
  EXPECT_TRUE(os.chassis_type.is(23));
  EXPECT_TRUE(os.system_vendor.is("Dell Inc."));
}

TEST(Worlds, ImageWithoutProcIsNotSeen) {
  const auto os = os_of(Files{{"/etc/os-release", "ID=debian\n"}});
  EXPECT_TRUE(os.container.is_not_seen());
  EXPECT_TRUE(os.wsl.is_not_seen());
  EXPECT_TRUE(os.hypervisor.is_not_seen());
  EXPECT_TRUE(os.secure_boot.is_not_seen());
  EXPECT_TRUE(os.selinux_enforcing.is_not_seen());
}

struct ContainerCase {
  const char* name;
  Files files;
  std::map<std::string, std::string> environment;
};

class ContainerSigns : public testing::TestWithParam<ContainerCase> {};

TEST_P(ContainerSigns, AreRecognised) {
  const auto& [name, files, environment] = GetParam();
  EXPECT_EQ(os_of(with(bare_metal, files), environment).container.value_or("none"), name);
}

const std::string id64(64, 'a');

INSTANTIATE_TEST_SUITE_P(
    All, ContainerSigns,
    testing::Values(
        ContainerCase{"docker", {{"/.dockerenv", ""}}, {}},
        ContainerCase{"podman", {{"/run/.containerenv", "engine=\"podman-4.9\"\n"}}, {}},
        ContainerCase{"podman", {}, {{"container", "podman"}}},
        ContainerCase{"podman", {}, {{"container", "oci"}}},
        ContainerCase{"apptainer", {}, {{"APPTAINER_NAME", "pytorch.sif"}}},
        ContainerCase{"apptainer", {}, {{"SINGULARITY_CONTAINER", "/x.sif"}}},
        ContainerCase{"apptainer", {{"/.singularity.d/labels.json", "{}"}}, {}},
        ContainerCase{"kubernetes", {{"/.dockerenv", ""}}, {{"KUBERNETES_SERVICE_HOST", "set"}}},
        ContainerCase{"kubernetes", {{"/var/run/secrets/kubernetes.io/serviceaccount/token", "x"}}, {}},
        ContainerCase{"lxc", {{"/proc/1/environ", std::string("PATH=/bin\0container=lxc\0", 24)}}, {}},
        ContainerCase{"nspawn", {{"/run/systemd/container", "systemd-nspawn\n"}}, {}},
        ContainerCase{"docker", {{"/proc/1/cgroup", "12:devices:/docker/" + id64 + "\n"}}, {}},
        ContainerCase{"docker", {{"/proc/1/cgroup", "0::/system.slice/docker-" + id64 + ".scope\n"}}, {}},
        ContainerCase{"podman", {{"/proc/1/cgroup", "0::/user.slice/libpod-" + id64 + ".scope/container\n"}}, {}},
        ContainerCase{"kubernetes", {{"/proc/1/cgroup", "3:cpu:/kubepods/burstable/pod12/" + id64 + "\n"}}, {}},
        ContainerCase{"docker",
                      {{"/proc/self/mountinfo",
                        "601 527 0:57 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/x/diff\n"}},
                      {}},
        // Hosts:
        ContainerCase{"none", {{"/proc/1/cgroup", "0::/system.slice/docker.service\n"}}, {}},
        ContainerCase{"none", {{"/proc/1/cgroup", "1:name=systemd:/docker/notanid\n"}}, {}},
        ContainerCase{"none", {{"/proc/self/mountinfo", "1 1 0:20 / / rw - overlay airootfs rw,lowerdir=/run/archiso/airootfs\n"}}, {}},
        // An image that was made into a machine keeps the marker; its root is a disk.
        ContainerCase{"none", {{"/.dockerenv", ""}, {"/proc/self/mountinfo", "30 1 8:32 / / rw,relatime - ext4 /dev/sdc rw\n"}}, {}}));

TEST(Wsl, OneTwoAndNone) {
  const auto wsl = [](const char* release, std::map<std::string, std::string> environment = {}) {
    return os_of(Files{{"/proc/sys/kernel/osrelease", release}}, std::move(environment)).wsl;
  };
  EXPECT_TRUE(wsl("5.15.167.4-microsoft-standard-WSL2\n").is(2));
  EXPECT_TRUE(wsl("4.4.0-19041-Microsoft\n").is(1));
  EXPECT_TRUE(wsl("4.19.84-microsoft-standard\n").is(2));
  EXPECT_TRUE(wsl("6.8.0-1021-azure\n").is_absent());
  EXPECT_TRUE(wsl("6.6.0-custom\n", {{"WSL_DISTRO_NAME", "Ubuntu"}}).is_absent());  // no /dev/dxg: somebody kept the variable
  RecordedTree tree = tree_of({{"/proc/sys/kernel/osrelease", "6.6.36-custom\n"}, {"/run/WSL/1_interop", ""}});
  tree.add_device("/dev/dxg", FileType::CharDevice, 10, 125, 0666);
  EXPECT_TRUE(os_of(tree).wsl.is(2));
}

TEST(Wsl, ContainerInWslIsBoth) {
  const auto os = os_of(Files{{"/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n"}, {"/.dockerenv", ""}, {"/proc/1/cgroup", "0::/\n"}});
  EXPECT_TRUE(os.wsl.is(2));
  EXPECT_TRUE(os.container.is("docker"));
}

TEST(Jetson, ReleaseFileDeviceTreeOrKernel) {
  const Files arm = {{"/proc/sys/kernel/osrelease", "5.15.148-tegra\n"}, {"/lib/ld-linux-aarch64.so.1", elf_head(183)}};
  EXPECT_EQ(os_of(with(arm, {{"/etc/nv_tegra_release", "# R36 (release), REVISION: 4.0, GCID: 37537400\n# KERNEL_VARIANT: oot\n"}})).jetson.value_or(""),
            "R36 (release), REVISION: 4.0, GCID: 37537400");
  EXPECT_EQ(os_of(with(arm, {{"/proc/device-tree/model", std::string("NVIDIA Jetson AGX Orin Developer Kit\0", 37)}})).jetson.value_or(""), "NVIDIA Jetson AGX Orin Developer Kit");
  EXPECT_TRUE(os_of(arm).jetson.is_known());
  EXPECT_TRUE(os_of(Files{{"/proc/sys/kernel/osrelease", "6.8.0-1021-nvidia-64k\n"}, {"/bin/sh", elf_head(183)}}).jetson.is_absent());
}

// ---- virtual machines -------------------------------------------------------------------------------------------------

Files guest(const char* vendor, const char* product, bool flag = true) {
  return {{"/sys/class/dmi/id/sys_vendor", vendor}, {"/sys/class/dmi/id/product_name", product}, {"/proc/cpuinfo", flag ? "flags : fpu hypervisor sse2\n" : "flags : fpu sse2\n"}};
}

TEST(Hypervisor, FromFirmwareTables) {
  EXPECT_TRUE(os_of(guest("VMware, Inc.", "VMware20,1")).hypervisor.is("vmware"));
  EXPECT_TRUE(os_of(guest("innotek GmbH", "VirtualBox")).hypervisor.is("virtualbox"));
  EXPECT_TRUE(os_of(guest("Microsoft Corporation", "Virtual Machine")).hypervisor.is("hyperv"));
  EXPECT_TRUE(os_of(guest("Xen", "HVM domU")).hypervisor.is("xen"));
  EXPECT_TRUE(os_of(guest("Microsoft Corporation", "Surface Book 3", false)).hypervisor.is_absent());
  const Files qemu = guest("QEMU", "Standard PC (Q35 + ICH9, 2009)");
  EXPECT_TRUE(os_of(qemu).hypervisor.is("qemu"));
  EXPECT_TRUE(os_of(with(qemu, {{"/sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc acpi_pm\n"}})).hypervisor.is("kvm"));
}

TEST(Hypervisor, FlagWithoutTables) {
  EXPECT_TRUE(os_of(Files{{"/proc/cpuinfo", "flags\t: fpu hypervisor\n"}}).hypervisor.is("unknown"));
  EXPECT_TRUE(os_of(Files{{"/sys/hypervisor/type", "xen\n"}}).hypervisor.is("xen"));
  EXPECT_TRUE(os_of(Files{{"/sys/hypervisor/type", "xen\n"}, {"/proc/xen/capabilities", "control_d\n"}}).hypervisor.is_absent());
}

TEST(Cloud, AlsoTellsItsBareMetalMachines) {
  const auto aws = os_of(guest("Amazon EC2", "g5.xlarge"));
  EXPECT_TRUE(aws.cloud.is("aws"));
  EXPECT_TRUE(aws.hypervisor.is("kvm"));
  EXPECT_TRUE(os_of(guest("Amazon EC2", "g5.metal", false)).hypervisor.is_absent());
  EXPECT_TRUE(os_of(guest("Google", "Google Compute Engine")).cloud.is("gcp"));
  EXPECT_TRUE(os_of(with(guest("Microsoft Corporation", "Virtual Machine"), {{"/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n"}})).cloud.is("azure"));
  EXPECT_TRUE(os_of(guest("Microsoft Corporation", "Virtual Machine")).cloud.is_absent());
}

// ---- security ---------------------------------------------------------------------------------------------------------

const std::string efivars = "/sys/firmware/efi/efivars/";
const std::string secure_boot = efivars + "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

TEST(SecureBoot, FifthByte) {
  EXPECT_TRUE(os_of(Files{{secure_boot, std::string("\6\0\0\0\1", 5)}}).secure_boot.is(true));
  EXPECT_TRUE(os_of(Files{{secure_boot, std::string("\6\0\0\0\0", 5)}}).secure_boot.is(false));
  EXPECT_TRUE(os_of(Files{{secure_boot, "\1"}}).secure_boot.is_absent());
  EXPECT_TRUE(os_of(Files{{"/sys/firmware/acpi/tables/DSDT", "x"}}).secure_boot.is_absent());
  RecordedTree hidden;
  hidden.add_directory("/sys/firmware");  // as container runtimes leave it
  EXPECT_TRUE(os_of(hidden).secure_boot.is_not_seen());
}

TEST(SecureBoot, SwitchedOffInShim) {
  const std::string mok = efivars + "MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23";
  EXPECT_TRUE(os_of(Files{{secure_boot, std::string("\6\0\0\0\1", 5)}, {mok, std::string("\6\0\0\0\1", 5)}}).secure_boot.is(false));
  EXPECT_TRUE(os_of(Files{{secure_boot, std::string("\6\0\0\0\1", 5)}, {mok, std::string("\7\0\0\0\1", 5)}}).secure_boot.is(true));
}

TEST(Lockdown, TheOneInBrackets) {
  EXPECT_TRUE(os_of(Files{{"/sys/kernel/security/lockdown", "none [integrity] confidentiality\n"}}).lockdown.is("integrity"));
  EXPECT_TRUE(os_of(Files{{"/sys/kernel/security/lsm", "capability"}}).lockdown.is_absent());
  EXPECT_TRUE(os_of(Files{}).lockdown.is_not_seen());
  EXPECT_TRUE(os_of(Files{{"/sys/kernel/security/lockdown", "][\n"}}).lockdown.is_not_seen());
}

TEST(Selinux, KernelThenConfigurationOfACapture) {
  EXPECT_TRUE(os_of(Files{{"/sys/fs/selinux/enforce", "1"}}).selinux_enforcing.is(true));
  EXPECT_TRUE(os_of(Files{{"/sys/fs/selinux/enforce", "0"}}).selinux_enforcing.is(false));
  const Files config = {{"/etc/selinux/config", "# SELINUX= can be\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"}};
  EXPECT_TRUE(os_of(with(bare_metal, config)).selinux_enforcing.is(true));
  EXPECT_TRUE(os_of(config).selinux_enforcing.is_not_seen());  // an image
  EXPECT_TRUE(os_of(with(with(bare_metal, config), {{"/.dockerenv", ""}})).selinux_enforcing.is_not_seen());
  EXPECT_TRUE(os_of(with(with(bare_metal, config), {{"/proc/cmdline", "ro selinux=0\n"}})).selinux_enforcing.is_absent());
}

}  // namespace
}  // namespace gpuvet
