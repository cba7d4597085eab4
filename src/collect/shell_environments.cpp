// What a process has in its environment before any shell start-up file: PAM, login, cron, systemd.

#include <algorithm>

#include "collect/lines.h"
#include "collect/shells_parts.h"

namespace gpuvet {
namespace {

using shell::Identity;
using shell::Value;
using shell::Variable;
using shell::Variables;

Variable path_of(const std::string& value, Origin origin) {
  Variable variable;
  variable.value = Value::known(value);
  variable.exported = true;
  variable.set_by.push_back(std::move(origin));
  return variable;
}

Variable unknown_path(const std::string& why) {
  Variable variable;
  variable.value = Value::unknown(why);
  variable.exported = true;
  return variable;
}

/// Files that may set a reported variable in a language of their own: then its value is left open.
void leave_open(const ShellFiles& files, const std::string& path, Variables& environment) {
  for_each_line(files.read(path).text, [&](std::string_view line, std::uint32_t number) {
    line = trim(line);
    if (line.empty() || line.front() == '#') return true;
    const std::string_view name = line.substr(0, line.find_first_of(" \t="));
    if (!shell::is_reported(name)) return true;
    Variable& variable = environment[std::string(name)];
    variable.value = Value::unknown(path + ":" + std::to_string(number) + ": " + std::string(line.substr(0, 80)));
    variable.exported = true;
    variable.set_by.push_back(origin_of(path, line, number));
    return true;
  });
}

/// PATH that sshd of RHEL 8 and 9 was built with (--with-default-path and --with-superuser-path of their openssh.spec). RHEL 7
/// and Fedora since the merge of bin and sbin have shorter ones, so other releases are left open.
std::string sshd_path(const OperatingSystem& os, bool root) {
  const std::string version = os.version_id.value_or("");
  const bool fits = is_of_family(os, "rhel") && !os.id.is("fedora") &&
                    (version == "8" || version == "9" || version.starts_with("8.") || version.starts_with("9."));
  if (!fits) return {};
  return root ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin" : "/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin";
}

/// PATH that systemd's managers give to services: a choice made when systemd was built (systemd.exec(5), $PATH).
Variable systemd_path(const ShellFiles& files, const Machine& machine, const std::string& generators) {
  const std::string standard = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";
  std::string value;
  if (is_of_family(machine.os, "debian"))
    value = standard + ":/sbin:/bin";
  else if (is_of_family(machine.os, "rhel") && !machine.os.id.is("fedora"))
    value = standard;
  else
    return unknown_path("systemd's built-in PATH of this distribution");
  for (const char* folder : {"/usr/lib/systemd/", "/etc/systemd/", "/lib/systemd/"}) {
    for (const std::string& name : files.list(folder + generators).value_or(std::vector<std::string>{})) {
      if (name == "snapd-env-generator" && !value.ends_with("/snap/bin"))
        value += ":/snap/bin";
      else if (name != "snapd-env-generator" && name != "30-systemd-environment-d-generator" && name != "60-flatpak" &&
               name != "90gpg-agent")
        return unknown_path(folder + generators + "/" + name + " may set PATH");
    }
  }
  return path_of(value, origin_of("systemd's built-in PATH", value));
}

void add(std::vector<ShellForecast>& forecasts, const char* kind, std::vector<std::string> used, const Variables& environment) {
  forecasts.push_back({"", kind, std::move(used), shell::reported(environment)});
}

void add_cron(const ShellFiles& files, const Machine& machine, const Identity& identity, std::vector<ShellForecast>& forecasts) {
  Variables environment;
  std::vector<std::string> used;
  const auto pam = files.read("/etc/environment");
  if (!pam.text.empty()) {
    shell::apply_pam_environment(pam.text, "/etc/environment", environment);
    used.emplace_back("/etc/environment");
  }
  // Debian's cron adds what PAM set; whether others do depends on their PAM files.
  if (!is_of_family(machine.os, "debian")) {
    for (auto& [name, variable] : environment)
      variable.value = Value::unknown("depends on whether cron takes over /etc/environment");
  }
  // cron(8): PATH is /usr/bin:/bin whatever PAM says, unless the crontab sets it.
  environment["PATH"] = path_of("/usr/bin:/bin", origin_of("cron's built-in PATH", "/usr/bin:/bin"));
  for (const char* folder : {"/var/spool/cron/crontabs/", "/var/spool/cron/", "/var/spool/cron/tabs/"}) {
    const std::string path = folder + identity.user;
    const auto crontab = files.read(path);
    if (identity.user.empty()) continue;
    if (crontab.state == ShellFiles::Read::Unreadable) environment["PATH"] = unknown_path(path + " may not be read");
    if (crontab.state != ShellFiles::Read::Text) continue;
    used.push_back(path);
    for (const std::string& name : shell::reported_names) {
      const auto set = shell::crontab_variable(crontab.text, path, name);
      if (!set) continue;
      environment[name] = path_of(set->text, origin_of(path, name + "=" + set->text, set->line));
    }
    break;
  }
  add(forecasts, "cron", std::move(used), environment);
}

}  // namespace

bool is_of_family(const OperatingSystem& os, std::string_view family) {
  const std::string ids = " " + os.id.value_or("") + " " + os.id_like.value_or("") + " ";
  if (ids.find(" " + std::string(family) + " ") != std::string::npos) return true;
  if (family == "debian") return ids.find(" ubuntu ") != std::string::npos;
  return family == "rhel" && (ids.find(" fedora ") != std::string::npos || ids.find(" centos ") != std::string::npos);
}

std::vector<std::pair<std::string, std::string>> environment_d_files(const ShellFiles& files, const std::string& home) {
  std::map<std::string, std::string> chosen;  // file name → path; later folders win
  for (const std::string& folder :
       {std::string("/usr/lib/environment.d/"), std::string("/usr/local/lib/environment.d/"), std::string("/run/environment.d/"),
        std::string("/etc/environment.d/"), home + "/.config/environment.d/"}) {
    for (const std::string& name : files.list(folder).value_or(std::vector<std::string>{})) {
      if (name.ends_with(".conf")) chosen[name] = folder + name;
    }
  }
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, path] : chosen) {
    const auto content = files.read(path);
    if (content.state == ShellFiles::Read::Text) found.emplace_back(path, content.text);
  }
  return found;
}

