#pragma once
// Which files a new process will map: the search of glibc's (and musl's) dynamic loader as a pure function of an ObjectSource,
// the rules of the machine's loader, and an environment. docs/loader.md explains the rules with their sources.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loader/object_source.h"
#include "model/machine.h"

namespace gpuvet {

/// What the loader itself and its machine bring along.
struct LoaderRules {
  enum class Kind : std::uint8_t { Glibc, Musl } kind = Kind::Glibc;
  int glibc_minor = 0;   ///< 36 of glibc 2.36; 0: not known, then the newest rules. Up to 2.36 tls/, haswell/ … are tried
  std::string platform;  ///< $PLATFORM, AT_PLATFORM: "x86_64"; "haswell" for glibc before 2.37 on such a CPU
  std::string lib;       ///< $LIB: "lib/x86_64-linux-gnu", "lib64", "lib"
  std::vector<std::string> defaults;   ///< built-in folders in order
  std::vector<std::string> hwcaps;     ///< glibc-hwcaps levels that this CPU serves, best first
  std::vector<std::string> preload;    ///< /etc/ld.so.preload
  std::vector<std::string> musl_path;  ///< /etc/ld-musl-ARCH.path, else musl's defaults
  std::string working_directory;       ///< for relative elements; empty: not known, then they are passed over and told
  bool secure = false;                 ///< AT_SECURE: a set-user-ID program
  /// Names of the old sub-folders below tls/ and $PLATFORM, first ones first: "avx512_1", "x86_64". Of glibc before 2.37.
  std::vector<std::string> legacy_hwcaps;
  int isa_level = 0;          ///< x86-64 level of this CPU, 1 … 4; 0: not known, then files that ask for one are taken
  std::string loader_path;    ///< the interpreter of this machine, for targets that name none: "/lib64/ld-linux-x86-64.so.2"
  bool want_tried = true;     ///< fill LoadedObject::tried; a missing library's places are always told
  bool want_shadows = false;  ///< fill LoadedObject::shadows: the search goes on behind the winner
};

/// A place that was asked for a library.
struct TriedPlace {
  std::string path;
  std::string rule;  ///< as LoadedObject::rule
  std::string why;   ///< "not there", "32-bit", "aarch64", "unreadable", "CPU level x86-64-v4", …
};

/// Another copy of the same library that the search would have come to later.
struct ShadowedCopy {
  const LibraryFile* file = nullptr;
  std::string path;
  std::string rule;
};

struct LoadedObject {
  std::string name;  ///< as it was asked for: "libcudart.so.12", or a path
  std::string path;  ///< as the loader opens it (l_name)
  const LibraryFile* file = nullptr;
  /// "program", "LD_PRELOAD", "ld.so.preload", "RPATH", "RPATH of FILE" (inherited), "LD_LIBRARY_PATH", "RUNPATH", "ld.so.cache",
  /// "default", "path" (the name has a slash), "loader" (the interpreter itself), "musl path".
  std::string rule;
  std::string rule_detail;        ///< the element that led there, as written: "$ORIGIN/../lib"
  int loader = -1;                ///< index of the object that first asked for it; -1: the program or a step
  int step = -1;                  ///< index of the plan's step that brought it; -1: start-up
  bool global = true;             ///< its symbols are in the global scope
  std::vector<int> needed;        ///< indices of what its DT_NEEDED became, in order; -1: missing
  std::vector<TriedPlace> tried;  ///< before it was found
  std::vector<ShadowedCopy> shadows;
};

struct MissingLibrary {
  std::string name;
  int needed_by = -1;  ///< object; -1: the step itself
  int step = -1;
  bool optional = false;  ///< of an optional step, or to be preloaded: the process goes on
  /// Path of the object that needs it. A step that fails takes its objects away again; then `needed_by` is -1 and this still
  /// told.
  std::string needed_by_path;
  std::vector<TriedPlace> tried;
  /// The loader ended with an error at this file instead of going on ("invalid ELF header", "file too short"); empty: not found.
  std::string blocked_by, error;
};

/// What became of one step.
struct StepOutcome {
  bool loaded = false;
  std::string name;  ///< the one of LoadStep::names that was taken
  int object = -1;
  bool by_after_failure = false;  ///< only after LoadStep::after_failure
};

struct Forecast {
  std::vector<LoadedObject> objects;  ///< in the order of the link map, the program first, the interpreter (loader) included
                                      ///< where it is mapped as a library
  std::vector<MissingLibrary> missing;
  std::vector<StepOutcome> steps;    ///< one each of the plan's
  std::vector<std::string> unknown;  ///< what could not be decided: relative elements, an unknown $PLATFORM, …
  bool starts() const;               ///< nothing that start-up needs is missing
};

/// O(objects × search folders). At most 4,096 objects.
Forecast forecast(ObjectSource& source, const LoaderRules& rules, const ProcessPlan& plan,
                  const std::map<std::string, std::string>& environment);

}  // namespace gpuvet
