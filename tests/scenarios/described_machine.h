#pragma once
// The described machines (NNN.json): whole machines with their answers, laid out in memory.

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet::test {

struct DescribedMachine {
  std::string path, title, kind, layer, world, purpose;
  std::vector<std::string> also_ok, must_not;
  RecordedTree tree;
  CollectOptions options;
  std::string skip;
};

tl::expected<DescribedMachine, std::string> load_described_machine(const std::string& path);

}  // namespace gpuvet::test
