#include "text/signature_match.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>

#include "knowledge/table.h"
#include "text/printable.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_observations = 512;

/// Literals that a line with a CUDA error has, whatever its number.
constexpr std::string_view error_words[] = {"CUDA_ERROR_",    "cudaError",    "CUDA error",   "Cuda error",  "cuda error",
                                            "CUDA Error",     "CUDA failure", "Cuda failure", "error code",  "cudaGetDeviceCount",
                                            "Error code",     "error=",       "cuInit",       "returned ",   "CUDA driver",
                                            "NumCudaDevices", "CUDA runtime", "Cuda driver",  "Cuda runtime"};

// Of lines that readers turn into facts: without these a long log would lose an Xid between its beginning and its end.
constexpr std::string_view reader_words[] = {"NVRM: Xid",
                                             "NVRM: ",
                                             "SXid (PCI:",
                                             "nvidia-nvlink",
                                             "nvidia-uvm",
                                             "nvidia-modeset",
                                             "NVRM: loading ",
                                             "nouveau ",
                                             "Linux version ",
                                             "PM: suspend",
                                             "AER: ",
                                             "vfio-pci",
                                             "NVIDIA-SMI ",
                                             "Driver Version",
                                             "Cuda compilation tools",
                                             "PyTorch version",
                                             "CUDA used to build",
                                             "Nvidia driver version",
                                             "Secure boot",
                                             "SecureBoot ",
                                             "GPU has fallen"};

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// The identifier that starts at `at`.
std::string_view name_at(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && is_name_char(line[end])) ++end;
  return line.substr(at, end - at);
}

bool speaks_of_cuda(std::string_view line) {
  for (const std::string_view word :
       {"CUDA", "cuda", "Cuda", "cuInit", "cuCtx", "cuDevice", "cuModule", "cuLaunch", "cuMem", "NVRTC"})
    if (line.find(word) != std::string_view::npos) return true;
  return false;
}

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(4 << 20);
  return options;
}

/// Prose that cites a message: `users who see "CUDA out of memory" too`. A log's value has a sign before its quote: `msg="…"`.
bool is_cited(std::string_view line, std::size_t at, std::size_t size) {
  const std::size_t open = line.rfind('"', at), end = at + size;
  if (open == std::string_view::npos || open < 2 || at - open > 6 || end >= line.size() || line[end] != '"') return false;
  const char before = line[open - 2];
  return line[open - 1] == ' ' && (std::isalpha(static_cast<unsigned char>(before)) != 0 || before == ',');
}

}  // namespace

struct SignatureMatcher::Patterns {
  explicit Patterns(std::size_t count) : compiled(count) {}
  /// Compiled when a line first needs it.
  const RE2& get(std::size_t index, std::string_view pattern) {
    if (!compiled[index]) compiled[index] = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), quiet());
    return *compiled[index];
  }
  std::vector<std::unique_ptr<RE2>> compiled;
  RE2 number{
      R"((?:[Ee]rror(?: code)?|CUDA error|Cuda error|CUDA Error|returned|status|failed with|code|cuInit(?:\(0\))?)\s*(?:was|is|number|code)?\s*[:=(\[#]?\s*(\d{1,5})\b)",
      quiet()};
};

SignatureMatcher::SignatureMatcher(const Knowledge& knowledge)
    : knowledge_(knowledge), signatures_(all_signatures()), patterns_(std::make_unique<Patterns>(signatures_.size())) {
  std::vector<std::pair<std::string, std::uint32_t>> literals;
  for (std::size_t i = 0; i < signatures_.size(); ++i)
    for (const std::string_view literal : signatures_[i].literals)
      literals.emplace_back(std::string(literal), static_cast<std::uint32_t>(i));
  // Numbers behind the signatures: CUDA errors. Each word has its own, so that a common one does not use up the room of others.
  auto errors = static_cast<std::uint32_t>(signatures_.size());
  for (const std::string_view word : error_words) literals.emplace_back(std::string(word), errors++);
  const Knowledge::Table& messages = knowledge.table("cuda_error_messages");
  // Without the first letter, which may be a capital.
  for (const auto& row : messages.rows) literals.emplace_back(std::string(messages.cell(row, "text").substr(1)), errors++);
  for (const std::string_view word : reader_words) literals.emplace_back(std::string(word), errors++);
  literals_ = LiteralSet(std::move(literals));
}

