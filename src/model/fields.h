#pragma once
// The fields of Machine and its parts, once more, as something that code can walk over: JSON, `-v`, redaction and diff all
// use these lists. A field that is missing here is missing everywhere, and tests/unit/model_test.cpp notices.

#include <type_traits>
#include <utility>

#include "model/machine.h"

namespace gpuvet {

/// visit_fields(object, visitor) calls visitor("name", field) for each field, in order. Works on const and mutable objects.
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Origin*) {
  v("source", o.source);
  v("line", o.line);
  v("text", o.text);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const UserGroup*) {
  v("gid", o.gid);
  v("name", o.name);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const User*) {
  v("name", o.name);
  v("uid", o.uid);
  v("groups", o.groups);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ContainerSign*) {
  v("name", o.name);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const OperatingSystem*) {
  v("id", o.id);
  v("id_like", o.id_like);
  v("version_id", o.version_id);
  v("codename", o.codename);
  v("pretty_name", o.pretty_name);
  v("architecture", o.architecture);
  v("glibc", o.glibc);
  v("kernel", o.kernel);
  v("kernel_command_line", o.kernel_command_line);
  v("lockdown", o.lockdown);
  v("secure_boot", o.secure_boot);
  v("selinux_enforcing", o.selinux_enforcing);
  v("hypervisor", o.hypervisor);
  v("cloud", o.cloud);
  v("system_vendor", o.system_vendor);
  v("product_name", o.product_name);
  v("chassis_type", o.chassis_type);
  v("container", o.container);
  v("container_signs", o.container_signs);
  v("wsl", o.wsl);
  v("shared_memory", o.shared_memory);
  v("memory", o.memory);
  v("locked_memory", o.locked_memory);
  v("cgroup_version", o.cgroup_version);
  v("user_namespace", o.user_namespace);
  v("seccomp", o.seccomp);
  v("security_label", o.security_label);
  v("jetson", o.jetson);
  v("boot_time", o.boot_time);
  v("uptime", o.uptime);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Wsl*) {
  v("driver_store", o.driver_store);
  v("windows_driver", o.windows_driver);
  v("gpu_enabled", o.gpu_enabled);
  v("append_library_path", o.append_library_path);
  v("systemd", o.systemd);
  v("memory_limit", o.memory_limit);
  v("windows_build", o.windows_build);
  v("wsl_version", o.wsl_version);
  v("nvidia_smi", o.nvidia_smi);
  v("driver_model", o.driver_model);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const PciBar*) {
  v("index", o.index);
  v("start", o.start);
  v("size", o.size);
  v("flags", o.flags);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const AerCounters*) {
  v("correctable", o.correctable);
  v("nonfatal", o.nonfatal);
  v("fatal", o.fatal);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const PciDevice*) {
  v("address", o.address);
  v("vendor", o.vendor);
  v("device", o.device);
  v("subsystem_vendor", o.subsystem_vendor);
  v("subsystem_device", o.subsystem_device);
  v("class_code", o.class_code);
  v("revision", o.revision);
  v("parent", o.parent);
  v("driver", o.driver);
  v("bars", o.bars);
  v("link_width", o.link_width);
  v("link_width_max", o.link_width_max);
  v("link_speed", o.link_speed);
  v("link_speed_max", o.link_speed_max);
  v("power_state", o.power_state);
  v("runtime_status", o.runtime_status);
  v("power_control", o.power_control);
  v("enabled", o.enabled);
  v("boot_vga", o.boot_vga);
  v("iommu_group", o.iommu_group);
  v("iommu_domain", o.iommu_domain);
  v("acs_control", o.acs_control);
  v("config_all_ones", o.config_all_ones);
  v("aer", o.aer);
  v("physical_function", o.physical_function);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const LoadedModule*) {
  v("name", o.name);
  v("state", o.state);
  v("use_count", o.use_count);
  v("used_by", o.used_by);
  v("version", o.version);
  v("srcversion", o.srcversion);
  v("taint", o.taint);
  v("parameters", o.parameters);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ModuleFile*) {
  v("kernel", o.kernel);
  v("name", o.name);
  v("path", o.path);
  v("compression", o.compression);
  v("version", o.version);
  v("vermagic", o.vermagic);
  v("license", o.license);
  v("srcversion", o.srcversion);
  v("has_signature", o.has_signature);
  v("signer", o.signer);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const InstalledKernel*) {
  v("release", o.release);
  v("headers", o.headers);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const DkmsModule*) {
  v("name", o.name);
  v("version", o.version);
  v("kernel", o.kernel);
  v("architecture", o.architecture);
  v("state", o.state);
  v("error", o.error);
  v("error_lines", o.error_lines);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ModprobeDirective*) {
  v("kind", o.kind);
  v("module", o.module);
  v("value", o.value);
  v("effective", o.effective);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ProcGpu*) {
  v("address", o.address);
  v("model", o.model);
  v("uuid", o.uuid);
  v("vbios", o.vbios);
  v("firmware", o.firmware);
  v("device_minor", o.device_minor);
  v("excluded", o.excluded);
  v("registry", o.registry);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const FirmwareFolder*) {
  v("version", o.version);
  v("files", o.files);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const KernelDriver*) {
  v("loaded", o.loaded);
  v("version", o.version);
  v("flavor", o.flavor);
  v("banner", o.banner);
  v("parameters", o.parameters);
  v("registry", o.registry);
  v("gpus", o.gpus);
  v("mig_capabilities", o.mig_capabilities);
  v("kernels", o.kernels);
  v("module_files", o.module_files);
  v("dkms", o.dkms);
  v("driver_sources", o.driver_sources);
  v("modprobe", o.modprobe);
  v("firmware", o.firmware);
  v("prime_profile", o.prime_profile);
  v("gpu_remove_rules", o.gpu_remove_rules);
  v("gpu_switch_signs", o.gpu_switch_signs);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const DeviceNode*) {
  v("path", o.path);
  v("type", o.type);
  v("major", o.major);
  v("minor", o.minor);
  v("mode", o.mode);
  v("uid", o.uid);
  v("gid", o.gid);
  v("user_may_open", o.user_may_open);
  v("open_error", o.open_error);
  v("security_label", o.security_label);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const DeviceMajor*) {
  v("name", o.name);
  v("major", o.major);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const DeviceNodes*) {
  v("nodes", o.nodes);
  v("majors", o.majors);
  v("cgroup_device_rules", o.cgroup_device_rules);
  v("nvidia_modprobe", o.nvidia_modprobe);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const LibraryFile*) {
  v("path", o.path);
  v("real_path", o.real_path);
  v("inode", o.inode);
  v("size", o.size);
  v("whole_size", o.whole_size);
  v("state", o.state);
  v("loader_error", o.loader_error);
  v("elf_class", o.elf_class);
  v("machine", o.machine);
  v("soname", o.soname);
  v("needed", o.needed);
  v("rpath", o.rpath);
  v("runpath", o.runpath);
  v("has_runpath", o.has_runpath);
  v("filters", o.filters);
  v("flags_1", o.flags_1);
  v("flags", o.flags);
  v("type", o.type);
  v("interpreter", o.interpreter);
  v("dynamic", o.dynamic);
  v("build_id", o.build_id);
  v("isa_needed", o.isa_needed);
  v("version_definitions", o.version_definitions);
  v("version_needs", o.version_needs);
  v("symbols", o.symbols);
  v("wanted_symbols", o.wanted_symbols);
  v("dlopen_names", o.dlopen_names);
  v("library_version", o.library_version);
  v("runtime_inside", o.runtime_inside);
  v("driver_version", o.driver_version);
  v("stub", o.stub);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const SearchFolder*) {
  v("path", o.path);
  v("rule", o.rule);
  v("origin", o.origin);
  v("exists", o.exists);
  v("cuda_libraries", o.cuda_libraries);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const LoaderCacheEntry*) {
  v("soname", o.soname);
  v("path", o.path);
  v("flags", o.flags);
  v("hwcap", o.hwcap);
  v("hwcaps", o.hwcaps);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const LoadStep*) {
  v("names", o.names);
  v("caller", o.caller);
  v("global", o.global);
  v("optional", o.optional);
  v("why", o.why);
  v("after_failure", o.after_failure);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ProcessPlan*) {
  v("name", o.name);
  v("kind", o.kind);
  v("program", o.program);
  v("prefix", o.prefix);
  v("framework", o.framework);
  v("steps", o.steps);
  v("problems", o.problems);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const GpuCodeTarget*) {
  v("kind", o.kind);
  v("arch", o.arch);
  v("count", o.count);
  v("listed", o.listed);
  v("ptx_isa", o.ptx_isa);
  v("ptx_isa_oldest", o.ptx_isa_oldest);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const CodeCount*) {
  v("name", o.name);
  v("count", o.count);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const GpuCodeFile*) {
  v("path", o.path);
  v("real_path", o.real_path);
  v("size", o.size);
  v("state", o.state);
  v("problem", o.problem);
  v("targets", o.targets);
  v("containers", o.containers);
  v("stub_containers", o.stub_containers);
  v("stub_targets", o.stub_targets);
  v("places", o.places);
  v("container_sets", o.container_sets);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const LoaderView*) {
  v("cache", o.cache);
  v("folders", o.folders);
  v("files", o.files);
  v("preload", o.preload);
  v("hwcaps", o.hwcaps);
  v("libc_version", o.libc_version);
  v("plans", o.plans);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const DriverLibrary*) {
  v("name", o.name);
  v("path", o.path);
  v("real_path", o.real_path);
  v("kind", o.kind);
  v("elf_class", o.elf_class);
  v("machine", o.machine);
  v("version", o.version);
  v("version_in_name", o.version_in_name);
  v("wins", o.wins);
  v("found_by", o.found_by);
  v("package", o.package);
  v("bind_mounted", o.bind_mounted);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const UserDriver*) {
  v("libraries", o.libraries);
  v("libcuda_dev_link", o.libcuda_dev_link);
  v("search_complete", o.search_complete);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const LogEvent*) {
  v("kind", o.kind);
  v("text", o.text);
  v("pci", o.pci);
  v("code", o.code);
  v("boot", o.boot);
  v("seconds", o.seconds);
  v("time", o.time);
  v("count", o.count);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Observation*) {
  v("signature", o.signature);
  v("meaning", o.meaning);
  v("parameters", o.parameters);
  v("place", o.place);
  v("count", o.count);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const KernelLog*) {
  v("events", o.events);
  v("sources", o.sources);
  v("truncated", o.truncated);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Package*) {
  v("name", o.name);
  v("version", o.version);
  v("architecture", o.architecture);
  v("manager", o.manager);
  v("status", o.status);
  v("held", o.held);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const PackageChange*) {
  v("action", o.action);
  v("name", o.name);
  v("old_version", o.old_version);
  v("new_version", o.new_version);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const PackageTransaction*) {
  v("time", o.time);
  v("epoch", o.epoch);
  v("command", o.command);
  v("failed", o.failed);
  v("changes", o.changes);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Packages*) {
  v("manager", o.manager);
  v("installed", o.installed);
  v("history", o.history);
  v("runfile_driver", o.runfile_driver);
  v("repositories", o.repositories);
  v("problems", o.problems);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Service*) {
  v("name", o.name);
  v("unit", o.unit);
  v("enabled", o.enabled);
  v("running", o.running);
  v("version", o.version);
  v("log", o.log);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ContainerRuntime*) {
  v("name", o.name);
  v("path", o.path);
  v("found", o.found);
  v("origin", o.origin);
}

