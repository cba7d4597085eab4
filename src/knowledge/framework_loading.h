#pragma once
// What frameworks ask the dynamic loader for when they are imported, by release: typed rows of data/facts/framework_loading.tsv.
// The table says what the code does; which files that means on a machine is a matter of collect/process_plan*.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.h"
#include "model/release_version.h"

namespace gpuvet {

/// One row. Names are written as
///   module:PKG.MODULE   an extension module, found as Python does
///   @FOLDER/FILE        a path below the first element of sys.path that has it; '*' and [0-9] in the last part; A|B: A or B
///   there NAME                a soname that the loader searches
/// and may hold {cuda} ("12.4"), {cuda_major} ("12"), {cuda_digits} ("124") of the framework's build.
struct LoadingRow {
  std::string framework;
  int step = 0;
  std::vector<std::string> names;  ///< of one step: the first that loads is taken
  std::string caller;              ///< written like a name; empty: the interpreter
  bool each = false;               ///< every name is a step of its own
  bool optional = false;
  bool global = false;
  bool on_failure = false;  ///< the names are opened when the step before failed, and that is tried once more
  bool in_order = false;    ///< of `each`: the first name that is not there ends the list
  bool import = false;      ///< the name is another framework, whose own rows stand here
  std::string condition;    ///< "" always, "cuda" (a CUDA build), "exists:NAME", joined by '&'
  std::string why, source;
};

/// The rows for one release of a framework, in the order of steps.
struct FrameworkLoading {
  std::vector<LoadingRow> rows;  ///< empty: the framework is not in the table
  bool release_known = true;     ///< false: no release is told, or a newer one than the table was checked for: its newest rows
  std::string checked_up_to;     ///< newest release that was read
};
FrameworkLoading framework_loading(const Knowledge& knowledge, std::string_view framework,
                                   const std::optional<ReleaseVersion>& release);
/// Names of the frameworks in the table.
std::vector<std::string> frameworks_with_loading(const Knowledge& knowledge);

}  // namespace gpuvet
