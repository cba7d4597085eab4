#pragma once
// Searches of a recorded run that found nothing and can matter: loaders look for many things that need not be there.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/load_record.h"

namespace gpuvet {

struct FailedLoad {
  std::string name;
  std::string requested_by;  ///< path; empty: not recorded
  std::string program;
  std::string stopped_at;  ///< a file that the loader stood at and did not map
  bool at_start = false;   ///< the program ended there
};

/// What a process ended of in its loader; and what was asked for at run time, was never found by that process, and is a library
/// of CUDA or the driver, or one that `is_named` (the command's own output) tells. Each name once, at most `limit`.
std::vector<FailedLoad> failed_loads(const LoadRecord& record, const std::function<bool(std::string_view)>& is_named,
                                     std::size_t limit);

}  // namespace gpuvet