template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const RuntimeEngine*) {
  v("name", o.name);
  v("program", o.program);
  v("files", o.files);
  v("schema", o.schema);
  v("runtimes", o.runtimes);
  v("default_runtime", o.default_runtime);
  v("cdi", o.cdi);
  v("systemd_cgroup", o.systemd_cgroup);
  v("problems", o.problems);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const NvidiaRuntimeConfiguration*) {
  v("mode", o.mode);
  v("no_cgroups", o.no_cgroups);
  v("root", o.root);
  v("ldcache", o.ldcache);
  v("ldconfig", o.ldconfig);
  v("accept_envvar_unprivileged", o.accept_envvar_unprivileged);
  v("problem", o.problem);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const CdiPath*) {
  v("path", o.path);
  v("kind", o.kind);
  v("found", o.found);
  v("line", o.line);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const CdiSpecification*) {
  v("path", o.path);
  v("kind", o.kind);
  v("version", o.version);
  v("devices", o.devices);
  v("paths", o.paths);
  v("driver", o.driver);
  v("problem", o.problem);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ContainerEngines*) {
  v("docker", o.docker);
  v("docker_snap", o.docker_snap);
  v("docker_context", o.docker_context);
  v("docker_runtimes", o.docker_runtimes);
  v("docker_default_runtime", o.docker_default_runtime);
  v("toolkit_hook", o.toolkit_hook);
  v("docker_cgroup_driver", o.docker_cgroup_driver);
  v("docker_cdi", o.docker_cdi);
  v("others", o.others);
  v("toolkit_version", o.toolkit_version);
  v("nvidia_runtime", o.nvidia_runtime);
  v("cdi", o.cdi);
  v("nodes_without_char_link", o.nodes_without_char_link);
  v("kubernetes", o.kubernetes);
  v("slurm", o.slurm);
  v("refusals", o.refusals);
}