Variables login_environment(const ShellFiles& files, const Machine& machine, const Identity& identity) {
  Variables environment;
  const std::string defs = "/etc/login.defs";
  const auto path = shell::login_defs_path(files.read(defs).text, defs, identity.uid == 0);
  if (path) {
    environment["PATH"] = path_of(path->text, origin_of(defs, "PATH=" + path->text, path->line));
  } else if (const std::string sshd = sshd_path(machine.os, identity.uid == 0); !sshd.empty()) {
    environment["PATH"] = path_of(sshd, origin_of("sshd's built-in PATH", sshd));
  } else {
    environment["PATH"] = unknown_path("the PATH that login and sshd start with");
  }
  shell::apply_pam_environment(files.read("/etc/environment").text, "/etc/environment", environment);
  leave_open(files, "/etc/security/pam_env.conf", environment);
  leave_open(files, identity.home + "/.pam_environment", environment);
  return environment;
}

void add_processes_without_shell(const ShellFiles& files, const Machine& machine, const Identity& identity,
                                 std::vector<ShellForecast>& forecasts) {
  const auto there = [&](const char* path) { return files.is_file(path).value_or(false); };
  if (there("/etc/crontab") || there("/usr/sbin/cron") || there("/usr/sbin/crond")) add_cron(files, machine, identity, forecasts);
  const bool systemd = there("/usr/lib/systemd/systemd") || there("/lib/systemd/systemd") || there("/etc/systemd/system.conf");
  if (!systemd) return;
  const auto defaults = [&](const std::string& name, Variables& environment, std::vector<std::string>& used) {
    std::vector<std::string> paths{"/etc/systemd/" + name};
    for (const std::string& folder : {"/usr/lib/systemd/" + name + ".d/", "/etc/systemd/" + name + ".d/"}) {
      for (const std::string& drop_in : files.list(folder).value_or(std::vector<std::string>{})) {
        if (drop_in.ends_with(".conf")) paths.push_back(folder + drop_in);
      }
    }
    for (const std::string& path : paths) {
      const auto content = files.read(path);
      if (content.state != ShellFiles::Read::Text) continue;
      used.push_back(path);
      shell::apply_default_environment(content.text, path, environment);
    }
  };
  Variables user, system;
  std::vector<std::string> user_files, system_files;
  user["PATH"] = systemd_path(files, machine, "user-environment-generators");
  system["PATH"] = systemd_path(files, machine, "system-environment-generators");
  if (!identity.home.empty()) {
    user["HOME"].value = Value::known(identity.home);
    user["USER"].value = Value::known(identity.user);
  }
  defaults("user.conf", user, user_files);
  for (const auto& [path, text] : environment_d_files(files, identity.home)) {
    user_files.push_back(path);
    shell::apply_environment_d(text, path, user);
  }
  defaults("system.conf", system, system_files);
  add(forecasts, "systemd-user", std::move(user_files), user);
  add(forecasts, "systemd-system", std::move(system_files), system);
}

}  // namespace gpuvet
