#include "model/redact.h"

#include <array>
#include <functional>
#include <memory>
#include <set>

#include "model/fields.h"
#include "model/redact_text.h"

namespace gpuvet {
namespace {

using Kind = Pseudonyms::Kind;

// ---- visiting every text ---------------------------------------------------------------------------------------------

/// Calls function(text, origin_or_null) for every string of an object, the quoted texts of origins included.
class Strings {
 public:
  using Function = std::function<void(std::string&)>;
  explicit Strings(Function function) : function_(std::move(function)) {}

  void operator()(const char*, auto& field) { visit(field); }
  void visit(std::string& v) { function_(v); }
  template <class T>
  void visit(std::vector<T>& v) {
    for (auto& item : v) visit(item);
  }
  void visit(std::map<std::string, std::string>& v) {
    for (auto& [name, value] : v) visit(value);
  }
  template <class T>
  void visit(Fact<T>& v) {
    if (T* value = v.get()) visit(*value);
    visit(v.origin());
    if (v.is_not_seen() && !v.why().empty()) {
      std::string why = v.why();
      visit(why);
      v = Fact<T>::not_seen(std::move(why), v.origin());
    }
  }
  template <HasFields T>
  void visit(T& v) {
    visit_fields(v, std::ref(*this));
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void visit(T&) {}

 private:
  Function function_;
};

// ---- collecting names ------------------------------------------------------------------------------------------------

std::string_view last_component(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// Host name in a syslog line: "Nov 30 12:00:01 HOST prog: …" or "2026-11-30T12:00:01.5+01:00 HOST prog: …".
std::string_view host_of_log_line(std::string_view line) {
  const auto word = [&]() {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::string_view first = line.substr(0, line.find(' '));
    line.remove_prefix(first.size());
    return first;
  };
  const auto is_clock = [](std::string_view w) { return w.size() >= 8 && w[2] == ':' && w[5] == ':'; };
  const auto is_iso = [](std::string_view w) { return w.size() >= 19 && w[4] == '-' && w[7] == '-' && w[10] == 'T'; };
  static constexpr std::string_view months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
  const std::string_view first = word();
  if (is_iso(first)) {
    // nothing more belongs to the time
  } else if (first.size() == 3 && months.find(first) != std::string_view::npos) {
    word();
    if (!is_clock(word())) return {};
  } else {
    return {};
  }
  const std::string_view host = word();
  const std::string_view program = word();
  const bool plausible = host.find_first_of("[]():=/") == std::string_view::npos && program.ends_with(':');
  return plausible ? host : std::string_view();
}

/// Every real name that is to go, before anything is replaced.
struct Names {
  std::set<std::string> users, hosts, groups;
  std::set<std::string> kept;  ///< real names that look like our pseudonyms

  void add_user(std::string_view name) {
    if (is_generic_name(name)) kept.insert(std::string(name));
    if (!is_generic_name(name)) users.insert(std::string(name));
    // alice@corp.example.com of a directory service
    if (const std::size_t at = name.find('@'); at != std::string_view::npos && at > 0) {
      add_user(name.substr(0, at));
      add_host(name.substr(at + 1));
    }
  }
  void add_host(std::string_view name) {
    kept.insert(std::string(name));
    if (is_generic_name(name)) return;
    hosts.insert(std::string(name));
    const std::string_view short_name = name.substr(0, name.find('.'));
    if (!is_generic_name(short_name)) hosts.insert(std::string(short_name));
  }
};

bool is_well_known_group(std::string_view name) {
  static constexpr std::array<std::string_view, 34> known{
      "root",    "video",     "render",  "sudo",       "wheel",           "adm",     "cdrom",  "dip",      "plugdev",
      "lpadmin", "lxd",       "docker",  "users",      "audio",           "input",   "kvm",    "libvirt",  "disk",
      "tty",     "dialout",   "staff",   "games",      "games",           "nogroup", "nvidia", "vglusers", "bumblebee",
      "netdev",  "bluetooth", "scanner", "sambashare", "systemd-journal", "lp",      "daemon"};
  for (const std::string_view group : known) {
    if (name == group) return true;
  }
  return false;
}

void collect_from_environment(const std::map<std::string, std::string>& environment, Names& names) {
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER", "USERNAME"}) {
    if (const auto found = environment.find(variable); found != environment.end()) names.add_user(found->second);
  }
  if (const auto home = environment.find("HOME"); home != environment.end()) names.add_user(last_component(home->second));
  for (const char* variable : {"HOSTNAME", "HOST", "NAME"}) {
    if (const auto found = environment.find(variable); found != environment.end()) names.add_host(found->second);
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

/// A line of /etc/group ("video:x:44:alice,bob") or /etc/passwd ("alice:x:1000:1000:Alice Smith,,,:/home/alice:/bin/sh").
struct AccountLine {
  std::vector<std::string_view> fields;
  bool is_account() const {
    return fields.size() >= 4 && fields[1].size() <= 1 && is_number(fields[2]) && fields[0].find(' ') == std::string_view::npos;
  }
  bool is_group() const { return is_account() && fields.size() == 4; }
  bool is_passwd() const { return is_account() && fields.size() == 7 && is_number(fields[3]); }
};
AccountLine account_line(std::string_view text) {
  return text.size() < 512 && text.find(':') != std::string_view::npos ? AccountLine{split(text, ':')} : AccountLine();
}

void collect_from_account_line(std::string_view text, Names& names) {
  const AccountLine line = account_line(text);
  if (line.is_passwd() && is_number(line.fields[2]) && line.fields[2].size() >= 4) names.add_user(line.fields[0]);
  if (!line.is_group()) return;
  for (const std::string_view member : split(line.fields[3], ',')) names.add_user(member);
}

/// The word after a marker such as "Requested-By: " of apt's history.
void collect_marked(std::string_view text, std::string_view marker, void (Names::*add)(std::string_view), Names& names) {
  const std::size_t at = text.find(marker);
  if (at == std::string_view::npos) return;
  const std::string_view rest = text.substr(at + marker.size());
  (names.*add)(rest.substr(0, rest.find_first_of(" \t\",;()")));
}

void collect_from_text(const std::string& text, Names& names) {
  names.add_host(host_of_log_line(text));
  collect_from_account_line(text, names);
  collect_marked(text, "Requested-By: ", &Names::add_user, names);
  collect_marked(text, "acct=\"", &Names::add_user, names);
  collect_marked(text, "systemd.hostname=", &Names::add_host, names);
  for (std::size_t at = text.find_first_of("/\\"); at != std::string::npos; at = text.find_first_of("/\\", at + 1)) {
    const std::string_view owner = home_owner(std::string_view(text).substr(at));
    if (!owner.empty()) names.add_user(owner);
  }
}

Names collect_names(Machine& machine) {
  Names names;
  collect_from_environment(machine.environment, names);
  if (const std::string* name = machine.user.name.get()) names.add_user(*name);
  Strings([&](std::string& text) { collect_from_text(text, names); }).visit(machine);
  if (const auto* groups = machine.user.groups.get()) {
    for (const UserGroup& group : *groups) {
      if (!is_well_known_group(group.name) && !is_generic_name(group.name)) names.groups.insert(group.name);
    }
  }
  return names;
}

// ---- words that this machine uses for other things -------------------------------------------------------------------

void add_words(std::string_view text, std::set<std::string>& words) {
  std::string word;
  for (const char c : std::string(text) + ' ') {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
      word += c;
    } else {
      if (!word.empty()) words.insert(word);
      word.clear();
    }
  }
}

/// Parts of package, module and library names: a user of the same name is replaced only in home folders and the like.
std::set<std::string> technical_words(const Machine& machine) {
  std::set<std::string> words;
  if (const auto* packages = machine.packages.installed.get()) {
    for (const Package& p : *packages) add_words(p.name, words);
  }
  if (const auto* modules = machine.kernel_driver.loaded.get()) {
    for (const LoadedModule& m : *modules) add_words(m.name, words);
  }
  if (const auto* files = machine.kernel_driver.module_files.get()) {
    for (const ModuleFile& f : *files) add_words(f.name + " " + f.kernel, words);
  }
  for (const LibraryFile& f : machine.loader.files) add_words(f.soname, words);
  for (const Fact<std::string>* fact : {&machine.os.id, &machine.os.kernel, &machine.os.cloud, &machine.os.container}) {
    if (const std::string* text = fact->get()) add_words(*text, words);
  }
  return words;
}

std::vector<RedactedName> names_to_replace(const Names& names, const Machine& machine, Pseudonyms& pseudonyms) {
  const std::set<std::string> technical = technical_words(machine);
  std::vector<RedactedName> out;
  const auto add = [&](const std::string& name, Kind kind) {
    const std::string& pseudonym = pseudonyms.of(kind, name);
    if (name.size() >= 3 && !is_vocabulary(name) && !technical.contains(name)) out.push_back({name, pseudonym});
  };
  if (const std::string* first = machine.user.name.get(); first != nullptr && names.users.contains(*first)) {
    pseudonyms.of(Kind::User, *first);  // the judged user is user1
  }
  for (const std::string& name : names.users) add(name, Kind::User);
  for (const std::string& name : names.hosts) {
    if (!names.users.contains(name)) add(name, Kind::Host);
  }
  return out;
}

// ---- replacing -------------------------------------------------------------------------------------------------------

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

bool is_secret_variable(std::string_view name) {
  for (const std::string_view part :
       {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "CREDENTIAL", "PRIVATE_KEY"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// Variables whose values decide about a GPU stack (or say nothing about anybody).
bool is_related_variable(std::string_view name) {
  return starts_with_any(name, {"CUDA",      "CUDNN",        "NVIDIA",     "NV_",           "NVCC",           "NCCL",
                                "LD_",       "LIBRARY_PATH", "PATH",       "CPATH",         "PYTHON",         "CONDA",
                                "MAMBA",     "PIXI",         "UV_",        "PIP_",          "VIRTUAL_ENV",    "TORCH",
                                "PYTORCH",   "TF_",          "XLA_",       "JAX",           "HF_HUB_OFFLINE", "HOME",
                                "USER",      "LOGNAME",      "SUDO_USER",  "USERNAME",      "HOSTNAME",       "SHELL",
                                "LANG",      "LC_",          "TERM",       "DISPLAY",       "WAYLAND",        "XDG_",
                                "WSL",       "NAME",         "container",  "KUBERNETES",    "DOCKER",         "SINGULARITY",
                                "APPTAINER", "SLURM",        "OMP_",       "OMPI_",         "HSA_",           "HIP_",
                                "ROC",       "__NV",         "__GL",       "__EGL",         "__VK",           "DRI_PRIME",
                                "VK_",       "GBM_",         "MODULEPATH", "LOADEDMODULES", "VIRTUAL",        "TRITON",
                                "ORT_",      "MASTER_",      "RANK",       "WORLD_SIZE",    "LOCAL_RANK",     "GPU_",
                                "MIG_",      "FABRIC",       "GLIBC_"});
}

bool is_version_variable(std::string_view name) {
  return name.starts_with("NV_") || name.find("VERSION") != std::string_view::npos;
}

void redact_environment(std::map<std::string, std::string>& environment, TextRedactor& redactor) {
  for (auto& [name, value] : environment) {
    if (value.empty()) continue;
    const bool keep = is_related_variable(name) && !is_secret_variable(name);
    value = keep ? redactor.redact(value, !is_version_variable(name)) : "(removed)";
  }
}

void redact_groups(Machine& machine, const Names& names, Pseudonyms& pseudonyms) {
  auto* groups = machine.user.groups.get();
  if (groups == nullptr) return;
  for (UserGroup& group : *groups) {
    if (!names.groups.contains(group.name)) continue;
    // A user's own group has the user's name.
    group.name = pseudonyms.of(names.users.contains(group.name) ? Kind::User : Kind::Group, group.name);
  }
}

/// Fields that hold nothing but one name, whatever word it is.
void redact_whole_names(Machine& machine, const Names& names, Pseudonyms& pseudonyms) {
  if (std::string* name = machine.user.name.get(); name != nullptr && names.users.contains(*name)) {
    *name = pseudonyms.of(Kind::User, *name);
  }
  for (auto& [variable, value] : machine.environment) {
    const bool user = variable == "USER" || variable == "LOGNAME" || variable == "SUDO_USER" || variable == "USERNAME";
    const bool host = variable == "HOSTNAME" || variable == "HOST" || variable == "NAME";
    if (user && names.users.contains(value)) value = pseudonyms.of(Kind::User, value);
    if (host && names.hosts.contains(value)) value = pseudonyms.of(Kind::Host, value);
  }
}

void redact_log_host(std::string& line, const Names& names, Pseudonyms& pseudonyms) {
  const std::string_view host = host_of_log_line(line);
  if (host.empty() || !names.hosts.contains(std::string(host))) return;
  line.replace(static_cast<std::size_t>(host.data() - line.data()), host.size(), pseudonyms.of(Kind::Host, host));
}

/// The full name in a line of /etc/passwd.
void redact_account_line(std::string& text) {
  const AccountLine line = account_line(text);
  if (!line.is_passwd() || line.fields[4].empty() || line.fields[4] == line.fields[0]) return;
  text.erase(static_cast<std::size_t>(line.fields[4].data() - text.data()), line.fields[4].size());
}

}  // namespace

Machine redact(const Machine& machine) {
  Machine out = machine;
  if (machine.redacted) return out;
  out.redacted = true;

  const Names names = collect_names(out);
  Pseudonyms pseudonyms;
  for (const auto* set : {&names.users, &names.hosts, &names.groups, &names.kept}) {
    for (const std::string& name : *set) pseudonyms.avoid(name);
  }
  TextRedactor redactor(pseudonyms);
  redactor.set_names(names_to_replace(names, machine, pseudonyms));
  // GPUs get the first numbers, and abbreviated UUIDs in variables find them.
  for (ProcGpu& gpu : out.kernel_driver.gpus) gpu.uuid = redactor.redact(gpu.uuid, false);

  redact_whole_names(out, names, pseudonyms);
  redact_groups(out, names, pseudonyms);
  std::map<std::string, std::string> environment = std::move(out.environment);
  out.environment.clear();
  redact_environment(environment, redactor);
  Strings([&](std::string& text) {
    redact_log_host(text, names, pseudonyms);
    redact_account_line(text);
    text = redactor.redact(text, false);
  }).visit(out);
  const auto with_addresses = [&](std::string& text) { text = redactor.redact(text, true); };
  Strings(with_addresses).visit(out.kernel_log);
  Strings(with_addresses).visit(out.os.kernel_command_line);
  Strings(with_addresses).visit(out.services);
  out.environment = std::move(environment);
  return out;
}

std::function<void(std::string&)> text_redaction(const Machine& machine) {
  struct State {
    Pseudonyms pseudonyms;
    TextRedactor redactor{pseudonyms};
  };
  const auto state = std::make_shared<State>();
  Machine copy = machine;
  const Names names = collect_names(copy);
  for (const auto* set : {&names.users, &names.hosts, &names.groups, &names.kept})
    for (const std::string& name : *set) state->pseudonyms.avoid(name);
  state->redactor.set_names(names_to_replace(names, machine, state->pseudonyms));
  return [state](std::string& text) { text = state->redactor.redact(text, false); };
}

}  // namespace gpuvet
