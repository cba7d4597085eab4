// Where a process runs: files as real engines leave them, and hosts that look like containers.

#include <gtest/gtest.h>

#include <set>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

using Environment = std::map<std::string, std::string>;

struct Place {
  std::map<std::string, std::string> files;
  std::vector<std::string> mounts;  ///< lines of /proc/self/mountinfo
  Environment environment;
};

OperatingSystem os_of(const Place& place) {
  RecordedTree tree;
  tree.add_file("/proc/sys/kernel/osrelease", "6.8.0-49-generic\n");
  tree.add_file("/proc/1/comm", "init\n");
  for (const auto& [path, text] : place.files) tree.add_file(path, text);
  std::string mounts;
  for (const std::string& line : place.mounts) mounts += line + "\n";
  if (!mounts.empty()) tree.add_file("/proc/self/mountinfo", mounts);
  Machine machine;
  machine.environment = place.environment;
  collect_os(*make_recorded_system(std::move(tree)), {}, machine);
  return machine.os;
}

std::string engine(const Place& place) { return os_of(place).container.value_or("none"); }

/// "docker podman rootless": the names of all signs, each once.
std::string signs(const Place& place) {
  std::string text;
  std::set<std::string> seen;
  for (const ContainerSign& sign : os_of(place).container_signs) {
    EXPECT_FALSE(sign.origin.source.empty()) << sign.name;
    if (seen.insert(sign.name).second) text += (text.empty() ? "" : " ") + sign.name;
  }
  return text;
}

const std::string id(64, 'c');
const std::string disk = "29 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro";
const std::string any_overlay = "900 800 0:77 / / rw,relatime - overlay overlay rw,lowerdir=/x/snapshots/12/fs,upperdir=/x/snapshots/13/fs";

TEST(Container, DockerWithPrivateControlGroups) {
  // Docker 20.10 and later on cgroup v2: "0::/" everywhere, process 1 is the user's own program.
  EXPECT_EQ(engine({{{"/proc/1/cgroup", "0::/\n"}, {"/proc/self/cgroup", "0::/\n"}},
                    {any_overlay, "931 900 259:2 /var/lib/docker/containers/" + id + "/hosts /etc/hosts rw,relatime - ext4 /dev/nvme0n1p2 rw"},
                    {}}),
            "docker");
  // Docker Desktop: the data of its VM lie on a disk of their own.
  EXPECT_EQ(engine({{}, {any_overlay, "931 900 254:1 /docker/containers/" + id + "/resolv.conf /etc/resolv.conf rw - ext4 /dev/vda1 rw"}, {}}), "docker");
  // User namespaces: a folder of the mapped ids between.
  EXPECT_EQ(engine({{}, {"1 2 8:1 /var/lib/docker/165536.165536/containers/" + id + "/hostname /etc/hostname rw - ext4 /dev/sda1 rw"}, {}}), "docker");
}

TEST(Container, DockerRootless) {
  EXPECT_EQ(signs({{{"/.dockerenv", ""}},
                   {"900 800 0:77 / / rw - overlay overlay rw,lowerdir=/home/ada/.local/share/docker/overlay2/l/AB:/home/ada/.local/share/docker/overlay2/l/CD"},
                   {}}),
            "docker rootless");
}

TEST(Container, DockerWithAnotherDataFolder) {
  EXPECT_EQ(engine({{}, {"900 800 0:77 / / rw - overlay overlay rw,lowerdir=/data/images/overlay2/l/ABCDEF:/data/images/overlay2/l/GHIJ,upperdir=/data/images/overlay2/0a/diff"}, {}}), "docker");
  EXPECT_EQ(engine({{}, {"900 800 0:77 /var/lib/docker/btrfs/subvolumes/" + id + " / rw - btrfs /dev/sda2 rw,subvolid=300"}, {}}), "docker");
}