template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ToolkitComponent*) {
  v("name", o.name);
  v("version", o.version);
  v("missing", o.missing);
  v("checked", o.checked);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ToolkitTool*) {
  v("name", o.name);
  v("path", o.path);
  v("state", o.state);
  v("missing_libraries", o.missing_libraries);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Toolkit*) {
  v("path", o.path);
  v("real_path", o.real_path);
  v("names", o.names);
  v("origin", o.origin);
  v("package", o.package);
  v("environment", o.environment);
  v("version", o.version);
  v("nvcc", o.nvcc);
  v("nvcc_version", o.nvcc_version);
  v("components", o.components);
  v("missing", o.missing);
  v("dangling", o.dangling);
  v("tools", o.tools);
  v("gcc_max", o.gcc_max);
  v("gcc_min", o.gcc_min);
  v("clang_max", o.clang_max);
  v("clang_min", o.clang_min);
  v("architectures", o.architectures);
  v("headers_fit_glibc_2_41", o.headers_fit_glibc_2_41);
  v("headers_fit_glibc_2_42", o.headers_fit_glibc_2_42);
  v("has_runtime_library", o.has_runtime_library);
  v("libraries", o.libraries);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ToolkitLink*) {
  v("path", o.path);
  v("target", o.target);
  v("real_path", o.real_path);
  v("state", o.state);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const HostCompiler*) {
  v("name", o.name);
  v("path", o.path);
  v("real_path", o.real_path);
  v("version", o.version);
  v("found_by", o.found_by);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Toolkits*) {
  v("found", o.found);
  v("links", o.links);
  v("compilers", o.compilers);
  v("libc_headers", o.libc_headers);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ShellVariable*) {
  v("name", o.name);
  v("value", o.value);
  v("set_by", o.set_by);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const ShellForecast*) {
  v("shell", o.shell);
  v("kind", o.kind);
  v("files", o.files);
  v("variables", o.variables);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Shells*) {
  v("login_shell", o.login_shell);
  v("home", o.home);
  v("forecasts", o.forecasts);
  v("cuda_lines", o.cuda_lines);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const PythonPackage*) {
  v("name", o.name);
  v("version", o.version);
  v("manager", o.manager);
  v("installer", o.installer);
  v("build", o.build);
  v("channel", o.channel);
  v("tags", o.tags);
  v("requirements", o.requirements);
  v("folder", o.folder);
  v("url", o.url);
  v("state", o.state);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const FrameworkBuild*) {
  v("name", o.name);
  v("version", o.version);
  v("flavour", o.flavour);
  v("cuda", o.cuda);
  v("hip", o.hip);
  v("cudnn", o.cudnn);
  v("cxx11_abi", o.cxx11_abi);
  v("compute_capabilities", o.compute_capabilities);
  v("libraries", o.libraries);
  v("folder", o.folder);
  v("origin", o.origin);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const PythonEnvironment*) {
  v("prefix", o.prefix);
  v("kind", o.kind);
  v("name", o.name);
  v("interpreter", o.interpreter);
  v("python", o.python);
  v("abi", o.abi);
  v("machine", o.machine);
  v("libc", o.libc);
  v("base", o.base);
  v("system_site_packages", o.system_site_packages);
  v("externally_managed", o.externally_managed);
  v("site_packages", o.site_packages);
  v("package_count", o.package_count);
  v("packages", o.packages);
  v("frameworks", o.frameworks);
  v("jupyter_kernels", o.jupyter_kernels);
  v("active", o.active);
  v("found_by", o.found_by);
  v("problems", o.problems);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Python*) {
  v("environments", o.environments);
  v("python", o.python);
  v("python3", o.python3);
  v("problems", o.problems);
}
template <class Visitor>
void visit_fields(Visitor&& v, auto&& o, const Machine*) {
  v("schema", o.schema);
  v("collected_by", o.collected_by);
  v("source", o.source);
  v("redacted", o.redacted);
  v("subject", o.subject);
  v("os", o.os);
  v("wsl", o.wsl);
  v("user", o.user);
  v("environment", o.environment);
  v("environment_seen", o.environment_seen);
  v("pci", o.pci);
  v("kernel_driver", o.kernel_driver);
  v("device_nodes", o.device_nodes);
  v("loader", o.loader);
  v("user_driver", o.user_driver);
  v("kernel_log", o.kernel_log);
  v("packages", o.packages);
  v("services", o.services);
  v("processes", o.processes);
  v("container_engines", o.container_engines);
  v("toolkits", o.toolkits);
  v("shells", o.shells);
  v("python", o.python);
  v("observations", o.observations);
  v("gpu_code", o.gpu_code);
}

/// True for the plain structs above.
template <class T>
concept HasFields = requires(T& o) {
  visit_fields([](const char*, auto&) {}, o, static_cast<const T*>(nullptr));
};

template <class T, class Visitor>
void visit_fields(T& object, Visitor&& visitor) {
  visit_fields(std::forward<Visitor>(visitor), object, static_cast<const std::remove_const_t<T>*>(nullptr));
}

}  // namespace gpuvet
