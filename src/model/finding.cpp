#include "model/finding.h"

#include <array>
#include <utility>

namespace gpuvet {
namespace {

template <class Enum>
struct Name {
  Enum value;
  std::string_view text;
};

constexpr std::array<Name<Layer>, 10> layers{{{Layer::Hardware, "hardware"},
                                              {Layer::KernelModule, "kernel-module"},
                                              {Layer::DeviceNode, "device-node"},
                                              {Layer::UserDriver, "user-driver"},
                                              {Layer::Toolkit, "toolkit"},
                                              {Layer::RuntimeLibrary, "runtime-library"},
                                              {Layer::Framework, "framework"},
                                              {Layer::Application, "application"},
                                              {Layer::Container, "container"},
                                              {Layer::Wsl, "wsl"}}};
constexpr std::array<Name<Severity>, 3> severities{
    {{Severity::Note, "note"}, {Severity::Warning, "warning"}, {Severity::Error, "error"}}};
constexpr std::array<Name<World>, 6> worlds{{{World::BareMetal, "bare-metal"},
                                             {World::Vm, "vm"},
                                             {World::Container, "container"},
                                             {World::Wsl2, "wsl2"},
                                             {World::Wsl1, "wsl1"},
                                             {World::Jetson, "jetson"}}};
constexpr std::array<Name<LinkState>, 5> link_states{{{LinkState::Ok, "ok"},
                                                      {LinkState::Warning, "warning"},
                                                      {LinkState::Broken, "broken"},
                                                      {LinkState::Unknown, "unknown"},
                                                      {LinkState::NotNeeded, "not-needed"}}};
constexpr std::array<Name<Verdict>, 3> verdicts{
    {{Verdict::Holds, "holds"}, {Verdict::Broken, "broken"}, {Verdict::Unknown, "unknown"}}};

template <class Table, class Enum>
std::string_view name_in(const Table& table, Enum value) {
  for (const auto& row : table) {
    if (row.value == value) return row.text;
  }
  return "unknown";
}

template <class Table, class Enum>
bool parse_in(const Table& table, std::string_view name, Enum& out) {
  for (const auto& row : table) {
    if (row.text != name) continue;
    out = row.value;
    return true;
  }
  return false;
}

constexpr Worlds bit(World world) { return static_cast<Worlds>(world); }

}  // namespace

std::string_view layer_name(Layer layer) { return name_in(layers, layer); }
bool parse_layer(std::string_view name, Layer& out) { return parse_in(layers, name, out); }
std::string_view severity_name(Severity severity) { return name_in(severities, severity); }
bool parse_severity(std::string_view name, Severity& out) { return parse_in(severities, name, out); }
std::string_view world_name(World world) { return name_in(worlds, world); }
bool parse_world(std::string_view name, World& out) { return parse_in(worlds, name, out); }
std::string_view link_state_name(LinkState state) { return name_in(link_states, state); }
std::string_view verdict_name(Verdict verdict) { return name_in(verdicts, verdict); }

Worlds worlds_of(const Machine& machine) {
  const OperatingSystem& os = machine.os;
  Worlds found = 0;
  if (os.container.is_known()) found |= bit(World::Container);
  if (os.wsl.is(2)) found |= bit(World::Wsl2);
  if (os.wsl.is(1)) found |= bit(World::Wsl1);
  if (os.jetson.is_known()) found |= bit(World::Jetson);
  if (found != 0) return found;
  // WSL2 is a Hyper-V guest too, but nothing that is true of other guests' GPUs is true of it: only here can it be a VM.
  return os.hypervisor.is_known() ? bit(World::Vm) : bit(World::BareMetal);
}

}  // namespace gpuvet
