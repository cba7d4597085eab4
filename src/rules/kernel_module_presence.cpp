// Is there a module for the running kernel at all, and if not, why not.

#include <algorithm>

#include "model/module_name.h"
#include "rules/kernel_module.h"

namespace gpuvet::kernel_module {
namespace {

/// Kernels that do have an nvidia.ko, in the order seen.
std::vector<std::string> kernels_with_module(const RuleContext& context) {
  std::vector<std::string> kernels;
  const auto* files = context.machine.kernel_driver.module_files.get();
  if (!files) return kernels;
  for (const auto& file : *files)
    if (nvidia_module_role(file.name) == "nvidia" && std::ranges::find(kernels, file.kernel) == kernels.end())
      kernels.push_back(file.kernel);
  return kernels;
}

/// linux-headers of Arch are named after the kernel package, which the release's tail tells: "6.6.63-1-lts" → linux-lts-headers.
std::string arch_headers(std::string_view kernel) {
  for (std::string_view flavor : {"-lts", "-zen", "-hardened", "-rt"})
    if (kernel.find(flavor) != std::string_view::npos) return "linux" + std::string(flavor) + "-headers";
  return "linux-headers";
}

/// Headers of this kernel, and the metapackage that brings those of the next one, when the kernel itself came by one:
/// linux-image-cloud-amd64 → linux-headers-cloud-amd64, linux-image-generic-hwe-22.04 → linux-headers-generic-hwe-22.04.
std::string debian_headers(const Machine& machine, const std::string& kernel) {
  const std::string exact = "linux-headers-" + kernel;
  const auto* packages = machine.packages.installed.get();
  if (packages == nullptr) return exact;
  constexpr std::string_view prefix = "linux-image-";
  for (const Package& package : *packages) {
    if (!package.name.starts_with(prefix) || package.status == "config-files") continue;
    const std::string rest = package.name.substr(prefix.size());
    const bool names_a_kernel = rest.empty() || (rest.front() >= '0' && rest.front() <= '9') || rest.starts_with("unsigned-");
    const std::string flavor = rest.substr(0, rest.find("-hwe"));
    if (!names_a_kernel && kernel.ends_with("-" + flavor)) return exact + " linux-headers-" + rest;
  }
  return exact;
}

/// openSUSE: kernel-default-devel of "6.4.0-150600.23.25-default".
std::string suse_kernel_flavor(std::string_view kernel) {
  const auto dash = kernel.rfind('-');
  return dash == std::string_view::npos ? "default" : std::string(kernel.substr(dash + 1));
}

std::map<std::string, std::string> kernel_parameters(const RuleContext& context) {
  const std::string kernel = running_kernel(context);
  return {{"kernel", kernel},
          {"arch_headers", arch_headers(kernel)},
          {"debian_headers", debian_headers(context.machine, kernel)},
          {"suse_flavor", suse_kernel_flavor(kernel)}};
}

/// A server without a desktop: `ubuntu-drivers install` would bring the driver with all of its graphics.
bool is_ubuntu_server(const Machine& machine) {
  const auto* packages = machine.packages.installed.get();
  if (packages == nullptr) return false;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(*packages, [&](const Package& p) { return p.name == name && p.status != "config-files"; });
  };
  return has("ubuntu-server") && !has("xserver-xorg") && !has("xserver-xorg-core") && !has("xwayland");
}

/// The driver that serves the oldest GPU here: the newest one, or the last branch that still knows the chip.
std::map<std::string, std::string> driver_parameters(const RuleContext& context) {
  std::optional<std::uint32_t> last;
  for (const auto& gpu : context.gpus)
    if (const auto branch = gpu.identity.last_driver_branch; branch && (!last || *branch < *last)) last = branch;
  std::map<std::string, std::string> parameters = {
      {"arch_headers", arch_headers(running_kernel(context))},
      {"arch_install", "sudo pacman -S --needed nvidia-open-dkms nvidia-utils"},
      {"ubuntu_install",
       is_ubuntu_server(context.machine) ? "sudo ubuntu-drivers install --gpgpu" : "sudo ubuntu-drivers install"}};
  if (!last) {
    parameters["flavor"] = "open";
    return parameters;
  }
  // What a branch lacks the open module for is what it was kept for.
  const std::string branch = std::to_string(*last);
  parameters["branch"] = branch;
  parameters["flavor"] = "proprietary";
  parameters["arch_install"] = "yay -S nvidia-" + branch + "xx-dkms nvidia-" + branch + "xx-utils";
  return parameters;
}

Action install_driver(const RuleContext& context) { return make_action("install-driver", driver_parameters(context)); }

bool speaks_of_headers(std::string_view line) {
  return contains_ignoring_case(line, "headers") &&
         (contains_ignoring_case(line, "not found") || contains_ignoring_case(line, "cannot be found") ||
          contains_ignoring_case(line, "could not be found") || contains_ignoring_case(line, "missing"));
}

/// The failed (or started and not finished) build for the running kernel.
const DkmsModule* failed_build(const RuleContext& context, std::string_view kernel) {
  for (const auto* entry : dkms_entries(context))
    if (entry->kernel == kernel && entry->state != "installed" && (entry->state == "failed" || entry->error.is_known()))
      return entry;
  return nullptr;
}

bool failed_for_headers(const DkmsModule& build) {
  if (build.error.is_known() && speaks_of_headers(*build.error.get())) return true;
  return std::ranges::any_of(build.error_lines, [](const Origin& line) { return speaks_of_headers(line.text); });
}

bool compiler_is_the_cause(const DkmsModule& build) {
  const auto names_compiler = [](std::string_view line) {
    return contains_ignoring_case(line, "unrecognized command-line option") ||
           contains_ignoring_case(line, "unrecognized command line option") ||
           contains_ignoring_case(line, "compiler version check failed") ||
           (contains_ignoring_case(line, "not found") &&
            (contains_ignoring_case(line, "gcc") || contains_ignoring_case(line, "cc:") ||
             contains_ignoring_case(line, "clang")));
  };
  if (build.error.is_known() && names_compiler(*build.error.get())) return true;
  return std::ranges::any_of(build.error_lines, [&](const Origin& line) { return names_compiler(line.text); });
}

bool headers_surely_absent(const RuleContext& context) {
  const auto* folder = running_kernel_folder(context);
  return folder && folder->headers.is_absent();
}

}  // namespace

