#include "described_machine.h"

#include <fstream>

#include <nlohmann/json.hpp>

namespace gpuvet::test {
namespace {

using nlohmann::json;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Device numbers in some descriptions are JSON booleans; mknod takes them as 0 and 1, and so do we.
std::uint32_t number(const json& value) { return value.is_boolean() ? (value.get<bool>() ? 1u : 0u) : value.get<std::uint32_t>(); }

void add_nodes(DescribedMachine& machine, const json& nodes) {
  for (const auto& [path, node] : nodes.items()) {
    const std::string kind = node.at(0);
    const FileType type = kind == "b" ? FileType::BlockDevice : kind == "p" ? FileType::Fifo : FileType::CharDevice;
    const auto mode = static_cast<std::uint32_t>(std::stoul(node.at(3).get<std::string>(), nullptr, 8));
    const bool owned = node.size() > 5;
    machine.tree.add_device("/" + path, type, number(node.at(1)), number(node.at(2)), mode, owned ? number(node.at(4)) : 0, owned ? number(node.at(5)) : 0);
  }
}

/// A member that is an object, or an empty one: descriptions leave out what they do not need.
const json& object(const json& j, const char* key) {
  static const json empty = json::object();
  return j.contains(key) ? j.at(key) : empty;
}

void add_tree(DescribedMachine& machine, const json& j) {
  for (const json& path : object(j, "dirs")) machine.tree.add_directory("/" + path.get<std::string>());
  for (const auto& [path, text] : object(j, "files").items()) machine.tree.add_file("/" + path, text.get<std::string>());
  for (const auto& [path, hex] : object(j, "hex").items()) machine.tree.add_file("/" + path, from_hex(hex.get<std::string>()));
  for (const auto& [path, target] : object(j, "links").items()) machine.tree.add_link("/" + path, target.get<std::string>());
  add_nodes(machine, object(j, "nodes"));
  for (const auto& [path, mode] : object(j, "modes").items()) {
    const auto node = machine.tree.nodes.find("/" + path);
    if (node != machine.tree.nodes.end()) node->second.mode = static_cast<std::uint32_t>(std::stoul(mode.get<std::string>(), nullptr, 8));
  }
  if (!object(j, "packages").empty()) machine.skip = "needs genuine vendor packages";
}

}  // namespace

tl::expected<DescribedMachine, std::string> load_described_machine(const std::string& path) {
  try {
    std::ifstream in(path);
    const json j = json::parse(in);
    DescribedMachine machine;
    machine.path = path;
    const auto text = [&](const char* key) { return j.contains(key) && j.at(key).is_string() ? j.at(key).get<std::string>() : std::string(); };
    machine.title = text("title");
    machine.kind = j.at("kind");
    machine.layer = text("layer");
    machine.world = text("world");
    machine.purpose = text("purpose");
    machine.also_ok = j.value("also_ok", std::vector<std::string>{});
    machine.must_not = j.value("must_not", std::vector<std::string>{});
    machine.options.has_environment = true;
    machine.options.environment = j.value("environ", std::map<std::string, std::string>{});
    add_tree(machine, j);
    return machine;
  } catch (const std::exception& error) {
    return tl::unexpected(path + ": " + error.what());
  }
}

}  // namespace gpuvet::test
