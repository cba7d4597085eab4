#pragma once
// The order in which the objects of a forecast are drawn as a tree: each once in full, below the object that first asked for it.

#include <string>
#include <vector>

#include "loader/forecast.h"

namespace gpuvet {

struct TraceNode {
  enum class Kind : std::uint8_t { Object, Missing, Above, Below } kind = Kind::Object;
  int object = -1;                 ///< Object: index
  std::vector<std::string> names;  ///< Missing: the name; Above, Below: what is drawn elsewhere
  int parent = -1;                 ///< object whose child it is; -1: a root
  std::vector<bool> last;          ///< a level each: no sibling follows (so no line is drawn on)
};

/// Bounded by the objects and their DT_NEEDED lists; no recursion.
std::vector<TraceNode> trace_tree(const Forecast& forecast);

}  // namespace gpuvet
