#pragma once
// A scenario: a text file that describes a machine and what must be found on it. The format is in README.md beside this file.

#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet::test {

struct Expectations {
  bool healthy = false;
  std::string root;                      ///< empty: not asked
  std::vector<std::string> findings;     ///< kinds that must be there
  std::vector<std::string> notes;        ///< kinds that must be there as notes
  std::vector<std::string> absent;       ///< kinds that must not be there
  std::vector<std::string> evidence;     ///< texts that the root cause's evidence must contain
  std::vector<std::string> no_steps;     ///< and texts that none may contain
  std::vector<std::string> no_consequences;  ///< kinds that are found and do not follow from the root cause
  std::vector<std::string> steps;        ///< texts that a step of the root cause's repair must contain
  std::string variant;                   ///< of the root cause
  std::string verdict;
};

struct Scenario {
  std::string path;
  RecordedTree tree;
  CollectOptions options;
  std::string purpose;
  Expectations expect;
  std::string skip;  ///< why it cannot run here (a genuine vendor file is missing); empty: it can
};

/// Errors are "path:line: message".
tl::expected<Scenario, std::string> load_scenario(const std::string& path);

}  // namespace gpuvet::test
