#pragma once
// The loader's rules from a Machine alone, for forecasts on a snapshot: what collect/loader_rules.cpp reads from the loader's own
// bytes, as far as the machine's view keeps it.

#include <string>
#include <string_view>

#include "loader/forecast.h"
#include "model/machine.h"

namespace gpuvet {

/// Kind of a plan that is no process: the compiled modules of packages that were built for an environment's torch, a step each.
inline constexpr std::string_view extensions_kind = "extensions";
/// What such a step says of whose module it is, and the other way round; empty: it says something else.
std::string extension_words(std::string_view package, std::string_view version);
struct ExtensionOwner {
  std::string package, version;
};
ExtensionOwner owner_of_extension(const LoadStep& step);

/// A program or a single library, which a user asks for by its path.
inline bool is_program_plan(const ProcessPlan& plan) { return plan.kind == "program" || plan.kind == "library"; }

/// The program's file; of a library that file, which stands in the place of the program.
std::string main_path_of(const ProcessPlan& plan);

/// `program`: its interpreter or its C library decides glibc or musl; null: the machine's own.
LoaderRules machine_loader_rules(const Machine& machine, const LibraryFile* program);

}  // namespace gpuvet
