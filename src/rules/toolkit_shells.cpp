// A PATH to nvcc that only some kinds of shell have, and the lines that make the difference.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

const ShellVariable* variable_of(const ShellForecast& forecast, std::string_view name) {
  const auto found = std::ranges::find_if(forecast.variables, [&](const ShellVariable& v) { return v.name == name; });
  return found != forecast.variables.end() ? &*found : nullptr;
}

/// "$CUDA_HOME/bin" with the value that the variable has in this kind of shell.
std::string with_values(std::string text, const ShellForecast& forecast) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
    const auto* variable = variable_of(forecast, name);
    if (variable == nullptr || !variable->value.is_known()) continue;
    for (const std::string& written : {"${" + std::string(name) + "}", "$" + std::string(name)})
      if (const auto at = text.find(written); at != std::string::npos) text.replace(at, written.size(), *variable->value.get());
  }
  return text;
}

/// A folder that leads to nvcc and that the line puts on PATH beside what was there.
std::string nvcc_folder_in_line(const Machine& machine, const ShellForecast& forecast, const Origin& line) {
  const std::string text = with_values(line.text, forecast);
  if (text.find("PATH") == std::string::npos) return {};
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at)) {
    const std::size_t end = std::min(text.find_first_of(":\"'; )\t", at), text.size());
    const std::string folder = text.substr(at, end - at);
    if (nvcc_in_path(machine, folder).toolkit != nullptr) return folder;
    at = end;
  }
  return {};
}

/// What a kind of shell has: a folder that leads to nvcc, "" for none, nothing where PATH is not known.
std::optional<std::string> nvcc_folder(const Machine& machine, const ShellForecast& forecast) {
  const auto* path = variable_of(forecast, "PATH");
  if (path == nullptr) return std::nullopt;
  if (const auto* value = path->value.get()) {
    const auto choice = nvcc_in_path(machine, *value);
    return choice.toolkit != nullptr ? choice.named.substr(0, choice.named.rfind('/')) : std::string();
  }
  // What PATH starts with is not known everywhere (the login program decides it); a line that adds to it is.
  for (const Origin& line : path->set_by)
    if (const std::string folder = nvcc_folder_in_line(machine, forecast, line); !folder.empty()) return folder;
  return std::nullopt;
}

/// "bash (login)", "cron".
std::string name_of(const ShellForecast& forecast) {
  const bool plain = forecast.shell.empty() || forecast.kind == "cron" || forecast.kind.starts_with("systemd");
  return plain ? forecast.kind : forecast.shell + " (" + forecast.kind + ")";
}

struct Views {
  std::vector<const ShellForecast*> seeing, blind;
};

Views views_of(const Machine& machine) {
  Views views;
  const auto* forecasts = machine.shells.forecasts.get();
  if (forecasts == nullptr) return views;
  for (const ShellForecast& forecast : *forecasts)
    if (const auto folder = nvcc_folder(machine, forecast)) (folder->empty() ? views.blind : views.seeing).push_back(&forecast);
  return views;
}

std::string names_of(const std::vector<const ShellForecast*>& forecasts) {
  std::vector<std::string> names;
  for (const ShellForecast* forecast : forecasts) names.push_back(name_of(*forecast));
  return join(names, ", ");
}

bool names_cuda(const Origin& line, const std::string& folder) {
  return line.text.find("cuda") != std::string::npos || line.text.find("CUDA") != std::string::npos ||
         line.text.find(folder) != std::string::npos;
}

/// The last line that put the folder on PATH.
const Origin* line_that_sets(const ShellForecast& forecast, const std::string& folder) {
  const Origin* found = nullptr;
  for (const Origin& line : variable_of(forecast, "PATH")->set_by)
    if (names_cuda(line, folder)) found = &line;
  return found;
}

/// In a shell that does not see it: a later line that threw away what an earlier one had set.
const Origin* line_that_drops(const ShellForecast& forecast, const std::string& folder) {
  const Origin* set = line_that_sets(forecast, folder);
  const auto& lines = variable_of(forecast, "PATH")->set_by;
  return set != nullptr && !lines.empty() && set != &lines.back() ? &lines.back() : nullptr;
}

bool is_of_login_shell(const Machine& machine, const ShellForecast& forecast) {
  const std::string shell = machine.shells.login_shell.value_or("");
  return !shell.empty() && shell.substr(shell.rfind('/') + 1) == forecast.shell;
}

