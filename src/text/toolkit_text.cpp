// Compilers in a text: nvcc --version, which nvcc, gcc --version, PATH.

#include <algorithm>
#include <string>

#include "text/printable.h"
#include "text/re2_text.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

struct Patterns {
  RE2 nvcc{R"re((?:Cuda compilation tools, release |Build cuda_)(\d+\.\d+)(?:, V([0-9.]+)|\.r)?)re"};
  RE2 nvcc_path{R"re(^\s*(?:nvcc is |nvcc: )?(/\S*?)/bin/nvcc\s*$)re"};
  RE2 gcc{R"re(^(?:gcc|g\+\+|cc|c\+\+|x86_64-\S+-gcc)(?:-\d+)? \([^)]*\) (\d+\.\d+\.\d+))re"};
  RE2 gcc_report{R"re(^\s*GCC version:\s*\([^)]*\)\s*(\d+(?:\.\d+)*))re"};
  RE2 toolkit_path{R"re((/usr/local/cuda-(\d+\.\d+)|/opt/cuda|/usr/local/cuda)\b)re"};
  RE2 runtime{R"re(^\s*CUDA runtime version:\s*([0-9.]+))re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

/// The program whose version a segment prints: "/usr/bin/nvcc --version | tail -2" → "/usr/bin/nvcc".
std::string program_of(const PasteSegment* segment) {
  if (segment == nullptr) return {};
  const std::string_view word = std::string_view(segment->command).substr(0, segment->command.find(' '));
  return word.ends_with("nvcc") ? std::string(word) : std::string();
}

/// `which -a nvcc`, `type -a nvcc`: every nvcc on PATH, the first one first.
bool lists_all(const PasteSegment* segment) {
  if (segment == nullptr) return false;
  const std::string_view command = segment->command;
  return command.find("which -a") != std::string_view::npos || command.find("type -a") != std::string_view::npos;
}

}  // namespace

void read_toolkits(const PastedText& text, const Knowledge&, Machine& machine) {
  const Patterns& p = patterns();
  std::vector<Toolkit> found;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece release, exact;
    if (RE2::PartialMatch(piece(line), p.nvcc, &release, &exact)) {
      const std::string program = program_of(segment_of(text, i));
      add_observation(machine, text, i, "nvcc-version",
                      {{"release", std::string(view(release))}, {"version", std::string(view(exact))}, {"program", program}});
      if (in_container(text, i) || in_windows(text, i)) continue;
      Toolkit toolkit;
      const std::size_t bin = program.rfind("/bin/nvcc");
      toolkit.path = bin == std::string::npos ? "" : program.substr(0, bin);
      if (toolkit.path == "/usr") toolkit.origin = "distribution";
      toolkit.real_path = toolkit.path;
      toolkit.version = Fact<std::string>::known(std::string(view(release)), origin_of(text, i));
      toolkit.nvcc = Fact<std::string>::known(program.empty() ? "nvcc" : program, origin_of(text, i));
      toolkit.nvcc_version =
          Fact<std::string>::known(std::string(exact.empty() ? view(release) : view(exact)), origin_of(text, i));
      found.push_back(std::move(toolkit));
      continue;
    }
    if (RE2::PartialMatch(piece(line), p.gcc, &release) || RE2::PartialMatch(piece(line), p.gcc_report, &release))
      add_observation(machine, text, i, "gcc-version", {{"version", std::string(view(release))}});
    if (RE2::PartialMatch(piece(line), p.nvcc_path, &release))
      add_observation(
          machine, text, i, "nvcc-path",
          {{"path", std::string(view(release)) + "/bin/nvcc"}, {"all", lists_all(segment_of(text, i)) ? "yes" : "no"}});
    if (RE2::PartialMatch(piece(line), p.runtime, &release))
      add_observation(machine, text, i, "nvcc-version",
                      {{"release", std::string(view(release))}, {"version", std::string(view(release))}});
  }
  // A version without a path is the nvcc that runs; it decides nothing about others that may be there.
  if (!found.empty() && !found.front().path.empty()) {
    const Origin origin = found.front().version.origin();
    machine.toolkits.found = Fact<std::vector<Toolkit>>::known(std::move(found), origin);
  }
}

}  // namespace gpuvet
