#include "text/text_readers.h"

#include <algorithm>

#include "text/kernel_log_text.h"
#include "text/printable.h"

namespace gpuvet {
namespace {

constexpr TextReader readers[] = {read_system, read_nvidia_smi, read_driver,   read_toolkits,
                                  read_python, read_containers, read_gpu_names};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

Origin origin_of(const PastedText& text, std::size_t line) {
  return {text.name, text.lines[line].number, text.lines[line].quoted};
}

const PasteSegment* segment_of(const PastedText& text, std::size_t line) {
  // They follow each other, each from its command's line (or its first line) on.
  const auto starts_behind = [](std::size_t at, const PasteSegment& segment) {
    return at < (segment.command.empty() ? segment.first : segment.line);
  };
  const auto next = std::upper_bound(text.segments.begin(), text.segments.end(), line, starts_behind);
  if (next == text.segments.begin()) return nullptr;
  const PasteSegment& segment = *std::prev(next);
  return line < std::max(segment.end, segment.first) ? &segment : nullptr;
}

bool in_container(const PastedText& text, std::size_t line) {
  const PasteSegment* segment = segment_of(text, line);
  return segment != nullptr && segment->place == PastePlace::Container;
}

bool in_windows(const PastedText& text, std::size_t line) {
  const PasteSegment* segment = segment_of(text, line);
  return segment != nullptr && segment->place == PastePlace::Windows;
}

bool runs(const PasteSegment& segment, std::string_view program) {
  // Variables in front of a program: some, not thousands.
  constexpr std::size_t longest = 4096;
  std::string_view rest = std::string_view(segment.command).substr(0, longest);
  for (int words = 0; !rest.empty() && words < 32; ++words) {
    const std::size_t end = rest.find(' ');
    std::string_view word = rest.substr(0, end);
    const bool assignment = word.find('=') != std::string_view::npos && word.find('/') > word.find('=');
    if (!assignment || word.starts_with('/')) {
      if (const std::size_t slash = word.find_last_of("/\\"); slash != std::string_view::npos) word.remove_prefix(slash + 1);
      if (word.ends_with(".exe")) word.remove_suffix(4);
      return word == program;
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

Observation& add_observation(Machine& machine, const PastedText& text, std::size_t line, std::string_view meaning,
                             std::initializer_list<std::pair<std::string_view, std::string>> values) {
  if (!machine.observations.is_known()) machine.observations = Fact<std::vector<Observation>>::known({});
  Observation observation;
  observation.signature = observation.meaning = meaning;
  for (const auto& [name, value] : values) observation.parameters.emplace(std::string(name), value);
  observation.place = in_container(text, line) ? "container" : in_windows(text, line) ? "windows" : "host";
  observation.origin = origin_of(text, line);
  auto& list = *machine.observations.get();
  list.push_back(std::move(observation));
  return list.back();
}

std::optional<std::string_view> value_behind(std::string_view line, std::string_view key, std::string_view ends) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = line.substr(at + key.size());
  if (!ends.empty()) value = value.substr(0, value.find_first_of(ends));
  return trimmed(value);
}

std::string_view version_word(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  if (text.size() > 1 && (text.front() == 'v' || text.front() == 'V') && is_digit(text[1])) text.remove_prefix(1);
  std::size_t end = 0;
  const auto part = [](char c) {
    return is_digit(c) || c == '.' || c == '+' || c == '_' || c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || !is_digit(text.front())) return {};
  while (end < text.size() && part(text[end])) ++end;
  while (end > 0 && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  return text.substr(0, end);
}

std::optional<std::uint16_t> device_of_name(const Knowledge& knowledge, std::string_view name) {
  name = trimmed(name);
  if (name.size() < 3 || name.size() > 80) return std::nullopt;
  // nvidia-smi cuts names: "NVIDIA GeForce RTX 30..."
  if (name.ends_with("...")) return std::nullopt;
  const std::string wanted = folded(name);
  std::vector<GpuIdentity> candidates = knowledge.gpus_named(name);
  const auto exact = [&](const GpuIdentity& gpu) {
    const std::string has = folded(gpu.name);
    return has == wanted || has == "nvidia" + wanted || "nvidia" + has == wanted;
  };
  std::vector<GpuIdentity> same;
  std::ranges::copy_if(candidates, std::back_inserter(same), exact);
  if (!same.empty()) candidates = std::move(same);
  if (candidates.empty()) {
    // "Tesla V100-SXM2-16GB" against a table with fewer or more words: drop words from the end.
    const std::size_t cut = name.find_last_of(" -");
    if (cut == std::string_view::npos || cut < 8) return std::nullopt;
    return device_of_name(knowledge, name.substr(0, cut));
  }
  for (const GpuIdentity& gpu : candidates)
    if (gpu.compute_capability != candidates.front().compute_capability || gpu.compute_capability == std::nullopt)
      return std::nullopt;
  return candidates.front().device_id;
}

void add_gpu(Machine& machine, const Knowledge& knowledge, const PastedText& text, std::size_t line, std::string_view name,
             std::string_view address, int index) {
  constexpr std::size_t most = 256;
  if (machine.pci.is_known() && machine.pci.get()->size() >= most) return;
  name = trimmed(name);
  std::string at(address);
  if (at.empty()) {
    char made[24];
    std::snprintf(made, sizeof made, "0000:%02x:00.0", (index < 0 ? 0 : index) + 1);
    at = made;
  }
  const auto device = device_of_name(knowledge, name);
  if (!device) {
    add_observation(machine, text, line, "gpu", {{"name", std::string(name)}, {"address", at}});
    return;
  }
  if (!machine.pci.is_known()) machine.pci = Fact<std::vector<PciDevice>>::known({}, origin_of(text, line));
  auto& devices = *machine.pci.get();
  const auto same_model = [&](const PciDevice& known) { return known.vendor == 0x10de && known.device == *device; };
  // The same GPU named twice is one GPU: "GPU 0: A100" of a report and the row of nvidia-smi, with an address, in either order.
  if (address.empty()) {
    if (index < 0 ? std::ranges::any_of(devices, same_model) : std::ranges::count_if(devices, same_model) > index) return;
  } else {
    const auto made_up = std::ranges::find_if(devices, [&](const PciDevice& known) {
      return same_model(known) && known.origin.text.find(known.address.substr(5, 5)) == std::string::npos;
    });
    if (made_up != devices.end() && std::ranges::none_of(devices, [&](const PciDevice& known) { return known.address == at; }))
      made_up->address = at, made_up->origin = origin_of(text, line);
  }
  for (const PciDevice& known : devices)
    if (known.address == at) return;
  PciDevice gpu;
  gpu.address = at;
  gpu.vendor = 0x10de;
  gpu.device = *device;
  gpu.class_code = 0x030200;
  gpu.origin = origin_of(text, line);
  devices.push_back(std::move(gpu));
}

PythonEnvironment& text_environment(Machine& machine) {
  if (!machine.python.environments.is_known()) machine.python.environments = Fact<std::vector<PythonEnvironment>>::known({});
  auto& list = *machine.python.environments.get();
  if (list.empty()) {
    PythonEnvironment environment;
    environment.kind = "unknown";
    environment.active = true;
    environment.found_by = "text";
    list.push_back(std::move(environment));
  }
  return list.front();
}

Machine machine_of_text(const PastedText& text, const SignatureMatcher& matcher, const Knowledge& knowledge) {
  Machine machine;
  machine.source = "text";
  machine.observations = Fact<std::vector<Observation>>::known(observe(text, matcher));
  for (const TextReader reader : readers) reader(text, knowledge, machine);
  return machine;
}

}  // namespace gpuvet