TEST(Container, PodmanRootfulAndRootless) {
  const std::string environ_of_1("PATH=/usr/bin\0container=podman\0", 31);
  EXPECT_EQ(signs({{{"/run/.containerenv", ""}, {"/proc/1/environ", environ_of_1}, {"/proc/1/cgroup", "0::/\n"}},
                   {"900 800 0:77 / / rw - overlay overlay rw,lowerdir=/var/lib/containers/storage/overlay/l/AB",
                    "901 900 0:24 /containers/storage/overlay-containers/" + id + "/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw,size=1g"},
                   {}}),
            "podman");
  EXPECT_EQ(signs({{{"/run/.containerenv", "engine=\"podman-5.3.1\"\nname=\"web\"\nrootless=1\ngraphRootMounted=1\n"}}, {any_overlay}, {{"container", "podman"}}}),
            "podman rootless");
  EXPECT_EQ(signs({{{"/run/.containerenv", ""}},
                   {"901 900 0:50 /containers/overlay-containers/" + id + "/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw,size=1g,uid=1000"},
                   {}}),
            "podman rootless");
}

TEST(Container, PodsAndTheirRuntimes) {
  const std::string pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/";
  EXPECT_EQ(signs({{{"/proc/1/cgroup", "0::" + pod + "cri-containerd-" + id + ".scope\n"}}, {any_overlay}, {{"KUBERNETES_SERVICE_HOST", "set"}}}), "kubernetes containerd");
  EXPECT_EQ(signs({{{"/proc/1/cgroup", "11:devices:" + pod + "crio-" + id + ".scope\n"}}, {any_overlay}, {}}), "kubernetes cri-o");
  // Private control groups, no service account, no service links.
  EXPECT_EQ(signs({{{"/proc/1/cgroup", "0::/\n"}},
                   {any_overlay, "1 900 8:1 /var/lib/kubelet/pods/5d8a/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw",
                    "2 900 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" + id + "/hostname /etc/hostname rw - ext4 /dev/sda1 rw"},
                   {}}),
            "kubernetes containerd");
  EXPECT_EQ(signs({{{"/var/run/secrets/kubernetes.io/serviceaccount/token", "x"}},
                   {"1 900 0:24 /containers/storage/overlay-containers/" + id + "/userdata/resolv.conf /etc/resolv.conf rw - tmpfs tmpfs rw"},
                   {}}),
            "kubernetes cri-o");
}

TEST(Container, PlainContainerd) {
  EXPECT_EQ(engine({{}, {"9 8 0:7 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs"}, {}}), "containerd");
  EXPECT_EQ(engine({{{"/proc/1/cgroup", "0::/system.slice/nerdctl-" + id + ".scope\n"}}, {any_overlay}, {}}), "containerd");
}

TEST(Container, SystemContainers) {
  const std::string of_lxc("container=lxc\0", 14);
  EXPECT_EQ(signs({{{"/proc/1/environ", of_lxc}, {"/dev/incus/sock", ""}}, {"5 4 0:9 / / rw - zfs tank/incus/containers/ml rw"}, {}}), "lxc incus");
  EXPECT_EQ(signs({{{"/proc/1/environ", of_lxc}, {"/dev/lxd/sock", ""}}, {}, {}}), "lxc lxd");
  // Nobody but root may read the environment of process 1.
  EXPECT_EQ(engine({{{"/proc/1/cgroup", "0::/init.scope\n"}},
                    {"5 4 253:3 / / rw - ext4 /dev/mapper/pve-vm--101--disk--0 rw", "6 5 0:40 /proc/meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw,user_id=0"},
                    {}}),
            "lxc");
  EXPECT_EQ(engine({{{"/run/host/container-manager", "systemd-nspawn\n"}}, {}, {}}), "nspawn");
  EXPECT_EQ(engine({{}, {"5 4 0:30 /@/var/lib/machines/bookworm / rw - btrfs /dev/sda2 rw,subvol=/@/var/lib/machines/bookworm"}, {}}), "nspawn");
}

TEST(Container, HpcRuntimes) {
  EXPECT_EQ(engine({{}, {"5 4 0:30 / / ro - overlay overlay ro,lowerdir=/var/lib/apptainer/mnt/session/overlay-lowerdir:/var/lib/apptainer/mnt/session/rootfs"}, {}}), "apptainer");
  EXPECT_EQ(engine({{}, {"5 4 8:1 /run/enroot-data/user-1000/pyxis_1234.0 / rw - ext4 /dev/sda1 rw"}, {}}), "enroot");
  EXPECT_EQ(engine({{}, {"5 4 8:1 /ada/.local/share/enroot/pytorch / rw - xfs /dev/sda1 rw"}, {}}), "enroot");
  // Started in a pod, whose variables it passes on.
  EXPECT_EQ(engine({{}, {any_overlay}, {{"KUBERNETES_SERVICE_HOST", "set"}, {"APPTAINER_CONTAINER", "/x.sif"}}}), "apptainer");
}