SignatureMatcher::~SignatureMatcher() = default;

bool SignatureMatcher::matches(const Signature& signature, std::string_view line) const {
  const auto index = static_cast<std::size_t>(&signature - signatures_.data());
  if (index >= signatures_.size()) return false;
  const bool literal =
      std::ranges::any_of(signature.literals, [&](std::string_view l) { return line.find(l) != std::string_view::npos; });
  return literal && RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), patterns_->get(index, signature.pattern));
}

std::vector<Observation> SignatureMatcher::match(std::string_view line) const {
  std::vector<Observation> found;
  std::vector<std::uint32_t> candidates;
  literals_.all_in(line, candidates);
  for (const std::uint32_t index : candidates) {
    if (index >= signatures_.size()) {  // all behind it are too
      match_errors(line, found);
      break;
    }
    const Signature& signature = signatures_[index];
    const RE2& pattern = patterns_->get(index, signature.pattern);
    if (!pattern.ok()) continue;
    std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern.NumberOfCapturingGroups()) + 1);
    const re2::StringPiece subject(line.data(), line.size());
    if (!pattern.Match(subject, 0, line.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) continue;
    Observation observation;
    observation.signature = signature.id;
    observation.meaning = signature.observes;
    for (const SignatureParameter& fixed : signature.with) observation.parameters.emplace(fixed.name, fixed.value);
    for (const auto& [number, name] : pattern.CapturingGroupNames()) {
      const re2::StringPiece& group = groups[static_cast<std::size_t>(number)];
      if (group.data() != nullptr && !group.empty())
        observation.parameters.emplace(name, printable(std::string_view(group.data(), group.size()), 200));
    }
    if (observation.meaning == "cuda-error") make_canonical(observation);
    found.push_back(std::move(observation));
  }
  return found;
}

/// A number that a pattern took from a line: old ones become today's; the name is added.
void SignatureMatcher::make_canonical(Observation& observation) const {
  const auto code = observation.parameters.find("code");
  if (code == observation.parameters.end()) return;
  if (const auto* row = knowledge_.table("cuda_old_error_numbers").find("old_code", code->second);
      row != nullptr && knowledge_.cuda_error(std::atoi(code->second.c_str())).empty())
    code->second = std::string(knowledge_.table("cuda_old_error_numbers").cell(*row, "code"));
  observation.parameters.emplace("name", canonical_cuda_error_name(knowledge_, std::atoi(code->second.c_str())));
}

std::string canonical_cuda_error_name(const Knowledge& knowledge, int code) {
  std::string name;
  for (const CudaError& error : knowledge.cuda_error(code)) {
    if (error.api == "runtime") return error.name;
    if (name.empty()) name = error.name;
  }
  return name;
}

/// Where the message stands; programs that print it as a sentence begin it with a capital.
std::size_t find_message(std::string_view line, std::string_view message) {
  const std::size_t at = line.find(message);
  if (at != std::string_view::npos || message.empty() || message.front() < 'a' || message.front() > 'z') return at;
  std::string sentence(message);
  sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  return line.find(sentence);
}

