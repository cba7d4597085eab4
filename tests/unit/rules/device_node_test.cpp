// The rules of layer device-node on machines made by hand.

#include "rules/device_node.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

const Knowledge& tables() {
  static const Knowledge knowledge;
  return knowledge;
}

using Judge = std::optional<Finding> (*)(const RuleContext&);
std::optional<Finding> run(Judge rule, const Machine& machine) { return rule(make_rule_context(machine, tables())); }

template <class T>
Fact<T> known(T value) {
  return Fact<T>::known(std::move(value));
}

DeviceNode node(std::string path, std::int64_t major, std::int64_t minor) {
  DeviceNode one;
  one.path = std::move(path);
  one.type = "char";
  one.major = major;
  one.minor = minor;
  one.mode = 0666;
  one.user_may_open = known(true);
  return one;
}

/// A loaded driver with one GPU and its nodes; nvidia-modprobe is not installed.
Machine whole_machine() {
  Machine machine;
  PciDevice gpu;
  gpu.address = "0000:01:00.0";
  gpu.vendor = 0x10de;
  gpu.device = 0x2684;
  gpu.class_code = 0x030000;
  gpu.driver = Fact<std::string>::known("nvidia");
  machine.pci = known(std::vector<PciDevice>{gpu});
  machine.kernel_driver.version = Fact<std::string>::known("550.120");
  machine.kernel_driver.loaded = known(std::vector<LoadedModule>{{.name = "nvidia"}, {.name = "nvidia_uvm"}});
  machine.kernel_driver.gpus = {{.address = "0000:01:00.0", .device_minor = 0}};
  machine.device_nodes.nodes = known(
      std::vector<DeviceNode>{node("/dev/nvidia0", 195, 0), node("/dev/nvidiactl", 195, 255), node("/dev/nvidia-uvm", 508, 0)});
  machine.device_nodes.majors = known(std::vector<DeviceMajor>{{"nvidia", 195}, {"nvidiactl", 195}, {"nvidia-uvm", 508}});
  machine.device_nodes.nvidia_modprobe = Fact<std::int64_t>::absent();
  machine.user.uid = known<std::int64_t>(1000);
  machine.user.name = Fact<std::string>::known("alice");
  return machine;
}

void drop(Machine& machine, std::string_view path) {
  std::erase_if(*machine.device_nodes.nodes.get(), [&](const DeviceNode& one) { return one.path == path; });
}

DeviceNode& get(Machine& machine, std::string_view path) {
  for (auto& one : *machine.device_nodes.nodes.get())
    if (one.path == path) return one;
  throw std::runtime_error("no such node");
}

TEST(AllDeviceNodeRules, SilentOnNothingAndOnAWholeMachine) {
  for (const Rule& rule : device_node_rules()) {
    EXPECT_FALSE(run(rule.judge, Machine{})) << rule.slug;
    EXPECT_FALSE(run(rule.judge, whole_machine())) << rule.slug;
    EXPECT_TRUE(find_rule_record(rule.slug)) << rule.slug;
  }
}

