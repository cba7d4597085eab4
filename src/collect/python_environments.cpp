// Python environments: found by variables, PATH and usual folders, then described from their files. No interpreter is ever run.

#include <algorithm>
#include <map>
#include <set>

#include "collect/collect.h"
#include "collect/lines.h"
#include "collect/python_parts.h"
#include "elf/elf_header.h"

namespace gpuvet {
namespace {

std::string last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? std::string("/") : std::string(path.substr(0, slash));
}

/// Machine and C library of an interpreter's file.
struct InterpreterFile {
  std::string machine, libc;
};

/// One run of the collector: what several environments share is read once.
class Collector {
 public:
  Collector(System& system, const CollectOptions& options, Machine& machine)
      : system_(system), options_(options), machine_(machine), home_(judged_home(system, machine)) {}

  void run();

 private:
  struct Described {
    PythonEnvironment environment;
    std::string minor;  ///< "3.12"
    bool free_threaded = false, pypy = false;
    std::vector<std::string> base_sites;
  };

  std::optional<Described> describe(const EnvironmentPlace& place);
  void describe_system(const EnvironmentPlace& place, std::vector<Described>& found);
  void read_config(Described& d);
  void find_interpreter(Described& d);
  void find_version(Described& d);
  std::vector<std::string> python_folders(const std::string& prefix);
  void add_site(Described& d, const std::string& path, const std::string& manager);
  void add_sites(Described& d);
  void add_user_site(Described& d);
  void find_manager(Described& d);
  void add_python_path(Described& d);
  void add_kernels(std::vector<Described>& found);
  void name_all(std::vector<Described>& found);
  void mark_active(std::vector<Described>& found);
  const InterpreterFile& interpreter_file(const std::string& real_path);
  const SiteFolder* site(const std::string& path, const std::string& manager);

