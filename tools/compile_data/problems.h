#pragma once
// What is wrong with data/: every problem is collected, so that one run tells all of them.

#include <cstddef>
#include <string>
#include <vector>

namespace compile_data {

class Problems {
 public:
  void add(const std::string& path, std::size_t line, const std::string& message) {
    lines_.push_back(path + ":" + std::to_string(line) + ": " + message);
  }
  bool none() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace compile_data
