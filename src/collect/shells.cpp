// Start-up files of the judged user's shells, and what they will leave in the variables that matter. Nothing is run.

#include <algorithm>
#include <array>
#include <memory>

#include "collect/lines.h"
#include "collect/shells_parts.h"

namespace gpuvet {
namespace {

using shell::Identity;
using shell::Outcome;
using shell::Start;
using shell::Variables;

constexpr std::size_t largest_file = std::size_t{1} << 20;
constexpr std::size_t most_text = std::size_t{16} << 20;  ///< of all start-up files together

std::optional<bool> of_type(System& system, const std::string& path, FileType type) {
  const auto status = system.status(path);
  if (status) return status->type == type;
  if (status.error().code == ErrorCode::NotFound) return false;
  return std::nullopt;
}

ShellFiles::Content read_start_up_file(System& system, const std::string& path) {
  using Read = ShellFiles::Read;
  auto text = system.read_file(path, largest_file);
  if (text) return {Read::Text, std::move(*text)};
  const ErrorCode code = text.error().code;
  if (code == ErrorCode::NotFound) return {Read::Missing, {}};
  // A start-up file that is masked by a link to /dev/null is an empty one.
  const auto status = system.status(path);
  if (status && status->type == FileType::CharDevice && status->device_major == 1 && status->device_minor == 3)
    return {Read::Text, {}};
  return {Read::Unreadable, {}};
}

struct PasswdUser {
  std::string name, home, shell;
  std::optional<std::int64_t> uid;
  std::uint32_t line = 0;
};

std::optional<PasswdUser> find_user(const ShellFiles& files, const std::string& name) {
  std::optional<PasswdUser> found;
  for_each_line(files.read("/etc/passwd").text, [&](std::string_view line, std::uint32_t number) {
    const auto fields = split(line, ':');
    if (fields.size() < 7 || fields[0] != name) return true;
    found = PasswdUser{std::string(fields[0]), std::string(fields[5]), std::string(trim(fields[6])), decimal(fields[2]), number};
    return false;
  });
  return found;
}

/// Who logs in; fills home and login_shell.
Identity identify(const ShellFiles& files, const Machine& machine, Shells& shells) {
  Identity identity;
  const std::string* name = machine.user.name.get();
  if (name) identity.user = *name;
  const auto user = name ? find_user(files, *name) : std::nullopt;
  if (user) {
    const Origin origin = origin_of("/etc/passwd", {}, user->line);
    identity.uid = user->uid;
    identity.home = user->home;
    identity.login_shell = user->shell.empty() ? "/bin/sh" : user->shell;
    shells.home = Fact<std::string>::known(identity.home, origin);
    shells.login_shell = Fact<std::string>::known(identity.login_shell, origin);
    return identity;
  }
  if (const auto* uid = machine.user.uid.get()) identity.uid = *uid;
  const auto home = machine.environment.find("HOME"), shell = machine.environment.find("SHELL");
  if (home != machine.environment.end() && home->second.starts_with('/')) {
    identity.home = home->second;
    shells.home = Fact<std::string>::known(identity.home, origin_of("environment", "HOME=" + identity.home));
  } else {
    shells.home = Fact<std::string>::not_seen("no user is known whose home it would be");
  }
  if (shell != machine.environment.end() && shell->second.starts_with('/')) {
    identity.login_shell = shell->second;
    shells.login_shell =
        Fact<std::string>::known(identity.login_shell, origin_of("environment", "SHELL=" + identity.login_shell));
  } else {
    shells.login_shell = Fact<std::string>::not_seen("no line of /etc/passwd is this user's");
  }
  return identity;
}

std::string short_name(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name == "dash" || name == "ash" || name == "busybox" ? "sh" : name == "rbash" ? "bash" : name;
}

bool is_followed(std::string_view name) { return name == "bash" || name == "zsh" || name == "fish" || name == "sh"; }

/// The login shell first, then others that this user has start-up files for.
std::vector<std::string> shells_to_forecast(const ShellFiles& files, const Identity& identity) {
  std::vector<std::string> names;
  const std::string login = short_name(identity.login_shell);
  if (is_followed(login)) names.push_back(login);
  const auto add = [&](const char* name, std::initializer_list<const char*> rc_files) {
    const bool has = std::any_of(rc_files.begin(), rc_files.end(),
                                 [&](const char* rc) { return files.is_file(identity.home + rc).value_or(false); });
    if (has && std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  add("bash", {"/.bashrc", "/.bash_profile"});
  add("zsh", {"/.zshrc", "/.zshenv", "/.zprofile"});
  add("fish", {"/.config/fish/config.fish"});
  return names;
}

struct Forecaster {
  const ShellFiles& files;
  const Identity& identity;
  bool sh_is_dash;
  std::vector<ShellForecast>& forecasts;

  Outcome follow(const std::string& name, bool login, bool interactive, bool by_ssh, const Variables& environment) const {
    return shell::follow_start_up(files, identity, Start{name, login, interactive, by_ssh, sh_is_dash}, environment);
  }
  void add(const std::string& name, const char* kind, const Outcome& outcome) const {
    forecasts.push_back({name, kind, outcome.files, shell::reported(outcome.environment)});
  }
};

/// A program of the desktop session: display managers run the login shell, or /bin/sh with /etc/profile and ~/.profile (GDM's and
/// LightDM's Xsession); what both agree on is known. environment.d reaches it under some desktops only.
Outcome desktop(const Forecaster& forecaster, const std::string& login_shell, const Variables& base) {
  Outcome by_sh = forecaster.follow("sh", true, false, false, base);
  if (!is_followed(login_shell) || login_shell == "sh") return by_sh;
  Outcome by_shell = forecaster.follow(login_shell, true, false, false, base);
  Outcome both;
  both.files = by_shell.files;
  for (const std::string& file : by_sh.files) {
    if (std::find(both.files.begin(), both.files.end(), file) == both.files.end()) both.files.push_back(file);
  }
  both.environment =
      shell::common(by_shell.environment, by_sh.environment,
                    "depends on whether the display manager starts the session with " + login_shell + " or with sh");
  Variables with_drop_ins = both.environment;
  for (const auto& [path, text] : environment_d_files(forecaster.files, forecaster.identity.home)) {
    if (path != "/usr/lib/environment.d/99-environment.conf") shell::apply_environment_d(text, path, with_drop_ins);
  }
  both.environment = shell::common(both.environment, with_drop_ins, "depends on whether the desktop takes over environment.d");
  return both;
}

void forecast_shells(const Forecaster& forecaster, const Variables& base) {
  const std::string login_shell = short_name(forecaster.identity.login_shell);
  const Outcome session = desktop(forecaster, login_shell, base);
  for (const std::string& name : shells_to_forecast(forecaster.files, forecaster.identity)) {
    forecaster.add(name, "login", forecaster.follow(name, true, true, false, base));
    forecaster.add(name, "interactive", forecaster.follow(name, false, true, false, session.environment));
    forecaster.add(name, "command", forecaster.follow(name, false, false, true, base));
  }
  forecaster.add(is_followed(login_shell) ? login_shell : "sh", "ide", session);
}

void find_cuda_lines(const ShellFiles& files, const Machine& machine, const std::string& home, Shells& shells) {
  std::vector<std::string> paths = {
      "/etc/environment",         "/etc/profile",           "/etc/bash.bashrc",           "/etc/bashrc",          "/etc/crontab",
      "/etc/systemd/system.conf", "/etc/systemd/user.conf", "/etc/security/pam_env.conf", "/etc/fish/config.fish"};
  for (const char* folder : {"/etc/profile.d/", "/etc/environment.d/", "/usr/lib/environment.d/", "/etc/fish/conf.d/"}) {
    for (const std::string& name : files.list(folder).value_or(std::vector<std::string>{})) paths.push_back(folder + name);
  }
  for (const char* name : {"zshenv", "zprofile", "zshrc", "zlogin"}) {
    paths.push_back(std::string("/etc/") + name);
    paths.push_back(std::string("/etc/zsh/") + name);
  }
  if (!home.empty()) {
    for (const char* name : {".profile",
                             ".bash_profile",
                             ".bash_login",
                             ".bashrc",
                             ".bash_aliases",
                             ".bash_exports",
                             ".exports",
                             ".path",
                             ".zshenv",
                             ".zprofile",
                             ".zshrc",
                             ".zlogin",
                             ".xprofile",
                             ".xsessionrc",
                             ".pam_environment",
                             ".cshrc",
                             ".tcshrc",
                             ".kshrc",
                             ".config/fish/config.fish",
                             ".config/fish/fish_variables"})
      paths.push_back(home + "/" + name);
    for (const char* folder : {"/.config/environment.d/", "/.config/fish/conf.d/"}) {
      for (const std::string& name : files.list(home + folder).value_or(std::vector<std::string>{}))
        paths.push_back(home + folder + name);
    }
  }
  for (const PythonEnvironment& environment : machine.python.environments.value_or({})) {
    const std::string folder = environment.prefix + "/etc/conda/activate.d/";
    if (environment.kind != "conda") continue;
    for (const std::string& name : files.list(folder).value_or(std::vector<std::string>{})) paths.push_back(folder + name);
  }
  // Files that the start-up files above source.
  for (const ShellForecast& forecast : shells.forecasts.value_or({}))
    paths.insert(paths.end(), forecast.files.begin(), forecast.files.end());
  std::vector<std::string> done;
  for (const std::string& path : paths) {
    if (std::find(done.begin(), done.end(), path) != done.end()) continue;
    done.push_back(path);
    shell::find_cuda_lines(files.read(path).text, path, shells.cuda_lines);
  }
}

/// Why no forecast can be made, or nothing.
std::string obstacle(const ShellFiles& files, const Machine& machine, const Identity& identity) {
  if (const auto* container = machine.os.container.get())
    return "a process of a container (" + *container + ") is not started by a login";
  if (identity.home.empty()) return "no user is known";
  const auto there = files.is_directory(identity.home);
  if (!there || !files.list(identity.home)) return identity.home + " may not be read";
  if (!*there) return "there is no folder " + identity.home;
  return {};
}

}  // namespace

ShellFiles shell_files_of(System& system) {
  ShellFiles files;
  auto texts = std::make_shared<std::map<std::string, ShellFiles::Content>>();
  auto bytes = std::make_shared<std::size_t>(0);
  files.read = [&system, texts, bytes](const std::string& path) {
    const auto found = texts->find(path);
    if (found != texts->end()) return found->second;
    if (*bytes > most_text) return ShellFiles::Content{ShellFiles::Read::Unreadable, {}};
    const auto& content = texts->emplace(path, read_start_up_file(system, path)).first->second;
    *bytes += content.text.size();
    return content;
  };
  files.is_file = [&system](const std::string& path) { return of_type(system, path, FileType::Regular); };
  files.is_directory = [&system](const std::string& path) { return of_type(system, path, FileType::Directory); };
  files.is_executable = [&system](const std::string& path) -> std::optional<bool> {
    const auto status = system.status(path);
    if (status) return status->type == FileType::Regular && (status->mode & 0111) != 0;
    if (status.error().code == ErrorCode::NotFound) return false;
    return std::nullopt;
  };
  files.list = [&system](const std::string& path) -> std::optional<std::vector<std::string>> {
    const auto entries = system.list(path, 4096);
    std::vector<std::string> names;
    if (!entries) return entries.error().code == ErrorCode::NotFound ? std::optional(names) : std::nullopt;
    for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    return names;
  };
  return files;
}

void collect_shells(System& system, const CollectOptions&, Machine& machine) {
  const ShellFiles files = shell_files_of(system);
  Shells& shells = machine.shells;
  const Identity identity = identify(files, machine, shells);
  const std::string why = obstacle(files, machine, identity);
  if (!why.empty()) {
    shells.forecasts = Fact<std::vector<ShellForecast>>::not_seen(why);
  } else {
    const auto sh = system.real_path("/bin/sh");
    std::vector<ShellForecast> forecasts;
    const Forecaster forecaster{files, identity, !sh || !sh->ends_with("bash"), forecasts};
    forecast_shells(forecaster, login_environment(files, machine, identity));
    add_processes_without_shell(files, machine, identity, forecasts);
    shells.forecasts = Fact<std::vector<ShellForecast>>::known(std::move(forecasts));
  }
  find_cuda_lines(files, machine, identity.home, shells);
}

}  // namespace gpuvet