Judged driver_not_installed(const RuleContext& context) {
  const Machine& machine = context.machine;
  const auto* files = machine.kernel_driver.module_files.get();
  if (!surely_unloaded(context) || !files || context.gpus.empty()) return std::nullopt;
  if (kernel_driver_was_installed(context)) return std::nullopt;
  // Without the package database only the absence of the libraries too makes it certain.
  const auto* libraries = machine.user_driver.libraries.get();
  const bool has_libraries = libraries && std::ranges::any_of(*libraries, [](const DriverLibrary& l) {
                               return l.kind == "driver" && l.elf_class != "32";
                             });
  if (!machine.packages.installed.is_known() && (!libraries || has_libraries)) return std::nullopt;

  Finding finding;
  if (has_libraries) finding.variant = "libraries-only";
  finding.parameters = {{"gpu", context.gpus.front().identity.label()}};
  add(finding.evidence, quote(machine.kernel_driver.module_files, "/lib/modules", "no NVIDIA module for any kernel"));
  if (machine.packages.installed.is_known())
    add(finding.evidence, {machine.packages.manager.value_or("package database"), 0, "no driver package with a kernel module"});
  const PciDevice& gpu = *context.gpus.front().device;
  const std::string bound = gpu.driver.is_known() ? *gpu.driver.get() : "no driver bound";
  add(finding.evidence, quote(gpu, "driver", bound));
  if (has_libraries) {
    for (const auto& package : driver_packages(machine))
      if (package.role == PackageRole::Compute) add(finding.evidence, quote(*package.package));
  }
  finding.repair = {install_driver(context), make_action("reboot")};
  return finding;
}

namespace {

/// What DKMS says that it has built, where the folders of /lib/modules were not seen.
std::vector<std::string> kernels_built_for(const RuleContext& context) {
  std::vector<std::string> kernels;
  for (const auto* entry : dkms_entries(context))
    if (entry->state == "installed" && !entry->kernel.empty() && entry->kernel != running_kernel(context) &&
        std::ranges::find(kernels, entry->kernel) == kernels.end())
      kernels.push_back(entry->kernel);
  return kernels;
}

}  // namespace