/// By name, by message, and by number where the line speaks of CUDA. The message is surer than the number: numbers of the
/// runtime changed in CUDA 10.1.
void SignatureMatcher::match_errors(std::string_view line, std::vector<Observation>& found) const {
  const auto add = [&](int code, std::string_view how) {
    if (code <= 0) return;
    const std::string number = std::to_string(code);
    const bool known = std::ranges::any_of(found, [&](const Observation& o) {
      const auto code_of = o.parameters.find("code");
      return o.meaning == "cuda-error" && code_of != o.parameters.end() && code_of->second == number;
    });
    if (known) return;
    Observation observation;
    observation.signature = "cuda-error-" + number;
    observation.meaning = "cuda-error";
    observation.parameters = {{"code", number}, {"name", canonical_cuda_error_name(knowledge_, code)}, {"by", std::string(how)}};
    found.push_back(std::move(observation));
  };
  bool named = false;
  for (const std::string_view start : {"CUDA_ERROR_", "cudaError"}) {
    for (std::size_t at = line.find(start); at != std::string_view::npos; at = line.find(start, at + start.size())) {
      if (at > 0 && is_name_char(line[at - 1])) continue;
      for (const CudaError& error : knowledge_.cuda_error_named(name_at(line, at))) {
        add(error.code, "name");
        named = true;
        break;
      }
    }
  }
  if (named) return;
  const bool cuda = speaks_of_cuda(line);
  const Knowledge::Table& messages = knowledge_.table("cuda_error_messages");
  std::size_t longest = 0;
  int code = 0;
  for (const auto& row : messages.rows) {
    const std::string_view text = messages.cell(row, "text");
    if (text.size() <= longest || (messages.cell(row, "alone") != "yes" && !cuda)) continue;
    const std::size_t at = find_message(line, text);
    if (at == std::string_view::npos) continue;
    // "out of memory" is a message of its own; "an out of memory situation" is prose.
    if (at > 0 && is_name_char(line[at - 1])) continue;
    if (at + text.size() < line.size() && is_name_char(line[at + text.size()])) continue;
    if (is_cited(line, at, text.size())) continue;
    longest = text.size();
    code = std::atoi(std::string(messages.cell(row, "code")).c_str());
  }
  if (code != 0) return add(code, "message");
  if (!cuda) return;
  int number = 0;
  re2::StringPiece rest(line.data(), line.size());
  // "cuInit(0) returned 999": 0 is no error.
  while (number == 0 && RE2::FindAndConsume(&rest, patterns_->number, &number)) {
  }
  if (number == 0) return;
  const Knowledge::Table& old = knowledge_.table("cuda_old_error_numbers");
  if (!knowledge_.cuda_error(number).empty()) return add(number, "number");
  if (const auto* row = old.find("old_code", std::to_string(number)))
    add(std::atoi(std::string(old.cell(*row, "code")).c_str()), "number");
}

std::vector<Observation> observe(const PastedText& text, const SignatureMatcher& matcher) {
  std::vector<Observation> all;
  std::map<std::string, std::size_t> known;  // signature and parameters → index
  const auto place_of = [&](std::size_t line) {
    for (const PasteSegment& segment : text.segments) {
      if (line < segment.line && line < segment.first) continue;
      if (line >= segment.end && line != segment.line) continue;
      return segment.place == PastePlace::Container ? "container" : segment.place == PastePlace::Windows ? "windows" : "host";
    }
    return "host";
  };
  const auto take = [&](std::vector<Observation> found, std::size_t index) {
    for (Observation& observation : found) {
      std::string key = observation.signature;
      for (const auto& [name, value] : observation.parameters) key += "\n" + name + "=" + value;
      const auto [at, fresh] = known.emplace(std::move(key), all.size());
      if (!fresh) {
        ++all[at->second].count;
        continue;
      }
      if (all.size() == most_observations) {
        known.erase(at);
        continue;
      }
      observation.place = place_of(index);
      observation.origin = {text.name, text.lines[index].number, text.lines[index].quoted};
      all.push_back(std::move(observation));
    }
  };
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    auto found = matcher.match(line);
    // What a terminal or a mail program broke in two: matches of the joined lines that neither half has.
    if (i + 1 < text.lines.size() && !text.lines[i + 1].gap_before && (line.size() >= 40 || line.ends_with("symbol:"))) {
      const std::string& next = text.lines[i + 1].text;
      const auto in_next = matcher.match(next);
      for (const char* glue : {"", " "}) {
        for (Observation& joined : matcher.match(line + glue + std::string(trimmed(next)))) {
          const auto same = [&](const Observation& o) { return o.signature == joined.signature; };
          // A number at the end of one line says nothing about the next.
          if (const auto by = joined.parameters.find("by"); by != joined.parameters.end() && by->second == "number") continue;
          if (std::ranges::none_of(found, same) && std::ranges::none_of(in_next, same)) found.push_back(std::move(joined));
        }
      }
    }
    take(std::move(found), i);
  }
  return all;
}

}  // namespace gpuvet
