#pragma once
// Machine: every fact that was seen about one machine, as plain data. A snapshot holds exactly this.
// Fields are listed once more in model/fields.h, which is what JSON, redaction and `-v` walk over.
// Paths are the inspected machine's own ("/usr/lib/…"), whatever --root was.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/fact.h"

namespace gpuvet {

// ---- the system --------------------------------------------------------------------------------------------------

struct UserGroup {
  std::int64_t gid = 0;
  std::string name;
  friend bool operator==(const UserGroup&, const UserGroup&) = default;
};

/// The process whose fate is judged.
struct User {
  Fact<std::string> name;
  Fact<std::int64_t> uid;
  Fact<std::vector<UserGroup>> groups;  ///< primary and supplementary
  friend bool operator==(const User&, const User&) = default;
};

/// One sign of a container, or of a sandbox, that the judged process runs in.
struct ContainerSign {
  std::string name;  ///< "docker", "podman", "kubernetes", "flatpak", "snap", "toolbox", "distrobox", …
  Origin origin;
  friend bool operator==(const ContainerSign&, const ContainerSign&) = default;
};

struct OperatingSystem {
  Fact<std::string> id;          ///< os-release ID: "ubuntu", "rocky", "arch"
  Fact<std::string> id_like;     ///< os-release ID_LIKE, as written
  Fact<std::string> version_id;  ///< "22.04"
  Fact<std::string> codename;    ///< VERSION_CODENAME
  Fact<std::string> pretty_name;
  Fact<std::string> architecture;  ///< "x86_64", "aarch64", …
  Fact<std::string> glibc;         ///< "2.35"; absent on musl
  Fact<std::string> kernel;        ///< release of the running kernel
  Fact<std::string> kernel_command_line;
  Fact<std::string> lockdown;  ///< "none", "integrity", "confidentiality"
  Fact<bool> secure_boot;
  Fact<bool> selinux_enforcing;
  Fact<std::string> hypervisor;     ///< "kvm", "vmware", "hyperv", "xen", "virtualbox", "qemu", "parallels"; absent on bare metal
  Fact<std::string> cloud;          ///< "aws", "gcp", "azure", "oracle", "alibaba", …
  Fact<std::string> system_vendor;  ///< DMI
  Fact<std::string> product_name;   ///< DMI
  Fact<std::int64_t> chassis_type;  ///< DMI number; 8, 9, 10, 14, 31, 32 are portable
  Fact<std::string>
      container;  ///< "docker", "podman", "kubernetes", "lxc", "apptainer", "enroot", "nspawn", …; absent outside one
  std::vector<ContainerSign> container_signs;  ///< every one that was seen; `container` is the one that is judged
  Fact<std::int64_t> wsl;                      ///< 1 or 2; absent elsewhere
  Fact<std::int64_t> shared_memory;   ///< bytes that /dev/shm may hold; absent: no mount of its own, or one without a size
  Fact<std::int64_t> memory;          ///< bytes of main memory (MemTotal)
  Fact<std::int64_t> locked_memory;   ///< bytes that the judged process may lock (RLIMIT_MEMLOCK); -1: no limit
  Fact<std::int64_t> cgroup_version;  ///< 1 or 2 (2 also where both are mounted and the devices are version 2's)
  Fact<bool> user_namespace;          ///< the judged process' user ids are not the host's own
  Fact<bool> seccomp;                 ///< a filter judges its system calls
  Fact<std::string> security_label;   ///< SELinux context or AppArmor profile of the judged process
  Fact<std::string> jetson;           ///< L4T release line of /etc/nv_tegra_release or device-tree model; absent elsewhere
  Fact<std::int64_t> boot_time;       ///< seconds since the epoch (/proc/stat btime)
  Fact<std::int64_t> uptime;          ///< seconds
  friend bool operator==(const OperatingSystem&, const OperatingSystem&) = default;
};

/// What WSL itself tells of the Windows below it.
struct Wsl {
  Fact<std::string> driver_store;    ///< folder of the Windows driver's own files: "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_…"
  Fact<std::string> windows_driver;  ///< DriverVer of its .inf, as Windows counts: "32.0.15.6094" (the driver 560.94)
  Fact<bool> gpu_enabled;            ///< [gpu] enabled of /etc/wsl.conf; absent: not told, so it is
  Fact<bool> append_library_path;    ///< [gpu] appendLibPath of /etc/wsl.conf; absent: not told, so it is
  Fact<bool> systemd;                ///< [boot] systemd of /etc/wsl.conf
  Fact<std::string> memory_limit;    ///< "memory=" of the user's .wslconfig, as written
  Fact<std::string> windows_build;   ///< "10.0.22631"; only with --windows
  Fact<std::string> wsl_version;     ///< "2.3.24.0"; only with --windows
  Fact<std::string> nvidia_smi;      ///< driver that Windows' own nvidia-smi names; only with --windows
  Fact<std::string> driver_model;    ///< "WDDM", "TCC", "MCDM" of the first GPU; only with --windows
  friend bool operator==(const Wsl&, const Wsl&) = default;
};

// ---- PCI ---------------------------------------------------------------------------------------------------------

/// One line of sysfs `resource` that the device asks for (BARs 0–5 and the ROM).
struct PciBar {
  std::int64_t index = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;  ///< bytes; 0 when nothing is assigned
  std::uint64_t flags =
      0;  ///< the kernel's IORESOURCE_* bits: 0x100 I/O, 0x200 memory, 0x2000 prefetch, 0x100000 64 bit, 0x20000000 unset
  friend bool operator==(const PciBar&, const PciBar&) = default;
};

struct AerCounters {
  std::int64_t correctable = 0;
  std::int64_t nonfatal = 0;
  std::int64_t fatal = 0;
  friend bool operator==(const AerCounters&, const AerCounters&) = default;
};

/// One function on the bus. All display/3D controllers (class 03xx) of any vendor, every function of vendor 10de, and the
/// bridges above an NVIDIA one are kept; the rest is not.
struct PciDevice {
  std::string address;  ///< "0000:01:00.0"
  std::int64_t vendor = 0;
  std::int64_t device = 0;
  std::int64_t subsystem_vendor = 0;
  std::int64_t subsystem_device = 0;
  std::int64_t class_code = 0;  ///< 24 bits: 0x030000 VGA, 0x030200 3D, 0x068000 bridge (NVSwitch), 0x060400 PCI bridge
  std::int64_t revision = 0;
  std::string parent;        ///< address of the bridge above; empty at a root bus
  Fact<std::string> driver;  ///< kernel driver bound to it; absent: none
  Fact<std::vector<PciBar>> bars;
  Fact<std::int64_t> link_width;
  Fact<std::int64_t> link_width_max;
  Fact<std::string> link_speed;  ///< "16.0 GT/s PCIe"
  Fact<std::string> link_speed_max;
  Fact<std::string> power_state;     ///< "D0", "D3cold", "unknown"
  Fact<std::string> runtime_status;  ///< "active", "suspended"
  Fact<std::string> power_control;   ///< "on", "auto"
  Fact<bool> enabled;
  Fact<bool> boot_vga;
  Fact<std::int64_t> iommu_group;
  Fact<std::string> iommu_domain;  ///< "DMA", "DMA-FQ", "identity"
  Fact<std::int64_t> acs_control;  ///< ACS control register (extended capability 0x000d); absent: no such capability
  Fact<bool> config_all_ones;      ///< configuration space reads 0xff only: the device does not answer
  Fact<AerCounters> aer;
  Fact<std::string> physical_function;  ///< address of the physical function of an SR-IOV virtual one
  Origin origin;                        ///< the line of a text that names it; empty: sysfs has it
  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

// ---- kernel-mode driver ------------------------------------------------------------------------------------------

/// A module in /proc/modules or /sys/module: all nvidia*, nouveau, nova*, vfio-pci, pci-stub, bbswitch, amdgpu, i915, xe.
struct LoadedModule {
  std::string name;   ///< underscores: "nvidia_uvm"
  std::string state;  ///< "Live", "Loading", "Unloading"; "Built-in" for one that is part of the kernel; empty when not told
  std::int64_t use_count = 0;
  std::vector<std::string> used_by;
  Fact<std::string> version;  ///< /sys/module/NAME/version
  Fact<std::string> srcversion;
  Fact<std::string> taint;
  std::map<std::string, std::string> parameters;  ///< /sys/module/NAME/parameters
  Origin origin;
  friend bool operator==(const LoadedModule&, const LoadedModule&) = default;
};

/// An nvidia* or nouveau module file below /lib/modules/KERNEL.
struct ModuleFile {
  std::string kernel;  ///< release of the folder
  std::string name;    ///< "nvidia-uvm" as in the file name, without suffixes
  std::string path;
  std::string compression;  ///< "", "xz", "zst", "gz"
  // Contents: read for the running kernel (and with -v for all); elsewhere not seen.
  Fact<std::string> version;
  Fact<std::string> vermagic;
  Fact<std::string> license;  ///< "NVIDIA" proprietary, "Dual MIT/GPL" open
  Fact<std::string> srcversion;
  Fact<bool> has_signature;  ///< PKCS#7 trailer "~Module signature appended~"
  Fact<std::string> signer;  ///< from the trailer, where it is told
  friend bool operator==(const ModuleFile&, const ModuleFile&) = default;
};

/// A folder below /lib/modules: a kernel whose modules are on disk.
struct InstalledKernel {
  std::string release;
  Fact<std::string> headers;  ///< where `build` (or `source`) leads, when a Makefile is there; absent: dangling or none
  friend bool operator==(const InstalledKernel&, const InstalledKernel&) = default;
};

/// State of DKMS for one module version, and of one kernel where one was tried.
struct DkmsModule {
  std::string name;  ///< "nvidia", "nvidia-open", "nvidia-srv"; "akmod-nvidia" for a failed build of Fedora's akmods
  std::string version;
  std::string kernel;  ///< empty: only added
  std::string architecture;
  std::string state;                ///< "added", "built", "installed", "failed", "broken" (its source folder is gone)
  Fact<std::string> error;          ///< the line of make.log that ended the build; absent: log without an error
  std::vector<Origin> error_lines;  ///< up to 8 decisive lines of make.log
  friend bool operator==(const DkmsModule&, const DkmsModule&) = default;
};

/// One line of modprobe.d (or of the kernel command line) about a module that matters here. What each one stops:
/// - kind "blacklist", value "": a modprobe.d line; only loading by a device's alias, not an explicit modprobe
/// - kind "blacklist", value "modprobe.blacklist": command line, same reach as a modprobe.d line
/// - kind "blacklist", value "rd.driver.blacklist" (or dracut's old "rdblacklist"): command line, inside the initramfs only
/// - kind "blacklist", value "module_blacklist": command line, the kernel itself refuses the module, whoever asks
/// - kind "install" with a command that loads nothing ("/bin/false", "/bin/true"), and kind "alias" with value "off": every
/// modprobe
struct ModprobeDirective {
  std::string kind;    ///< "blacklist", "alias", "options", "install", "remove", "softdep"; command line: "blacklist", "options"
  std::string module;  ///< underscores; of an alias with a pattern the pattern as written ("pci:v000010DE*")
  std::string value;   ///< rest of the line: alias target, options ("NVreg_X=1", "modeset=0"), command; of a blacklist see above
  bool effective = true;  ///< false: overridden by a file of the same name in a folder of higher priority, or a commented-out
                          ///< line is never kept
  Origin origin;
  friend bool operator==(const ModprobeDirective&, const ModprobeDirective&) = default;
};

/// /proc/driver/nvidia/gpus/ADDRESS/information
struct ProcGpu {
  std::string address;
  std::string model;
  std::string uuid;
  std::string vbios;
  std::string firmware;  ///< "GPU Firmware": GSP version or "N/A"
  std::int64_t device_minor = -1;
  bool excluded = false;
  std::string registry;  ///< contents of …/registry, one line
  friend bool operator==(const ProcGpu&, const ProcGpu&) = default;
};

struct FirmwareFolder {
  std::string version;             ///< /lib/firmware/nvidia/VERSION
  std::vector<std::string> files;  ///< "gsp_ga10x.bin", "gsp_tu10x.bin", "gsp.bin"; compressed ones without the suffix
  friend bool operator==(const FirmwareFolder&, const FirmwareFolder&) = default;
};

struct KernelDriver {
  Fact<std::vector<LoadedModule>> loaded;
  Fact<std::string> version;                      ///< version of the *loaded* nvidia module (/proc/driver/nvidia/version, else
                                                  ///< /sys/module/nvidia/version); absent: not loaded
  Fact<std::string> flavor;                       ///< "open" or "proprietary", of the loaded module
  Fact<std::string> banner;                       ///< first line of /proc/driver/nvidia/version
  std::map<std::string, std::string> parameters;  ///< /proc/driver/nvidia/params
  Fact<std::string> registry;                     ///< /proc/driver/nvidia/registry
  std::vector<ProcGpu> gpus;
  Fact<std::vector<std::string>>
      mig_capabilities;  ///< paths below /proc/driver/nvidia/capabilities, e.g. "gpu0/mig/gi1/ci0/access"
  Fact<std::vector<InstalledKernel>> kernels;
  Fact<std::vector<ModuleFile>> module_files;     ///< known and empty: no NVIDIA module for any kernel on this disk
  Fact<std::vector<DkmsModule>> dkms;             ///< absent: no DKMS tree
  Fact<std::vector<std::string>> driver_sources;  ///< /usr/src/nvidia-VERSION and the like
  std::vector<ModprobeDirective> modprobe;
  Fact<std::vector<FirmwareFolder>> firmware;
  Fact<std::string> prime_profile;  ///< prime-select's or envycontrol's choice: "intel", "nvidia", "on-demand", "integrated", …
  std::vector<Origin> gpu_remove_rules;  ///< udev rules that remove NVIDIA functions from the bus
  std::vector<Origin> gpu_switch_signs;  ///< bbswitch, envycontrol, supergfxctl, optimus-manager, acpi_call traces
  friend bool operator==(const KernelDriver&, const KernelDriver&) = default;
};

// ---- device nodes ------------------------------------------------------------------------------------------------

struct DeviceNode {
  std::string path;  ///< "/dev/nvidia0"
  std::string type;  ///< "char", "block", "file", "directory", "link", "fifo", "socket"
  std::int64_t major = 0, minor = 0;
  std::int64_t mode = 0;  ///< permission bits
  std::int64_t uid = 0, gid = 0;
  Fact<bool> user_may_open;  ///< by mode, owner and groups of Machine::user; live: by asking the kernel (no ioctl)
  std::string open_error;    ///< live only: "Permission denied", "Operation not permitted" (cgroup), …
  Fact<std::string> security_label;
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

struct DeviceMajor {
  std::string name;  ///< "nvidia-frontend", "nvidia", "nvidiactl", "nvidia-uvm", "nvidia-caps"
  std::int64_t major = 0;
  friend bool operator==(const DeviceMajor&, const DeviceMajor&) = default;
};

struct DeviceNodes {
  Fact<std::vector<DeviceNode>>
      nodes;  ///< /dev/nvidia*, /dev/nvidia-caps/*, /dev/dxg, /dev/nvhost*, /dev/nvmap, /dev/dri/*; absent: no /dev to look at
  Fact<std::vector<DeviceMajor>> majors;               ///< character devices of NVIDIA in /proc/devices
  Fact<std::vector<std::string>> cgroup_device_rules;  ///< cgroup v1 devices.list of this process; absent on v2
  Fact<std::int64_t> nvidia_modprobe;  ///< permission bits of /usr/bin/nvidia-modprobe, which makes nodes on demand when setuid
                                       ///< (04000); absent: not there
  friend bool operator==(const DeviceNodes&, const DeviceNodes&) = default;
};

// ---- loader view and user-mode driver ------------------------------------------------------------------------------

/// One ELF file that a loader could choose. `elf/` turns bytes into this; the resolver only reads this.
struct LibraryFile {
  std::string path;       ///< as found in its folder
  std::string real_path;  ///< after links
  std::string inode;      ///< "device:inode": equal for the same file
  std::int64_t size = 0;
  /// Least size by its own headers, where the file is shorter: a download or copy that broke off. No loader looks at that; the
  /// process ends with SIGBUS. 0: it is whole.
  std::int64_t whole_size = 0;
  std::string state;  ///< "elf", "empty", "not-elf", "unreadable", "dangling", "too-big"
  /// glibc's own words for why its search ends with an error at this file, as a little-endian loader of the file's own class and
  /// machine sees it. Another class is passed over silently before anything else; another machine after "file too short",
  /// "invalid ELF header", "ELF file data encoding not little-endian", "ELF file version …", "ELF file OS ABI invalid", "ELF file
  /// ABI version invalid", "nonzero padding in e_ident" and before all others ("only ET_DYN and ET_EXEC can be loaded", "cannot
  /// dynamically load executable", "object file has no dynamic section", …). Empty: it can be loaded.
  std::string loader_error;
  std::string elf_class;  ///< "32", "64"
  std::string machine;    ///< "x86_64", "aarch64", "i386", …
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath;
  std::string runpath;
  bool has_runpath = false;  ///< DT_RUNPATH is there, perhaps an empty one: then the RPATHs of its loaders do not count
  /// DT_FILTER; DT_AUXILIARY with " (optional)" behind: loaded after what it needs, but placed before it.
  std::vector<std::string> filters;
  std::int64_t flags_1 = 0;  ///< DT_FLAGS_1
  std::int64_t flags = 0;    ///< DT_FLAGS
  /// "program" (ET_EXEC, or a position-independent one: marked so, or with an interpreter and no soname), "shared", "object"
  /// (ET_REL), "core"; empty: no ELF.
  std::string type;
  std::string interpreter;      ///< PT_INTERP: "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"; empty: none
  bool dynamic = false;         ///< has a dynamic section
  std::string build_id;         ///< NT_GNU_BUILD_ID in hexadecimal; empty: none
  std::int64_t isa_needed = 0;  ///< x86-64 level that its GNU property note asks for: 0 none told, 1 baseline … 4
  std::vector<std::string> version_definitions;
  std::vector<std::string> version_needs;  ///< "libc.so.6:GLIBC_2.27"; " (weak)" behind those that may be missing
  std::vector<std::string> symbols;        ///< exported symbols that matter to a rule
  /// Undefined, not weak symbols ("name@VERSION" where a version is wanted) that some candidate of its needed libraries lacks:
  /// those on which two copies of a library differ.
  std::vector<std::string> wanted_symbols;
  std::vector<std::string> dlopen_names;  ///< sonames in its read-only data that it does not list as needed: "libcuda.so.1"
  Fact<std::string> library_version;      ///< release of a CUDA library, read from its bytes: "9.1.0" of libcudnn
  Fact<std::string> runtime_inside;       ///< CUDA release of a CUDA runtime that is linked into it ("13.0"); absent: none is
  Fact<std::string> driver_version;       ///< of an NVIDIA driver library: read from the file's bytes, never from its name
  bool stub = false;                      ///< toolkit's link-time stub, told from the content
  friend bool operator==(const LibraryFile&, const LibraryFile&) = default;
};

/// A folder on a loader's search path, in order.
struct SearchFolder {
  std::string path;
  std::string rule;  ///< "LD_LIBRARY_PATH", "ld.so.conf", "default"
  Origin origin;
  bool exists = false;
  std::vector<std::string>
      cuda_libraries;  ///< CUDA libraries in it by file name: "libcudart.so.12", "libcudnn.so.9.1.0"; at most 256
  friend bool operator==(const SearchFolder&, const SearchFolder&) = default;
};

struct LoaderCacheEntry {
  std::string soname;
  std::string path;
  std::int64_t flags = 0;  ///< as in the cache: 0x0303 x86-64 ELF libc6, 0x0003 plain …
  std::uint64_t hwcap = 0;
  std::string hwcaps;  ///< glibc-hwcaps level that the entry is for, from the cache's own extension: "x86-64-v3"; empty: none
  friend bool operator==(const LoaderCacheEntry&, const LoaderCacheEntry&) = default;
};

/// One thing that a process asks its loader for.
struct LoadStep {
  /// What is handed to dlopen: a path, or a soname to be searched for. Of several the first that loads is taken; when none does,
  /// the step has failed.
  std::vector<std::string> names;
  std::string caller;     ///< path of the object that calls dlopen (its RPATH or RUNPATH counts); empty: the program
  bool global = false;    ///< RTLD_GLOBAL
  bool optional = false;  ///< the process goes on without it
  std::string why;        ///< who asks: "import torch", "torch preloads nvidia/*/lib", "dlopen name in libcudnn.so.9"
  /// Files that the process opens (RTLD_GLOBAL) when this step failed, before it tries the step once more.
  std::vector<std::string> after_failure;
  friend bool operator==(const LoadStep&, const LoadStep&) = default;
};

/// A process to be forecast: a program, or an interpreter that imports a framework.
struct ProcessPlan {
  std::string name;              ///< as the user names it: "./llama-server", "torch@/home/x/venv"
  std::string kind;              ///< "program", "library" (a .so that some program opens), "python"; "extensions"
  std::string program;           ///< the main program's file; for a library: empty where no program is known
  std::string prefix;            ///< python: prefix of its environment
  std::string framework;         ///< python: distribution that is imported: "torch"
  std::vector<LoadStep> steps;   ///< after start-up, in order
  std::vector<Origin> problems;  ///< what could not be read, so that the plan is not complete
  friend bool operator==(const ProcessPlan&, const ProcessPlan&) = default;
};

/// One kind of GPU code in one file.
struct GpuCodeTarget {
  std::string kind;  ///< "sass" (cubin), "ptx", "lto" (NVVM IR, linked at run time), "other"
  std::string arch;  ///< "sm_90a", "compute_120f"; "lto": "lto_90"
  std::int64_t count = 0;
  /// How many of them lie in .nv_fatbin or __nv_relfatbin, where the CUDA runtime takes them from; the file loads others itself.
  std::int64_t listed = 0;
  std::string ptx_isa;         ///< "ptx": newest PTX ISA version among them, "8.7"
  std::string ptx_isa_oldest;  ///< and the oldest
  friend bool operator==(const GpuCodeTarget&, const GpuCodeTarget&) = default;
};

struct CodeCount {
  std::string name;
  std::int64_t count = 0;
  friend bool operator==(const CodeCount&, const CodeCount&) = default;
};

/// The GPU code of one file (an executable, a library, an object, a member of an archive).
struct GpuCodeFile {
  std::string path;  ///< members: "libx.a:part.o", "torch-2.9.whl:torch/lib/libtorch_cuda.so"
  std::string real_path;
  std::int64_t size = 0;
  /// "" (read to the end), "headers" (only the containers of .nv_fatbin and its kin were hopped through: code elsewhere in the
  /// file is not counted), "damaged", "unreadable", "too-big", "limit": why what follows is not all.
  std::string state;
  std::string problem;                 ///< in words, where `state` is no success
  std::vector<GpuCodeTarget> targets;  ///< sass, ptx, lto, by architecture; what has no kernels is not among them
  std::int64_t containers = 0;         ///< fatbin containers
  std::int64_t stub_containers =
      0;  ///< of them without kernels and functions: device-link stubs, and what nvcc makes of sources without kernels
  std::vector<CodeCount> stub_targets;  ///< what they are made for, and cubins and PTX texts like them: "sm_75", "compute_90"
  /// Containers (and cubins outside of any) in each place: ".nv_fatbin", "__nv_relfatbin", ".ldata", …; "file": not in a section.
  std::vector<CodeCount> places;
  /// Sets of targets of single containers ("sm_80 sm_90 compute_90") with their number, stubs left out: a container without the
  /// GPU's architecture is a hole in a framework's library. The 64 most frequent; the rest is counted as "other sets".
  std::vector<CodeCount> container_sets;
  friend bool operator==(const GpuCodeFile&, const GpuCodeFile&) = default;
};

/// What a new process' dynamic loader would see, for the sonames that matter.
struct LoaderView {
  Fact<std::vector<LoaderCacheEntry>> cache;  ///< entries of /etc/ld.so.cache for NVIDIA/CUDA sonames; absent: no cache file
  std::vector<SearchFolder> folders;
  std::vector<LibraryFile> files;          ///< every candidate in those folders and in usual places
  Fact<std::vector<std::string>> preload;  ///< /etc/ld.so.preload
  std::vector<std::string>
      hwcaps;  ///< glibc-hwcaps subfolders that this machine's CPU serves, best first ("x86-64-v3", …); empty: CPU not seen
  std::string libc_version;        ///< of the machine's own glibc: "2.36"; empty: not seen
  std::vector<ProcessPlan> plans;  ///< processes whose libraries are all among `files`
  friend bool operator==(const LoaderView&, const LoaderView&) = default;
};

/// One copy of a user-mode driver library: libcuda, libnvidia-ml, libnvidia-ptxjitcompiler, libnvidia-nvvm.
struct DriverLibrary {
  std::string name;  ///< "libcuda.so.1"
  std::string path;
  std::string real_path;
  std::string kind;  ///< "driver", "stub", "compat", "empty", "not-elf", "cut-off", "dangling", "wsl"
  std::string elf_class;
  std::string machine;
  Fact<std::string> version;    ///< read from the file itself
  std::string version_in_name;  ///< "535.129.03" of libcuda.so.535.129.03; empty when the name has none
  bool wins = false;            ///< the copy that a new process (of Machine::user with Machine::environment) gets
  std::string found_by;  ///< rule by which the winner is found: "LD_LIBRARY_PATH", "ld.so.cache", "default", "ld.so.conf"; empty
                         ///< for the others
  Fact<std::string> package;  ///< package that owns it; absent: no package does
  bool bind_mounted = false;  ///< a mount point of its own: injected into a container
  friend bool operator==(const DriverLibrary&, const DriverLibrary&) = default;
};

struct UserDriver {
  Fact<std::vector<DriverLibrary>> libraries;  ///< known and empty: searched everywhere, none there
  Fact<bool> libcuda_dev_link;                 ///< libcuda.so (for linking, numba, triton) is findable by the loader
  Fact<bool> search_complete;                  ///< false value: some folder of the search path could not be read
  friend bool operator==(const UserDriver&, const UserDriver&) = default;
};

// ---- log, packages, services ---------------------------------------------------------------------------------------

/// One line (or joined lines) of the kernel log that matters.
struct LogEvent {
  std::string kind;  ///< "nvrm", "xid", "sxid", "nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm", "nouveau", "pci", "aer",
                     ///< "secure-boot", "module", "suspend", "resume", "iommu", "boot", "firmware", "audit", "user", "vfio",
                     ///< "gpu-switch", "dxg"
  std::string text;  ///< message without time, host and "kernel:" prefix; continued NVRM lines are joined by a blank
  std::string pci;   ///< "0000:01:00" of an Xid or of a device line; empty
  std::int64_t code = -1;  ///< Xid/SXid number
  std::int64_t boot = 0;   ///< 0 the newest boot in the log, -1 the one before, …
  double seconds = -1;     ///< since boot, where told
  std::string time;        ///< wall clock as written, where told
  std::int64_t count = 1;  ///< how many such lines in a row were folded into it
  Origin origin;
  friend bool operator==(const LogEvent&, const LogEvent&) = default;
};

/// A message that a pasted text (or a program's output) holds.
struct Observation {
  std::string signature;                          ///< id of data/signatures; a reader's own name where a reader saw it
  std::string meaning;                            ///< class that rules ask for: "cuda-error", "loader-missing-library", …
  std::map<std::string, std::string> parameters;  ///< {"library": "libcublas.so.12"}, as the message names them
  std::string place;                              ///< "host", "container", "windows"
  std::int64_t count = 1;                         ///< how often it stands in the text
  Origin origin;                                  ///< the first line with it
  friend bool operator==(const Observation&, const Observation&) = default;
};

struct KernelLog {
  Fact<std::vector<LogEvent>> events;  ///< oldest first; known and empty: a log was read and nothing in it matters
  std::vector<std::string> sources;    ///< files read
  bool truncated = false;              ///< only the end of a long log was read
  friend bool operator==(const KernelLog&, const KernelLog&) = default;
};

struct Package {
  std::string name;
  std::string version;  ///< as the package manager writes it, epoch included
  std::string architecture;
  std::string manager;  ///< "dpkg", "rpm", "pacman"
  std::string status;   ///< "installed", "config-files", "half-installed", "unpacked", "half-configured", "triggers-pending"
  bool held = false;
  Origin origin;
  friend bool operator==(const Package&, const Package&) = default;
};

struct PackageChange {
  std::string action;  ///< "install", "upgrade", "remove", "purge", "downgrade"
  std::string name;
  std::string old_version;
  std::string new_version;
  friend bool operator==(const PackageChange&, const PackageChange&) = default;
};

/// One transaction of apt, dnf, pacman or zypper that touched the driver.
struct PackageTransaction {
  std::string time;        ///< as written
  std::int64_t epoch = 0;  ///< seconds, 0 when the time zone is unknown and no guess is possible
  std::string command;
  bool failed = false;
  std::vector<PackageChange> changes;  ///< of NVIDIA/CUDA packages and kernels
  Origin origin;
  friend bool operator==(const PackageTransaction&, const PackageTransaction&) = default;
};

struct Packages {
  Fact<std::string> manager;                ///< "dpkg", "rpm", "pacman"
  Fact<std::vector<Package>> installed;     ///< NVIDIA, CUDA, kernel-header and container-toolkit packages only
  std::vector<PackageTransaction> history;  ///< newest last, at most 20
  Fact<std::string> runfile_driver;  ///< version that the runfile installer's log says is installed (and was not uninstalled
                                     ///< after); absent: no such log
  std::vector<Origin> repositories;  ///< apt/dnf/zypper sources that mention nvidia, cuda, rpmfusion, graphics-drivers
  std::vector<Origin> problems;      ///< broken package states in the manager's own words
  friend bool operator==(const Packages&, const Packages&) = default;
};

struct Service {
  std::string name;        ///< "nvidia-fabricmanager"
  Fact<std::string> unit;  ///< path of the unit file; absent: not installed
  Fact<bool> enabled;      ///< wanted by some target
  Fact<bool> running;      ///< a process in its cgroup, or by its pid file
  Fact<std::string> version;
  std::vector<Origin> log;  ///< last decisive lines of its own log
  friend bool operator==(const Service&, const Service&) = default;
};

// ---- container engines -----------------------------------------------------------------------------------------------

/// A runtime that an engine's configuration registers.
struct ContainerRuntime {
  std::string name;  ///< "nvidia"
  std::string path;  ///< as written: "/usr/bin/nvidia-container-runtime", "nvidia-container-runtime"; empty: not told
  Fact<bool> found;  ///< its program is there; not seen: nothing to look for
  Origin origin;
  friend bool operator==(const ContainerRuntime&, const ContainerRuntime&) = default;
};

/// containerd, CRI-O or Podman as their configuration sets them up.
struct RuntimeEngine {
  std::string name;                ///< "containerd", "cri-o", "podman", "k3s"
  std::string program;             ///< "/usr/bin/containerd"; empty: only its configuration is there
  std::vector<std::string> files;  ///< configuration files, in the order in which they count
  std::int64_t schema = 0;         ///< containerd: "version" of its configuration; 0: not told
  std::vector<ContainerRuntime> runtimes;
  Fact<std::string> default_runtime;  ///< absent: the engine's own
  Fact<bool> cdi;                     ///< CDI is switched on (off) by the configuration; absent: as the release has it
  Fact<bool> systemd_cgroup;          ///< its runtimes let systemd manage the control groups; absent: not told
  std::vector<Origin> problems;       ///< a configuration that the engine would not read either
  friend bool operator==(const RuntimeEngine&, const RuntimeEngine&) = default;
};

/// /etc/nvidia-container-runtime/config.toml. Absent: not told, so the toolkit's own default.
struct NvidiaRuntimeConfiguration {
  Fact<std::string> mode;  ///< "auto", "legacy", "cdi", "csv"
  Fact<bool> no_cgroups;
  Fact<std::string> root;     ///< where the driver's files are taken from: "/run/nvidia/driver"
  Fact<std::string> ldcache;  ///< another cache of the loader than /etc/ld.so.cache
  Fact<std::string> ldconfig;
  Fact<bool> accept_envvar_unprivileged;  ///< NVIDIA_VISIBLE_DEVICES counts without privileges
  Fact<std::string> problem;              ///< why it cannot be read; absent: it can
  friend bool operator==(const NvidiaRuntimeConfiguration&, const NvidiaRuntimeConfiguration&) = default;
};

/// A file of the host that a CDI specification brings into a container.
struct CdiPath {
  std::string path;  ///< on the host
  std::string kind;  ///< "device", "mount", "hook"
  Fact<bool> found;  ///< it is there; not seen: its folder could not be looked into
  std::int64_t line = 0;
  friend bool operator==(const CdiPath&, const CdiPath&) = default;
};

/// A CDI specification: a file below /etc/cdi or /var/run/cdi.
struct CdiSpecification {
  std::string path;
  std::string kind;                  ///< "nvidia.com/gpu"
  std::string version;               ///< "cdiVersion": "0.5.0"
  std::vector<std::string> devices;  ///< "0", "all", "GPU-…"
  std::vector<CdiPath> paths;        ///< at most 1024
  std::string driver;                ///< release in the names of the driver libraries that it mounts: "550.120"; empty: none
  std::string problem;               ///< why it cannot be read; empty: it can
  friend bool operator==(const CdiSpecification&, const CdiSpecification&) = default;
};

/// What this machine starts containers with, and how it would bring a GPU into them.
struct ContainerEngines {
  Fact<std::string> docker;                             ///< program of the daemon: "/usr/bin/dockerd"; absent: none
  Fact<std::string> docker_snap;                        ///< folder of the snap's Docker; absent: not installed
  Fact<std::string> docker_context;                     ///< currentContext of the judged user; absent: the default one
  Fact<std::vector<ContainerRuntime>> docker_runtimes;  ///< of daemon.json; absent: no such file
  Fact<std::string> docker_default_runtime;             ///< absent: Docker's own
  /// Program of the NVIDIA Container Toolkit by which Docker brings a GPU in ("/usr/bin/nvidia-container-runtime-hook"); absent:
  /// looked everywhere, none there.
  Fact<std::string> toolkit_hook;
  Fact<std::string> docker_cgroup_driver;  ///< native.cgroupdriver of daemon.json; absent: as the release has it
  Fact<bool> docker_cdi;                   ///< features.cdi of daemon.json; absent: as the release has it
  std::vector<RuntimeEngine> others;
  Fact<std::string> toolkit_version;  ///< release of the NVIDIA Container Toolkit, by its packages; absent: no package
  NvidiaRuntimeConfiguration nvidia_runtime;
  Fact<std::vector<CdiSpecification>> cdi;  ///< known and empty: the folders are there without one; absent: no such folder
  /// Device nodes of NVIDIA without a link to them in /dev/char ("/dev/nvidia0"): runc writes a container's device rules
  /// through these, and systemd drops what it does not find there when it reloads.
  Fact<std::vector<std::string>> nodes_without_char_link;
  std::vector<Origin> kubernetes;  ///< signs of a Kubernetes node and of what NVIDIA's operator or device plugin left on it
  std::vector<Origin> slurm;       ///< lines of gres.conf, cgroup.conf and slurm.conf about GPUs and devices
  std::vector<Origin> refusals;  ///< lines in which an engine was asked for a GPU and could not give one, newest last; at most 8
  friend bool operator==(const ContainerEngines&, const ContainerEngines&) = default;
};

// ---- toolkits --------------------------------------------------------------------------------------------------------

/// One entry of a toolkit's version.json.
struct ToolkitComponent {
  std::string name;     ///< key of the manifest: "cuda_nvcc", "libcublas"
  std::string version;  ///< "12.6.85"
  /// Files that every release of this component has and that are not there, relative to the toolkit; empty: complete, or a
  /// component whose files we do not know.
  std::vector<std::string> missing;
  std::int64_t checked = 0;  ///< how many files were looked for; as many as `missing`: nothing of the component is there
  friend bool operator==(const ToolkitComponent&, const ToolkitComponent&) = default;
};

/// A tool of a toolkit that is there.
struct ToolkitTool {
  std::string name;  ///< "nvcc", "ptxas", "cuobjdump", "compute-sanitizer", "nsys", "ncu", "cuda-gdb", "cuda-memcheck", …
  std::string path;
  std::string state;  ///< "elf", "script", "empty", "not-executable", "not-a-program", "dangling", "unreadable"
  /// Needed sonames (other than the toolkit's own) that this machine's loader does not find: "libtinfo.so.5".
  std::vector<std::string> missing_libraries;
  friend bool operator==(const ToolkitTool&, const ToolkitTool&) = default;
};

/// A folder (or a distribution's set of files) that is, or claims to be, a CUDA toolkit or a part of one.
struct Toolkit {
  std::string path;                ///< "/usr/local/cuda-12.6", "/usr" for a distribution's, an environment's prefix for conda
  std::string real_path;           ///< after links
  std::vector<std::string> names;  ///< links that lead here: "/usr/local/cuda", "/etc/alternatives/cuda"
  std::string origin;              ///< "runfile", "deb", "rpm", "pacman", "conda", "pip", "distribution", "hpc-sdk", "spack",
                                   ///< "easybuild", "nix", "unknown"
  Fact<std::string> package;       ///< package that owns its nvcc (or its folder); absent: none does
  std::string environment;         ///< conda and pip: prefix of the Python environment that it lies in
  Fact<std::string> version;       ///< release, as exactly as it is told: "12.6.3", "12.6"; origin: where it was read
  Fact<std::string> nvcc;          ///< path of nvcc; absent: none
  Fact<std::string> nvcc_version;  ///< "12.6.85", read from nvcc's own bytes (or nvcc's package data)
  Fact<std::vector<ToolkitComponent>> components;  ///< of version.json; absent: it has none
  /// Files without which nvcc compiles nothing, relative, that are not there: "bin/ptxas", "nvvm/bin/cicc",
  /// "include/cuda_runtime.h", "nvvm/libdevice", "lib64/libcudart_static.a".
  std::vector<std::string> missing;
  std::vector<std::string> dangling;  ///< links inside it that lead nowhere, relative; at most 32
  std::vector<ToolkitTool> tools;
  /// Host compilers that crt/host_config.h accepts: greatest (and least) major versions; absent: no such limit in the file.
  Fact<std::int64_t> gcc_max, gcc_min, clang_max, clang_min;
  /// Compute capabilities that its compiler targets as real architectures, "7.5" …, read from the compiler's own bytes;
  /// empty: not told (the release tables may know).
  std::vector<std::string> architectures;
  /// crt/math_functions.h declares sinpi, cospi … in the way that glibc 2.41 demands (noexcept); absent: no such header.
  Fact<bool> headers_fit_glibc_2_41;
  /// The same of rsqrt and rsqrtf, which glibc declares since 2.42.
  Fact<bool> headers_fit_glibc_2_42;
  bool has_runtime_library = false;    ///< some libcudart.so.N is there
  std::vector<std::string> libraries;  ///< sonames in its library folders: "libcudart.so.12", "libcudnn.so.9"; no stubs
  friend bool operator==(const Toolkit&, const Toolkit&) = default;
};

/// A link that toolkits are reached by: /usr/local/cuda, /usr/local/cuda-12, /etc/alternatives/cuda, /opt/cuda, /usr/bin/nvcc.
struct ToolkitLink {
  std::string path;
  std::string target;     ///< the link's own text
  std::string real_path;  ///< empty: it leads nowhere
  std::string state;      ///< "toolkit", "no-toolkit" (a folder that is none), "dangling", "unreadable"
  friend bool operator==(const ToolkitLink&, const ToolkitLink&) = default;
};

/// A host compiler that nvcc or an extension build could take.
struct HostCompiler {
  std::string name;  ///< "gcc", "g++", "c++", "cc", "clang", "clang++", and with their version: "gcc-12", "g++-12"
  std::string path;
  std::string real_path;
  Fact<std::string> version;  ///< "13.3.0" or "13": from its name, its folders under lib/gcc, its package or its bytes
  std::string found_by;       ///< "PATH", "CC", "CXX", "CUDAHOSTCXX", "NVCC_CCBIN", "usual folder"
  friend bool operator==(const HostCompiler&, const HostCompiler&) = default;
};

struct Toolkits {
  Fact<std::vector<Toolkit>> found;  ///< known and empty: looked everywhere, none there
  std::vector<ToolkitLink> links;
  Fact<std::vector<HostCompiler>> compilers;
  Fact<std::string> libc_headers;  ///< version of the C library's headers, "2.41"; absent: none installed
  friend bool operator==(const Toolkits&, const Toolkits&) = default;
};

// ---- shells ----------------------------------------------------------------------------------------------------------

/// What one variable will be in one kind of shell.
struct ShellVariable {
  std::string name;            ///< "PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", …
  Fact<std::string> value;     ///< absent: not set. Not seen: the start-up file that decides it, "/home/x/.bashrc:12: …"
  std::vector<Origin> set_by;  ///< lines that set or changed it, in the order they run
  friend bool operator==(const ShellVariable&, const ShellVariable&) = default;
};

/// One way to get a process: its start-up files, read but never run, and what they leave in the variables that matter.
struct ShellForecast {
  std::string shell;  ///< "bash", "zsh", "fish", "sh"; empty for kinds without a shell (cron, systemd)
  /// "login" (text console, ssh without command, `su -`), "interactive" (terminal window), "command" (`bash -c`, ssh with a
  /// command), "ide" (program started from the desktop), "cron", "systemd-user", "systemd-system".
  std::string kind;
  std::vector<std::string> files;  ///< start-up files that exist and were read, in order
  std::vector<ShellVariable> variables;
  friend bool operator==(const ShellForecast&, const ShellForecast&) = default;
};

struct Shells {
  Fact<std::string> login_shell;  ///< of the judged user: "/bin/bash"
  Fact<std::string> home;
  Fact<std::vector<ShellForecast>> forecasts;  ///< not seen: home unreadable, no user known
  /// Lines of any start-up file that name a CUDA folder in PATH, LD_LIBRARY_PATH, CUDA_HOME or the like, run or not.
  std::vector<Origin> cuda_lines;
  friend bool operator==(const Shells&, const Shells&) = default;
};

// ---- Python environments ---------------------------------------------------------------------------------------------

/// An installed distribution that matters: frameworks, their plug-ins, CUDA libraries.
struct PythonPackage {
  std::string name;     ///< normalised: "nvidia-cublas-cu12", "torch"
  std::string version;  ///< "2.5.1+cu124"
  std::string manager;  ///< "pip" (dist-info), "conda" (conda-meta), "egg" (egg-info), "distribution" (dist-packages of dpkg/rpm)
  std::string installer;                  ///< INSTALLER: "pip", "uv", "conda", "poetry", …; empty: not told
  std::string build;                      ///< conda: build string "cuda126_py312h…", "cpu_mkl_…"
  std::string channel;                    ///< conda: channel "conda-forge", "pytorch", "nvidia", "defaults"
  std::vector<std::string> tags;          ///< wheel tags: "cp312-cp312-manylinux_2_28_x86_64"
  std::vector<std::string> requirements;  ///< requirements on packages that matter, as written: "nvidia-cublas-cu12==12.4.5.8; …"
  std::string folder;                     ///< the dist-info (egg-info) folder, or the conda-meta file
  std::string url;                        ///< direct_url.json: installed from this wheel or repository; empty: from an index
  std::string state;  ///< "", "no-metadata", "no-version", "unreadable", "files-missing" (the package's folder is gone)
  Origin origin;      ///< the line of a text that names it; empty: its folder has it
  friend bool operator==(const PythonPackage&, const PythonPackage&) = default;
};

/// What a framework's own files say about its build.
struct FrameworkBuild {
  std::string name;  ///< distribution whose import package it is: "torch", "torchvision", "tensorflow", "jaxlib", "onnxruntime"
  std::string version;  ///< as its own version file says: "2.5.1+cu124"; empty: not told
  /// "cuda", "cpu", "rocm", "xpu", "mps", or empty: the files do not tell.
  std::string flavour;
  Fact<std::string> cuda;                         ///< CUDA release that it was built with: "12.4"; absent: none
  Fact<std::string> hip;                          ///< ROCm release; absent: none
  Fact<std::string> cudnn;                        ///< cuDNN that it was built with, where a file says so
  Fact<bool> cxx11_abi;                           ///< C++ ABI of its libraries (symbols of std::__cxx11)
  std::vector<std::string> compute_capabilities;  ///< where a file lists them (TensorFlow's build_info): "sm_60", "compute_90"
  std::vector<std::string> libraries;  ///< libraries of the package that tell the flavour: "torch/lib/libtorch_cuda.so"
  std::string folder;                  ///< the import package's folder
  Origin origin;                       ///< file and line that decided the flavour
  friend bool operator==(const FrameworkBuild&, const FrameworkBuild&) = default;
};

struct PythonEnvironment {
  std::string prefix;             ///< "/home/alice/venv", "/usr", "/opt/conda/envs/ml"
  std::string kind;               ///< "system", "venv", "virtualenv", "conda", "pyenv", "uv", "pipx", "poetry", "pixi", "unknown"
  std::string name;               ///< short name for people and for --for NAME@ENV: folder or conda name
  Fact<std::string> interpreter;  ///< path of its python; absent: none (a broken environment)
  Fact<std::string> python;       ///< "3.12.8", or "3.12" where only that is told
  std::string abi;                ///< "cp312", "cp313t", "pp310"
  std::string machine;            ///< of the interpreter's file: "x86_64", "aarch64"
  std::string libc;               ///< "glibc", "musl"; empty: not told
  std::string base;               ///< venv: prefix of the interpreter that it was made from
  bool system_site_packages = false;  ///< sees the base's packages too
  bool externally_managed = false;    ///< EXTERNALLY-MANAGED beside the standard library: pip and uv install nothing here
  std::vector<std::string> site_packages;
  std::int64_t package_count = 0;  ///< all distributions, kept or not
  std::vector<PythonPackage> packages;
  std::vector<FrameworkBuild> frameworks;
  std::vector<std::string> jupyter_kernels;  ///< names of kernels that run this interpreter
  bool active = false;   ///< VIRTUAL_ENV, CONDA_PREFIX or the first python on PATH of the judged process leads here
  std::string found_by;  ///< "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "--env", "usual folder", "conda environments.txt", "kernel"
  std::vector<Origin> problems;  ///< what could not be read
  friend bool operator==(const PythonEnvironment&, const PythonEnvironment&) = default;
};

struct Python {
  Fact<std::vector<PythonEnvironment>> environments;  ///< active one first
  Fact<std::string> python;  ///< file that a plain `python` starts for the judged process; absent: none on PATH
  Fact<std::string> python3;
  std::vector<Origin> problems;  ///< homes and folders that could not be looked into
  friend bool operator==(const Python&, const Python&) = default;
};

// ---- the whole -----------------------------------------------------------------------------------------------------

struct Machine {
  static constexpr std::int64_t current_schema = 1;
  std::int64_t schema = current_schema;
  std::string collected_by;  ///< "gpuvet 0.1.0"
  std::string source;        ///< "host", "root", "text", "container", "image"
  bool redacted = false;

  Fact<std::string> subject;  ///< what is judged where it is not the machine itself: "container web", "image app:1.2"

  OperatingSystem os;
  Wsl wsl;
  User user;
  std::map<std::string, std::string>
      environment;              ///< the judged process' variables that matter (CUDA_*, NVIDIA_*, LD_*, PATH, …)
  Fact<bool> environment_seen;  ///< false/not seen: no environment was given for a root
  Fact<std::vector<PciDevice>> pci;
  KernelDriver kernel_driver;
  DeviceNodes device_nodes;
  LoaderView loader;
  UserDriver user_driver;
  KernelLog kernel_log;
  Packages packages;
  Fact<std::vector<Service>> services;
  Fact<std::vector<std::string>> processes;  ///< command names of running processes that matter (nvidia-persistenced,
                                             ///< nv-fabricmanager, nvidia-cuda-mps-control, Xorg, …)
  ContainerEngines container_engines;
  Toolkits toolkits;
  Shells shells;
  Python python;
  Fact<std::vector<Observation>> observations;  ///< of a text; not seen: none was given
  Fact<std::vector<GpuCodeFile>> gpu_code;      ///< of frameworks and programs that were looked into; not seen: none was
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace gpuvet
