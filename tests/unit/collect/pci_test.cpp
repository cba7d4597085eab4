#include <gtest/gtest.h>

#include "collect/collect.h"
#include "collect/pci_parts.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

TEST(PciText, Addresses) {
  EXPECT_TRUE(is_pci_address("0000:01:00.0"));
  EXPECT_TRUE(is_pci_address("10000:e1:00.7"));
  for (const char* bad : {"", "01:00.0", "0000:01:00.8", "0000:01:0g.0", "0000-01:00.0", "pci0000:00", "0000:01:00.0x", "zz00:01:00.0"}) EXPECT_FALSE(is_pci_address(bad)) << bad;
  EXPECT_EQ(addresses_in_path("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"), (std::vector<std::string>{"0000:00:01.0", "0000:01:00.0"}));
}

TEST(PciText, Resource) {
  const auto bars = parse_pci_resource(
      "0x00000000a2000000 0x00000000a2ffffff 0x0000000000040200\n"
      "0x0000000000000000 0x0000000fffffffff 0x000000002014220c\n"  // wanted, no address
      "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
      "0x0000007800000000 0x0000007801ffffff 0x000000000014220c\n");
  ASSERT_TRUE(bars);
  ASSERT_EQ(bars->size(), 3u);
  EXPECT_EQ((*bars)[0], (PciBar{0, 0xa2000000, 16u << 20, 0x40200}));
  EXPECT_EQ((*bars)[1], (PciBar{1, 0, 0, 0x2014220c}));
  EXPECT_EQ((*bars)[2].index, 3);
  EXPECT_FALSE(parse_pci_resource("0x0 0x0\n"));
  EXPECT_FALSE(parse_pci_resource("one two three\n"));
  EXPECT_TRUE(parse_pci_resource("")->empty());
  EXPECT_EQ(parse_pci_resource("0 ffffffffffffffff 200\n")->front().size, 0xffffffffffffffffu);
}

TEST(PciText, AerTotals) {
  EXPECT_EQ(parse_aer_total("RxErr 3\nBadTLP 4\nTOTAL_ERR_COR 7\n"), 7);
  EXPECT_EQ(parse_aer_total("RxErr 3\nBadTLP 4\n"), 7);
  EXPECT_EQ(parse_aer_total("A 9223372036854775807\nB 5\n"), 9223372036854775807);
  EXPECT_EQ(parse_aer_total("garbage"), std::nullopt);
}

Fact<std::int64_t> acs(std::map<std::uint32_t, std::uint32_t> space, std::uint32_t end = 0x1000) {
  return find_acs_control([&](std::uint32_t offset) -> std::optional<std::uint32_t> {
    if (offset >= end) return std::nullopt;
    return space[offset];
  });
}

TEST(Acs, WalksTheListAndEndsAlways) {
  EXPECT_TRUE(acs({{0x100, 0x14820001}, {0x148, 0x0001000d}, {0x14c, 0x001d005f}}).is(0x1d));
  EXPECT_TRUE(acs({{0x100, 0x00010001}}).is_absent());
  EXPECT_TRUE(acs({{0x100, 0x10010001}}).is_absent());                        // leads to itself
  EXPECT_TRUE(acs({{0x100, 0x20010001}, {0x200, 0x10010002}}).is_absent());   // a circle
  EXPECT_TRUE(acs({{0x100, 0xffffffff}}).is_absent());
  EXPECT_TRUE(acs({{0x100, 0xffc10001}}).is_absent());                        // past the end
  EXPECT_TRUE(acs({{0x100, 0x04010001}}).is_absent());                        // below the first
  EXPECT_TRUE(acs({}, 0x100).is_not_seen());                                  // only 256 bytes may be read
}

/// One function with the files that sysfs has for each.
void add_function(RecordedTree& tree, const std::string& real, const std::string& vendor, const std::string& device, const std::string& class_code) {
  const std::string folder = "/sys/devices/pci0000:00/" + real + "/";
  const std::string address = real.substr(real.rfind('/') + 1);
  tree.add_link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + real);
  tree.add_file(folder + "vendor", vendor + "\n");
  tree.add_file(folder + "device", device + "\n");
  tree.add_file(folder + "class", class_code + "\n");
  tree.add_file(folder + "resource", "");
}

Machine machine_of(const RecordedTree& tree) {
  auto system = make_recorded_system(tree);
  Machine machine;
  collect_pci(*system, {}, machine);
  return machine;
}

