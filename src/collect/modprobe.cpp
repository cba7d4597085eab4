// modprobe.d(5) and what the kernel command line says about modules.
#include <algorithm>
#include <array>
#include <map>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "model/module_name.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::size_t max_directives = 4000;

/// By priority (kmod's libkmod.c): of two files with one name only the first counts. systemd and dracut use the same order.
constexpr std::array<const char*, 5> folders = {"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                                "/usr/lib/modprobe.d", "/lib/modprobe.d"};

bool matters(std::string_view module) {
  const std::string name = module_name_with_underscores(module);
  if (is_module_of_interest(name) || name == "lbm_nouveau") return true;
  // an alias by device: "pci:v000010DEd*sv*sd*bc03sc*i*"
  return module.starts_with("pci:v000010DE") || module.starts_with("pci:v000010de") || module.starts_with("pci:*");
}

bool names_module(std::string_view value) {
  for (std::string_view word : words(value)) {
    if (matters(word)) return true;
  }
  return false;
}

/// What is left of a line after its first `count` words.
std::string_view rest_after(std::string_view line, int count) {
  for (int i = 0; i < count; ++i) {
    line = trim(line);
    const std::size_t blank = line.find_first_of(" \t");
    if (blank == std::string_view::npos) return {};
    line.remove_prefix(blank);
  }
  return trim(line);
}

void parse_directive(std::string_view line, const Origin& origin, bool effective, std::vector<ModprobeDirective>& out) {
  const auto fields = words(line);
  static constexpr std::array<std::string_view, 7> kinds = {"blacklist", "alias",   "options", "install",
                                                            "remove",    "softdep", "weakdep"};
  if (fields.size() < 2 || std::find(kinds.begin(), kinds.end(), fields[0]) == kinds.end()) return;
  const std::string_view module = fields[1], value = rest_after(line, 2);
  const bool alias_or_dependency = fields[0] == "alias" || fields[0] == "softdep";
  if (!matters(module) && !(alias_or_dependency && names_module(value))) return;
  const bool pattern = module.find(':') != std::string_view::npos;
  ModprobeDirective directive;
  directive.kind = fields[0];
  directive.module = pattern ? printable(module, 128) : module_name_with_underscores(printable(module, 64));
  directive.value = printable(value);
  directive.effective = effective;
  directive.origin = origin;
  out.push_back(std::move(directive));
}

void add_option(std::string_view module, std::string_view value, const Origin& origin, std::vector<ModprobeDirective>& out) {
  out.push_back({"options", module_name_with_underscores(module), printable(value), true, origin});
}

void add_blacklists(std::string_view key, std::string_view list, const Origin& origin, std::vector<ModprobeDirective>& out) {
  for (std::string_view module : split(list, ',')) {
    if (!module.empty() && matters(module))
      out.push_back({"blacklist", module_name_with_underscores(printable(module, 64)), std::string(key), true, origin});
  }
}

/// Files of one folder in the order of their names.
void read_folder(System& system, const std::string& folder, std::map<std::string, std::string>& owner,
                 std::vector<ModprobeDirective>& out) {
  const auto entries = system.list(folder, 4096);
  if (!entries) return;
  for (const auto& entry : *entries) {
    if (!entry.name.ends_with(".conf") || entry.type == FileType::Directory) continue;
    const std::string path = folder + "/" + entry.name;
    // A link to /dev/null, or an empty file, hides the packaged file of that name just as well.
    const bool effective = owner.emplace(entry.name, path).second;
    const auto text = system.read_file(path, std::size_t{1} << 20);
    if (text) parse_modprobe_conf(path, *text, effective, out);
  }
}

std::string command_line_of(System& system, const Machine& machine) {
  if (const auto* line = machine.os.kernel_command_line.get()) return *line;
  const auto line = system.read_line("/proc/cmdline", 16384);
  return line ? *line : std::string();
}

}  // namespace

void parse_modprobe_conf(std::string_view path, std::string_view text, bool effective, std::vector<ModprobeDirective>& out) {
  for_each_joined_line(text, [&](std::string_view whole, std::uint32_t number) {
    const std::string_view line = trim(whole);
    if (!line.empty() && line.front() != '#') parse_directive(line, {std::string(path), number, printable(line)}, effective, out);
    return out.size() < max_directives;
  });
}

void parse_command_line_modules(std::string_view command_line, std::vector<ModprobeDirective>& out) {
  std::string spaced(command_line);
  std::replace(spaced.begin(), spaced.end(), '\n', ' ');
  for (std::string_view word : words(spaced)) {
    if (word.size() > 1 && word.front() == '"' && word.back() == '"') word = word.substr(1, word.size() - 2);
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos) continue;
    const std::string key = module_name_with_underscores(word.substr(0, equal));
    const std::string_view value = word.substr(equal + 1);
    const Origin origin{"/proc/cmdline", 1, printable(word)};
    if (key == "modprobe.blacklist")
      add_blacklists("modprobe.blacklist", value, origin, out);
    else if (key == "rd.driver.blacklist")
      add_blacklists("rd.driver.blacklist", value, origin, out);
    else if (key == "rdblacklist")
      add_blacklists("rdblacklist", value, origin, out);
    else if (key == "module_blacklist")
      add_blacklists("module_blacklist", value, origin, out);
    else if (const std::size_t dot = key.find('.'); dot != std::string::npos && is_module_of_interest(key.substr(0, dot))) {
      add_option(key.substr(0, dot), word.substr(dot + 1), origin, out);
    }
    if (out.size() >= max_directives) return;
  }
}

void collect_modprobe(System& system, Machine& machine) {
  std::vector<ModprobeDirective>& out = machine.kernel_driver.modprobe;
  std::map<std::string, std::string> owner;  // file name → the path that counts
  std::vector<std::string> seen;
  for (const char* folder : folders) {
    const auto real = system.real_path(folder);
    if (!real || std::find(seen.begin(), seen.end(), *real) != seen.end()) continue;
    seen.push_back(*real);
    read_folder(system, folder, owner, out);
  }
  parse_command_line_modules(command_line_of(system, machine), out);
}

}  // namespace gpuvet
