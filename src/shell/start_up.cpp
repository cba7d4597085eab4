#include "shell/start_up.h"

#include <algorithm>

#include "shell/interpret.h"

namespace gpuvet::shell {
namespace {

bool is_file(const ShellFiles& files, const std::string& path) { return files.is_file(path).value_or(true); }

void bash_start_up(Interpreter& shell, const ShellFiles& files, const std::string& home, const Start& start,
                   const Variables& environment) {
  if (start.login) {
    shell.start_up_file("/etc/profile");
    for (const char* name : {"/.bash_profile", "/.bash_login", "/.profile"}) {
      if (!is_file(files, home + name)) continue;
      return shell.start_up_file(home + name);
    }
    return;
  }
  if (start.interactive || start.by_ssh) {
    // Debian, Arch and SUSE build bash with a system-wide file for interactive shells; Red Hat's sources /etc/bashrc from
    // ~/.bashrc.
    shell.start_up_file("/etc/bash.bashrc");
    return shell.start_up_file(home + "/.bashrc");
  }
  const auto named = environment.find("BASH_ENV");
  if (named != environment.end() && named->second.value.is_known() && named->second.value.text.starts_with('/'))
    shell.start_up_file(named->second.value.text);
}

void zsh_start_up(Interpreter& shell, const ShellFiles& files, const std::string& home, const Start& start) {
  const auto in_etc = files.list("/etc/zsh");
  const std::string etc = in_etc && !in_etc->empty() ? "/etc/zsh" : "/etc";
  std::string dot_folder = home;
  const auto both = [&](const std::string& name) {
    shell.start_up_file(etc + "/" + name);
    // ZDOTDIR may have been set by the files before.
    const Value chosen = shell.value("ZDOTDIR");
    if (chosen.is_unknown()) return shell.give_up("ZDOTDIR is not known");
    dot_folder = chosen.is_known() && !chosen.text.empty() ? chosen.text : home;
    shell.start_up_file(dot_folder + "/." + name);
  };
  both("zshenv");
  if (start.login) both("zprofile");
  if (start.interactive) both("zshrc");
  if (start.login) both("zlogin");
}

void sh_start_up(Interpreter& shell, const std::string& home, const Start& start) {
  if (start.login) {
    shell.start_up_file("/etc/profile");
    shell.start_up_file(home + "/.profile");
  }
  if (!start.interactive) return;
  const Value named = shell.value("ENV");
  if (named.is_unknown()) return shell.give_up("ENV is not known");
  if (named.is_known() && named.text.starts_with('/')) shell.start_up_file(named.text);
}

Variable exported(std::string value) {
  Variable variable;
  variable.value = Value::known(std::move(value));
  variable.exported = true;
  return variable;
}

}  // namespace

Outcome follow_start_up(const ShellFiles& files, const Identity& identity, const Start& start, Variables environment) {
  if (!identity.home.empty()) environment["HOME"] = exported(identity.home);
  if (!identity.user.empty()) environment["USER"] = environment["LOGNAME"] = exported(identity.user);
  if (!identity.login_shell.empty()) environment["SHELL"] = exported(identity.login_shell);
  if (start.shell == "fish") return follow_fish(files, identity, start, std::move(environment));
  Setting setting;
  setting.home = identity.home;
  setting.user = identity.user;
  setting.uid = identity.uid;
  setting.login = start.login;
  setting.interactive = start.interactive;
  const bool is_sh = start.shell == "sh";
  setting.dialect = start.shell == "zsh" ? Dialect::Zsh : is_sh && start.sh_is_dash ? Dialect::Dash : Dialect::Bash;
  setting.posix = is_sh && !start.sh_is_dash;
  const Variables first = environment;
  Interpreter shell(files, setting, std::move(environment));
  if (start.login) shell.set("PWD", identity.home);
  if (is_sh)
    sh_start_up(shell, identity.home, start);
  else if (start.shell == "zsh")
    zsh_start_up(shell, files, identity.home, start);
  else
    bash_start_up(shell, files, identity.home, start, first);
  Outcome outcome;
  const State& state = shell.finish();
  outcome.files = shell.files_read;
  for (const auto& [name, variable] : state.variables) {
    if (variable.exported || !variable.set_by.empty()) outcome.environment.emplace(name, variable);
  }
  return outcome;
}

Variables common(const Variables& a, const Variables& b, const std::string& why) {
  State one, two;
  one.variables = a;
  two.variables = b;
  Variables both = merged(one, two, why).variables;
  // A line that only one of the ways runs is not known to run.
  for (auto& [name, variable] : both) {
    for (const Variables* way : {&a, &b}) {
      const auto own = way->find(name);
      std::erase_if(variable.set_by, [&](const Origin& line) {
        return own == way->end() ||
               std::find(own->second.set_by.begin(), own->second.set_by.end(), line) == own->second.set_by.end();
      });
    }
  }
  return both;
}

std::vector<ShellVariable> reported(const Variables& environment) {
  std::vector<ShellVariable> all;
  for (const std::string& name : reported_names) {
    const auto found = environment.find(name);
    ShellVariable variable{name, Fact<std::string>::absent(), {}};
    if (found != environment.end()) {
      const Variable& held = found->second;
      variable.set_by = held.set_by;
      Origin where;
      if (!held.set_by.empty()) where = held.set_by.back();
      if (held.value.is_known() && held.export_unknown)
        variable.value = Fact<std::string>::not_seen("it may be exported or not", where);
      else if (held.value.is_known() && held.exported)
        variable.value = Fact<std::string>::known(held.value.text, where);
      else if (held.value.is_unknown())
        variable.value = Fact<std::string>::not_seen(held.value.text, where);
      else
        variable.value = Fact<std::string>::absent(where);
    }
    if (name == "PATH" || !variable.value.is_absent() || !variable.set_by.empty()) all.push_back(std::move(variable));
  }
  return all;
}

}  // namespace gpuvet::shell
