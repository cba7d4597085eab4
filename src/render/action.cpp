// Repair steps: texts and commands of data/actions, with this machine's parameters in them.

#include <algorithm>
#include <charconv>

#include "render/action_record.h"
#include "render/distribution.h"
#include "render/messages.h"
#include "render/render.h"
#include "rules/framework_facts.h"

namespace gpuvet {
namespace {

bool is_root(const Machine& machine) { return machine.user.uid.is(0); }

/// "sudo" is not needed by root, and minimal images do not have it.
std::string without_sudo(std::string command) {
  for (std::size_t at = command.find("sudo "); at != std::string::npos; at = command.find("sudo ", at)) {
    const std::string_view before = std::string_view(command).substr(0, at);
    const bool begins_command = before.empty() || before.ends_with("| ") || before.ends_with("&& ") || before.ends_with("; ") ||
                                before.ends_with("do ") || before.ends_with("$(");
    if (begins_command) {
      command.erase(at, 5);
    } else {
      ++at;
    }
  }
  return command;
}

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("._/+:@=,~%^- ").find(c) != std::string_view::npos;
}

/// Words of gpuvet's own for the shell of whoever runs the command. They change nothing, whoever wrote them.
constexpr std::string_view left_to_the_shell[] = {"$(uname -r)", "linux-headers-$(uname -r)", "$USER"};

/// A parameter as shell text. Values come from the inspected machine and may hold anything; several words are meant as such
/// unless they look like a path.
std::string shell_word(std::string_view value) {
  if (std::ranges::find(left_to_the_shell, value) != std::end(left_to_the_shell)) return '"' + std::string(value) + '"';
  const bool plain = std::all_of(value.begin(), value.end(), is_plain);
  const bool path_with_blank = value.find(' ') != std::string_view::npos && value.find('/') != std::string_view::npos;
  if (plain && !path_with_blank && !value.empty()) return std::string(value);
  std::string out = "'";
  for (const char c : printable(value)) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// A list of package requirements: each is a word of its own ('torch==2.6.*' must not be a pattern of the shell).
std::string shell_words(std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (end > 0) out += (out.empty() ? "" : " ") + shell_word(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

std::string as_shell_text(std::string_view name, std::string_view value) {
  return name.ends_with("packages") ? shell_words(value) : shell_word(value);
}

constexpr std::string_view installers[] = {"pip", "uv", "conda", "poetry", "pixi"};

const FamilyCommands* commands_for(const ActionRecord& record, const Machine& machine) {
  std::vector<std::string> keys = distribution_keys(machine);
  keys.emplace_back("any");
  for (const std::string& key : keys) {
    for (const FamilyCommands& family : record.commands) {
      if (family.family == key) return &family;
    }
  }
  return nullptr;
}

std::uint32_t branch_of(const Action& action) {
  const auto found = action.parameters.find("branch");
  std::uint32_t branch = 0;
  if (found != action.parameters.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), branch);
  return branch;
}

std::string parameter(const Action& action, const std::string& name) {
  const auto found = action.parameters.find(name);
  return found == action.parameters.end() ? std::string() : found->second;
}

constexpr std::string_view packages_placeholder = "{driver_packages}";

void add_driver_command(std::string_view command, const Action& action, const Machine& machine, Language language,
                        std::map<std::string, std::string> values, RenderedAction& out) {
  const DriverInstallation installation = driver_installation(machine, branch_of(action), parameter(action, "flavor"));
  if (!installation.known()) {
    out.text +=
        (language == Language::Chinese ? "" : " ") + message(Message::PackagesUnknown, language, {{"where", installation.where}});
    return;
  }
  out.commands.insert(out.commands.end(), installation.setup.begin(), installation.setup.end());
  values["driver_packages"] = installation.packages;
  std::string filled = installation.install.empty() ? fill_placeholders(command, values) : installation.install;
  if (!has_placeholder(filled)) out.commands.push_back(std::move(filled));
  out.commands.insert(out.commands.end(), installation.finish.begin(), installation.finish.end());
}

std::vector<std::string> filled_commands(const FamilyCommands& family, const std::map<std::string, std::string>& words) {
  std::vector<std::string> commands;
  for (const std::string_view command : family.commands) {
    std::string filled = fill_placeholders(command, words);
    if (!has_placeholder(filled)) commands.push_back(std::move(filled));
  }
  return commands;
}

/// The ways of the record that can be filled; that of the parameter `installer` is the first.
std::vector<RenderedWay> ways_of(const ActionRecord& record, const Action& action,
                                 const std::map<std::string, std::string>& words) {
  std::vector<RenderedWay> ways;
  const std::string first = parameter(action, "installer");
  for (const std::string_view installer : installers) {
    for (const FamilyCommands& family : record.commands) {
      if (family.family != installer) continue;
      auto commands = filled_commands(family, words);
      if (commands.empty()) continue;
      ways.insert(installer == first ? ways.begin() : ways.end(), {std::string(installer), "", std::move(commands)});
    }
  }
  return ways;
}

/// What the record says for this distribution and no other: the commands, or where to look when the packages are not known.
void add_commands(const FamilyCommands& family, const Action& action, const Machine& machine, Language language,
                  const std::map<std::string, std::string>& words, RenderedAction& out) {
  for (const std::string_view command : family.commands) {
    if (command.find(packages_placeholder) != std::string_view::npos) {
      add_driver_command(command, action, machine, language, words, out);
      continue;
    }
    std::string filled = fill_placeholders(command, words);
    // A command with a hole in it is worse than none.
    if (!has_placeholder(filled)) out.commands.push_back(std::move(filled));
  }
}

struct Distribution {
  std::string_view id, name, package_manager;
};
constexpr Distribution distributions[] = {{"ubuntu", "Ubuntu", "dpkg"},     {"debian", "Debian", "dpkg"},
                                          {"fedora", "Fedora", "rpm"},      {"rhel", "RHEL", "rpm"},
                                          {"arch", "Arch Linux", "pacman"}, {"suse", "openSUSE", "rpm"}};

bool distribution_is_known(const Machine& machine) {
  const auto keys = distribution_keys(machine);
  return std::ranges::any_of(distributions, [&](const Distribution& d) { return std::ranges::find(keys, d.id) != keys.end(); });
}

/// Where the distribution was not seen: the commands of each that the package manager leaves; equal ones are one way.
std::vector<RenderedWay> ways_of_distributions(const ActionRecord& record, const Action& action, const Machine& machine,
                                               Language language, const std::map<std::string, std::string>& words) {
  std::vector<RenderedWay> ways;
  for (const Distribution& distribution : distributions) {
    if (const std::string* manager = machine.packages.manager.get();
        manager != nullptr && *manager != distribution.package_manager)
      continue;
    Machine one = machine;
    one.os.id = Fact<std::string>::known(std::string(distribution.id), {});
    const FamilyCommands* family = commands_for(record, one);
    if (family == nullptr) continue;
    RenderedAction rendered;
    add_commands(*family, action, one, language, words, rendered);
    if (rendered.commands.empty() || !rendered.text.empty()) continue;
    const auto same = std::ranges::find(ways, rendered.commands, &RenderedWay::commands);
    if (same == ways.end())
      ways.push_back({"", std::string(distribution.name), std::move(rendered.commands)});
    else
      same->distributions += std::string(language == Language::Chinese ? "、" : ", ") + std::string(distribution.name);
  }
  return ways;
}

}  // namespace

RenderedAction render_action(const Action& action, const Machine& machine, Language language) {
  RenderedAction out;
  const ActionRecord* record = find_action_record(action.type);
  if (record == nullptr) {
    out.text = printable(action.type);
    out.risk = "none";
    return out;
  }
  std::map<std::string, std::string> texts, words;
  for (const auto& [name, value] : action.parameters) {
    texts.emplace(
        name, value == unnamed_environment ? std::string(message(Message::ThePythonEnvironment, language)) : printable(value));
    words.emplace(name, as_shell_text(name, value));
  }
  const bool chinese = language == Language::Chinese;
  if (action.when == StepWhen::Instead) out.text = message(Message::StepInstead, language);
  if (action.when == StepWhen::IfNotEnough) out.text = message(Message::StepIfNotEnough, language);
  out.text += fill_placeholders(chinese ? record->text_zh : record->text_en, texts);
  out.backup = fill_placeholders(chinese ? record->backup_zh : record->backup_en, texts);
  out.risk = record->risk;
  out.reversible = record->reversible;
  out.reboot = record->reboot;
  if (const FamilyCommands* family = commands_for(*record, machine)) {
    add_commands(*family, action, machine, language, words, out);
  } else if (!distribution_is_known(machine)) {
    out.alternatives = ways_of_distributions(*record, action, machine, language, words);
  }
  if (auto ways = ways_of(*record, action, words); !ways.empty()) {
    out.commands.insert(out.commands.end(), ways.front().commands.begin(), ways.front().commands.end());
    out.alternatives.assign(ways.begin() + 1, ways.end());
  }
  if (is_root(machine)) {
    for (std::string& command : out.commands) command = without_sudo(std::move(command));
    for (RenderedWay& way : out.alternatives)
      for (std::string& command : way.commands) command = without_sudo(std::move(command));
  }
  return out;
}

}  // namespace gpuvet
