#pragma once
// Shared by the files that make ProcessPlans.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "collect/object_files.h"
#include "collect/process_plan.h"
#include "knowledge/framework_loading.h"
#include "knowledge/knowledge.h"
#include "loader/forecast.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// What plans are made from.
struct PlanSource {
  SystemObjects& objects;
  System& system;
  const Machine& machine;
  const Knowledge& knowledge;
};

/// The forecast of a plan as far as it goes, in the machine's environment.
Forecast forecast_so_far(const PlanSource& source, const ProcessPlan& plan,
                         const std::map<std::string, std::string>& environment);

/// The machine's environment, and the same without LD_LIBRARY_PATH and LD_PRELOAD where it has them.
std::vector<std::map<std::string, std::string>> environments_of(const Machine& machine);

/// Steps that loaded libraries ask for themselves while they work: rows "library" of framework_loading.tsv, by the soname of the
/// caller. For what those bring too, a few rounds long. `so_far`: the plan's forecast, for who has it.
void add_library_steps(const PlanSource& source, ProcessPlan& plan, const FrameworkLoading& rows,
                       std::optional<Forecast> so_far = std::nullopt);
/// Those rows.
FrameworkLoading library_rows(const PlanSource& source);

/// CUDA, cuDNN, NCCL, driver and ggml libraries that a program and its own libraries have the names of: optional steps.
/// The plan's forecast where there were none.
std::optional<Forecast> add_dlopen_names(const PlanSource& source, ProcessPlan& plan, const FrameworkLoading& rows);

/// The plan of `import NAME` in an environment; an error when there is no such module.
tl::expected<ProcessPlan, PlanError> python_plan(const PlanSource& source, const PythonEnvironment& environment,
                                                 std::string_view name);

/// By prefix, name, last folder or interpreter; empty: the active one, else the first. Null: none, or several.
const PythonEnvironment* environment_named(const Machine& machine, std::string_view name);

/// Release of a CUDA library: of its own bytes, of libcudnn.so.9 those of libcudnn_graph beside it; empty: not known.
std::string release_of_library(const PlanSource& source, const LibraryFile& file);

/// Is this the soname of a library that comes with CUDA, cuDNN or NCCL?
bool is_cuda_library_name(std::string_view soname);

/// Libraries with CUDA in the folder that a program has for itself beside its own ("/usr/bin/ollama": /usr/lib/ollama/cuda_v12/
/// libggml-cuda.so): it, or a program that it starts, opens one of them by a path that is made at run time.
std::vector<std::string> parts_with_cuda(const PlanSource& source, const std::string& program);

/// The modules that packages of an environment were built for its torch (a plan of the kind "extensions"); nothing: there are
/// none. `lacking`: by path, torch's symbols that a module wants and this torch does not have.
std::optional<ProcessPlan> torch_extensions(const PlanSource& source, const PythonEnvironment& environment,
                                            std::map<std::string, std::vector<std::string>>& lacking);

/// Fills wanted_symbols and symbols of files of a view of which several copies differ, and of those that are linked against
/// functions that a driver's libcuda here lacks.
void add_wanted_symbols(const PlanSource& source, LoaderView& view);

/// Fills runtime_inside of a program's own files (and of a library that was asked for).
void add_static_runtimes(const PlanSource& source, const ProcessPlan& plan, LoaderView& view);

}  // namespace gpuvet