  System& system_;
  const CollectOptions& options_;
  Machine& machine_;
  std::string home_;
  std::map<std::string, InterpreterFile> interpreters_;
  std::map<std::string, std::optional<SiteFolder>> sites_;
  std::size_t listed_ = 0;  ///< packages of all environments together
  static constexpr std::size_t most_listed = 20000;
};

const InterpreterFile& Collector::interpreter_file(const std::string& real_path) {
  const auto [it, fresh] = interpreters_.try_emplace(real_path);
  if (!fresh) return it->second;
  const auto file = system_.open(real_path);
  if (!file) return it->second;
  const auto header = read_elf_header(**file);
  if (!header) return it->second;
  it->second.machine = elf_machine_name(header->machine);
  constexpr std::uint32_t program_interpreter = 3;  // PT_INTERP
  for (const ElfSegment& segment : read_segments(**file, *header)) {
    if (segment.type != program_interpreter) continue;
    const auto loader =
        (*file)->read_at(segment.offset, static_cast<std::size_t>(std::min<std::uint64_t>(segment.file_size, 256)));
    if (loader && loader->find("ld-musl") != std::string::npos) it->second.libc = "musl";
    if (loader && loader->find("ld-linux") != std::string::npos) it->second.libc = "glibc";
  }
  return it->second;
}

const SiteFolder* Collector::site(const std::string& path, const std::string& manager) {
  const auto [it, fresh] = sites_.try_emplace(path);
  if (fresh) it->second = read_site_folder(system_, path, manager);
  return it->second ? &*it->second : nullptr;
}

/// pyvenv.cfg: kind, base and whether the base's packages are seen.
void Collector::read_config(Described& d) {
  PythonEnvironment& e = d.environment;
  const std::string path = e.prefix + "/pyvenv.cfg";
  const auto text = system_.read_head(path, 16384);
  if (!text) {
    if (text.error().code != ErrorCode::NotFound) e.problems.push_back(origin_of(path, text.error().message));
    return;
  }
  auto values = read_venv_config(*text);
  if (e.kind.empty()) e.kind = values.contains("uv") ? "uv" : values.contains("virtualenv") ? "virtualenv" : "venv";
  e.system_site_packages = lower(values["include-system-site-packages"]) == "true";
  if (const std::string home = values["home"]; home.starts_with('/')) e.base = last_part(home) == "bin" ? folder_of(home) : home;
  if (e.base == "/") e.base = "/usr";
  for (const char* key : {"version_info", "version"}) {
    const std::string version = values[key].substr(0, values[key].find_first_not_of("0123456789."));
    if (!version.empty()) e.python = Fact<std::string>::known(version, origin_of(path, std::string(key) + " = " + values[key]));
    if (!version.empty()) break;
  }
}

void Collector::find_interpreter(Described& d) {
  PythonEnvironment& e = d.environment;
  std::vector<std::string> names{"python", "python3"};
  if (!d.minor.empty()) names.push_back("python" + d.minor);
  if (e.kind == "system") names = {"python3", "python" + d.minor, "python"};
  if (e.kind == "system" && e.interpreter.is_known()) names.clear();
  for (const std::string& name : names) {
    const std::string path = e.prefix + "/bin/" + name;
    if (!system_.exists(path)) continue;
    e.interpreter = Fact<std::string>::known(path, origin_of(path));
    break;
  }
  if (!e.interpreter.is_known()) {
    e.interpreter = Fact<std::string>::absent(origin_of(e.prefix + "/bin"));
    return;
  }
  const auto real = system_.real_path(*e.interpreter.get());
  if (!real) return;
  const InterpreterFile& file = interpreter_file(*real);
  e.machine = file.machine;
  e.libc = file.libc;
  if (d.minor.empty()) {
    const std::string name = last_part(*real);
    if (name.starts_with("python3.")) d.minor = name.substr(6);
  }
}

/// Folders of Python's own below lib and lib64: "lib/python3.12", "lib/python3.13t", "lib/pypy3.10".
std::vector<std::string> Collector::python_folders(const std::string& prefix) {
  std::vector<std::string> found;
  for (const char* lib : {"lib", "lib64"}) {
    // In a venv lib64 is a link to lib.
    const auto status = system_.status(prefix + "/" + lib, false);
    if (!status || (status->type == FileType::Link && std::string_view(lib) == "lib64")) continue;
    for (const DirectoryEntry& entry : entries_of(system_, prefix + "/" + lib, 16384)) {
      if (entry.type == FileType::Regular) continue;
      if (entry.name.starts_with("python3.") || entry.name.starts_with("pypy3.") || entry.name.starts_with("python2."))
        found.push_back(std::string(lib) + "/" + entry.name);
    }
  }
  return found;
}

/// "3.12" of "python3.12", "3.13" of "python3.13t".
std::string minor_of_folder(std::string_view folder, bool& free_threaded, bool& pypy) {
  std::string name = last_part(folder);
  pypy = name.starts_with("pypy");
  name = name.substr(pypy ? 4 : 6);
  free_threaded = name.ends_with('t');
  if (free_threaded) name.pop_back();
  return name;
}

std::string minor_of_version(std::string_view version) {
  const std::size_t first = version.find('.');
  if (first == std::string_view::npos) return {};
  return std::string(version.substr(0, version.find('.', first + 1)));
}

void Collector::find_version(Described& d) {
  PythonEnvironment& e = d.environment;
  if (const auto* version = e.python.get()) {
    d.minor = minor_of_version(*version);
  } else if (!d.minor.empty()) {
    // A pyenv or uv folder's name has the full version: "3.11.9", "cpython-3.12.8-linux-x86_64-gnu".
    const std::string name = last_part(e.prefix);
    const std::size_t at = name.find(d.minor + ".");
    const bool told = at != std::string::npos && (e.kind == "pyenv" || e.kind == "uv");
    const std::string rest = told ? name.substr(at) : d.minor;
    e.python = Fact<std::string>::known(rest.substr(0, rest.find_first_not_of("0123456789.")), origin_of(e.prefix));
  } else {
    e.python = Fact<std::string>::not_seen("no file tells the version", origin_of(e.prefix));
  }
  std::string digits = d.minor;
  std::erase(digits, '.');
  if (!digits.empty()) e.abi = (d.pypy ? "pp" : "cp") + digits + (d.free_threaded ? "t" : "");
}

void Collector::add_site(Described& d, const std::string& path, const std::string& manager) {
  PythonEnvironment& e = d.environment;
  const std::string real = system_.real_path(path).value_or(path);
  for (const std::string& known : e.site_packages) {
    if (known == path || known == real) return;
  }
  const SiteFolder* folder = site(real, manager);
  if (!folder) return;
  e.site_packages.push_back(real);
  e.package_count += folder->package_count;
  // Environments that all see one large base's packages: the list of one of them tells as much.
  if ((listed_ += folder->packages.size()) > most_listed) {
    e.problems.push_back(origin_of(real, "too many environments with too many packages: these are not listed again"));
    return;
  }
  e.packages.insert(e.packages.end(), folder->packages.begin(), folder->packages.end());
  e.frameworks.insert(e.frameworks.end(), folder->frameworks.begin(), folder->frameworks.end());
  e.problems.insert(e.problems.end(), folder->problems.begin(), folder->problems.end());
}

/// ~/.local/lib/pythonX.Y/site-packages comes before the environment's own (site.py), for every interpreter but a venv's.
void Collector::add_user_site(Described& d) {
  if (home_.empty() || machine_.environment.contains("PYTHONNOUSERSITE")) return;
  add_site(d, home_ + "/.local/lib/python" + d.minor + (d.free_threaded ? "t" : "") + "/site-packages", "pip");
}

/// Folders of PYTHONPATH with packages come before all others for what the judged process starts.
void Collector::add_python_path(Described& d) {
  const auto value = machine_.environment.find("PYTHONPATH");
  if (value == machine_.environment.end()) return;
  Described front;
  for (const std::string_view folder : split(value->second, ':')) {
    if (folder.starts_with('/') && front.environment.site_packages.size() < 32) add_site(front, std::string(folder), "pip");
  }
  PythonEnvironment& own = d.environment;
  for (std::size_t i = 0; i < front.environment.site_packages.size(); ++i) {
    const std::string& path = front.environment.site_packages[i];
    const SiteFolder* folder = site(path, "pip");
    if (std::ranges::find(own.site_packages, path) != own.site_packages.end() || !folder ||
        (folder->packages.empty() && folder->frameworks.empty()))
      continue;
    own.site_packages.insert(own.site_packages.begin(), path);
    own.package_count += folder->package_count;
    own.packages.insert(own.packages.begin(), folder->packages.begin(), folder->packages.end());
    own.frameworks.insert(own.frameworks.begin(), folder->frameworks.begin(), folder->frameworks.end());
  }
}

void Collector::add_sites(Described& d) {
  PythonEnvironment& e = d.environment;
  if (d.minor.empty()) return;
  const std::string python = (d.pypy ? "pypy" : "python") + d.minor + (d.free_threaded ? "t" : "");
  const bool venv = !e.base.empty() || e.kind == "venv" || e.kind == "virtualenv" || e.kind == "pipx" || e.kind == "poetry";
  if (!venv) add_user_site(d);
  if (e.kind == "system") {
    // Debian's Python looks for pip's packages in /usr/local, and for the distribution's in one folder for all of its Pythons.
    if (e.prefix == "/usr") {
      for (const char* lib : {"/usr/local/lib64/", "/usr/local/lib/"}) {
        add_site(d, lib + python + "/dist-packages", "pip");
        if (!system_.exists("/usr/local/bin/" + python)) add_site(d, lib + python + "/site-packages", "pip");
      }
      add_site(d, "/usr/lib/python3/dist-packages", "distribution");
    }
    const std::string manager = e.prefix == "/usr" ? "distribution" : "pip";
    for (const char* lib : {"/lib64/", "/lib/"}) {
      add_site(d, e.prefix + lib + python + "/site-packages", manager);
      add_site(d, e.prefix + lib + python + "/dist-packages", manager);
    }
    return;
  }
  for (const char* lib : {"/lib64/", "/lib/"}) add_site(d, e.prefix + lib + python + "/site-packages", "pip");
}

/// The marker of PEP 668; a virtual environment is free of its base's. Images whose Python is to be installed into tell pip so.
void Collector::find_manager(Described& d) {
  PythonEnvironment& e = d.environment;
  if (!e.base.empty() || d.minor.empty()) return;
  if (const auto told = machine_.environment.find("PIP_BREAK_SYSTEM_PACKAGES"); told != machine_.environment.end())
    if (told->second != "0" && !told->second.empty()) return;
  const std::string python = (d.pypy ? "pypy" : "python") + d.minor + (d.free_threaded ? "t" : "");
  for (const char* lib : {"/lib/", "/lib64/"})
    e.externally_managed = e.externally_managed || system_.exists(e.prefix + lib + python + "/EXTERNALLY-MANAGED");
}

std::optional<Collector::Described> Collector::describe(const EnvironmentPlace& place) {
  Described d;
  PythonEnvironment& e = d.environment;
  e.prefix = place.prefix;
  e.found_by = place.found_by;
  e.kind = place.kind;
  if (const auto status = system_.status(e.prefix); !status) {
    if (status.error().code == ErrorCode::NotFound && place.found_by == "usual folder") return std::nullopt;
    e.problems.push_back(origin_of(e.prefix, status.error().message));
  }
  read_config(d);
  CondaRecords conda = read_conda_records(system_, e.prefix);
  if (conda.found && (e.kind.empty() || e.kind == "pyenv")) e.kind = "conda";
  if (!conda.python.empty()) e.python = Fact<std::string>::known(conda.python, origin_of(e.prefix + "/conda-meta"));
  if (e.prefix.find("/pyenv/versions/") != std::string::npos || e.prefix.find("/.pyenv/versions/") != std::string::npos)
    if (e.kind.empty()) e.kind = "pyenv";
  if (e.kind.empty() && e.prefix.find("/uv/python/") != std::string::npos) e.kind = "uv";
  for (const std::string& folder : python_folders(e.prefix)) {
    bool free_threaded = false, pypy = false;
    const std::string minor = minor_of_folder(folder, free_threaded, pypy);
    if (!d.minor.empty() && e.python.is_known() && minor != minor_of_version(*e.python.get())) continue;
    d.minor = minor;
    d.free_threaded = free_threaded;
    d.pypy = pypy;
  }
  find_interpreter(d);
  find_version(d);
  find_manager(d);
  add_sites(d);
  e.packages.insert(e.packages.end(), conda.packages.begin(), conda.packages.end());
  e.problems.insert(e.problems.end(), conda.problems.begin(), conda.problems.end());
  complete_by_conda(conda.packages, e.frameworks);
  if (e.kind.empty()) e.kind = "unknown";
  const bool nothing = !e.interpreter.is_known() && e.site_packages.empty() && !conda.found && d.environment.base.empty();
  if (nothing && (place.found_by == "usual folder" || place.found_by == "kernel")) return std::nullopt;
  return d;
}

/// The distribution's interpreters share their folders; each that has packages of its own is an environment of its own, the one
/// that `python3` starts first.
void Collector::describe_system(const EnvironmentPlace& place, std::vector<Described>& found) {
  std::vector<std::string> minors;
  const auto real = system_.real_path(place.prefix + "/bin/python3");
  // "python3.12", or RHEL 8's "platform-python3.6". A link to an interpreter elsewhere is that one's environment.
  const std::size_t at = real && real->starts_with(place.prefix + "/") ? real->rfind("python3.") : std::string::npos;
  if (at != std::string::npos) minors.push_back(real->substr(at + 6));
  for (const DirectoryEntry& entry : entries_of(system_, place.prefix + "/bin", 16384)) {
    if (!entry.name.starts_with("python3.") || entry.name.find_first_not_of("0123456789.t", 6) != std::string::npos) continue;
    if (entry.type == FileType::Link &&
        !system_.real_path(place.prefix + "/bin/" + entry.name).value_or("").starts_with(place.prefix + "/"))
      continue;
    if (std::ranges::find(minors, entry.name.substr(6)) == minors.end()) minors.push_back(entry.name.substr(6));
  }
  for (const std::string& minor : minors) {
    Described d;
    PythonEnvironment& e = d.environment;
    e.prefix = place.prefix;
    e.kind = "system";
    e.found_by = place.found_by;
    d.free_threaded = minor.ends_with('t');
    d.minor = d.free_threaded ? minor.substr(0, minor.size() - 1) : minor;
    if (&minor != &minors.front())
      e.interpreter = Fact<std::string>::known(e.prefix + "/bin/python" + minor, origin_of(e.prefix + "/bin"));
    find_interpreter(d);
    find_version(d);
    find_manager(d);
    add_sites(d);
    const bool own = std::ranges::any_of(
        e.packages, [&](const PythonPackage& package) { return package.folder.find("/python" + d.minor) != std::string::npos; });
    if (&minor == &minors.front() || own) found.push_back(std::move(d));
  }
}

void Collector::add_kernels(std::vector<Described>& found) {
  std::vector<std::string> folders{"/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"};
  if (!home_.empty()) folders.push_back(home_ + "/.local/share/jupyter/kernels");
  const auto add = [&](const std::string& folder, Described* own) {
    for (const JupyterKernel& kernel : find_jupyter_kernels(system_, folder)) {
      Described* target = kernel.interpreter.starts_with('/') ? nullptr : own;
      const std::string prefix = target ? "" : prefix_of_interpreter(system_, kernel.interpreter);
      for (Described& d : found) {
        if (!target && !prefix.empty() && d.environment.prefix == prefix) target = &d;
      }
      if (target) target->environment.jupyter_kernels.push_back(kernel.name);
    }
  };
  for (const std::string& folder : folders) add(folder, nullptr);
  for (Described& d : found) {
    if (d.environment.kind != "system") add(d.environment.prefix + "/share/jupyter/kernels", &d);
  }
}

/// The folder's name; for a plain "venv" that of the project above it. Names that two have give way to the prefix.
void Collector::name_all(std::vector<Described>& found) {
  std::map<std::string, int> uses;
  std::set<std::string> systems;
  for (Described& d : found) {
    PythonEnvironment& e = d.environment;
    const std::string folder = last_part(e.prefix);
    const bool plain = folder == "venv" || folder == ".venv" || folder == "env" || folder == ".env";
    const std::string above = last_part(folder_of(e.prefix));
    e.name = plain && !above.empty() && folder_of(e.prefix) != home_ ? above : folder;
    if (e.kind == "pixi" && folder_of(e.prefix).ends_with("/.pixi/envs"))
      e.name = folder == "default" ? last_part(folder_of(folder_of(folder_of(e.prefix)))) : folder;
    if (e.kind == "conda" && folder_of(e.prefix).find("/envs") == std::string::npos &&
        (system_.exists(e.prefix + "/condabin") || system_.exists(e.prefix + "/bin/conda")))
      e.name = "base";
    if (e.kind == "system") e.name = systems.insert(e.prefix).second && e.prefix == "/usr" ? "system" : "python" + d.minor;
    ++uses[e.name];
  }
  for (Described& d : found) {
    if (uses[d.environment.name] > 1) d.environment.name = d.environment.prefix;
  }
}

/// What a plain python starts; where that is the system's although an environment is activated, the activated one.
void Collector::mark_active(std::vector<Described>& found) {
  const auto by_reason = [&](std::string_view reason) {
    return std::ranges::find_if(found, [&](const Described& d) { return d.environment.found_by == reason; });
  };
  const auto variable_leads_to = [&](const char* name) {
    const auto value = machine_.environment.find(name);
    if (value == machine_.environment.end()) return found.end();
    return std::ranges::find_if(found, [&](const Described& d) {
      return d.environment.prefix == value->second || d.environment.prefix + "/" == value->second;
    });
  };
  auto active = by_reason("PATH");
  if (active == found.end() || active->environment.kind == "system") {
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const auto activated = variable_leads_to(name);
      if (activated == found.end() || !activated->environment.interpreter.is_known()) continue;
      active = activated;
      break;
    }
  }
  if (active == found.end()) return;
  active->environment.active = true;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (variable_leads_to(name) == active) active->environment.found_by = name;
  }
  std::rotate(found.begin(), active, active + 1);
}

