#include <gtest/gtest.h>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

constexpr const char* units = "/usr/lib/systemd/system/";

Machine machine_of(const RecordedTree& tree, bool in_container = false) {
  auto system = make_recorded_system(tree);
  Machine machine;
  if (in_container) machine.os.container = Fact<std::string>::known("docker");
  collect_services(*system, {}, machine);
  return machine;
}

Service service_of(const Machine& machine, std::string_view name) {
  for (const Service& service : machine.services.value_or({})) {
    if (service.name == name) return service;
  }
  return {};
}

RecordedTree running_host() {
  RecordedTree tree;
  tree.add_file("/proc/1/comm", "systemd\n");
  tree.add_file(std::string(units) + "nvidia-fabricmanager.service", "[Service]\n[Install]\nWantedBy=multi-user.target\n");
  tree.add_file(std::string(units) + "nvidia-persistenced.service", "[Unit]\n[Service]\n");
  return tree;
}

TEST(Services, InstalledButNotRunning) {
  const auto fabric = service_of(machine_of(running_host()), "nvidia-fabricmanager");
  EXPECT_TRUE(fabric.unit.is(std::string(units) + "nvidia-fabricmanager.service"));
  EXPECT_TRUE(fabric.enabled.is(false));
  EXPECT_TRUE(fabric.running.is(false));
  EXPECT_TRUE(service_of(machine_of(running_host()), "nvidia-persistenced").enabled.is_absent());  // static
}

TEST(Services, EnabledByTargetOrAlias) {
  RecordedTree tree = running_host();
  tree.add_link("/etc/systemd/system/multi-user.target.wants/nvidia-fabricmanager.service", std::string(units) + "nvidia-fabricmanager.service");
  EXPECT_TRUE(service_of(machine_of(tree), "nvidia-fabricmanager").enabled.is(true));
  RecordedTree alias = running_host();
  alias.add_link("/etc/systemd/system/fm.service", std::string(units) + "nvidia-fabricmanager.service");
  EXPECT_TRUE(service_of(machine_of(alias), "nvidia-fabricmanager").enabled.is(true));
}

TEST(Services, Masked) {
  RecordedTree tree = running_host();
  tree.add_link("/etc/systemd/system/nvidia-fabricmanager.service", "/dev/null");
  const auto fabric = service_of(machine_of(tree), "nvidia-fabricmanager");
  EXPECT_TRUE(fabric.enabled.is(false));
  EXPECT_EQ(fabric.enabled.origin().text, "masked");
}

TEST(Services, RunningByControlGroupProcessOrPidFile) {
  RecordedTree group = running_host();
  group.add_file("/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service/cgroup.procs", "812\n");
  EXPECT_TRUE(service_of(machine_of(group), "nvidia-fabricmanager").running.is(true));
  group.add_file("/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service/cgroup.procs", "\n");
  EXPECT_TRUE(service_of(machine_of(group), "nvidia-fabricmanager").running.is(false));
  RecordedTree process = running_host();
  process.add_file("/proc/812/comm", "nv-fabricmanage\n");  // 15 bytes
  const Machine machine = machine_of(process);
  EXPECT_TRUE(service_of(machine, "nvidia-fabricmanager").running.is(true));
  EXPECT_EQ(*machine.processes.get(), std::vector<std::string>{"nv-fabricmanager"});
  RecordedTree stale = running_host();
  stale.add_file("/run/nvidia-persistenced/nvidia-persistenced.pid", "99\n");
  stale.add_file("/proc/99/comm", "bash\n");
  EXPECT_TRUE(service_of(machine_of(stale), "nvidia-persistenced").running.is(false));
  stale.add_file("/proc/99/comm", "nvidia-persiste\n");
  EXPECT_TRUE(service_of(machine_of(stale), "nvidia-persistenced").running.is(true));
}

TEST(Services, ContainersDoNotSeeTheHosts) {
  EXPECT_TRUE(service_of(machine_of(running_host(), true), "nvidia-fabricmanager").running.is_not_seen());
}

TEST(Services, NotInstalledIsAbsentAndNothingSeenIsNotSeen) {
  RecordedTree tree;
  tree.add_directory("/usr/lib/systemd/system");
  EXPECT_TRUE(service_of(machine_of(tree), "nvidia-fabricmanager").unit.is_absent());
  EXPECT_TRUE(service_of(machine_of(tree), "nvidia-fabricmanager").running.is_not_seen());
  EXPECT_TRUE(machine_of({}).services.is_not_seen());
  EXPECT_TRUE(machine_of({}).processes.is_not_seen());
}

TEST(Services, FabricManagersLog) {
  RecordedTree tree = running_host();
  tree.add_file("/var/log/fabricmanager.log",
                "[Nov 28 2024 18:04:31] [INFO] [tid 1] Fabric Manager version is : 535.104.05\n"
                "[Nov 28 2024 18:04:31] [INFO] [tid 1] Dumping all the available devices\n"
                "[Nov 29 2024 18:04:31] [INFO] [tid 1] Fabric Manager version is : 535.129.03\n"
                "[Nov 29 2024 18:04:32] [ERROR] [tid 1] fabric manager NVIDIA GPU driver interface version 535.129.03 don't match with driver version 535.104.05\n");
  const auto fabric = service_of(machine_of(tree), "nvidia-fabricmanager");
  EXPECT_TRUE(fabric.version.is("535.129.03"));
  ASSERT_EQ(fabric.log.size(), 3u);
  EXPECT_EQ(fabric.log.back().line, 4u);
  EXPECT_EQ(fabric.log.back().source, "/var/log/fabricmanager.log");
}

TEST(Services, OpenRc) {
  RecordedTree tree;
  tree.add_file("/etc/init.d/nvidia-persistenced", "#!/sbin/openrc-run\n");
  tree.add_link("/etc/runlevels/default/nvidia-persistenced", "/etc/init.d/nvidia-persistenced");
  tree.add_file("/proc/1/comm", "init\n");
  const auto service = service_of(machine_of(tree), "nvidia-persistenced");
  EXPECT_TRUE(service.unit.is("/etc/init.d/nvidia-persistenced"));
  EXPECT_TRUE(service.enabled.is(true));
}

}  // namespace
}  // namespace gpuvet
