#include "system/recorded.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

TEST(Recorded, ParentsAreImpliedAndListed) {
  RecordedTree tree;
  tree.add_file("/etc/modprobe.d/a.conf", "x");
  tree.add_file("/etc/modprobe.d-more", "x");
  tree.add_link("/etc/mtab", "../proc/self/mounts");
  auto system = make_recorded_system(tree);
  EXPECT_TRUE(system->is_directory("/etc/modprobe.d"));
  const auto entries = system->list("/etc");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "modprobe.d");
  EXPECT_EQ((*entries)[0].type, FileType::Directory);
  EXPECT_EQ((*entries)[1].name, "modprobe.d-more");
  EXPECT_EQ((*entries)[2].type, FileType::Link);
  EXPECT_EQ(system->list("/etc", 1)->size(), 1u);
  EXPECT_EQ(system->list("/none").error().code, ErrorCode::NotFound);
}

TEST(Recorded, LinksStayInside) {
  RecordedTree tree;
  tree.add_file("/a/file", "inside");
  tree.add_link("/a/up", "../../../../a/file");
  tree.add_link("/a/absolute", "/a/file");
  tree.add_link("/loop", "loop2");
  tree.add_link("/loop2", "/loop");
  tree.add_link("/empty", "");
  auto system = make_recorded_system(tree);
  EXPECT_EQ(system->read_file("/a/up").value(), "inside");
  EXPECT_EQ(system->read_file("/../../a/absolute").value(), "inside");
  EXPECT_EQ(system->real_path("/a/./up").value(), "/a/file");
  EXPECT_EQ(system->read_file("/loop").error().code, ErrorCode::Loop);
  EXPECT_EQ(system->read_file("/loop/x").error().code, ErrorCode::Loop);
  EXPECT_EQ(system->status("/loop", false)->type, FileType::Link);
  EXPECT_EQ(system->status("/empty").error().code, ErrorCode::NotFound);
  EXPECT_EQ(system->read_file("/a/file/").error().code, ErrorCode::NotFound);
  EXPECT_EQ(system->read_file("/a/file/..").error().code, ErrorCode::NotFound);
  EXPECT_EQ(system->read_link("/a/up").value(), "../../../../a/file");
  EXPECT_FALSE(system->read_link("/a/file"));
}

TEST(Recorded, RefusesWhatIsNoRegularFile) {
  RecordedTree tree;
  tree.add_device("/dev/nvidia0", FileType::CharDevice, 195, 0, 0660, 0, 44);
  tree.add_device("/pipe", FileType::Fifo, 0, 0, 0644);
  tree.add_file("/secret", "x");
  tree.nodes["/secret"].unreadable = true;
  auto system = make_recorded_system(tree);
  EXPECT_EQ(system->read_file("/dev/nvidia0").error().code, ErrorCode::NotRegular);
  EXPECT_EQ(system->read_head("/pipe", 10).error().code, ErrorCode::NotRegular);
  EXPECT_EQ(system->read_tail("/dev", 10).error().code, ErrorCode::NotRegular);
  EXPECT_EQ(system->read_file("/secret").error().code, ErrorCode::Denied);
  const auto status = system->status("/dev/nvidia0");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->device_major, 195u);
  EXPECT_EQ(status->mode, 0660u);
  EXPECT_EQ(status->gid, 44u);
  EXPECT_EQ(system->may_open("/dev/nvidia0").error().code, ErrorCode::NotAvailable);
}

TEST(Recorded, LimitsAndPositions) {
  RecordedTree tree;
  tree.add_file("/f", "0123456789");
  auto system = make_recorded_system(tree);
  EXPECT_EQ(system->read_file("/f", 9).error().code, ErrorCode::TooBig);
  EXPECT_EQ(system->read_file("/f", 10).value(), "0123456789");
  EXPECT_EQ(system->read_head("/f", 3).value(), "012");
  EXPECT_EQ(system->read_tail("/f", 3)->text, "789");
  EXPECT_TRUE(system->read_tail("/f", 3)->truncated);
  EXPECT_FALSE(system->read_tail("/f", 10)->truncated);
  auto reader = system->open("/f");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->read_at(8, 10).value(), "89");
  EXPECT_EQ((*reader)->read_at(11, 1).value(), "");
}

TEST(Recorded, AddingFollowsLinkedFolders) {
  RecordedTree tree;
  tree.add_file("/lib/modules/k/a.ko", "early");
  tree.add_link("/lib", "usr/lib");
  tree.add_file("/lib/modules/k/b.ko", "late");
  auto system = make_recorded_system(tree);
  EXPECT_EQ(system->read_file("/usr/lib/modules/k/a.ko").value(), "early");
  EXPECT_EQ(system->read_file("/lib/modules/k/b.ko").value(), "late");
  EXPECT_EQ(system->real_path("/lib/modules/k/b.ko").value(), "/usr/lib/modules/k/b.ko");
  tree.remove("/lib/modules");
  EXPECT_FALSE(make_recorded_system(tree)->exists("/usr/lib/modules"));
  EXPECT_EQ(tree.nodes.count("/lib"), 1u);
}

TEST(Recorded, ReadLineStripsTheEnd) {
  RecordedTree tree;
  tree.add_file("/model", std::string("NVIDIA Orin\0", 12));
  tree.add_file("/value", "D3cold \n\n");
  auto system = make_recorded_system(tree);
  EXPECT_EQ(system->read_line("/model").value(), "NVIDIA Orin");
  EXPECT_EQ(system->read_line("/value").value(), "D3cold");
}

}  // namespace
}  // namespace gpuvet
