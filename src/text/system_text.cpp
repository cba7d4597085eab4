// The system in a text: kernel, distribution, WSL, Windows, Jetson, variables of the environment, the user.

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "text/driver_text_parts.h"
#include "text/printable.h"
#include "text/re2_text.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

struct Patterns {
  RE2 uname{R"re(^\s*Linux (?:\S+ )?(\d+\.\d+\.\d+\S*) .*?\b(x86_64|aarch64|ppc64le|riscv64|armv7l)\b)re"};
  RE2 release{R"re(^\d+\.\d+\.\d+\S*$)re"};
  RE2 wsl_kernel{R"re(\b(\d+\.\d+\.\d+(?:\.\d+)?-(?:microsoft-standard(?:-WSL2)?\S*|\d+-Microsoft))\b)re"};
  RE2 kernel_line{R"re((?i)^\s*[-*]?\s*kernel(?: version| release)?\s*[:=]\s*(?:Linux )?(\d+\.\d+\.\d+\S*))re"};
  // platform.platform(): "Linux-5.15.148-tegra-aarch64-with-glibc2.35"
  RE2 python_platform{R"re(\bLinux-(\d+\.\d+\.\d+\S*?)-(x86_64|aarch64|ppc64le)-with-)re"};
  RE2 architecture_line{R"re(^\s*Architecture:\s+(x86-64|x86_64|arm64|aarch64)\s*$)re"};
  RE2 virtualization_line{R"re(^\s*Virtualization:\s+([a-z0-9-]+)\s*$)re"};
  RE2 os_release{R"re(^\s*(ID|ID_LIKE|VERSION_ID|VERSION_CODENAME|PRETTY_NAME)=["']?([^"']*)["']?\s*$)re"};
  RE2 codename{R"re(^Codename:\s+([a-z]+)\s*$)re"};
  RE2 distribution{
      R"re((?i)(?:^|[\s:("])(Ubuntu|Debian GNU/Linux|Debian|Fedora Linux|Fedora|CentOS(?: Linux| Stream)?|Rocky Linux|AlmaLinux|Red Hat Enterprise Linux|openSUSE Leap|openSUSE Tumbleweed|SLES|Arch Linux|Manjaro Linux|Linux Mint|Pop!_OS|Amazon Linux|Oracle Linux|NixOS|Alpine Linux)[ (]*(?:Server )?(?:release )?(\d+(?:\.\d+)*)?)re"};
  RE2 os_line{
      R"re((?i)^\s*[-*]?\s*(?:OS|Operating System|Distro|Description|Distribution|Platform|System|PRETTY_NAME|系统|操作系统)(?: version)?\s*[:=：]\s*"?(.+))re"};
  // What builds and packages of a distribution carry in their versions: "(Ubuntu 11.4.0-1ubuntu1~22.04)", "#45~22.04.1-Ubuntu
  // SMP".
  RE2 ubuntu_build{R"re(\(Ubuntu \d[\w.]*-\w+(?:~(\d\d\.\d\d))?[\w.~]*\)|#\d+(?:~(\d\d\.\d\d))?[\w.~]*-Ubuntu\b)re"};
  RE2 ubuntu_package{R"re(\b\d[\w.]*-0ubuntu\d)re"};
  RE2 debian_build{R"re(\(Debian \d[\w.]*-[\w.+~]+\)|#\d+ SMP (?:PREEMPT_DYNAMIC |PREEMPT_RT )?(?:Debian|PMX)\b)re"};
  RE2 fedora_build{R"re(\d\.fc(\d\d)(?:\.(?:x86_64|aarch64|noarch|i686))?\b)re"};
  // Packages with the branch in their names, as only Ubuntu has them.
  RE2 ubuntu_driver_package{
      R"re(\b(?:nvidia-(?:driver|utils|dkms|headless)|libnvidia-(?:compute|gl|cfg1))-\d{3}\b|\bubuntu-drivers\b)re"};
  RE2 rhel_build{R"re(\d\.el(\d{1,2})(?:_\d+)?(?:\.\w+)*\b)re"};
  RE2 amazon_build{R"re(\.amzn(\d{1,4})\.(?:x86_64|aarch64)\b)re"};
  // Releases of kernels as Ubuntu, Debian and SUSE name them: "6.8.0-49-generic", "6.1.0-18-amd64", "6.4.0-150600.23.25-default".
  RE2 ubuntu_kernel{R"re(\b\d+\.\d+\.0-\d{2,4}-(?:generic|lowlatency|aws|azure|gcp|oracle|nvidia|kvm|oem)\b)re"};
  RE2 debian_kernel{R"re(\b\d+\.\d+\.\d+(?:-\d+|\+deb\d+)-(?:cloud-)?(?:amd64|arm64)\b)re"};
  RE2 suse_kernel{R"re(\b\d+\.\d+\.\d+-\d+(?:\.\d+)*-default\b)re"};
  RE2 arch_build{R"re(\b\d+\.\d+(?:\.\d+)?[.-]arch\d+-\d+\b)re"};
  RE2 windows{
      R"re(Microsoft Windows \[|Microsoft Windows (?:10|11|Server)|\bWindows-1[01]-|\bWindows 1[01]\b|\bwin_amd64\b|\[MSC v\.|\b[A-Z]:\\(?:Users|Program Files|Windows|ProgramData)\\|\bD:\\a\\_work\\|\bWindowsPath\(|\b(?:nvcuda|nvvm\w*|cudart64_\w+|cublas(?:Lt)?64_\w+|cudnn\w*64_\w+|onnxruntime_providers_cuda|torch_cuda|c10_cuda)\.dll\b)re"};
  RE2 assignment{R"re(^\s*(?:\d+[:-]\s*)?(export |declare -x |set |setx |ENV )?\s*([A-Z][A-Z0-9_]+)=(.*?)\s*$)re"};
  RE2 word_assignment{R"re(^([A-Z][A-Z0-9_]*)=(.*)$)re"};
  RE2 ldd_version{R"re(^ldd \([^)]*\) (\d\.\d+)\s*$)re"};
  RE2 glibc_line{R"re((?i)^\s*[-*]?\s*(?:libc|glibc)(?: version)?\s*[:=]\s*(?:glibc[- ]?)?(\d\.\d+)\s*$)re"};
  RE2 tegra{R"re(^\s*# (R\d+ \(release\), REVISION: [\d.]+))re"};
  RE2 jetson_model{R"re(^\s*(?:Model: )?(NVIDIA (?:Jetson|Orin|Xavier|Thor)\b.*(?:Developer Kit|Module|Nano|NX).*?)\s*$)re"};
  RE2 wsl_told{R"re(\b(?:WSL|wsl) ?2\b|Windows Subsystem for Linux|:/mnt/[a-z](?:/\S*)?[$#])re"};
  RE2 wsl_row{R"re(^\s*\*?\s*\S+\s+(?:Running|Stopped|正在运行|已停止)\s+([12])\s*$)re"};
  RE2 id{R"re(^\s*uid=(\d+)\(([^)]*)\) gid=\d+\([^)]*\) (?:groups|组)=(\S.*)$)re"};
  RE2 group{R"re((\d+)\(([^)]*)\))re"};
  RE2 variable{R"re(^["']?\[?(?:\$\{?|%|\$env:)([A-Za-z_][A-Za-z0-9_]*)(?:\}|%)?\]?["']?$)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