Judged module_missing_for_running_kernel(const RuleContext& context) {
  if (!surely_unloaded(context) || !surely_no_module_for_running_kernel(context)) return std::nullopt;
  Finding finding;
  Origin why;
  if (!kernel_driver_was_installed(context, &why)) return std::nullopt;
  const auto* kernels = context.machine.kernel_driver.kernels.get();
  auto others = kernels_with_module(context);
  if (others.empty()) others = kernels_built_for(context);
  const bool folder_gone = kernels && (!kernels->empty() || !others.empty()) && !running_kernel_folder(context);
  finding.parameters = {{"kernel", running_kernel(context)},
                        {"kernels", !others.empty() ? join(others, ", ")
                                    : kernels       ? "-"
                                                    : "?"}};
  add(finding.evidence, quote_kernel(context));
  if (kernels)
    add(finding.evidence, {"/lib/modules/" + running_kernel(context), 0, folder_gone ? "no such folder" : "no nvidia.ko"});
  add(finding.evidence, std::move(why));
  if (folder_gone) {
    // A rolling release replaced the kernel package: nothing can be loaded any more until the new kernel runs.
    finding.variant = "kernel-replaced";
    finding.repair = {make_action("reboot")};
  } else if (builds_modules(context)) {
    finding.repair = {build_module_action(context, running_kernel(context)), make_action("load-module")};
  } else if (const auto* runfile = context.machine.packages.runfile_driver.get();
             runfile && !driver_version_of_packages(context.machine)) {
    finding.variant = "runfile";
    finding.parameters["version"] = *runfile;
    finding.repair = {make_action("install-kernel-headers", kernel_parameters(context)),
                      make_action("rerun-runfile-installer", {{"version", *runfile}}), make_action("load-module")};
  } else {
    finding.variant = "prebuilt";
    auto parameters = kernel_parameters(context);
    parameters["branch"] = ubuntu_branch(context);
    parameters["arch_install"] = driver_parameters(context)["arch_install"];
    finding.repair = {make_action("install-module-for-kernel", parameters), make_action("reboot")};
  }
  return finding;
}

Judged dkms_headers_missing(const RuleContext& context) {
  if (!surely_unloaded(context) || !surely_no_module_for_running_kernel(context) || !builds_modules(context)) return std::nullopt;
  const auto* build = failed_build(context, running_kernel(context));
  if (!headers_surely_absent(context)) return std::nullopt;
  Finding finding;
  finding.parameters = {{"kernel", running_kernel(context)}};
  add(finding.evidence, quote_kernel(context));
  const auto* folder = running_kernel_folder(context);
  add(finding.evidence, quote(folder->headers, "/lib/modules/" + folder->release + "/build", "no kernel headers there"));
  add(finding.evidence, {"/lib/modules/" + folder->release, 0, "no nvidia.ko"});
  if (build && failed_for_headers(*build)) {
    for (const auto& line : build->error_lines)
      if (speaks_of_headers(line.text)) add(finding.evidence, line);
  }
  for (const auto* entry : dkms_entries(context))
    add(finding.evidence, quote_dkms(context, "/var/lib/dkms/" + entry->name + "/" + entry->version,
                                     entry->kernel.empty() ? entry->state : entry->kernel + ": " + entry->state));
  finding.repair = {make_action("install-kernel-headers", kernel_parameters(context)),
                    build_module_action(context, running_kernel(context)), make_action("load-module")};
  return finding;
}

