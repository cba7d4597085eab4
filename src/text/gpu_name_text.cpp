// GPUs that a text only names: "Device: cuda:0 NVIDIA GeForce GTX 1060 6GB : cudaMallocAsync", "same on my RTX 5080".

#include <algorithm>
#include <optional>
#include <string>

#include "text/re2_text.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

// Names of few letters ("T4", "A100") count only behind their maker's name.
const RE2& name_pattern() {
  static const RE2 compiled(
      R"re(\b((?:(?:NVIDIA|GeForce) )*(?:GTX|RTX) ?\d{3,4}(?: ?(?:Ti|TI|ti))?(?: ?(?:SUPER|Super))?(?: D)?|(?:NVIDIA |Tesla )+(?:A10|A10G|A16|A30|A40|A100|B200|GB200|H20|H100|H200|K20|K40|K80|L4|L20|L40S?|M40|M60|P4|P40|P100|T4|V100)(?:-[A-Z0-9-]+)?|(?:NVIDIA )?(?:GeForce )?(?:GTX )?TITAN (?:Xp|X|V|RTX)|(?:NVIDIA )?(?:Quadro )?RTX (?:A\d{4}|PRO \d{4}))\b)re");
  return compiled;
}

bool may_name_gpu(std::string_view line) {
  for (const std::string_view word : {"TX", "Tesla", "NVIDIA", "TITAN"})
    if (line.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace

/// Told of as "gpu-capability", where no output shows the machine's GPUs and all names stand for one compute capability.
void read_gpu_names(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  constexpr int most_names = 64;
  if (machine.pci.is_known()) return;
  for (const Observation& known : *machine.observations.get())
    if (known.meaning == "gpu-capability") return;
  std::optional<ComputeCapability> only;
  std::size_t line = 0;
  std::string gpu;
  int names = 0;
  for (std::size_t i = 0; i < text.lines.size() && names < most_names; ++i) {
    if (!may_name_gpu(text.lines[i].text)) continue;
    StringPiece rest = piece(text.lines[i].text), name;
    while (names < most_names && RE2::FindAndConsume(&rest, name_pattern(), &name)) {
      ++names;
      const auto device = device_of_name(knowledge, view(name));
      if (!device) continue;
      const auto capability = knowledge.gpu(*device).compute_capability;
      if (!capability) continue;
      if (only && *only != *capability) return;
      if (!only) line = i, gpu = view(name);
      only = capability;
    }
  }
  if (only) add_observation(machine, text, line, "gpu-capability", {{"capability", only->text()}, {"gpu", gpu}, {"by", "name"}});
}

}  // namespace gpuvet