// ---- variables --------------------------------------------------------------------------------------------------------

/// Variables that a rule or a reader of the answer wants; others may hold secrets.
bool matters(std::string_view name) {
  constexpr std::array<std::string_view, 12> starts{"CUDA",     "NVIDIA_", "NCCL_", "LD_",  "CUDNN", "NVCC",
                                                    "PYTORCH_", "TORCH_",  "TF_",   "XLA_", "JAX_",  "VLLM_"};
  constexpr std::array<std::string_view, 8> exact{"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CC",
                                                  "CXX",  "CUDACXX",     "MAX_JOBS",     "PYTHONPATH"};
  return std::ranges::any_of(starts, [&](std::string_view s) { return name.starts_with(s); }) ||
         std::ranges::find(exact, name) != exact.end();
}

void set_variable(Machine& machine, const PastedText& text, std::size_t line, std::string_view name, std::string_view value) {
  if (!matters(name)) return;
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  add_observation(machine, text, line, "variable", {{"name", std::string(name)}, {"value", std::string(value)}});
  // "$PATH:/x" is no value; and what is set in a container or on Windows is not this process' environment.
  if (value.find('$') != std::string_view::npos || in_windows(text, line) || in_container(text, line)) return;
  machine.environment.emplace(std::string(name), std::string(value));
  set_fact(machine.environment_seen, true, text, line);
}