/// Login and interactive shells of the user's own shell differ.
bool terminals_differ(const Machine& machine, const Views& views) {
  const auto has = [&](const std::vector<const ShellForecast*>& list) {
    return std::ranges::any_of(list, [&](const ShellForecast* f) {
      return is_of_login_shell(machine, *f) && (f->kind == "login" || f->kind == "interactive");
    });
  };
  return has(views.seeing) && has(views.blind);
}

/// Kinds that see it all start in a login; or all in a terminal; or are all of another shell than the user's.
std::string variant_of(const Machine& machine, const Views& views, const Origin* dropped) {
  if (dropped != nullptr) return "overwritten";
  const auto all = [&](auto&& condition) { return std::ranges::all_of(views.seeing, condition); };
  if (all([&](const ShellForecast* f) { return !f->shell.empty() && !is_of_login_shell(machine, *f); })) return "other-shell";
  if (all([](const ShellForecast* f) { return f->kind == "login" || f->kind == "ide"; })) return "login-only";
  if (all([](const ShellForecast* f) { return f->kind == "interactive" || f->kind == "login"; })) return "terminal-only";
  return {};
}

/// A terminal of the user's own shell would have it.
bool own_terminal_sees(const Machine& machine, const Views& views) {
  return std::ranges::any_of(views.seeing, [&](const ShellForecast* forecast) {
    return is_of_login_shell(machine, *forecast) && forecast->kind == "interactive";
  });
}

std::vector<Action> repair_for(const Machine& machine, const Views& views, const std::string& variant, const std::string& folder,
                               const Origin* line) {
  if (variant == "overwritten") return {};
  const Action services = make_action("set-path-for-services", {{"folder", folder}});
  if (variant == "terminal-only" && line != nullptr && line->source.ends_with("rc"))
    return {make_action("set-path-before-interactive-guard", {{"folder", folder}, {"file", line->source}}), services};
  if (own_terminal_sees(machine, views)) return {make_action("start-new-terminal"), services};
  return {add_to_path_action(machine, folder)};
}

}  // namespace

bool some_shell_sees_nvcc(const RuleContext& context) { return !views_of(context.machine).seeing.empty(); }

std::optional<Finding> judge_shell_startup(const RuleContext& context) {
  const Machine& machine = context.machine;
  const Views views = views_of(machine);
  if (views.seeing.empty()) return std::nullopt;
  const NvccStory story = nvcc_story(context);
  const bool process_lacks_it = story == NvccStory::DependsOnShell;
  if (!process_lacks_it && (views.blind.empty() || !terminals_differ(machine, views))) return std::nullopt;
  if (!process_lacks_it && story != NvccStory::Found && story != NvccStory::Unknown) return std::nullopt;
  const std::string folder = nvcc_folder(machine, *views.seeing.front()).value_or("");
  Finding finding;
  // A process that a terminal did not start may do without, unless a compiler was asked for.
  const bool matters = process_lacks_it && (wants_compiler(context) || terminals_differ(machine, views));
  finding.severity = matters ? Severity::Warning : Severity::Note;
  const Origin* set = line_that_sets(*views.seeing.front(), folder);
  const Origin* dropped = nullptr;
  for (const ShellForecast* forecast : views.blind)
    if (dropped == nullptr) dropped = line_that_drops(*forecast, folder);
  finding.variant = variant_of(machine, views, dropped);
  finding.parameters = {{"folder", folder},
                        {"seeing", names_of(views.seeing)},
                        {"blind", views.blind.empty() ? std::string("$PATH") : names_of(views.blind)}};
  if (set != nullptr) finding.evidence.push_back(*set);
  if (dropped != nullptr) {
    finding.evidence.push_back(*dropped);
    finding.parameters["where"] = dropped->source + (dropped->line > 0 ? ":" + std::to_string(dropped->line) : "");
    finding.repair.push_back(make_action("keep-path-when-setting", {{"where", finding.parameters["where"]}}));
  }
  finding.evidence.push_back({"start-up files", 0, "PATH leads to nvcc in: " + names_of(views.seeing)});
  if (!views.blind.empty()) finding.evidence.push_back({"start-up files", 0, "and not in: " + names_of(views.blind)});
  if (process_lacks_it) finding.evidence.push_back(quote_variable(machine, "PATH"));
  for (Action& action : repair_for(machine, views, finding.variant, folder, set)) finding.repair.push_back(std::move(action));
  return finding;
}

}  // namespace gpuvet
