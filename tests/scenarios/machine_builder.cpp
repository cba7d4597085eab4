#include "machine_builder.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "elf_builder.h"

namespace gpuvet::test {
namespace {

std::string get(const Options& options, const std::string& key, const std::string& fallback) {
  const auto it = options.find(key);
  return it == options.end() ? fallback : it->second;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string underscores(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string resource_text(const std::string& kind) {
  // BAR0 16 MiB, BAR1 256 MiB prefetchable 64 bit, BAR3 32 MiB, BAR5 I/O: what a GPU asks for.
  std::string text;
  for (int i = 0; i < 13; ++i) {
    std::string line = "0x0000000000000000 0x0000000000000000 0x0000000000000000";
    if (kind != "none") {
      if (i == 0) line = "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200";
      if (i == 1) line = "0x0000006000000000 0x000000600fffffff 0x000000000014220c";
      if (i == 3) line = "0x0000006800000000 0x0000006801ffffff 0x000000000014220c";
      if (i == 5) line = "0x0000000000003000 0x000000000000307f 0x0000000000040101";
    }
    // An unassigned BAR keeps its flags and loses its address: start 0, end size-1, IORESOURCE_UNSET.
    if (kind == "nospace0" && i == 0) line = "0x0000000000000000 0x0000000000ffffff 0x0000000020040200";
    if (kind == "nospace1" && i == 1) line = "0x0000000000000000 0x000000000fffffff 0x000000002014220c";
    text += line + "\n";
  }
  return text;
}

std::string config_space(unsigned vendor, unsigned device, unsigned class_code, bool all_ones, const std::string& acs) {
  if (all_ones) return std::string(256, '\xff');
  std::string bytes(acs.empty() ? 256 : 4096, '\0');
  const auto put = [&](std::size_t at, unsigned value, int count) {
    for (int i = 0; i < count; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  };
  put(0, vendor, 2);
  put(2, device, 2);
  put(4, 0x0407, 2);
  put(6, 0x0010, 2);
  put(9, class_code, 3);
  put(0x34, 0x60, 1);
  if (!acs.empty()) {
    put(0x100, 0x0001000d, 4);  // extended capability: ACS, version 1, last
    put(0x104, 0x5f, 2);
    put(0x106, static_cast<unsigned>(std::stoul(acs, nullptr, 0)), 2);
  }
  return bytes;
}

}  // namespace

void MachineBuilder::pci(const std::string& address, const std::string& ids, const Options& options) {
  const std::string vendor = ids.substr(0, 4), device = ids.substr(5, 4);
  const std::string class_text = get(options, "class", "030000");
  const std::string parent = get(options, "parent", "");
  // Directly below the parent's own folder, as in sysfs; a parent that was laid out before may lie deep itself.
  const auto above = pci_folders_.find(parent);
  std::string inner = above != pci_folders_.end() ? above->second : "pci0000:" + (parent.empty() ? address : parent).substr(5, 2);
  if (!parent.empty() && above == pci_folders_.end()) inner += "/" + parent;
  inner += "/" + address;
  pci_folders_[address] = inner;
  const std::string folder = "/sys/devices/" + inner, back = "../../../devices/" + inner;
  const auto file = [&](const char* name, const std::string& content) { tree.add_file(folder + "/" + name, content); };
  file("vendor", "0x" + vendor + "\n");
  file("device", "0x" + device + "\n");
  file("class", "0x" + class_text + "\n");
  file("revision", "0x" + get(options, "rev", "a1") + "\n");
  const std::string subsystem = get(options, "subsystem", "1458:4043");
  file("subsystem_vendor", "0x" + subsystem.substr(0, 4) + "\n");
  file("subsystem_device", "0x" + subsystem.substr(5) + "\n");
  file("resource", resource_text(get(options, "bars", class_text.starts_with("03") ? "ok" : "none")));
  file("enable", "1\n");
  file("power_state", get(options, "power", "D0") + "\n");
  file("power/runtime_status", get(options, "runtime", "active") + "\n");
  file("power/control", get(options, "control", "on") + "\n");
  file("config", config_space(static_cast<unsigned>(std::stoul(vendor, nullptr, 16)), static_cast<unsigned>(std::stoul(device, nullptr, 16)),
                              static_cast<unsigned>(std::stoul(class_text, nullptr, 16)), options.contains("allones"), get(options, "acs", "")));
  const auto link = split(get(options, "link", "16x16.0/16x16.0"), '/');
  if (link.size() == 2) {
    const auto now = split(link[0], 'x'), max = split(link[1], 'x');
    file("current_link_width", now.at(0) + "\n");
    file("current_link_speed", now.at(1) + " GT/s PCIe\n");
    file("max_link_width", max.at(0) + "\n");
    file("max_link_speed", max.at(1) + " GT/s PCIe\n");
  }
  if (class_text.starts_with("0300")) file("boot_vga", get(options, "boot_vga", "0") + "\n");
  const auto aer = split(get(options, "aer", "0,0,0"), ',');
  file("aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR " + aer.at(0) + "\n");
  file("aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL " + aer.at(1) + "\n");
  file("aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL " + aer.at(2) + "\n");
  if (options.contains("iommu")) {
    const std::string group = "/sys/kernel/iommu_groups/" + options.at("iommu");
    tree.add_file(group + "/type", get(options, "iommu_type", "DMA-FQ") + "\n");
    tree.add_link(folder + "/iommu_group", group);
  }
  if (options.contains("driver") && !options.at("driver").empty()) {
    tree.add_link(folder + "/driver", "/sys/bus/pci/drivers/" + options.at("driver"));
    tree.add_link("/sys/bus/pci/drivers/" + options.at("driver") + "/" + address, folder);
  }
  tree.add_link("/sys/bus/pci/devices/" + address, back);
  std::erase_if(gpus_, [&](const Gpu& g) { return g.address == address; });
  if (vendor == "10de" && class_text.starts_with("03")) gpus_.push_back({address, device});
}

void MachineBuilder::loaded(const std::string& name, const Options& options) {
  const std::string module = underscores(name);
  std::erase_if(modules_, [&](const LoadedTestModule& m) { return m.name == module; });
  modules_.push_back({module, get(options, "version", ""), get(options, "refs", "0"), get(options, "used_by", "")});
  const std::string folder = "/sys/module/" + module;
  tree.add_file(folder + "/initstate", "live\n");
  tree.add_file(folder + "/refcnt", modules_.back().refs + "\n");
  tree.add_file(folder + "/taint", module.starts_with("nvidia") ? (get(options, "flavor", "") == "open" ? "OE\n" : "POE\n") : "\n");
  if (!modules_.back().version.empty()) tree.add_file(folder + "/version", modules_.back().version + "\n");
}

void MachineBuilder::unload(const std::string& name) {
  std::erase_if(modules_, [&](const LoadedTestModule& m) { return m.name == underscores(name); });
  tree.remove("/sys/module/" + underscores(name));
}

void MachineBuilder::loaded_driver(const std::string& version, bool open, const std::string& uvm_major) {
  const std::string flavor = open ? "open" : "proprietary";
  loaded("nvidia_uvm", {{"version", version}, {"flavor", flavor}});
  loaded("nvidia_drm", {{"version", version}, {"flavor", flavor}, {"refs", "4"}});
  loaded("nvidia_modeset", {{"version", version}, {"flavor", flavor}, {"refs", "2"}, {"used_by", "nvidia_drm"}});
  loaded("nvidia", {{"version", version}, {"flavor", flavor}, {"refs", "20"}, {"used_by", "nvidia_uvm,nvidia_modeset"}});
  const std::string proc = "/proc/driver/nvidia";
  tree.add_file(proc + "/version", open ? "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version +
                                              "  Release Build  (dvs-builder@builder)  Fri Aug  1 10:00:00 UTC 2025\nGCC version:  gcc version 13.2.0\n"
                                        : "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version +
                                              "  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 12.3.0\n");
  tree.add_file(proc + "/params",
                "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
                "NvLinkDisable: 0\nPreserveVideoMemoryAllocations: 0\nDynamicPowerManagement: 3\nEnableGpuFirmware: 18\n"
                "OpenRmEnableUnsupportedGpus: 1\nRegistryDwords: \"\"\nExcludedGpus: \"\"\n");
  tree.add_file(proc + "/registry", "Binary: \"\"\n");
  tree.add_file(proc + "/capabilities/mig/config", "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
  tree.add_file(proc + "/capabilities/mig/monitor", "DeviceFileMinor: 2\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const std::string minor = std::to_string(i);
    tree.add_file(proc + "/gpus/" + gpus_[i].address + "/information",
                  "Model: \t\t NVIDIA GPU 10de:" + gpus_[i].device + "\nIRQ:   \t\t 150\nGPU UUID: \t GPU-d32dec59-6fc9-7917-8529-2dd72312e2a" + minor.back() +
                      "\nVideo BIOS: \t 95.02.3c.40.12\nBus Type: \t PCIe\nDMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t " +
                      gpus_[i].address + "\nDevice Minor: \t " + minor + "\nGPU Firmware: \t " + (open ? version : "N/A") + "\nGPU Excluded:\t No\n");
    tree.add_device("/dev/nvidia" + minor, FileType::CharDevice, 195, static_cast<std::uint32_t>(i), 0666);
  }
  tree.add_device("/dev/nvidiactl", FileType::CharDevice, 195, 255, 0666);
  tree.add_device("/dev/nvidia-modeset", FileType::CharDevice, 195, 254, 0666);
  const auto uvm = static_cast<std::uint32_t>(std::stoul(uvm_major));
  tree.add_device("/dev/nvidia-uvm", FileType::CharDevice, uvm, 0, 0666);
  tree.add_device("/dev/nvidia-uvm-tools", FileType::CharDevice, uvm, 1, 0666);
  tree.add_device("/dev/nvidia-caps/nvidia-cap1", FileType::CharDevice, 235, 1, 0400);
  tree.add_device("/dev/nvidia-caps/nvidia-cap2", FileType::CharDevice, 235, 2, 0444);
  for (const char* name : {"nvidia", "nvidiactl", "nvidia-modeset"}) device_majors(name, "195");
  device_majors("nvidia-caps", "235");
  device_majors("nvidia-uvm", uvm_major);
}

void MachineBuilder::device_majors(const std::string& name, const std::string& major) {
  std::erase_if(majors_, [&](const auto& m) { return m.first == name; });
  if (!major.empty()) majors_.emplace_back(name, major);
}

void MachineBuilder::library(const std::string& path, const Options& options) {
  SharedLibrarySpec spec;
  spec.soname = get(options, "soname", "");
  spec.needed = split(get(options, "needed", options.contains("stub") ? "" : "libc.so.6"), ',');
  spec.machine = get(options, "machine", "x86_64");
  spec.elf_class = get(options, "class", "64") == "32" ? 32 : 64;
  if (spec.elf_class == 32 && !options.contains("machine")) spec.machine = "i386";
  spec.symbols = split(get(options, "symbols", ""), ',');
  spec.rpath = get(options, "rpath", "");
  spec.runpath = get(options, "runpath", "");
  spec.imports = split(get(options, "imports", ""), ',');
  spec.version_definitions = split(get(options, "defines", ""), ',');
  for (const auto& need : split(get(options, "version-needs", ""), ',')) spec.version_needs.emplace_back(need.substr(0, need.find(':')), need.substr(need.find(':') + 1));
  spec.interpreter = get(options, "interpreter", "");
  if (options.contains("program")) spec.interpreter = "/lib64/ld-linux-x86-64.so.2";
  if (options.contains("version")) tell_release(spec, get(options, "version", ""));
  if (options.contains("code")) spec.fatbin = build_fatbin(split(get(options, "code", ""), ','));
  spec.bind_now = options.contains("now");
  for (const auto& text : split(get(options, "strings", ""), ',')) spec.read_only_data += '\0' + text + '\0';
  const std::string version = get(options, "driver", "");
  if (spec.soname.starts_with("libcuda.so") && spec.symbols.empty()) {
    spec.symbols = {"cuInit", "cuDriverGetVersion", "cuDeviceGet", "cuDeviceGetCount", "cuGetErrorString", "cuGetProcAddress", "cuModuleLoadData"};
  }
  if (spec.soname.starts_with("libnvidia-ml") && spec.symbols.empty()) spec.symbols = {"nvmlInit_v2", "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2"};
  if (!version.empty()) {
    const std::string zero(1, '\0');
    spec.read_only_data = zero + version + zero;
    if (spec.soname.starts_with("libcuda.so")) {
      spec.read_only_data += "libnvidia-ptxjitcompiler.so.1" + zero + "libnvidia-nvvm.so.4" + zero + "/usr/share/nvidia/nvidia-application-profiles-" + version + "-rc" + zero;
    }
    if (spec.soname.starts_with("libnvidia-ml")) spec.read_only_data = zero + "12." + version + zero + version + zero;
  }
  tree.add_file(path, build_shared_library(spec));
}

void MachineBuilder::driver_libraries(const std::string& version, const std::string& folder, const std::string& machine) {
  const std::vector<std::pair<std::string, std::string>> libraries = {
      {"libcuda", "1"}, {"libnvidia-ml", "1"}, {"libnvidia-ptxjitcompiler", "1"}, {"libnvidia-nvvm", "4"}};
  for (const auto& [name, number] : libraries) {
    const std::string soname = name + ".so." + number, file = name + ".so." + version;
    library(folder + "/" + file, {{"soname", soname}, {"driver", version}, {"machine", machine}});
    tree.add_link(folder + "/" + soname, file);
  }
  tree.add_link(folder + "/libcuda.so", "libcuda.so.1");
}

void MachineBuilder::module_file(const std::string& path, const Options& options) {
  const std::string name = get(options, "name", "nvidia"), version = get(options, "version", "");
  std::vector<std::pair<std::string, std::string>> info;
  if (name == "nvidia" && !version.empty()) {
    info.emplace_back("firmware", "nvidia/" + version + "/gsp_ga10x.bin");
    info.emplace_back("firmware", "nvidia/" + version + "/gsp_tu10x.bin");
  }
  if (!version.empty()) info.emplace_back("version", version);
  info.emplace_back("license", get(options, "license", "NVIDIA"));
  info.emplace_back("srcversion", "FFB28413B83E747B743165C6");
  info.emplace_back("name", underscores(name));
  info.emplace_back("vermagic", get(options, "vermagic", ""));
  std::string bytes = build_kernel_module(info);
  if (options.contains("signer")) bytes = append_module_signature(bytes, options.at("signer"));
  tree.add_file(path, compress_for_name(bytes, path));
}

void MachineBuilder::driver_modules(const std::string& version, const std::string& kernel, const std::string& folder, const std::string& suffix,
                                    bool open, const std::string& signer) {
  for (const char* name : {"nvidia", "nvidia-modeset", "nvidia-drm", "nvidia-uvm"}) {
    Options options = {{"name", name}, {"version", version}, {"license", open ? "Dual MIT/GPL" : "NVIDIA"}, {"vermagic", kernel + " SMP preempt mod_unload modversions "}};
    if (!signer.empty()) options["signer"] = signer;
    module_file(folder + "/" + name + suffix, options);
  }
}

void MachineBuilder::package(TestPackage package) {
  std::erase_if(packages_, [&](const TestPackage& p) { return p.name == package.name && p.architecture == package.architecture; });
  packages_.push_back(std::move(package));
  packages_touched_ = true;
}

void MachineBuilder::remove_package(const std::string& name) {
  std::erase_if(packages_, [&](const TestPackage& p) { return p.name == name || (name.ends_with('*') && p.name.starts_with(name.substr(0, name.size() - 1))); });
  packages_touched_ = true;
}

void MachineBuilder::log(const std::string& line, double seconds) {
  clock_ = seconds >= 0 ? seconds : clock_ + 0.002;
  log_lines_.push_back({clock_, line});
}

std::string MachineBuilder::log_prefix(double seconds) const {
  const int whole = static_cast<int>(seconds), minute = 10 + whole / 60 % 50, hour = 9 + whole / 3000;
  char text[96];
  if (log_style_ == "dmesg") {
    std::snprintf(text, sizeof text, "[%12.6f] ", seconds);
  } else if (log_style_ == "syslog") {
    std::snprintf(text, sizeof text, "May 27 %02d:%02d:%02d box kernel: [%12.6f] ", hour, minute, whole % 60, seconds);
  } else {
    std::snprintf(text, sizeof text, "2025-05-27T%02d:%02d:%02d.%06d+00:00 box kernel: [%12.6f] ", hour, minute, whole % 60, static_cast<int>((seconds - whole) * 1e6), seconds);
  }
  return text;
}

void MachineBuilder::render_modules() {
  std::string text;
  for (const auto& m : modules_) {
    const std::string users = m.used_by.empty() ? "-" : m.used_by + ",";
    text += m.name + " 4915200 " + m.refs + " " + users + " Live 0x0000000000000000" + (m.name.starts_with("nvidia") ? " (POE)" : "") + "\n";
  }
  tree.add_file("/proc/modules", text);
}

void MachineBuilder::render_devices() {
  std::string text = "Character devices:\n  1 mem\n  4 /dev/vc/0\n 10 misc\n";
  for (const auto& [name, major] : majors_) text += major + " " + name + "\n";
  tree.add_file("/proc/devices", text + "226 drm\n\nBlock devices:\n259 blkext\n  8 sd\n");
}

void MachineBuilder::remove(const std::string& path) {
  if (path.starts_with("/sys/module/")) unload(path.substr(12));
  if (path == "/proc/driver/nvidia") majors_.clear();
  tree.remove(path);
}

void MachineBuilder::finish() {
  if (!tree.nodes.contains("/proc/modules")) render_modules();
  if (!tree.nodes.contains("/proc/devices")) render_devices();
  if (packages_touched_ && !package_manager_.empty()) write_package_database(tree, package_manager_, packages_);
  if (!log_path_.empty() && !log_lines_.empty()) {
    std::string text;
    std::ranges::stable_sort(log_lines_, {}, &LogLine::seconds);
    for (const auto& line : log_lines_) text += log_prefix(line.seconds) + line.text + "\n";
    const auto more = tree.nodes.find(log_path_);
    if (more != tree.nodes.end()) text += more->second.content;
    tree.add_file(log_path_, text);
  }
}

}  // namespace gpuvet::test