/// Words of a shell command, quotes taken off.
std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (const char c : command) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

/// Variables in front of a program, and those that a container is given: "A=1 python x.py", "env A=1 …", "docker run -e A=1 …".
void read_command_variables(const PastedText& text, const PasteSegment& segment, Machine& machine) {
  if (segment.python || segment.command.find('=') == std::string::npos) return;
  const std::vector<std::string> words = shell_words(segment.command);
  bool leading = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "&&" || word == ";" || word == "|" || word == "||") {
      leading = true;
      continue;
    }
    const bool given = segment.place == PastePlace::Container && i > 0 && (words[i - 1] == "-e" || words[i - 1] == "--env");
    bool attached = false;
    if (word.starts_with("--env=")) word.remove_prefix(6), attached = segment.place == PastePlace::Container;
    StringPiece name, value;
    if (RE2::FullMatch(piece(word), patterns().word_assignment, &name, &value)) {
      if (leading || given || attached) set_variable(machine, text, segment.line, view(name), view(value));
    } else if (word != "env" && word != "export" && word != "set" && word != "sudo" && !word.starts_with("-")) {
      leading = false;
    }
  }
}

/// `echo $X`, `echo ${X}`, `echo "[$X]"`, `echo %X%`, `printenv X`, and `$env:X`: the name; empty: none of them.
std::string asked_variable(const PasteSegment& segment) {
  const std::string_view arguments = arguments_of(segment);
  StringPiece name;
  if (runs(segment, "printenv") && arguments.find_first_of(" |") == std::string_view::npos) return std::string(arguments);
  const std::string_view word = runs(segment, "echo")                                    ? arguments
                                : std::string_view(segment.command).starts_with("$env:") ? std::string_view(segment.command)
                                                                                         : std::string_view();
  return RE2::FullMatch(piece(word), patterns().variable, &name) ? std::string(view(name)) : std::string();
}

void read_variables(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    if (segment.command.empty()) continue;
    read_command_variables(text, segment, machine);
    const std::string name = asked_variable(segment);
    if (name.empty()) continue;
    std::string_view answer = segment.first < segment.end ? trimmed(text.lines[segment.first].text) : std::string_view();
    if (segment.command.find('[') != std::string::npos && answer.starts_with('[') && answer.ends_with(']'))
      answer = answer.substr(1, answer.size() - 2);
    set_variable(machine, text, segment.first < segment.end ? segment.first : segment.line, name, answer);
  }
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece keyword, name, value;
    if (!RE2::PartialMatch(piece(text.lines[i].text), patterns().assignment, &keyword, &name, &value)) continue;
    const PasteSegment* segment = segment_of(text, i);
    if (segment != nullptr && i < segment->first) continue;  // the command was read above
    const bool told = segment == nullptr || segment->command.empty() || runs(*segment, "env") || runs(*segment, "printenv") ||
                      runs(*segment, "set") || segment->place == PastePlace::Container || runs(*segment, "grep") ||
                      runs(*segment, "cat");
    if (told && view(keyword) != "ENV ") set_variable(machine, text, i, view(name), view(value));
  }
}

