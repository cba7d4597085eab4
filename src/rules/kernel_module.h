#pragma once
// The rules of layer kernel-module, and what several of them ask.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/rule.h"

namespace gpuvet::kernel_module {

// ---- shared questions ----------------------------------------------------------------------------------------------

/// The nvidia module is surely not loaded: seen in the list of modules or by the missing /proc/driver/nvidia/version.
bool surely_unloaded(const RuleContext& context);
bool is_loaded(const RuleContext& context);

/// Release of the running kernel; empty when not seen.
std::string running_kernel(const RuleContext& context);
/// nvidia.ko for the running kernel; null: none, or not seen.
const ModuleFile* running_module_file(const RuleContext& context);
/// The module folders (else DKMS' own list) were seen and there is no nvidia.ko for the running kernel.
bool surely_no_module_for_running_kernel(const RuleContext& context);
/// A trace that the kernel part of a driver was installed here: a module for some kernel, a package that brings or builds
/// one, DKMS with its sources, the runfile's log. `why` receives it.
bool kernel_driver_was_installed(const RuleContext& context, Origin* why = nullptr);

/// GPUs that no other driver (vfio-pci, nouveau …) holds.
std::vector<const MachineGpu*> unclaimed_gpus(const RuleContext& context);
bool bound_to(const PciDevice& device, std::initializer_list<std::string_view> drivers);

/// DKMS entries of the driver (any of nvidia, nvidia-open, nvidia-current, nvidia-srv …) and failed builds of akmods.
std::vector<const DkmsModule*> dkms_entries(const RuleContext& context);
/// What DKMS' folder says; of a text the line of `dkms status`.
Origin quote_dkms(const RuleContext& context, std::string folder, std::string what);
/// The driver on this machine is compiled here: DKMS or akmods.
bool builds_modules(const RuleContext& context);
/// By akmods (RPM Fusion), so `dkms` can do nothing for it.
bool builds_with_akmods(const RuleContext& context);
/// The step that builds the module for `kernel` with what this machine has: akmods or DKMS. `again`: over one that is there.
Action build_module_action(const RuleContext& context, const std::string& kernel, bool again = false);
const InstalledKernel* running_kernel_folder(const RuleContext& context);

/// "550" of the driver that is loaded, else installed; "" when not known.
std::string branch_text(const RuleContext& context);
/// The branch as Ubuntu's package names carry it, by what is installed here: "580", "580-open", "580-server-open".
std::string ubuntu_branch(const RuleContext& context);
std::string os_id(const RuleContext& context);
bool os_is_like(const RuleContext& context, std::initializer_list<std::string_view> ids);

Origin quote_file(const ModuleFile& file, std::string text);
Origin quote_directive(const ModprobeDirective& directive);
Origin quote_kernel(const RuleContext& context);
void add(std::vector<Origin>& evidence, Origin origin);

// ---- the rules -----------------------------------------------------------------------------------------------------

using Judged = std::optional<Finding>;
Judged driver_not_installed(const RuleContext& context);
Judged module_not_loaded(const RuleContext& context);
Judged module_missing_for_running_kernel(const RuleContext& context);
Judged dkms_headers_missing(const RuleContext& context);
Judged dkms_build_failed(const RuleContext& context);
Judged module_vermagic_mismatch(const RuleContext& context);

Judged secure_boot_module_rejected(const RuleContext& context);
Judged nouveau_holds_the_gpu(const RuleContext& context);
Judged module_blacklisted(const RuleContext& context);
Judged prime_select_intel_blacklist(const RuleContext& context);

Judged driver_library_version_mismatch(const RuleContext& context);
Judged driver_installed_twice(const RuleContext& context);
Judged package_manager_blocked(const RuleContext& context);
Judged driver_package_branches_mixed(const RuleContext& context);

Judged open_module_on_pre_turing_gpu(const RuleContext& context);
Judged proprietary_module_on_blackwell(const RuleContext& context);
Judged open_module_bug_old_release(const RuleContext& context);
Judged driver_regression(const RuleContext& context);
Judged gsp_firmware_missing(const RuleContext& context);
Judged rm_init_adapter_failed(const RuleContext& context);

Judged xid119_gsp_timeout(const RuleContext& context);
Judged uvm_hmm_init_failure(const RuleContext& context);
Judged uvm_broken_after_suspend(const RuleContext& context);
Judged nvidia_module_parameter_harmful(const RuleContext& context);

}  // namespace gpuvet::kernel_module
