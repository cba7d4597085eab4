#pragma once
// What a process asks its dynamic loader for, step by step: of a program or library by its own bytes, of a Python framework by
// what its releases are known to do (data/facts/framework_loading.tsv). Nothing is run.

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "collect/collect.h"
#include "collect/object_files.h"
#include "knowledge/knowledge.h"
#include "model/machine.h"
#include "model/purpose.h"
#include "system/system.h"

namespace gpuvet {

/// Why there is no plan. Words for it: commands/plan_words.h.
struct PlanError {
  enum class Kind : std::uint8_t {
    NotFound,            ///< `path` is not there
    Folder,              ///< it is a folder
    NotRegular,          ///< a FIFO, socket or device
    Unreadable,          ///< `detail`: why
    NotElf,              ///< no program and no library
    ObjectFile,          ///< no process loads it
    PythonScript,        ///< a .py file without "#!": what it imports has to be asked for
    NoInterpreter,       ///< a script; `detail`: its interpreter, which is not there
    InterpreterUnknown,  ///< a script for `detail`, which is looked up on a PATH that is not known
    NoFolder,            ///< a relative path where no working folder is known
    NoModule,            ///< "python:" without a name
    NotLookedAt,         ///< no Python environment was looked at
    NoneInUse,           ///< no Python environment is in use
    NoEnvironment,       ///< not one Python environment is called `path`
    NoPython,            ///< the environment `path` has no interpreter
    NotInstalled,        ///< module `path` is not in the environment `detail`
  } kind = Kind::NotFound;
  std::string path, detail;
};

/// The plan of a target:
/// - a path: a program, a script (its interpreter is the process, that is told among `problems`) or a library (kind "library");
///   a relative one counts from the working folder of a live host
/// - python:NAME[@ENV]: a framework or a module that has extension modules; ENV is an environment's name or prefix
tl::expected<ProcessPlan, PlanError> plan_for_target(System& system, const Machine& machine, std::string_view target);
/// With knowledge of its own (an overlay), and a memory of files that a forecast will ask for again.
tl::expected<ProcessPlan, PlanError> plan_for_target(SystemObjects& objects, System& system, const Machine& machine,
                                                     const Knowledge& knowledge, std::string_view target);

/// The file that a bare name means on a list like PATH: no folder, by absolute elements only; empty: none.
std::string find_on_path(System& system, std::string_view list, std::string_view name);

/// Fills machine.loader.plans for what has to work, and machine.loader with every file that their forecasts open: with this
/// machine's environment, and without LD_LIBRARY_PATH and LD_PRELOAD. Reads nothing where no framework is and none was asked for.
/// An error only where a program that was asked for by its path has no plan.
tl::expected<void, PlanError> collect_process_plans(System& system, Machine& machine, const Purpose& purpose);

}  // namespace gpuvet