// ---- distribution and kernel --------------------------------------------------------------------------------------------

void set_distribution(Machine& machine, const PastedText& text, std::size_t line, std::string_view name,
                      std::string_view version) {
  std::string id;
  for (const char c : name) id += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 19> ids{{{"ubuntu", "ubuntu"},
                                                                               {"debian", "debian"},
                                                                               {"fedora", "fedora"},
                                                                               {"centos", "centos"},
                                                                               {"rocky", "rocky"},
                                                                               {"alma", "almalinux"},
                                                                               {"red hat", "rhel"},
                                                                               {"opensuse leap", "opensuse-leap"},
                                                                               {"opensuse tumbleweed", "opensuse-tumbleweed"},
                                                                               {"arch", "arch"},
                                                                               {"manjaro", "manjaro"},
                                                                               {"linux mint", "linuxmint"},
                                                                               {"pop!", "pop"},
                                                                               {"amazon", "amzn"},
                                                                               {"oracle", "ol"},
                                                                               {"nixos", "nixos"},
                                                                               {"alpine", "alpine"},
                                                                               {"opensuse", "opensuse"},
                                                                               {"sles", "sles"}}};
  const auto* const found = std::ranges::find_if(ids, [&](const auto& entry) { return id.starts_with(entry.first); });
  if (found == ids.end()) return;
  set_fact(machine.os.id, std::string(found->second), text, line);
  // A version belongs to the distribution that was named first.
  if (!version.empty() && machine.os.id.is(std::string(found->second)))
    set_fact(machine.os.version_id, std::string(version), text, line);
}

/// The distribution that built what the line shows; a line that names the distribution counts more.
void infer_distribution(Machine& machine, const PastedText& text, std::size_t i) {
  const std::string& line = text.lines[i].text;
  const auto has = [&](std::string_view part) { return line.find(part) != std::string::npos; };
  const Patterns& p = patterns();
  StringPiece of_compiler, of_kernel, release;
  if (has("buntu") && !has("ubuntu-drivers")) {
    if (RE2::PartialMatch(piece(line), p.ubuntu_build, &of_compiler, &of_kernel))
      set_distribution(machine, text, i, "Ubuntu", view(of_compiler.empty() ? of_kernel : of_compiler));
    else if (RE2::PartialMatch(piece(line), p.ubuntu_package))
      set_distribution(machine, text, i, "Ubuntu", {});
  } else if (has("Debian ") || has("Debian)") || has(" PMX")) {
    if (RE2::PartialMatch(piece(line), p.debian_build)) set_distribution(machine, text, i, "Debian", {});
  } else if (has(".fc")) {
    if (RE2::PartialMatch(piece(line), p.fedora_build, &release)) set_distribution(machine, text, i, "Fedora", view(release));
  } else if (has(".el")) {
    if (RE2::PartialMatch(piece(line), p.rhel_build, &release)) set_distribution(machine, text, i, "Red Hat", view(release));
  } else if (has(".amzn")) {
    if (RE2::PartialMatch(piece(line), p.amazon_build, &release)) set_distribution(machine, text, i, "Amazon", view(release));
  } else if (has(".0-") && RE2::PartialMatch(piece(line), p.ubuntu_kernel)) {
    set_distribution(machine, text, i, "Ubuntu", {});
  } else if ((has("amd64") || has("arm64")) && RE2::PartialMatch(piece(line), p.debian_kernel)) {
    set_distribution(machine, text, i, "Debian", {});
  } else if (has("-default") && RE2::PartialMatch(piece(line), p.suse_kernel)) {
    set_distribution(machine, text, i, "openSUSE", {});
  } else if ((has("nvidia-") || has("ubuntu-drivers")) && RE2::PartialMatch(piece(line), p.ubuntu_driver_package)) {
    set_distribution(machine, text, i, "Ubuntu", {});
  } else if (has("arch")) {
    if (RE2::PartialMatch(piece(line), p.arch_build)) set_distribution(machine, text, i, "Arch", {});
  }
}

