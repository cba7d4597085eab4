#include "commands/input.h"

#include <algorithm>

#include "collect/binaries.h"
#include "collect/process_plan.h"
#include "collect/working_folder.h"
#include "commands/plan_words.h"
#include "loader/machine_rules.h"
#include "model/json.h"
#include "render/messages.h"
#include "rules/software.h"
#include "system/user_file.h"

namespace gpuvet {
namespace {

constexpr std::size_t snapshot_limit = std::size_t{64} << 20;
constexpr std::size_t environment_limit = std::size_t{4} << 20;
constexpr std::size_t kernel_log_limit = std::size_t{16} << 20;
constexpr std::size_t table_limit = std::size_t{16} << 20;

using Values = std::map<std::string, std::string>;

std::string cannot_read(const Options& options, const std::string& path, const SystemError& error) {
  return message(Message::CannotRead, options.language, {{"path", printable(path)}, {"why", printable(error.message)}});
}

/// Length of a variable's name at the start of a line that goes on with '='; 0: the line begins no entry.
std::size_t name_length(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0) return 0;
  // Bash exports functions as BASH_FUNC_name%%=…
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_%().-";
  const bool is_name = line.substr(0, equals).find_first_not_of(allowed) == std::string_view::npos;
  return is_name && !(line[0] >= '0' && line[0] <= '9') ? equals : 0;
}

Values parse_entries(std::string_view text) {
  Values out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view entry = text.substr(0, end);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) out[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

tl::expected<void, std::string> add_environment(const Options& options, System& system, CollectOptions& collect_options) {
  if (options.environ_file.empty()) {
    if (!system.is_live()) return {};
    if (const auto own = system.environment()) {
      for (const std::string& entry : *own) {
        const std::size_t equals = entry.find('=');
        if (equals != std::string::npos && equals > 0)
          collect_options.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
      }
    }
    for (const std::string& entry : options.variables)
      collect_options.environment[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
    return {};
  }
  const auto text = read_user_file(options.environ_file, environment_limit);
  if (!text) return tl::unexpected(cannot_read(options, options.environ_file, text.error()));
  auto environment = parse_environment(*text);
  if (!environment) {
    return tl::unexpected(message(Message::BadEnvironment, options.language,
                                  {{"path", printable(options.environ_file)}, {"line", std::to_string(environment.error())}}));
  }
  collect_options.has_environment = true;
  collect_options.environment = std::move(*environment);
  return {};
}

tl::expected<void, std::string> add_kernel_log(const Options& options, CollectOptions& collect_options) {
  if (options.kernel_log.empty()) return {};
  auto tail = read_user_file_tail(options.kernel_log, kernel_log_limit);
  if (!tail) return tl::unexpected(cannot_read(options, options.kernel_log, tail.error()));
  collect_options.has_kernel_log = true;
  collect_options.kernel_log_name = options.kernel_log == "-" ? "standard input" : options.kernel_log;
  collect_options.kernel_log_text = std::move(tail->text);
  collect_options.kernel_log_truncated = tail->truncated;
  return {};
}

tl::expected<Machine, std::string> load_snapshot(const Options& options) {
  const auto text = read_user_file(options.snapshot, snapshot_limit);
  if (!text) return tl::unexpected(cannot_read(options, options.snapshot, text.error()));
  auto machine = machine_from_json(*text);
  if (!machine) {
    return tl::unexpected(message(Message::BadSnapshot, options.language,
                                  {{"path", printable(options.snapshot)}, {"why", printable(machine.error())}}));
  }
  return std::move(*machine);
}

bool is_file(System& system, const std::string& path) { return system.exists(path) && !system.is_directory(path); }

/// "llama-server": no framework, and nothing but a name.
bool is_plain_name(const Purpose& purpose) {
  return purpose.needs_framework() && purpose.specifier.empty() && purpose.environment.empty() && purpose.target.empty() &&
         !is_known_framework(purpose.name);
}

bool has_plan_of(const Machine& machine, const std::string& target) {
  return std::ranges::any_of(machine.loader.plans,
                             [&](const ProcessPlan& plan) { return plan.name == target || plan.program == target; });
}

/// " (it has: /opt/app)": a redacted snapshot has other names.
std::string programs_in(const Machine& machine) {
  std::string text;
  for (const ProcessPlan& plan : machine.loader.plans)
    if (is_program_plan(plan)) text += (text.empty() ? "" : ", ") + printable(plan.name);
  return text.empty() ? text : " (--for " + text + ")";
}

/// What a snapshot is asked for: the program that it was made for where nothing was said, or where only its name was.
void ask_snapshot(const Machine& machine, Purpose& purpose) {
  const auto asked = [&](const ProcessPlan& plan) {
    return is_program_plan(plan) && (!purpose.asked() || plan.name.substr(plan.name.rfind('/') + 1) == purpose.text);
  };
  if (purpose.asked() && !is_plain_name(purpose)) return;
  const auto plan = std::ranges::find_if(machine.loader.plans, asked);
  if (plan == machine.loader.plans.end()) return;
  purpose.name = "path";
  purpose.target = purpose.text = plan->name;
}

/// A program's name by PATH of the judged process, else a file of this folder; empty: neither.
std::string find_program(const Inspected& inspected, const std::string& name) {
  System& system = *inspected.system;
  const auto path = inspected.collect.environment.find("PATH");
  if (path != inspected.collect.environment.end())
    if (std::string file = find_on_path(system, path->second, name); !file.empty()) return file;
  const std::string here = working_folder(system);
  return !here.empty() && is_file(system, here + "/" + name) ? "./" + name : std::string();
}

/// "--for llama-server", "--for train.py": no framework has that name, and such a program is there.
void look_for_program(const Inspected& inspected, Purpose& purpose) {
  const std::string file = is_plain_name(purpose) ? find_program(inspected, purpose.text) : std::string();
  if (file.empty()) return;
  purpose.name = "path";
  purpose.target = file;
}

/// A compiler is no program that runs on a GPU: "--for /usr/local/cuda/bin/nvcc" means "--for nvcc".
void ask_for_nvcc(const Inspected& inspected, Purpose& purpose) {
  if (purpose.name != "path" || !purpose.target.ends_with("/nvcc")) return;
  const auto here = inspected.system->is_live() ? inspected.system->read_link("/proc/self/cwd") : tl::unexpected(SystemError{});
  const std::string folder = purpose.target.starts_with('/') ? "" : here ? *here + "/" : "/";
  if (!is_file(*inspected.system, folder + purpose.target)) return;
  purpose.name = "nvcc";
  purpose.target.clear();
}

}  // namespace

tl::expected<std::map<std::string, std::string>, std::size_t> parse_environment(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return parse_entries(text);
  Values out;
  std::string last;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const std::size_t length = name_length(line); length != 0) {
      last = line.substr(0, length);
      out[last] = line.substr(length + 1);
    } else if (!last.empty()) {
      out[last].append("\n").append(line);  // a value over several lines
    } else if (!line.empty() && line.front() != '#') {
      return tl::unexpected(number);
    }
  }
  for (auto& [name, value] : out) {
    while (value.ends_with('\n')) value.pop_back();
  }
  return out;
}

