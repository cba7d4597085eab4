// The system in a pasted text: kernel, distribution, worlds, variables.

#include <gtest/gtest.h>

#include "text_reader.h"

namespace gpuvet {
namespace {

Machine host(std::string_view text) { return read_with(read_system, text); }

std::string variable(const Machine& machine, const char* name) {
  const auto at = machine.environment.find(name);
  return at == machine.environment.end() ? "(none)" : at->second;
}

TEST(SystemText, Uname) {
  const Machine machine =
      host("Linux rig 6.5.0-14-generic #14~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC x86_64 x86_64 x86_64 GNU/Linux\n");
  EXPECT_EQ(machine.os.kernel.value_or(""), "6.5.0-14-generic");
  EXPECT_EQ(machine.os.architecture.value_or(""), "x86_64");
  EXPECT_EQ(host("$ uname -r\n5.4.0-58-generic\n").os.kernel.value_or(""), "5.4.0-58-generic");
  EXPECT_EQ(host("$ uname -m\naarch64\n").os.architecture.value_or(""), "aarch64");
  EXPECT_EQ(host("Linux 5.10.38-gentoo-dist #1 SMP Sun Jun 20 x86_64 Intel(R) Xeon(R) GNU/Linux\n").os.kernel.value_or(""),
            "5.10.38-gentoo-dist");
  EXPECT_TRUE(host("$ uname -r\nbash: uname: command not found\n").os.kernel.is_not_seen());
}

TEST(SystemText, AKernelsReleaseTellsItsDistribution) {
  const auto id = [](std::string_view release) { return host("$ uname -r\n" + std::string(release) + "\n").os.id.value_or("?"); };
  EXPECT_EQ(id("6.8.0-49-generic"), "ubuntu");
  EXPECT_EQ(id("6.8.0-1018-aws"), "ubuntu");
  EXPECT_EQ(id("6.1.0-18-amd64"), "debian");
  EXPECT_EQ(id("6.12.48+deb13-amd64"), "debian");
  EXPECT_EQ(id("4.18.0-553.el8_10.x86_64"), "rhel");
  EXPECT_EQ(id("6.1.119-129.201.amzn2023.x86_64"), "amzn");
  EXPECT_EQ(id("6.4.0-150600.23.25-default"), "opensuse");
  EXPECT_EQ(id("6.11.5-arch1-1"), "arch");
  EXPECT_EQ(id("5.10.38-gentoo-dist"), "?");
  EXPECT_EQ(id("6.8.0-rc3"), "?");
  EXPECT_EQ(host("$ sudo apt install nvtop\n  libnvidia-compute-418 libnvidia-compute-430\n").os.id.value_or("?"), "ubuntu");
  EXPECT_EQ(host("$ sudo apt install nvidia-driver firmware-misc-nonfree\n").os.id.value_or("?"), "?");
  EXPECT_EQ(host("Linux h 5.14.0-427.el9.x86_64 #1 SMP\n").os.version_id.value_or(""), "9");
  EXPECT_EQ(host("ID=linuxmint\n$ uname -r\n6.8.0-49-generic\n").os.id.value_or("?"), "linuxmint");
  EXPECT_EQ(host("$ uname -r\n5.15.167.4-microsoft-standard-WSL2\n").os.id.value_or("?"), "?");
}

TEST(SystemText, BothGenerationsOfWsl) {
  EXPECT_TRUE(host("$ uname -r\n5.15.167.4-microsoft-standard-WSL2\n").os.wsl.is(2));
  EXPECT_TRUE(host("Error! Your kernel headers for kernel 4.4.0-19041-Microsoft cannot be found.\n").os.wsl.is(1));
  EXPECT_TRUE(host("  NAME      STATE           VERSION\n* Ubuntu    Running         1\n").os.wsl.is(1));
  EXPECT_TRUE(host("$ uname -r\n6.5.0-14-generic\n").os.wsl.is_not_seen());
}

TEST(SystemText, Distributions) {
  const Machine release =
      host("NAME=\"Ubuntu\"\nID=ubuntu\nVERSION_ID=\"22.04\"\nVERSION_CODENAME=jammy\nPRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\n");
  EXPECT_EQ(release.os.id.value_or(""), "ubuntu");
  EXPECT_EQ(release.os.version_id.value_or(""), "22.04");
  EXPECT_EQ(release.os.codename.value_or(""), "jammy");
  EXPECT_EQ(release.os.pretty_name.value_or(""), "Ubuntu 22.04.4 LTS");
  EXPECT_EQ(release.os.version_id.origin().line, 3u);
  const Machine lsb = host("Distributor ID:\tUbuntu\nDescription:\tUbuntu 20.04.6 LTS\nRelease:\t20.04\nCodename:\tfocal\n");
  EXPECT_EQ(lsb.os.version_id.value_or(""), "20.04.6");
  EXPECT_EQ(lsb.os.codename.value_or(""), "focal");
  EXPECT_EQ(host("OS: Debian GNU/Linux 9.11 (stretch)\n").os.id.value_or(""), "debian");
  EXPECT_EQ(host("- OS: CentOS Linux release 7.9.2009\n").os.version_id.value_or(""), "7.9.2009");
  EXPECT_TRUE(host("I like Ubuntu 22.04\n").os.id.is_not_seen());
}

TEST(SystemText, Hostnamectl) {
  const Machine machine = host(
      "    Virtualization: kvm\n  Operating System: Rocky Linux 9.3 (Blue Onyx)\n            Kernel: Linux "
      "5.14.0-362.8.1.el9_3.x86_64\n"
      "      Architecture: x86-64\n");
  EXPECT_EQ(machine.os.id.value_or(""), "rocky");
  EXPECT_EQ(machine.os.kernel.value_or(""), "5.14.0-362.8.1.el9_3.x86_64");
  EXPECT_EQ(machine.os.architecture.value_or(""), "x86_64");
  EXPECT_EQ(machine.os.hypervisor.value_or(""), "kvm");
  EXPECT_TRUE(host("$ systemd-detect-virt\nnone\n").os.hypervisor.is_absent());
}

TEST(SystemText, CLibraries) {
  EXPECT_EQ(host("ldd (Ubuntu GLIBC 2.31-0ubuntu9.17) 2.31\n").os.glibc.value_or(""), "2.31");
  EXPECT_EQ(host("Libc version: glibc-2.35\n").os.glibc.value_or(""), "2.35");
  EXPECT_TRUE(host("musl libc (x86_64)\nVersion 1.2.4\n").os.glibc.is_absent());
  EXPECT_TRUE(host("version `GLIBC_2.34' not found\n").os.glibc.is_not_seen());
}

TEST(SystemText, Jetson) {
  EXPECT_EQ(host("# R36 (release), REVISION: 4.3, GCID: 38968081\n").os.jetson.value_or(""), "R36 (release), REVISION: 4.3");
  EXPECT_TRUE(host("$ uname -r\n5.15.148-tegra\n").os.jetson.is_known());
}

TEST(SystemText, Windows) {
  EXPECT_NE(seen(host("Microsoft Windows [Version 10.0.22621.1413]\n"), "windows"), nullptr);
  EXPECT_NE(seen(host("  File \"C:\\Users\\user\\x.py\", line 1, in <module>\n"), "windows"), nullptr);
  EXPECT_NE(seen(host("PS C:\\ml> nvidia-smi\nx\n"), "windows"), nullptr);
  EXPECT_EQ(seen(host("$ ls\nC: a drive, D: another\n"), "windows"), nullptr);
}

TEST(SystemText, VariablesOfAllKinds) {
  const Machine machine = host(
      "$ echo $LD_LIBRARY_PATH\n/usr/local/cuda-12.3/lib64\n"
      "$ CUDA_VISIBLE_DEVICES=2 NCCL_DEBUG='INFO x' python main.py XLA_FLAGS=no\n"
      "ok\n"
      "$ env | grep CUDA\nCUDA_HOME=/usr/local/cuda\n"
      "$ export CUDA_MODULE_LOADING=\"LAZY\"\n"
      "$ grep -n PATH ~/.bashrc\n12:export PATH=$PATH:/usr/local/cuda/bin\n"
      "$ echo \"[$CUDA_DEVICE_ORDER]\"\n[PCI_BUS_ID]\n");
  EXPECT_EQ(variable(machine, "LD_LIBRARY_PATH"), "/usr/local/cuda-12.3/lib64");
  EXPECT_EQ(variable(machine, "CUDA_VISIBLE_DEVICES"), "2");
  EXPECT_EQ(variable(machine, "NCCL_DEBUG"), "INFO x");
  EXPECT_EQ(variable(machine, "XLA_FLAGS"), "(none)");  // an argument of the program
  EXPECT_EQ(variable(machine, "CUDA_HOME"), "/usr/local/cuda");
  EXPECT_EQ(variable(machine, "CUDA_MODULE_LOADING"), "LAZY");
  EXPECT_EQ(variable(machine, "PATH"), "(none)");  // not a value
  EXPECT_EQ(variable(machine, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_TRUE(machine.environment_seen.is(true));
}

TEST(SystemText, AnEmptyVariableIsSeenToBeEmpty) {
  EXPECT_EQ(variable(host("$ echo $LD_LIBRARY_PATH\n$ ls\n"), "LD_LIBRARY_PATH"), "");
  EXPECT_EQ(variable(host("$ echo PATH\nPATH\n"), "PATH"), "(none)");
}

TEST(SystemText, VariablesOfAContainerAreNotTheHosts) {
  const Machine machine = host(
      "$ docker run --rm -e NVIDIA_VISIBLE_DEVICES=none -e=A=1 nvidia/cuda:12.4.1-base-ubuntu22.04 env\n"
      "NVIDIA_DRIVER_CAPABILITIES=utility\n");
  EXPECT_TRUE(machine.environment.empty());
  EXPECT_EQ(count_seen(machine, "variable"), 2);
  EXPECT_EQ(seen(machine, "variable")->place, "container");
  EXPECT_EQ(variable(host("C:\\> set CUDA_PATH=C:\\CUDA\\v12.4\nx\n"), "CUDA_PATH"), "(none)");
}

TEST(SystemText, SecretsStayOut) {
  const Machine machine = host("$ env\nAWS_SECRET_ACCESS_KEY=abc\nHF_TOKEN=hf_x\nCUDA_HOME=/c\n");
  EXPECT_EQ(machine.environment.size(), 1u);
  EXPECT_EQ(count_seen(machine, "variable"), 1);
}

TEST(SystemText, TheUser) {
  const Machine machine = host("$ id\nuid=1000(alice) gid=1000(alice) groups=1000(alice),27(sudo),44(video)\n");
  EXPECT_TRUE(machine.user.uid.is(1000));
  ASSERT_TRUE(machine.user.groups.is_known());
  EXPECT_EQ(machine.user.groups.get()->size(), 3u);
  EXPECT_EQ(machine.user.groups.get()->at(2).gid, 44);
  EXPECT_EQ(machine.user.groups.get()->at(2).name, "video");
}

TEST(SystemText, AContainersSystemIsNotTheHosts) {
  const Machine machine = host(
      "$ docker run --rm ubuntu:20.04 cat /etc/os-release\nID=ubuntu\nVERSION_ID=\"20.04\"\n$ cat /etc/os-release\nID=fedora\n");
  EXPECT_EQ(machine.os.id.value_or(""), "fedora");
  EXPECT_TRUE(machine.os.version_id.is_not_seen());
}

}  // namespace
}  // namespace gpuvet
