#pragma once
#include <string>

namespace gpuvet {

/// What was seen of one link of the chain.
struct LinkView {
  bool seen_good = false;  ///< its facts were seen and speak for it
  std::string detail;      ///< in few words that need no translation
};

}  // namespace gpuvet
