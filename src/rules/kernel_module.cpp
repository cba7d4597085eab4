// The list of the layer's rules, the more specific first, and the questions that several of them ask.

#include "rules/kernel_module.h"

#include <algorithm>
#include <array>

#include "model/module_name.h"

namespace gpuvet {

std::span<const Rule> kernel_module_rules() {
  using namespace kernel_module;
  static constexpr std::array rules = std::to_array<Rule>({
      {"package-manager-blocked", package_manager_blocked},
      {"driver-not-installed", driver_not_installed},
      {"driver-installed-twice", driver_installed_twice},
      {"driver-package-branches-mixed", driver_package_branches_mixed},
      {"dkms-headers-missing", dkms_headers_missing},
      {"dkms-build-failed-new-kernel", dkms_build_failed},
      {"module-missing-for-running-kernel", module_missing_for_running_kernel},
      {"prime-select-intel-blacklist", prime_select_intel_blacklist},
      {"module-blacklisted", module_blacklisted},
      {"secure-boot-module-rejected", secure_boot_module_rejected},
      {"module-vermagic-mismatch", module_vermagic_mismatch},
      {"open-module-on-pre-turing-gpu", open_module_on_pre_turing_gpu},
      {"proprietary-module-on-blackwell", proprietary_module_on_blackwell},
      {"nouveau-holds-the-gpu", nouveau_holds_the_gpu},
      {"module-not-loaded", module_not_loaded},
      {"gsp-firmware-missing", gsp_firmware_missing},
      {"open-module-bug-old-release", open_module_bug_old_release},
      {"xid119-gsp-timeout", xid119_gsp_timeout},
      {"rm-init-adapter-failed", rm_init_adapter_failed},
      {"driver-library-version-mismatch", driver_library_version_mismatch},
      {"uvm-hmm-init-failure", uvm_hmm_init_failure},
      {"uvm-broken-after-suspend", uvm_broken_after_suspend},
      {"driver-regression", driver_regression},
      {"nvidia-module-parameter-harmful", nvidia_module_parameter_harmful},
  });
  return rules;
}

namespace kernel_module {

bool is_loaded(const RuleContext& context) {
  return context.machine.kernel_driver.version.is_known() || loaded_module(context.machine, "nvidia") != nullptr;
}

bool surely_unloaded(const RuleContext& context) {
  if (is_loaded(context)) return false;
  return surely_not_loaded(context.machine, "nvidia") || context.machine.kernel_driver.version.is_absent();
}

std::string running_kernel(const RuleContext& context) { return context.machine.os.kernel.value_or(""); }

const ModuleFile* running_module_file(const RuleContext& context) {
  return module_file_for(context.machine, running_kernel(context), "nvidia");
}

bool surely_no_module_for_running_kernel(const RuleContext& context) {
  const std::string kernel = running_kernel(context);
  if (kernel.empty()) return false;
  if (context.machine.kernel_driver.module_files.is_known()) return !running_module_file(context);
  // A pasted `dkms status` instead of the disk: it lists what was built, and this kernel is not among it.
  const auto entries = dkms_entries(context);
  return !entries.empty() && std::ranges::none_of(entries, [&](const DkmsModule* entry) {
    return entry->kernel == kernel && entry->state == "installed";
  });
}

namespace {

bool note(Origin* why, Origin origin) {
  if (why) *why = std::move(origin);
  return true;
}

bool some_module_file(const RuleContext& context, Origin* why) {
  const auto* files = context.machine.kernel_driver.module_files.get();
  if (!files) return false;
  for (const auto& file : *files)
    if (nvidia_module_role(file.name) == "nvidia") return note(why, quote_file(file, "for kernel " + file.kernel));
  return false;
}

}  // namespace

Origin quote_dkms(const RuleContext& context, std::string folder, std::string what) {
  const Origin& list = context.machine.kernel_driver.dkms.origin();
  return list.line != 0 ? list : Origin{std::move(folder), 0, std::move(what)};
}

bool kernel_driver_was_installed(const RuleContext& context, Origin* why) {
  const Machine& machine = context.machine;
  if (some_module_file(context, why)) return true;
  for (const auto& package : driver_packages(machine))
    if (package.role == PackageRole::Module) return note(why, quote(*package.package));
  // A removed package may leave its folder in DKMS' tree; without the sources it builds nothing.
  const auto* sources = machine.kernel_driver.driver_sources.get();
  const bool no_sources = machine.kernel_driver.driver_sources.is_absent() || (sources && sources->empty());
  if (auto entries = dkms_entries(context); !entries.empty() && !no_sources)
    return note(why, quote_dkms(context, "/var/lib/dkms/" + entries.front()->name,
                                entries.front()->version + " " + entries.front()->state));
  if (!machine.packages.runfile_driver.is_known()) return false;
  return note(why,
              quote(machine.packages.runfile_driver, "/var/log/nvidia-installer.log", *machine.packages.runfile_driver.get()));
}

bool bound_to(const PciDevice& device, std::initializer_list<std::string_view> drivers) {
  const auto* bound = device.driver.get();
  return bound && std::ranges::find(drivers, std::string_view(*bound)) != drivers.end();
}

std::vector<const MachineGpu*> unclaimed_gpus(const RuleContext& context) {
  std::vector<const MachineGpu*> gpus;
  for (const auto& gpu : context.gpus)
    if (!gpu.device->driver.is_known() || bound_to(*gpu.device, {"nvidia"})) gpus.push_back(&gpu);
  return gpus;
}

std::vector<const DkmsModule*> dkms_entries(const RuleContext& context) {
  std::vector<const DkmsModule*> entries;
  const auto* dkms = context.machine.kernel_driver.dkms.get();
  if (!dkms) return entries;
  for (const auto& entry : *dkms)
    if (nvidia_module_role(entry.name) == "nvidia" || entry.name == "akmod-nvidia") entries.push_back(&entry);
  return entries;
}

bool builds_modules(const RuleContext& context) {
  if (!dkms_entries(context).empty()) return true;
  for (const auto& package : driver_packages(context.machine)) {
    const std::string& name = package.package->name;
    if (package.role == PackageRole::Module && (name.find("dkms") != std::string::npos || name.starts_with("akmod-")))
      return true;
  }
  return false;
}

bool builds_with_akmods(const RuleContext& context) { return !installed_packages_with(context.machine, "akmod-nvidia").empty(); }

Action build_module_action(const RuleContext& context, const std::string& kernel, bool again) {
  const char* type = builds_with_akmods(context) ? "build-akmods-module"
                     : again                     ? "rebuild-kernel-module"
                                                 : "build-kernel-module";
  return make_action(type, {{"kernel", kernel}});
}

const InstalledKernel* running_kernel_folder(const RuleContext& context) {
  const auto* kernels = context.machine.kernel_driver.kernels.get();
  if (!kernels) return nullptr;
  const auto found = std::ranges::find(*kernels, running_kernel(context), &InstalledKernel::release);
  return found == kernels->end() ? nullptr : &*found;
}

std::string branch_text(const RuleContext& context) {
  if (context.loaded_driver) return std::to_string(context.loaded_driver->branch);
  return context.installed_driver ? std::to_string(context.installed_driver->branch) : "";
}

std::string ubuntu_branch(const RuleContext& context) {
  const std::string branch = branch_text(context);
  if (branch.empty()) return "";
  bool server = false;
  bool open = context.machine.kernel_driver.flavor.is("open");
  const auto needs_open = [](const MachineGpu& gpu) { return gpu.identity.open_module == OpenModule::Required; };
  open = open || std::ranges::any_of(context.gpus, needs_open);
  // "nvidia-dkms-580-server-open", "linux-modules-nvidia-580-open-6.8.0-49-generic"; libraries have no "-open".
  for (const DriverPackage& part : driver_packages(context.machine)) {
    const std::string_view name = part.package->name;
    const auto at = name.find("-" + branch);
    if (at == std::string_view::npos) continue;
    std::string_view rest = name.substr(at + 1 + branch.size());
    if (rest.starts_with("-server")) {
      server = true;
      rest.remove_prefix(7);
    }
    open = open || rest == "-open" || rest.starts_with("-open-");
  }
  return branch + (server ? "-server" : "") + (open ? "-open" : "");
}

std::string os_id(const RuleContext& context) { return context.machine.os.id.value_or(""); }

bool os_is_like(const RuleContext& context, std::initializer_list<std::string_view> ids) {
  const std::string all = " " + os_id(context) + " " + context.machine.os.id_like.value_or("") + " ";
  return std::ranges::any_of(ids,
                             [&](std::string_view id) { return all.find(" " + std::string(id) + " ") != std::string::npos; });
}

Origin quote_file(const ModuleFile& file, std::string text) { return {file.path, 0, std::move(text)}; }

Origin quote_directive(const ModprobeDirective& directive) {
  Origin origin = directive.origin;
  if (origin.text.empty())
    origin.text = directive.kind + " " + directive.module + (directive.value.empty() ? "" : " " + directive.value);
  return origin;
}

Origin quote_kernel(const RuleContext& context) {
  return quote(context.machine.os.kernel, "/proc/sys/kernel/osrelease", running_kernel(context));
}

void add(std::vector<Origin>& evidence, Origin origin) {
  if (!origin.source.empty() || !origin.text.empty()) evidence.push_back(std::move(origin));
}

}  // namespace kernel_module
}  // namespace gpuvet
