#include <gtest/gtest.h>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

User user_of(std::int64_t uid, std::vector<std::int64_t> gids) {
  User user;
  user.uid = Fact<std::int64_t>::known(uid);
  std::vector<UserGroup> groups;
  for (const std::int64_t gid : gids) groups.push_back({gid, ""});
  user.groups = Fact<std::vector<UserGroup>>::known(std::move(groups));
  return user;
}

DeviceNodes nodes_of(const RecordedTree& tree, User user = user_of(1000, {1000})) {
  auto system = make_recorded_system(tree);
  Machine machine;
  machine.user = std::move(user);
  collect_device_nodes(*system, {}, machine);
  return machine.device_nodes;
}

Fact<bool> may_open(std::uint32_t mode, std::uint32_t uid, std::uint32_t gid, User user, const char* path = "/dev/nvidia0") {
  RecordedTree tree;
  tree.add_device(path, FileType::CharDevice, 195, 0, mode, uid, gid);
  return nodes_of(tree, std::move(user)).nodes.get()->front().user_may_open;
}

TEST(DeviceNodes, MayOpenAsTheKernelDecides) {
  EXPECT_TRUE(may_open(0666, 0, 0, user_of(1000, {1000})).is(true));
  EXPECT_TRUE(may_open(0660, 0, 44, user_of(1000, {1000})).is(false));
  EXPECT_TRUE(may_open(0660, 0, 44, user_of(1000, {1000, 44})).is(true));
  EXPECT_TRUE(may_open(0600, 1000, 0, user_of(1000, {})).is(true));
  EXPECT_TRUE(may_open(0066, 1000, 0, user_of(1000, {0})).is(false));  // the owner's bits count for the owner
  EXPECT_TRUE(may_open(0606, 0, 44, user_of(1000, {44})).is(false));   // and the group's for the group
  EXPECT_TRUE(may_open(0644, 0, 0, user_of(1000, {})).is(false));      // reading alone is not enough
  EXPECT_TRUE(may_open(0000, 0, 0, user_of(0, {0})).is(true));
  EXPECT_TRUE(may_open(0660, 0, 44, User{}).is_not_seen());
  EXPECT_TRUE(may_open(0666, 0, 0, User{}).is(true));
  EXPECT_TRUE(may_open(0444, 0, 0, user_of(1000, {}), "/dev/nvidia-caps/nvidia-cap2").is(true));
}

TEST(DeviceNodes, WhichNodes) {
  RecordedTree tree;
  for (const char* path : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap1", "/dev/dri/renderD128", "/dev/dxg", "/dev/nvmap", "/dev/nvhost-gpu", "/dev/null"})
    tree.add_device(path, FileType::CharDevice, 195, 1, 0666);
  tree.add_directory("/dev/dri/by-path");
  tree.add_directory("/dev/nvidia1");       // as docker makes it for a node that was not there
  tree.add_file("/dev/nvidia2", "");
  tree.add_link("/dev/nvidia3", "gone");
  const auto nodes = *nodes_of(tree).nodes.get();
  EXPECT_EQ(nodes.size(), 11u);
  const auto type = [&](std::string_view path) {
    for (const auto& node : nodes) {
      if (node.path == path) return node.type;
    }
    return std::string("none");
  };
  EXPECT_EQ(type("/dev/nvidia0"), "char");
  EXPECT_EQ(type("/dev/nvidia1"), "directory");
  EXPECT_EQ(type("/dev/nvidia2"), "file");
  EXPECT_EQ(type("/dev/nvidia3"), "link");
  EXPECT_EQ(type("/dev/null"), "none");
}

TEST(DeviceNodes, NoDevOrAnEmptyOneIsNotSeen) {
  EXPECT_TRUE(nodes_of({}).nodes.is_not_seen());
  RecordedTree image;
  image.add_directory("/dev");
  EXPECT_TRUE(nodes_of(image).nodes.is_not_seen());
  image.add_device("/dev/null", FileType::CharDevice, 1, 3, 0666);
  EXPECT_TRUE(nodes_of(image).nodes.is_known());
}

TEST(DeviceNodes, MajorsOfCharacterDevicesOnly) {
  RecordedTree tree;
  tree.add_file("/proc/devices", "Character devices:\n  1 mem\n195 nvidia-frontend\n508 nvidia-uvm\nx nvidia\n\nBlock devices:\n259 nvidia-blk\n");
  const auto majors = *nodes_of(tree).majors.get();
  EXPECT_EQ(majors, (std::vector<DeviceMajor>{{"nvidia-frontend", 195}, {"nvidia-uvm", 508}}));
  EXPECT_TRUE(nodes_of({}).majors.is_not_seen());
}

TEST(DeviceNodes, ControlGroupRules) {
  RecordedTree v1;
  v1.add_file("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:devices:/docker/abc\n");
  v1.add_file("/sys/fs/cgroup/devices/docker/abc/devices.list", "c 1:3 rwm\nc 195:* rw\n");
  EXPECT_EQ(*nodes_of(v1).cgroup_device_rules.get(), (std::vector<std::string>{"c 1:3 rwm", "c 195:* rw"}));
  RecordedTree v2;
  v2.add_file("/sys/fs/cgroup/cgroup.controllers", "cpu\n");
  EXPECT_TRUE(nodes_of(v2).cgroup_device_rules.is_absent());
}

}  // namespace
}  // namespace gpuvet