Judged dkms_build_failed(const RuleContext& context) {
  const std::string running = running_kernel(context);
  const auto* build = failed_build(context, running);
  const bool now = build && surely_unloaded(context) && surely_no_module_for_running_kernel(context);
  if (!now) {
    // The kernel that will boot next has no module: worth knowing, nothing is broken yet.
    build = nullptr;
    for (const auto* entry : dkms_entries(context)) {
      if (entry->kernel.empty() || entry->kernel == running || module_file_for(context.machine, entry->kernel, "nvidia"))
        continue;
      if (const auto* failed = failed_build(context, entry->kernel)) build = failed;
    }
    if (!build || !is_loaded(context)) return std::nullopt;
  }
  if (now && headers_surely_absent(context)) return std::nullopt;
  Finding finding;
  if (!now) {
    finding.variant = "next-kernel";
    finding.severity = Severity::Note;
  } else if (compiler_is_the_cause(*build)) {
    finding.variant = "compiler";
  }
  finding.parameters = {{"version", build->version}, {"kernel", build->kernel}};
  if (now) add(finding.evidence, quote_kernel(context));
  if (build->error.is_known())
    add(finding.evidence,
        quote(build->error, "/var/lib/dkms/" + build->name + "/" + build->version + "/build/make.log", *build->error.get()));
  for (std::size_t i = 0; i < build->error_lines.size() && i < 4; ++i) {
    const Origin& line = build->error_lines[i];
    if (std::ranges::find(finding.evidence, line.text, &Origin::text) == finding.evidence.end()) add(finding.evidence, line);
  }
  if (finding.evidence.size() < 2)
    add(finding.evidence,
        quote_dkms(context, "/var/lib/dkms/" + build->name + "/" + build->version, build->kernel + ": " + build->state));
  if (finding.variant == "compiler") {
    finding.repair = {make_action("install-kernel-compiler"), build_module_action(context, build->kernel),
                      make_action("load-module")};
  } else if (now) {
    finding.repair = {make_action("update-driver"), make_action("boot-older-kernel", {{"kernel", build->kernel}}),
                      make_action("reboot")};
  }
  return finding;
}

Judged module_vermagic_mismatch(const RuleContext& context) {
  if (!surely_unloaded(context)) return std::nullopt;
  const std::string kernel = running_kernel(context);
  const LogEvent* refused = first_event_with(context.machine, {"version magic", "nvidia"});
  if (!refused) refused = first_event_with(context.machine, {"disagrees about version of symbol", "nvidia"});
  const auto* file = running_module_file(context);
  std::string built_for;
  if (file && file->vermagic.is_known()) built_for = file->vermagic.get()->substr(0, file->vermagic.get()->find(' '));
  // kABI-tracking packages link a module of another build into weak-updates: that one is meant to load.
  const bool differs = !built_for.empty() && built_for != kernel && file->path.find("weak-updates") == std::string::npos;
  if (!refused && (!differs || kernel.empty())) return std::nullopt;
  if (!file && context.machine.kernel_driver.module_files.is_known()) return std::nullopt;

  Finding finding;
  finding.parameters = {{"kernel", kernel}, {"built_for", built_for.empty() ? "?" : built_for}};
  if (!differs) finding.variant = "symbols";
  if (refused) add(finding.evidence, quote(*refused));
  if (file && file->vermagic.is_known()) add(finding.evidence, quote_file(*file, "vermagic: " + *file->vermagic.get()));
  if (!kernel.empty()) add(finding.evidence, quote_kernel(context));
  finding.repair = {build_module_action(context, kernel, true), make_action("load-module")};
  return finding;
}

Judged module_not_loaded(const RuleContext& context) {
  const auto* file = running_module_file(context);
  if (!surely_unloaded(context) || !file) return std::nullopt;
  const auto gpus = unclaimed_gpus(context);
  if (gpus.empty()) return std::nullopt;
  for (const auto better :
       {prime_select_intel_blacklist, module_blacklisted, secure_boot_module_rejected, module_vermagic_mismatch,
        nouveau_holds_the_gpu, open_module_on_pre_turing_gpu, proprietary_module_on_blackwell})
    if (better(context)) return std::nullopt;
  Finding finding;
  finding.parameters = {{"kernel", running_kernel(context)}, {"path", file->path}};
  add(finding.evidence, quote_file(*file, "on disk for the running kernel" +
                                              (file->version.is_known() ? ", version " + *file->version.get() : std::string())));
  add(finding.evidence, quote(context.machine.kernel_driver.loaded, "/proc/modules", "no nvidia module"));
  add(finding.evidence, quote(*gpus.front()->device, "driver", "no driver bound"));
  quote_events(finding.evidence, current_events(context.machine, "nvrm"), 3);
  finding.repair = {make_action("load-module"), make_action("show-kernel-log")};
  return finding;
}

}  // namespace gpuvet::kernel_module