void Collector::run() {
  std::vector<Described> found;
  std::set<std::string> real_prefixes;
  for (EnvironmentPlace& place : find_environment_places(system_, options_, home_, machine_)) {
    const std::string real = system_.real_path(place.prefix).value_or(place.prefix);
    if (!real_prefixes.insert(real).second) continue;
    // uv and pyenv name interpreters by links too ("cpython-3.12"); the folder's own name has the full version.
    if (place.kind == "uv" || place.kind == "pyenv") place.prefix = real;
    const bool system = place.kind == "system" || place.prefix == "/usr" || place.prefix == "/usr/local";
    if (system) {
      describe_system(place, found);
    } else if (auto d = describe(place)) {
      found.push_back(std::move(*d));
    }
  }
  // A venv that sees the base's packages: they come after its own.
  for (Described& d : found) {
    if (!d.environment.system_site_packages) continue;
    add_user_site(d);
    const std::string& prefix = d.environment.base;
    const bool known =
        prefix.empty() || std::ranges::any_of(found, [&](const Described& one) { return one.environment.prefix == prefix; });
    if (auto base = known ? std::nullopt : describe({prefix, "usual folder", ""})) {
      for (const std::string& path : base->environment.site_packages) add_site(d, path, "pip");
    }
    for (const Described& base : found) {
      if (base.environment.prefix != d.environment.base || base.minor != d.minor) continue;
      for (const std::string& path : base.environment.site_packages) add_site(d, path, "pip");
      break;
    }
  }
  add_kernels(found);
  mark_active(found);
  if (!found.empty() && found.front().environment.active) add_python_path(found.front());
  name_all(found);
  std::vector<PythonEnvironment> environments;
  for (Described& d : found) environments.push_back(std::move(d.environment));
  machine_.python.environments = Fact<std::vector<PythonEnvironment>>::known(std::move(environments), origin_of("file system"));
}

}  // namespace

void collect_python(System& system, const CollectOptions& options, Machine& machine) {
  Collector(system, options, machine).run();
}

}  // namespace gpuvet
