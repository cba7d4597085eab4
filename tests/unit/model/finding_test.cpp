#include "model/finding.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

constexpr Worlds operator|(World a, World b) { return static_cast<Worlds>(static_cast<Worlds>(a) | static_cast<Worlds>(b)); }

TEST(Names, ComeBack) {
  for (int i = 0; i <= static_cast<int>(Layer::Wsl); ++i) {
    Layer layer{};
    EXPECT_TRUE(parse_layer(layer_name(static_cast<Layer>(i)), layer));
    EXPECT_EQ(layer, static_cast<Layer>(i));
  }
  for (const Severity s : {Severity::Note, Severity::Warning, Severity::Error}) {
    Severity out{};
    EXPECT_TRUE(parse_severity(severity_name(s), out));
    EXPECT_EQ(out, s);
  }
  for (int bit = 1; bit <= 32; bit *= 2) {
    World out{};
    EXPECT_TRUE(parse_world(world_name(static_cast<World>(bit)), out));
    EXPECT_EQ(out, static_cast<World>(bit));
  }
  Layer layer{};
  EXPECT_FALSE(parse_layer("none", layer));
  EXPECT_EQ(link_state_name(LinkState::NotNeeded), "not-needed");
  EXPECT_EQ(verdict_name(Verdict::Holds), "holds");
}

TEST(WorldsOf, NothingKnownIsBareMetal) { EXPECT_EQ(worlds_of(Machine()), static_cast<Worlds>(World::BareMetal)); }

TEST(WorldsOf, HypervisorIsVm) {
  Machine m;
  m.os.hypervisor = Fact<std::string>::known("kvm");
  EXPECT_EQ(worlds_of(m), static_cast<Worlds>(World::Vm));
}

TEST(WorldsOf, Wsl2IsNoVmThoughHyperVIsBelow) {
  Machine m;
  m.os.hypervisor = Fact<std::string>::known("hyperv");
  m.os.wsl = Fact<std::int64_t>::known(2);
  EXPECT_EQ(worlds_of(m), static_cast<Worlds>(World::Wsl2));
  m.os.wsl = Fact<std::int64_t>::known(1);
  EXPECT_EQ(worlds_of(m), static_cast<Worlds>(World::Wsl1));
}

TEST(WorldsOf, ContainerStandsAloneButForWsl) {
  Machine m;
  m.os.container = Fact<std::string>::known("docker");
  EXPECT_EQ(worlds_of(m), static_cast<Worlds>(World::Container));
  m.os.wsl = Fact<std::int64_t>::known(2);
  EXPECT_EQ(worlds_of(m), World::Container | World::Wsl2);
}

TEST(WorldsOf, Jetson) {
  Machine m;
  m.os.jetson = Fact<std::string>::known("# R36 (release), REVISION: 4.3");
  EXPECT_EQ(worlds_of(m), static_cast<Worlds>(World::Jetson));
}

}  // namespace
}  // namespace gpuvet