TEST(Container, Sandboxes) {
  EXPECT_EQ(engine({{{"/.flatpak-info", "[Application]\nname=com.visualstudio.code\n"}}, {"5 4 0:30 / / ro - tmpfs tmpfs rw"}, {{"container", "flatpak"}}}), "flatpak");
  EXPECT_EQ(engine({{}, {"5 4 7:3 / / ro - squashfs /dev/loop3 ro", "6 5 259:2 / /var/lib/snapd/hostfs rw - ext4 /dev/nvme0n1p2 rw"}, {}}), "snap");
}

TEST(Container, ToolboxAndDistrobox) {
  EXPECT_EQ(signs({{{"/run/.containerenv", "rootless=1\n"}, {"/run/.toolboxenv", ""}}, {any_overlay}, {{"container", "oci"}}}), "podman rootless toolbox");
  EXPECT_EQ(signs({{{"/run/.containerenv", "rootless=1\n"}},
                   {any_overlay, "7 5 259:2 /usr/bin/distrobox-export /usr/bin/distrobox-export ro - ext4 /dev/nvme0n1p2 rw"},
                   {{"container", "podman"}}}),
            "podman rootless distrobox");
  EXPECT_EQ(signs({{{"/.dockerenv", ""}}, {any_overlay}, {{"DISTROBOX_ENTER_PATH", "/usr/bin/distrobox-enter"}}}), "docker distrobox");
}

TEST(Container, InWslIsBoth) {
  const auto os = os_of({{{"/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n"}},
                         {any_overlay, "931 900 8:48 /var/lib/docker/containers/" + id + "/hosts /etc/hosts rw - ext4 /dev/sdd rw"},
                         {}});
  EXPECT_TRUE(os.wsl.is(2));
  EXPECT_TRUE(os.container.is("docker"));
}

