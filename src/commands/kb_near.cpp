// What comes near to a question without an answer.

#include <algorithm>

#include "commands/kb_topics.h"
#include "knowledge/cuda_libraries.h"
#include "knowledge/table.h"

namespace gpuvet::kb {
namespace {

struct Candidate {
  std::size_t distance = 0;
  std::string text;
};

/// Levenshtein distance of two short texts; O(length²), lengths are bounded by the caller.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

void offer(std::vector<Candidate>& candidates, std::string_view question, std::string_view name, std::string text) {
  const std::string a = folded(question.substr(0, 60)), b = folded(name.substr(0, 60));
  if (a.empty() || b.empty()) return;
  const bool contains = a.size() > 2 && (b.find(a) != std::string::npos || a.find(b) != std::string::npos);
  const std::size_t far = contains ? 1 : distance(a, b);
  if (far <= std::max<std::size_t>(2, a.size() / 3)) candidates.push_back({far, std::move(text)});
}

std::vector<std::string> nearest(std::vector<Candidate> candidates, std::size_t most) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  std::vector<std::string> texts;
  for (Candidate& candidate : candidates) {
    if (texts.size() == most) break;
    if (std::find(texts.begin(), texts.end(), candidate.text) == texts.end()) texts.push_back(std::move(candidate.text));
  }
  return texts;
}

/// Numbers near to a number: of the rows' column, the closest by value.
std::vector<std::string> nearest_numbers(const Knowledge::Table& table, std::string_view column, int wanted, std::size_t most) {
  std::vector<Candidate> candidates;
  for (const auto& row : table.rows) {
    const auto value = number(table.cell(row, column));
    if (value)
      candidates.push_back({static_cast<std::size_t>(std::abs(static_cast<long>(*value) - wanted)), std::to_string(*value)});
  }
  return nearest(std::move(candidates), most);
}

std::vector<std::string> near_names(const Knowledge::Table& table, std::string_view column, std::string_view question,
                                    std::size_t most) {
  std::vector<Candidate> candidates;
  for (const auto& row : table.rows) offer(candidates, question, table.cell(row, column), std::string(table.cell(row, column)));
  return nearest(std::move(candidates), most);
}

std::vector<std::string> near_gpus(const Knowledge& knowledge, std::string_view question, std::size_t most) {
  std::vector<Candidate> candidates;
  const Knowledge::Table& devices = knowledge.table("pci_devices");
  for (const auto& row : devices.rows) {
    std::string_view name = devices.cell(row, "name");
    const std::string text(name);
    for (const std::string_view word : {"NVIDIA ", "GeForce "}) {
      if (name.starts_with(word)) name.remove_prefix(word.size());
    }
    offer(candidates, question, name, text);
  }
  return nearest(std::move(candidates), most);
}

std::vector<std::string> near_sonames(const Knowledge& knowledge, std::string_view question, std::size_t most) {
  std::vector<Candidate> candidates;
  for (const CudaLibrary& library : cuda_libraries(knowledge)) offer(candidates, question, library.soname, library.soname);
  return nearest(std::move(candidates), most);
}

}  // namespace

std::vector<std::string> near_matches(const Knowledge& knowledge, std::string_view topic, std::string_view question,
                                      std::size_t most) {
  const auto value = number(question.substr(0, question.find('.')));
  if (topic == "driver")
    return value ? nearest_numbers(knowledge.table("driver_branches"), "branch", *value, most) : std::vector<std::string>{};
  if (topic == "xid") return value ? nearest_numbers(knowledge.table("xid"), "code", *value, most) : std::vector<std::string>{};
  if (topic == "error") {
    return value ? nearest_numbers(knowledge.table("cuda_errors"), "code", *value, most)
                 : near_names(knowledge.table("cuda_errors"), "name", question, most);
  }
  if (topic == "cuda") return near_names(knowledge.table("cuda_releases"), "toolkit_version", question, most);
  if (topic == "sm") return near_names(knowledge.table("gpu_architectures"), "compute_capability", question, most);
  if (topic == "gpu") return near_gpus(knowledge, question, most);
  if (topic == "torch") return near_names(knowledge.table("torch_releases"), "release", question, most);
  if (topic == "tensorflow") return near_names(knowledge.table("tensorflow_releases"), "release", question, most);
  if (topic == "jax") return near_names(knowledge.table("jax_releases"), "jax_version", question, most);
  if (topic == "cudnn") return near_names(knowledge.table("cudnn"), "cudnn", question, most);
  if (topic == "framework") return near_names(knowledge.table("other_frameworks"), "name", question, most);
  if (topic == "soname") return near_sonames(knowledge, question, most);
  return {};
}

}  // namespace gpuvet::kb