TEST(NodesMissing, ErrorOrNoteByTheHelper) {
  Machine machine = whole_machine();
  drop(machine, "/dev/nvidia0");
  drop(machine, "/dev/nvidiactl");
  drop(machine, "/dev/nvidia-uvm");
  auto finding = run(judge_nodes_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
  EXPECT_EQ(finding->parameters["nodes"], "/dev/nvidiactl, /dev/nvidia0");
  EXPECT_FALSE(run(judge_uvm_node_missing, machine));
  machine.device_nodes.nvidia_modprobe = known<std::int64_t>(04755);
  finding = run(judge_nodes_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Note);
  machine.device_nodes.nvidia_modprobe = known<std::int64_t>(0755);
  finding = run(judge_nodes_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
  EXPECT_EQ(finding->repair.back().type, "make-nvidia-modprobe-setuid");
}

TEST(NodesMissing, UnseenDevAndExcludedGpusAreSilent) {
  Machine machine = whole_machine();
  machine.device_nodes.nodes = Fact<std::vector<DeviceNode>>::not_seen("no /dev");
  EXPECT_FALSE(run(judge_nodes_missing, machine));
  machine = whole_machine();
  machine.kernel_driver.gpus.push_back({.address = "0000:02:00.0", .device_minor = 1, .excluded = true});
  EXPECT_FALSE(run(judge_nodes_missing, machine));
}

TEST(NodesMissing, ContainerNeedsOneGpuOfMany) {
  Machine machine = whole_machine();
  machine.os.container = Fact<std::string>::known("docker");
  machine.kernel_driver.gpus.push_back({.address = "0000:02:00.0", .device_minor = 1});
  EXPECT_FALSE(run(judge_nodes_missing, machine));
  drop(machine, "/dev/nvidia0");
  EXPECT_TRUE(run(judge_nodes_missing, machine));
  drop(machine, "/dev/nvidiactl");
  EXPECT_FALSE(run(judge_nodes_missing, machine));  // no GPU was given at all
}

TEST(UvmMissing, ContainerAndHost) {
  Machine machine = whole_machine();
  drop(machine, "/dev/nvidia-uvm");
  EXPECT_EQ(run(judge_uvm_node_missing, machine)->severity, Severity::Error);
  machine.device_nodes.nvidia_modprobe = known<std::int64_t>(04755);
  EXPECT_EQ(run(judge_uvm_node_missing, machine)->severity, Severity::Note);
  machine.os.container = Fact<std::string>::known("lxc");
  const auto finding = run(judge_uvm_node_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "container");
  EXPECT_EQ(finding->severity, Severity::Error);
}

TEST(MajorMismatch, NumbersAndPlainFiles) {
  Machine machine = whole_machine();
  get(machine, "/dev/nvidia-uvm").major = 236;
  const auto finding = run(judge_major_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->parameters.at("expected"), "508");
  get(machine, "/dev/nvidia-uvm").major = 508;
  get(machine, "/dev/nvidia-uvm").type = "file";
  EXPECT_EQ(run(judge_major_mismatch, machine)->variant, "no-device");
  machine = whole_machine();
  machine.device_nodes.majors = known(std::vector<DeviceMajor>{{"nvidia-frontend", 195}, {"nvidia-uvm", 508}});
  EXPECT_FALSE(run(judge_major_mismatch, machine));
}

TEST(Permissions, OwnerGroupAndRoot) {
  Machine machine = whole_machine();
  auto& control = get(machine, "/dev/nvidiactl");
  control.mode = 0660;
  control.gid = 44;
  control.user_may_open = known(false);
  auto finding = run(judge_node_permissions, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->repair.front().type, "add-user-to-group-of-node");
  machine.user.uid = known<std::int64_t>(0);
  EXPECT_FALSE(run(judge_node_permissions, machine));
  machine.user.uid = known<std::int64_t>(1000);
  get(machine, "/dev/nvidiactl").open_error = "Operation not permitted";  // the device cgroup
  EXPECT_FALSE(run(judge_node_permissions, machine));
}

TEST(Permissions, OneGpuOfTwoIsLeft) {
  Machine machine = whole_machine();
  DeviceNode second = node("/dev/nvidia1", 195, 1);
  second.user_may_open = known(false);
  machine.device_nodes.nodes.get()->push_back(second);
  EXPECT_FALSE(run(judge_node_permissions, machine));
}

void audit(Machine& machine, std::string line) {
  LogEvent event;
  event.kind = "audit";
  event.text = std::move(line);
  machine.kernel_log.events = known(std::vector<LogEvent>{event});
}

TEST(Selinux, WhatWasDeniedAndToWhom) {
  Machine machine = whole_machine();
  audit(machine,
        "avc:  denied  { read write } for  pid=1 comm=\"python\" name=\"nvidiactl\" scontext=system_u:system_r:container_t:s0 "
        "tclass=chr_file permissive=0");
  EXPECT_EQ(run(judge_selinux_denial, machine)->severity, Severity::Error);
  machine.os.selinux_enforcing = known(false);
  EXPECT_FALSE(run(judge_selinux_denial, machine));
  machine.os.selinux_enforcing = known(true);
  audit(machine,
        "avc:  denied  { getattr } for  pid=1 comm=\"kwin_wayland\" path=\"/dev/nvidiactl\" scontext=system_u:system_r:xdm_t:s0 "
        "permissive=0");
  EXPECT_FALSE(run(judge_selinux_denial, machine));
  audit(machine,
        "avc:  denied  { read write } for  pid=1 comm=\"kwin_wayland\" name=\"nvidia-modeset\" "
        "scontext=system_u:system_r:xdm_t:s0 permissive=0");
  EXPECT_FALSE(run(judge_selinux_denial, machine));
  audit(machine, "apparmor=\"DENIED\" operation=\"open\" profile=\"lxc-101\" name=\"/dev/nvidia0\" pid=1 comm=\"python\"");
  EXPECT_EQ(run(judge_selinux_denial, machine)->variant, "apparmor");
}

TEST(Mig, OnlyInstancesProveIt) {
  Machine machine = whole_machine();
  machine.kernel_driver.mig_capabilities = known(std::vector<std::string>{"mig/config", "mig/monitor"});
  EXPECT_FALSE(run(judge_mig_without_instance, machine));
  machine.kernel_driver.mig_capabilities = known(std::vector<std::string>{"gpu0/mig/gi1/access"});
  EXPECT_EQ(run(judge_mig_without_instance, machine)->severity, Severity::Error);
  machine.kernel_driver.mig_capabilities =
      known(std::vector<std::string>{"gpu0/mig/gi1/access", "gpu0/mig/gi1/ci0/access", "gpuX/mig/gi", "gpu/mig"});
  EXPECT_FALSE(run(judge_mig_without_instance, machine));
}

}  // namespace
}  // namespace gpuvet