TEST(Container, HostsAreNone) {
  const std::string none = "none";
  // Docker, containers and Podman's monitor are at work; the user is in the group "docker".
  EXPECT_EQ(engine({{{"/proc/1/cgroup", "0::/init.scope\n"},
                     {"/proc/self/cgroup", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/docker.scope\n"},
                     {"/var/lib/docker/containers/" + id + "/hosts", ""},
                     {"/etc/group", "docker:x:999:ada\n"}},
                    {disk, "40 29 0:50 / /var/lib/docker/overlay2/aa/merged rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/AB",
                     "41 29 0:4 net:[4026532000] /run/docker/netns/aa rw - nsfs nsfs rw", "42 29 0:60 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw"},
                    {}}),
            none);
  EXPECT_EQ(engine({{{"/proc/self/cgroup", "0::/user.slice/libpod-conmon-" + id + ".scope\n"}}, {disk}, {}}), none);
  // Made from an image; a tool that connects it with a cluster; a shell that went into the host out of a pod.
  EXPECT_EQ(engine({{{"/.dockerenv", ""}, {"/.singularity.d/labels.json", "{}"}}, {disk}, {{"KUBERNETES_SERVICE_HOST", "set"}, {"container", "oci"}}}), none);
  EXPECT_EQ(engine({{{"/.dockerenv", ""}}, {"29 1 0:33 /root / rw - btrfs /dev/sda3 rw,subvol=/root"}, {}}), none);
  EXPECT_EQ(engine({{{"/.dockerenv", ""}}, {"29 1 0:33 / / rw - zfs rpool/ROOT/ubuntu_x1 rw"}, {}}), none);
  EXPECT_EQ(engine({{{"/proc/self/cgroup", "0::/kubepods.slice/cri-containerd-" + id + ".scope\n"}, {"/proc/1/cgroup", "0::/init.scope\n"}}, {disk}, {}}), none);
  // A host with toolbox, distrobox and Flatpak applications; Ubuntu Core; a live system; a WSL distribution with systemd.
  EXPECT_EQ(engine({{{"/usr/bin/distrobox-host-exec", ""}, {"/usr/bin/flatpak", ""}}, {disk}, {{"DISTROBOX_ENTER_PATH", "/usr/bin/distrobox-enter"}}}), none);
  EXPECT_EQ(engine({{{"/var/lib/snapd/hostfs/x", ""}}, {"29 1 7:1 / / ro - squashfs /dev/loop1 ro"}, {}}), none);
  EXPECT_EQ(engine({{}, {"29 1 0:22 / / rw - overlay /cow rw,lowerdir=//filesystem.squashfs,upperdir=/cow/upper"}, {}}), none);
  EXPECT_EQ(engine({{{"/run/systemd/container", "wsl\n"}, {"/proc/sys/kernel/osrelease", "6.6.87.2-microsoft-standard-WSL2\n"}}, {"29 1 8:48 / / rw - ext4 /dev/sdd rw"}, {}}), none);
  EXPECT_TRUE(signs({{{"/usr/bin/distrobox-host-exec", ""}}, {disk}, {{"DISTROBOX_ENTER_PATH", "x"}}}).empty());
}

TEST(Container, DamagedFilesTellNothing) {
  EXPECT_EQ(engine({{{"/proc/1/cgroup", std::string("\0::\n:::::\n0:docker", 17)}, {"/proc/1/environ", "container="}, {"/run/systemd/container", "\n"}},
                    {"", "1 2 3", "- - - - - - - -", "1 2 0:3 / /etc/hosts rw - x", "1 2 0:3 /containers//hosts /etc/hosts rw - ext4 x rw"},
                    {}}),
            "none");
}

TEST(Confinement, ReadFromTheProcessItself) {
  const auto os = os_of({{{"/proc/meminfo", "MemTotal:       32617552 kB\nMemFree: 1 kB\n"},
                          {"/proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \nMax locked memory         8388608              8388608              bytes     \n"},
                          {"/proc/self/cgroup", "0::/\n"},
                          {"/proc/self/uid_map", "         0       1000          1\n         1     100000      65536\n"},
                          {"/proc/self/status", "Name:\tgpuvet\nSeccomp:\t2\nSeccomp_filters:\t1\n"},
                          {"/proc/self/attr/current", "system_u:system_r:container_t:s0:c1,c2\n"}},
                         {},
                         {}});
  EXPECT_TRUE(os.memory.is(std::int64_t{32617552} * 1024));
  EXPECT_TRUE(os.locked_memory.is(8388608));
  EXPECT_TRUE(os.cgroup_version.is(2));
  EXPECT_TRUE(os.user_namespace.is(true));
  EXPECT_TRUE(os.seccomp.is(true));
  EXPECT_TRUE(os.security_label.is("system_u:system_r:container_t:s0:c1,c2"));
}

TEST(Confinement, OfAHost) {
  const auto os = os_of({{{"/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes     \n"},
                          {"/proc/self/cgroup", "13:devices:/user.slice\n1:name=systemd:/user.slice\n0::/user.slice\n"},
                          {"/proc/self/uid_map", "         0          0 4294967295\n"},
                          {"/proc/self/status", "Seccomp:\t0\n"},
                          {"/proc/self/attr/current", std::string("unconfined\n\0", 12)}},
                         {},
                         {}});
  EXPECT_TRUE(os.locked_memory.is(-1));
  EXPECT_TRUE(os.cgroup_version.is(1));
  EXPECT_TRUE(os.user_namespace.is(false));
  EXPECT_TRUE(os.seccomp.is(false));
  EXPECT_TRUE(os.security_label.is("unconfined"));
  EXPECT_TRUE(os.memory.is_not_seen());
  EXPECT_TRUE(os_of({{{"/proc/self/cgroup", "12:cpu:/\n0::/\n"}}, {}, {}}).cgroup_version.is(2));
  EXPECT_TRUE(os_of({{{"/sys/fs/cgroup/cgroup.controllers", "cpu\n"}}, {}, {}}).cgroup_version.is(2));
  EXPECT_TRUE(os_of({}).cgroup_version.is_not_seen());
}

}  // namespace
}  // namespace gpuvet