void set_kernel(Machine& machine, const PastedText& text, std::size_t line, std::string_view release) {
  if (release.find("microsoft-standard") != std::string_view::npos)
    set_fact<std::int64_t>(machine.os.wsl, 2, text, line);
  else if (release.ends_with("-Microsoft"))
    set_fact<std::int64_t>(machine.os.wsl, 1, text, line);
  if (release.find("-tegra") != std::string_view::npos) set_fact(machine.os.jetson, std::string(release), text, line);
  set_fact(machine.os.kernel, std::string(release), text, line);
}

/// systemd-detect-virt's word. https://www.freedesktop.org/software/systemd/man/latest/systemd-detect-virt.html
void set_virtualization(Machine& machine, const PastedText& text, std::size_t line, std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> hypervisors{{{"kvm", "kvm"},
                                                                                      {"qemu", "qemu"},
                                                                                      {"vmware", "vmware"},
                                                                                      {"microsoft", "hyperv"},
                                                                                      {"oracle", "virtualbox"},
                                                                                      {"xen", "xen"},
                                                                                      {"parallels", "parallels"},
                                                                                      {"amazon", "kvm"},
                                                                                      {"google", "kvm"}}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> containers{
      {{"docker", "docker"}, {"podman", "podman"}, {"lxc", "lxc"}, {"lxc-libvirt", "lxc"}, {"systemd-nspawn", "nspawn"}}};
  for (const auto& [name, value] : hypervisors)
    if (word == name) set_fact(machine.os.hypervisor, std::string(value), text, line);
  for (const auto& [name, value] : containers)
    if (word == name) set_fact(machine.os.container, std::string(value), text, line);
  if (word == "none" && machine.os.hypervisor.is_not_seen())
    machine.os.hypervisor = Fact<std::string>::absent(origin_of(text, line));
}

void set_user(Machine& machine, const PastedText& text, std::size_t line, std::string_view uid, std::string_view name,
              StringPiece groups) {
  const auto number = [](std::string_view digits) {
    std::int64_t value = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  std::vector<UserGroup> list;
  StringPiece gid, group;
  while (list.size() < 100 && RE2::FindAndConsume(&groups, patterns().group, &gid, &group))
    list.push_back({number(view(gid)), std::string(view(group))});
  set_fact(machine.user.uid, number(uid), text, line);
  set_fact(machine.user.name, std::string(name), text, line);
  set_fact(machine.user.groups, std::move(list), text, line);
}

void read_answers(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  for (const PasteSegment& segment : text.segments) {
    if (segment.command.empty() || segment.first >= segment.end || segment.place != PastePlace::Host) continue;
    const std::string_view first = trimmed(text.lines[segment.first].text), options = arguments_of(segment);
    if (runs(segment, "uname")) {
      constexpr std::array<std::string_view, 5> architectures{"x86_64", "aarch64", "ppc64le", "riscv64", "armv7l"};
      if (options.starts_with("-m") && std::ranges::find(architectures, first) != architectures.end())
        set_fact(machine.os.architecture, std::string(first), text, segment.first);
      if (options.starts_with("-r") && RE2::FullMatch(piece(first), p.release)) set_kernel(machine, text, segment.first, first);
    }
    if (runs(segment, "getenforce") && (first == "Enforcing" || first == "Permissive" || first == "Disabled"))
      set_fact(machine.os.selinux_enforcing, first == "Enforcing", text, segment.first);
    if (runs(segment, "systemd-detect-virt")) set_virtualization(machine, text, segment.first, first);
  }
}

/// Facts of the system that a line tells by its own shape.
void read_line(const PastedText& text, std::size_t i, Machine& machine) {
  const Patterns& p = patterns();
  const std::string& line = text.lines[i].text;
  OperatingSystem& os = machine.os;
  StringPiece a, b, c;
  if (RE2::PartialMatch(piece(line), p.uname, &a, &b)) {
    set_kernel(machine, text, i, view(a));
    set_fact(os.architecture, std::string(view(b)), text, i);
  } else if (line.find("-with-") != std::string::npos && RE2::PartialMatch(piece(line), p.python_platform, &a, &b)) {
    set_kernel(machine, text, i, view(a));
    set_fact(os.architecture, std::string(view(b)), text, i);
  } else if (RE2::PartialMatch(piece(line), p.kernel_line, &a)) {
    set_kernel(machine, text, i, view(a));
  } else if (RE2::PartialMatch(piece(line), p.architecture_line, &a)) {
    set_fact(os.architecture, std::string(view(a).starts_with("x86") ? "x86_64" : "aarch64"), text, i);
  } else if (RE2::PartialMatch(piece(line), p.virtualization_line, &a)) {
    set_virtualization(machine, text, i, view(a));
  }
  if (RE2::PartialMatch(piece(line), p.os_release, &a, &b) && !b.empty()) {
    const std::string value(view(b));
    if (view(a) == "ID") set_fact(os.id, value, text, i);
    if (view(a) == "ID_LIKE") set_fact(os.id_like, value, text, i);
    if (view(a) == "VERSION_ID") set_fact(os.version_id, value, text, i);
    if (view(a) == "VERSION_CODENAME") set_fact(os.codename, value, text, i);
    if (view(a) == "PRETTY_NAME") set_fact(os.pretty_name, value, text, i);
  }
  if (RE2::PartialMatch(piece(line), p.os_line, &a) && RE2::PartialMatch(a, p.distribution, &b, &c))
    set_distribution(machine, text, i, view(b), view(c));
  if (RE2::PartialMatch(piece(line), p.codename, &a)) set_fact(os.codename, std::string(view(a)), text, i);
  if (RE2::PartialMatch(piece(line), p.ldd_version, &a) || RE2::PartialMatch(piece(line), p.glibc_line, &a))
    set_fact(os.glibc, std::string(view(a)), text, i);
  if (line.starts_with("musl libc (") && os.glibc.is_not_seen()) os.glibc = Fact<std::string>::absent(origin_of(text, i));
  if (RE2::PartialMatch(piece(line), p.id, &a, &b, &c)) set_user(machine, text, i, view(a), view(b), c);
}

}  // namespace

void read_system(const PastedText& text, const Knowledge&, Machine& machine) {
  const Patterns& p = patterns();
  read_answers(text, machine);
  read_variables(text, machine);
  bool windows = false, wsl_told = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece word;
    // The kernel is the host's, wherever it is asked for.
    if (RE2::PartialMatch(piece(line), p.wsl_kernel, &word)) set_kernel(machine, text, i, view(word));
    if (!in_container(text, i)) read_line(text, i, machine);
    if (RE2::PartialMatch(piece(line), p.wsl_row, &word))
      set_fact<std::int64_t>(machine.os.wsl, view(word) == "1" ? 1 : 2, text, i);
    if (line.find("/dev/dxg") != std::string::npos && line.find("No such file") != std::string::npos)
      add_observation(machine, text, i, "dxg-missing", {});
    if (RE2::PartialMatch(piece(line), p.tegra, &word) || RE2::PartialMatch(piece(line), p.jetson_model, &word))
      set_fact(machine.os.jetson, std::string(view(word)), text, i);
    if (!wsl_told && RE2::PartialMatch(piece(line), p.wsl_told)) {
      wsl_told = true;
      add_observation(machine, text, i, "wsl-told", {});
    }
    if (!windows && (in_windows(text, i) || RE2::PartialMatch(piece(line), p.windows))) {
      windows = true;
      add_observation(machine, text, i, "windows", {});
    }
  }
  // Only where no line told it, and never for a Windows' or a container's own lines.
  for (std::size_t i = 0; i < text.lines.size() && machine.os.id.is_not_seen() && !windows; ++i)
    if (!in_container(text, i) && text.lines[i].text.size() < 500) infer_distribution(machine, text, i);
}

}  // namespace gpuvet
