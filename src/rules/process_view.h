#pragma once
// What the dynamic loader makes of the processes that are judged: the forecast of each plan with the environment as it is, and
// without LD_LIBRARY_PATH and LD_PRELOAD. Computed once a run; pure.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loader/forecast.h"
#include "loader/symbol_conflicts.h"
#include "model/machine.h"
#include "model/purpose.h"

namespace gpuvet {

struct ProcessView {
  const ProcessPlan* plan = nullptr;
  Forecast now;                           ///< with Machine::environment
  Forecast plain;                         ///< without LD_LIBRARY_PATH and LD_PRELOAD
  std::vector<SymbolConflict> conflicts;  ///< of `now`; indices into its objects
  std::string label() const;              ///< "torch (/home/x/venv)", "/opt/llama-server"
};

/// All plans of a machine. Where the environment was not seen only those of programs, with the search that needs no variable:
/// what that finds may be another copy in truth, what it does not find may be there, and `conflicts` is empty.
std::vector<ProcessView> process_views(const Machine& machine);

/// NVIDIA's CUDA libraries by their stem: "libcublas", "libcudnn_ops", "libnvJitLink", "libnccl", …; not the driver's.
bool is_cuda_library(std::string_view stem);

/// The first object of the forecast whose file is this library ("libcudnn"), or null.
const LoadedObject* loaded_library(const Forecast& forecast, std::string_view stem);
std::vector<const LoadedObject*> loaded_libraries(const Forecast& forecast, std::string_view stem);
std::string_view stem_of(const LoadedObject& object);

/// An object by its index, or null: -1 is none.
const LoadedObject* object_at(const ProcessView& view, int index);
/// Brought by a step that the process can do without.
bool is_optional_part(const ProcessView& view, const LoadedObject& object);
/// Everything that the process cannot do without is found, and fits.
bool loads(const ProcessView& view);

/// Who asked for it first: its file's name, or the words of the step.
std::string asked_by(const ProcessView& view, const LoadedObject& object);

/// "libnvJitLink.so.12: /usr/local/cuda-12.1/lib64/libnvJitLink.so.12 (12.1), by LD_LIBRARY_PATH; asked for by libcusparse.so.12"
Origin quote(const ProcessView& view, const LoadedObject& object);

/// The folder of its path.
std::string folder_of_object(const LoadedObject& object);

/// Is this object there because of a variable of the environment?
bool by_variable(const LoadedObject& object);

}  // namespace gpuvet
