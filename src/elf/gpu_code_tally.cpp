#include "elf/gpu_code_tally.h"

#include <algorithm>
#include <utility>

namespace gpuvet {
namespace {

// The richest library known has 24,000 containers with 60 different contents.
constexpr std::size_t most_units = std::size_t{1} << 20, most_contents = std::size_t{1} << 14;
constexpr std::size_t most_targets = std::size_t{1} << 17;  // of all contents together
constexpr std::size_t most_sets = 64, most_places = 64;
constexpr const char* other_sets = "other sets";
constexpr const char* other_places = "other places";

const char* kind_name(CodeTarget::Kind kind) {
  switch (kind) {
    case CodeTarget::Kind::Sass:
      return "sass";
    case CodeTarget::Kind::Ptx:
      return "ptx";
    case CodeTarget::Kind::Lto:
      return "lto";
    case CodeTarget::Kind::Other:
      break;
  }
  return "other";
}

std::string isa_text(const CodeTarget& target) { return std::to_string(target.major) + '.' + std::to_string(target.minor); }

std::pair<int, int> isa_number(const std::string& text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) return {0, 0};
  return {std::atoi(text.c_str()), std::atoi(text.c_str() + dot + 1)};
}

void widen_isa(const std::string& newest, const std::string& oldest, GpuCodeTarget& target) {
  if (newest.empty()) return;
  if (target.ptx_isa.empty() || isa_number(newest) > isa_number(target.ptx_isa)) target.ptx_isa = newest;
  if (target.ptx_isa_oldest.empty() || isa_number(oldest) < isa_number(target.ptx_isa_oldest)) target.ptx_isa_oldest = oldest;
}

void add_count(const std::string& name, std::int64_t count, std::vector<CodeCount>& counts) {
  const auto at = std::ranges::find(counts, name, &CodeCount::name);
  if (at != counts.end())
    at->count += count;
  else
    counts.push_back({name, count});
}

void add_place(const std::string& name, std::int64_t count, std::vector<CodeCount>& places) {
  const bool known = std::ranges::find(places, name, &CodeCount::name) != places.end();
  add_count(known || places.size() < most_places ? name : other_places, count, places);
}

/// Most frequent first, at most 64.
void bound_sets(std::vector<CodeCount>& sets) {
  std::ranges::stable_sort(sets, [](const CodeCount& a, const CodeCount& b) {
    if ((a.name == other_sets) != (b.name == other_sets)) return b.name == other_sets;
    return a.count > b.count;
  });
  while (sets.size() > most_sets) {
    const auto last = sets.back().count;
    sets.pop_back();
    sets.back() = {other_sets, sets.back().count + last};
  }
}

std::string set_name(const CodeUnit& unit) {
  std::string name;
  std::string previous;
  for (const auto& [target, count] : unit.targets) {
    auto word = target.name();
    if (word == previous) continue;  // another PTX ISA version of the same target
    name += (name.empty() ? "" : " ") + word;
    previous = std::move(word);
  }
  return name;
}

using Sum = std::map<CodeTarget, std::pair<std::int64_t, std::int64_t>>;  // count, listed

void put_targets(const Sum& sum, GpuCodeFile& into) {
  // PTX ISA versions of one target fold into one line.
  for (const auto& [target, counts] : sum) {
    const auto name = target.name();
    if (into.targets.empty() || into.targets.back().arch != name || into.targets.back().kind != kind_name(target.kind))
      into.targets.push_back({kind_name(target.kind), name, 0, 0, "", ""});
    auto& line = into.targets.back();
    line.count += counts.first;
    line.listed += counts.second;
    if (target.kind == CodeTarget::Kind::Ptx) widen_isa(isa_text(target), isa_text(target), line);
  }
}

}  // namespace

std::string CodeTarget::name() const {
  std::string text = kind == Kind::Ptx ? "compute_" : kind == Kind::Lto ? "lto_" : "sm_";
  text += std::to_string(arch);
  if (variant != 0) text += variant;
  return text;
}

bool GpuCodeTally::add(std::uint64_t offset, CodeUnit unit) {
  if (found_.size() >= most_units) return false;
  const auto known = contents_.find(unit);
  if (known == contents_.end()) {
    if (contents_.size() >= most_contents || targets_ + unit.targets.size() > most_targets) return false;
    targets_ += unit.targets.size();
  }
  const auto next = static_cast<std::uint32_t>(contents_.size());
  const auto content = known != contents_.end() ? known->second : contents_.emplace(std::move(unit), next).first->second;
  found_.push_back({offset, content});
  return true;
}

void GpuCodeTally::summarize(const std::function<CodePlace(std::uint64_t)>& place_of, GpuCodeFile& into) const {
  struct Times {
    std::int64_t all = 0, listed = 0;
  };
  std::vector<Times> times(contents_.size());
  std::vector<const CodeUnit*> units(contents_.size());
  for (const auto& [unit, index] : contents_) units[index] = &unit;
  for (const auto& found : found_) {
    const auto place = place_of(found.offset);
    ++times[found.content].all;
    times[found.content].listed += place.listed ? 1 : 0;
    into.containers += units[found.content]->container ? 1 : 0;
    add_place(place.name, 1, into.places);
  }
  Sum sum;
  std::map<std::string, std::int64_t> sets, stubs;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i]->stub) into.stub_containers += times[i].all;
    if (units[i]->container && !units[i]->stub && !units[i]->targets.empty()) sets[set_name(*units[i])] += times[i].all;
    for (const auto& [target, count] : units[i]->targets) {
      if (units[i]->stub) {
        stubs[target.name()] += times[i].all * count;
        continue;
      }
      sum[target].first += times[i].all * count;
      sum[target].second += times[i].listed * count;
    }
  }
  put_targets(sum, into);
  for (const auto& [name, count] : stubs) into.stub_targets.push_back({name, count});
  for (const auto& [name, count] : sets) into.container_sets.push_back({name, count});
  bound_sets(into.container_sets);
}

void add_gpu_code(const GpuCodeFile& part, GpuCodeFile& total) {
  total.containers += part.containers;
  total.stub_containers += part.stub_containers;
  for (const auto& count : part.stub_targets) add_count(count.name, count.count, total.stub_targets);
  for (const auto& count : part.places) add_place(count.name, count.count, total.places);
  for (const auto& count : part.container_sets) add_count(count.name, count.count, total.container_sets);
  bound_sets(total.container_sets);
  for (const auto& target : part.targets) {
    const auto same = [&](const GpuCodeTarget& t) { return t.kind == target.kind && t.arch == target.arch; };
    const auto at = std::ranges::find_if(total.targets, same);
    if (at == total.targets.end()) {
      total.targets.push_back(target);
      continue;
    }
    at->count += target.count;
    at->listed += target.listed;
    widen_isa(target.ptx_isa, target.ptx_isa_oldest, *at);
  }
}

}  // namespace gpuvet
