#pragma once
// Two traces of one target in different environments: which libraries change places.

#include <string>
#include <vector>

#include "render/trace.h"

namespace gpuvet {

struct ChangedLibrary {
  struct Place {
    std::string path;  ///< empty: not loaded
    std::string rule;  ///< in words
    std::string version;
    bool missing = false;
  };
  std::string name;  ///< soname
  Place before, after;
};

std::vector<ChangedLibrary> changed_libraries(const TraceReport& before, const TraceReport& after);

}  // namespace gpuvet
