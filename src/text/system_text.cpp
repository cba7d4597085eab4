// The system in a text: kernel, distribution, WSL, Windows, Jetson, variables of the environment, groups.

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>

#include "text/printable.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

StringPiece piece(std::string_view s) { return {s.data(), s.size()}; }
std::string_view view(const StringPiece& s) { return s.data() == nullptr ? std::string_view() : std::string_view(s.data(), s.size()); }

struct Patterns {
  RE2 uname{R"re(^Linux \S+ (\d+\.\d+\S*) .*?\b(x86_64|aarch64|ppc64le|riscv64|armv7l)\b)re"};
  RE2 kernel{R"re(^\s*(\d+\.\d+\.\d+-\S+|\d+\.\d+\.\d+)\s*$)re"};
  RE2 wsl_kernel{R"re(\b(\d+\.\d+\.\d+(?:\.\d+)?-(?:microsoft-standard(?:-WSL2)?\S*|\d+-Microsoft))\b)re"};
  RE2 kernel_line{R"re((?i)^\s*kernel(?: version| release)?\s*[:=]\s*(?:Linux )?(\d+\.\d+\.\d+\S*))re"};
  RE2 os_release{R"re(^(ID|ID_LIKE|VERSION_ID|VERSION_CODENAME|PRETTY_NAME)="?([^"]*)"?\s*$)re"};
  RE2 distribution{R"re((?i)(?:^|[\s:("])(Ubuntu|Debian GNU/Linux|Debian|Fedora Linux|Fedora|CentOS(?: Linux| Stream)?|Rocky Linux|AlmaLinux|Red Hat Enterprise Linux|openSUSE Leap|openSUSE Tumbleweed|Arch Linux|Manjaro Linux|Linux Mint|Pop!_OS|Amazon Linux|Oracle Linux|NixOS|Alpine Linux)[ (]*(?:release )?(\d+(?:\.\d+)*)?)re"};
  RE2 os_line{R"re((?i)^\s*[-*]?\s*(?:OS|Operating System|Distro|Description|Distribution|Platform|System|PRETTY_NAME)(?: version)?\s*[:=]\s*"?(.+))re"};
  RE2 windows{R"re(Microsoft Windows \[|Microsoft Windows (?:10|11|Server)|\bWindows-1[01]-|\bWindows 1[01]\b|\bwin_amd64\b|\[MSC v\.)re"};
  RE2 export_line{R"re(^\s*(?:\d+[:-]\s*)?(?:export|declare -x|set|setx)?\s*([A-Z][A-Z0-9_]+)=("?)(.*?)("?)\s*$)re"};
  RE2 inline_value{R"re((?:^|\s|-e |--env[ =])([A-Z][A-Z0-9_]*)=("[^"]*"|'[^']*'|\S*))re"};
  RE2 glibc{R"re((?:GLIBC|GNU libc|\(GNU libc\)|Debian GLIBC|glibc)[^)\d]*(\d\.\d+))re"};
  RE2 ldd_version{R"re(^ldd \([^)]*\) (\d\.\d+)\s*$)re"};
  RE2 tegra{R"re(^# (R\d+ \(release\), REVISION: [\d.]+))re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

/// Variables that a rule or a reader of the answer wants; others may hold secrets.
bool matters(std::string_view name) {
  constexpr std::array<std::string_view, 12> starts{"CUDA", "NVIDIA_", "NCCL_", "LD_", "CUDNN", "NVCC", "PYTORCH_", "TORCH_", "TF_", "XLA_", "JAX_", "VLLM_"};
  constexpr std::array<std::string_view, 8> exact{"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CC", "CXX", "CUDACXX", "MAX_JOBS", "PYTHONPATH"};
  return std::ranges::any_of(starts, [&](std::string_view s) { return name.starts_with(s); }) ||
         std::ranges::find(exact, name) != exact.end();
}

void set_variable(Machine& machine, const PastedText& text, std::size_t line, std::string_view name, std::string_view value) {
  if (!matters(name)) return;
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  add_observation(machine, text, line, "variable", {{"name", std::string(name)}, {"value", std::string(value)}});
  // "$PATH:/x" is no value; and what is set in a container or on Windows is not this process' environment.
  if (value.find('$') != std::string_view::npos || in_windows(text, line)) return;
  machine.environment.emplace(std::string(name), std::string(value));
  if (!machine.environment_seen.is_known()) machine.environment_seen = Fact<bool>::known(true, origin_of(text, line));
}

void set_distribution(Machine& machine, const PastedText& text, std::size_t line, std::string_view name, std::string_view version) {
  std::string id;
  for (const char c : name) id += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> ids{{{"ubuntu", "ubuntu"}, {"debian", "debian"}, {"fedora", "fedora"}, {"centos", "centos"}, {"rocky", "rocky"}, {"alma", "almalinux"}, {"red hat", "rhel"}, {"opensuse leap", "opensuse-leap"}, {"opensuse tumbleweed", "opensuse-tumbleweed"}, {"arch", "arch"}, {"manjaro", "manjaro"}, {"linux mint", "linuxmint"}, {"pop!", "pop"}, {"amazon", "amzn"}, {"oracle", "ol"}, {"nixos", "nixos"}, {"alpine", "alpine"}, {"sles", "sles"}}};
  for (const auto& [start, os] : ids) {
    if (!id.starts_with(start)) continue;
    set_fact(machine.os.id, std::string(os), text, line);
    if (!version.empty()) set_fact(machine.os.version_id, std::string(version), text, line);
    return;
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

void read_answers(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    if (segment.command.empty()) continue;
    const bool has_output = segment.first < segment.end;
    const std::string_view first = has_output ? trimmed(text.lines[segment.first].text) : std::string_view();
    // echo $X, echo %X%, $env:X
    if (runs(segment, "echo") || runs(segment, "printenv")) {
      std::string_view name = trimmed(std::string_view(segment.command).substr(segment.command.find(' ') == std::string::npos ? segment.command.size() : segment.command.find(' ') + 1));
      while (!name.empty() && (name.front() == '"' || name.front() == '[' || name.front() == '$' || name.front() == '{' || name.front() == '%')) name.remove_prefix(1);
      const std::size_t end = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
      const std::string_view rest = end == std::string_view::npos ? std::string_view() : name.substr(end);
      name = name.substr(0, end);
      std::string_view answer = first;
      if (rest.starts_with(']') && answer.starts_with('[') && answer.ends_with(']')) answer = answer.substr(1, answer.size() - 2);
      if (!name.empty() && rest.size() <= 3 && segment.place != PastePlace::Container)
        set_variable(machine, text, has_output ? segment.first : segment.line, name, answer);
    }
    if (runs(segment, "uname") && has_output) {
      if (segment.command.find("-m") != std::string::npos && first.find(' ') == std::string_view::npos)
        set_fact(machine.os.architecture, std::string(first), text, segment.first);
      else if (segment.command.find("-r") != std::string::npos)
        set_kernel(machine, text, segment.first, first);
    }
    if (runs(segment, "getenforce") && has_output) set_fact(machine.os.selinux_enforcing, first == "Enforcing", text, segment.first);
    // Variables in front of a command: "CUDA_VISIBLE_DEVICES=2 python main.py".
    StringPiece command = piece(segment.command), name, value;
    while (RE2::FindAndConsume(&command, patterns().inline_value, &name, &value)) {
      const std::string_view start = std::string_view(segment.command).substr(0, static_cast<std::size_t>(name.data() - segment.command.data()));
      const bool leading = start.find_first_not_of(" ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=,./:-abcdefghijklmnopqrstuvwxyz\"'") == std::string_view::npos;
      if (leading && segment.place != PastePlace::Container) set_variable(machine, text, segment.line, view(name), view(value));
      if (segment.place == PastePlace::Container) add_observation(machine, text, segment.line, "variable", {{"name", std::string(view(name))}, {"value", std::string(view(value))}});
    }
  }
}

}  // namespace

void read_system(const PastedText& text, const Knowledge&, Machine& machine) {
  const Patterns& p = patterns();
  read_answers(text, machine);
  bool windows = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece a, b, c, d;
    if (RE2::PartialMatch(piece(line), p.wsl_kernel, &a)) set_kernel(machine, text, i, view(a));
    if (!in_container(text, i)) {
      if (RE2::PartialMatch(piece(line), p.uname, &a, &b)) {
        set_kernel(machine, text, i, view(a));
        set_fact(machine.os.architecture, std::string(view(b)), text, i);
      } else if (RE2::PartialMatch(piece(line), p.kernel_line, &a)) {
        set_kernel(machine, text, i, view(a));
      }
      if (RE2::PartialMatch(piece(line), p.os_release, &a, &b)) {
        const std::string value(view(b));
        if (view(a) == "ID") set_fact(machine.os.id, value, text, i);
        if (view(a) == "ID_LIKE") set_fact(machine.os.id_like, value, text, i);
        if (view(a) == "VERSION_ID") set_fact(machine.os.version_id, value, text, i);
        if (view(a) == "VERSION_CODENAME") set_fact(machine.os.codename, value, text, i);
      }
      if (RE2::PartialMatch(piece(line), p.os_line, &a)) {
        const std::string value(view(a));
        if (RE2::PartialMatch(value, p.distribution, &b, &c)) set_distribution(machine, text, i, view(b), view(c));
      }
      if (RE2::PartialMatch(piece(line), p.export_line, &a, &b, &c, &d)) {
        const PasteSegment* segment = segment_of(text, i);
        const bool output_of_env = segment != nullptr && (runs(*segment, "env") || runs(*segment, "printenv") || runs(*segment, "set") || segment->command.starts_with("env |"));
        if (output_of_env || line.find("export ") != std::string::npos || (segment == nullptr && matters(view(a))))
          set_variable(machine, text, i, view(a), view(c));
      }
      if (RE2::PartialMatch(piece(line), p.ldd_version, &a)) set_fact(machine.os.glibc, std::string(view(a)), text, i);
    }
    // `wsl -l -v`
    static const RE2 distribution_row{R"re(^\s*\*?\s*\S+\s+(?:Running|Stopped|正在运行|已停止)\s+([12])\s*$)re"};
    if (RE2::PartialMatch(piece(line), distribution_row, &a)) set_fact<std::int64_t>(machine.os.wsl, view(a) == "1" ? 1 : 2, text, i);
    if (line.find("/dev/dxg") != std::string::npos && line.find("No such file") != std::string::npos)
      add_observation(machine, text, i, "dxg-missing", {});
    if (RE2::PartialMatch(piece(line), p.tegra, &a)) set_fact(machine.os.jetson, std::string(view(a)), text, i);
    const bool shows_windows = in_windows(text, i) || RE2::PartialMatch(piece(line), p.windows);
    if (shows_windows && !windows) {
      windows = true;
      add_observation(machine, text, i, "windows", {});
    }
  }
}

}  // namespace gpuvet
