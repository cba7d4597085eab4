#pragma once
// Versions of the loaded module, the module on disk, the libraries and the packages, for the rules that compare them.

#include <optional>
#include <string>
#include <vector>

#include "rules/kernel_module.h"

namespace gpuvet::kernel_module {

/// Read from the file itself; nothing for a stub, a compat library, or when not read.
std::optional<DriverVersion> version_of(const DriverLibrary* library);
std::optional<DriverVersion> version_of(const ModuleFile* file);

/// The winning library that differs from the loaded module, libcuda first; null: none does.
const DriverLibrary* differing_library(const RuleContext& context);
/// Module (loaded, else the one that would be) and winning library are known to differ.
bool uses_differ(const RuleContext& context);
/// The newest version among the packages of this role.
std::optional<DriverVersion> packaged(const RuleContext& context, PackageRole role);

/// Driver packages that the package manager left in the middle.
std::vector<const Package*> unfinished_packages(const RuleContext& context);
/// The newest transaction that touched a driver package.
const PackageTransaction* last_driver_transaction(const RuleContext& context);
/// An upgrade stopped half-way: unfinished packages, or the last transaction failed.
bool half_done(const RuleContext& context);

Origin quote_library(const DriverLibrary& library);
Origin quote_loaded(const RuleContext& context);
Origin quote_transaction(const PackageTransaction& transaction);

}  // namespace gpuvet::kernel_module