RecordedTree gpu_behind_a_switch() {
  RecordedTree tree;
  add_function(tree, "0000:00:01.0", "0x8086", "0xa70d", "0x060400");
  add_function(tree, "0000:00:01.0/0000:01:00.0", "0x1000", "0xc010", "0x060400");
  add_function(tree, "0000:00:01.0/0000:01:00.0/0000:02:00.0", "0x10de", "0x2684", "0x030000");
  add_function(tree, "0000:00:01.0/0000:01:00.0/0000:02:00.1", "0x10de", "0x22ba", "0x040300");
  add_function(tree, "0000:00:02.0", "0x8086", "0xa780", "0x030000");
  add_function(tree, "0000:00:1f.0", "0x8086", "0x7a04", "0x060100");
  add_function(tree, "0000:00:1c.0", "0x8086", "0x7a38", "0x060400");
  return tree;
}

const PciDevice* find(const Machine& machine, std::string_view address) {
  for (const PciDevice& device : *machine.pci.get()) {
    if (device.address == address) return &device;
  }
  return nullptr;
}

TEST(Pci, KeepsDisplaysNvidiaFunctionsAndTheBridgesAbove) {
  const Machine machine = machine_of(gpu_behind_a_switch());
  ASSERT_TRUE(machine.pci.is_known());
  EXPECT_EQ(machine.pci.get()->size(), 5u);
  EXPECT_EQ(find(machine, "0000:02:00.0")->parent, "0000:01:00.0");
  EXPECT_EQ(find(machine, "0000:01:00.0")->parent, "0000:00:01.0");
  EXPECT_EQ(find(machine, "0000:00:01.0")->parent, "");
  EXPECT_EQ(find(machine, "0000:00:1c.0"), nullptr);
  EXPECT_TRUE(find(machine, "0000:02:00.0")->driver.is_absent());
}

TEST(Pci, DetailsOfOneFunction) {
  RecordedTree tree = gpu_behind_a_switch();
  const std::string folder = "/sys/bus/pci/devices/0000:02:00.0/";
  tree.add_link(folder + "driver", "../../../../../bus/pci/drivers/vfio-pci");
  tree.add_link(folder + "iommu_group", "../../../../../kernel/iommu_groups/14");
  tree.add_file("/sys/kernel/iommu_groups/14/type", "DMA-FQ\n");
  tree.add_file(folder + "current_link_width", "63\n");
  tree.add_file(folder + "current_link_speed", "Unknown\n");
  tree.add_file(folder + "power_state", "D3cold\n");
  tree.add_file(folder + "enable", "0\n");
  tree.add_file(folder + "resource", "what\n");
  tree.add_file(folder + "aer_dev_fatal", "TOTAL_ERR_FATAL 2\n");
  tree.add_file(folder + "config", std::string(256, '\xff'));
  tree.add_file("/sys/bus/pci/devices/0000:02:00.1/uevent", "DRIVER=snd_hda_intel\nPCI_CLASS=40300\n");
  const Machine machine = machine_of(tree);
  const PciDevice& gpu = *find(machine, "0000:02:00.0");
  EXPECT_TRUE(gpu.driver.is("vfio-pci"));
  EXPECT_TRUE(gpu.iommu_group.is(14));
  EXPECT_TRUE(gpu.iommu_domain.is("DMA-FQ"));
  EXPECT_TRUE(gpu.link_width.is(63));
  EXPECT_TRUE(gpu.link_speed.is("Unknown"));
  EXPECT_TRUE(gpu.power_state.is("D3cold"));
  EXPECT_TRUE(gpu.enabled.is(false));
  EXPECT_TRUE(gpu.bars.is_not_seen());
  EXPECT_NE(gpu.bars.why().find("line 1"), std::string::npos);
  EXPECT_EQ(gpu.aer.get()->fatal, 2);
  EXPECT_TRUE(gpu.config_all_ones.is(true));
  EXPECT_TRUE(find(machine, "0000:02:00.1")->driver.is("snd_hda_intel"));  // a copy of sysfs without links
}

TEST(Pci, NoBusIsNotAnEmptyBus) {
  EXPECT_TRUE(machine_of({}).pci.is_not_seen());
  RecordedTree empty;
  empty.add_directory("/sys/bus/pci/devices");
  ASSERT_TRUE(machine_of(empty).pci.is_known());
  EXPECT_TRUE(machine_of(empty).pci.get()->empty());
}

TEST(Pci, GarbageIsLeftOut) {
  RecordedTree tree = gpu_behind_a_switch();
  tree.add_file("/sys/bus/pci/devices/0000:02:00.0/vendor", std::string("\xff\0\1", 3));
  tree.add_link("/sys/bus/pci/devices/0000:09:00.0", "/nowhere");
  tree.add_file("/sys/bus/pci/devices/readme", "x");
  EXPECT_EQ(find(machine_of(tree), "0000:02:00.0"), nullptr);
  EXPECT_EQ(find(machine_of(tree), "0000:09:00.0"), nullptr);
}

}  // namespace
}  // namespace gpuvet