tl::expected<Knowledge, std::string> load_knowledge(const Options& options) {
  Knowledge knowledge;
  if (options.knowledge.empty()) return knowledge;
  const auto names = list_user_tables(options.knowledge);
  if (!names) return tl::unexpected(cannot_read(options, options.knowledge, names.error()));
  for (const std::string& name : *names) {
    const std::string path = options.knowledge + "/" + name;
    const auto text = read_user_file(path, table_limit);
    if (!text) return tl::unexpected(cannot_read(options, path, text.error()));
    const auto added = knowledge.add_overlay_table(name, *text);
    if (!added) return tl::unexpected(printable(options.knowledge + "/" + added.error()));
  }
  return knowledge;
}

tl::expected<Inspected, std::string> open_inspected(const Options& options) {
  Inspected inspected;
  if (options.root.empty()) {
    inspected.system = make_live_system();
  } else {
    auto rooted = make_rooted_system(options.root);
    if (!rooted) {
      return tl::unexpected(message(Message::NotADirectory, options.language,
                                    {{"path", printable(options.root)}, {"why", printable(rooted.error().message)}}));
    }
    inspected.system = std::move(*rooted);
  }
  inspected.collect.everything = options.verbosity > 0;
  inspected.collect.python_environments = options.python_environments;
  inspected.collect.ask_windows = options.windows;
  if (const auto done = add_environment(options, *inspected.system, inspected.collect); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_kernel_log(options, inspected.collect); !done) return tl::unexpected(done.error());
  return inspected;
}

tl::expected<Machine, Failure> load_machine(const Options& options, Purpose& purpose, std::vector<CollectorTime>* times) {
  if (!options.snapshot.empty()) {
    auto machine = load_snapshot(options);
    if (!machine) return tl::unexpected(Failure{machine.error()});
    ask_snapshot(*machine, purpose);
    if (purpose.name == "path" && !has_plan_of(*machine, purpose.target))
      return tl::unexpected(
          Failure{message(Message::SnapshotWithoutProgram, options.language, {{"path", printable(purpose.target)}}) +
                  programs_in(*machine)});
    return std::move(*machine);
  }
  const auto inspected = open_inspected(options);
  if (!inspected) return tl::unexpected(Failure{inspected.error()});
  look_for_program(*inspected, purpose);
  ask_for_nvcc(*inspected, purpose);
  Machine machine = collect(*inspected->system, inspected->collect, times);
  if (const auto read = collect_binaries(*inspected->system, machine, purpose, times); !read)
    return tl::unexpected(Failure{
        message(Message::CannotJudgeProgram, options.language, {{"why", plan_error_text(read.error(), options.language)}}),
        plan_error_code(read.error())});
  if (machine.source.empty()) machine.source = options.root.empty() ? "host" : "root";
  if (machine.collected_by.empty()) machine.collected_by = "gpuvet " GPUVET_VERSION;
  return machine;
}

}  // namespace gpuvet
