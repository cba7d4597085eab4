// Where Python environments may be: what the judged process' variables and PATH lead to, then the usual folders of each tool.

#include <algorithm>
#include <array>
#include <set>

#include "collect/lines.h"
#include "collect/python_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_children = 256;  ///< folders looked at below one usual folder
constexpr std::size_t most_places = 512;

std::string variable(const Machine& machine, const std::string& name) {
  const auto it = machine.environment.find(name);
  return it == machine.environment.end() ? std::string() : it->second;
}

std::string without_end_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string parent(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? "/" : std::string(path.substr(0, slash));
}

bool is_python_name(std::string_view name) {
  for (const std::string_view start : {"python", "pypy"}) {
    if (!name.starts_with(start)) continue;
    return name.find_first_not_of("0123456789.t", start.size()) == std::string_view::npos;
  }
  return false;
}

bool is_program(System& system, const std::string& path) {
  const auto status = system.status(path);
  return status && status->type == FileType::Regular && (status->mode & 0111) != 0;
}

/// All places, each prefix once; the first reason stays.
class Places {
 public:
  Places(System& system, Machine& machine) : system_(system), machine_(machine) {}

  void add(std::string prefix, std::string_view found_by, std::string_view kind = {}) {
    prefix = without_end_slash(std::move(prefix));
    if (prefix.size() < 2 || prefix.front() != '/' || places.size() >= most_places || !seen_.insert(prefix).second) return;
    places.push_back({std::move(prefix), std::string(found_by), std::string(kind)});
  }

  /// Only when it looks like one: pyvenv.cfg, conda-meta, or an interpreter.
  void add_if_environment(const std::string& prefix, std::string_view found_by, std::string_view kind = {}) {
    if (system_.exists(prefix + "/pyvenv.cfg") || system_.exists(prefix + "/conda-meta") ||
        system_.exists(prefix + "/bin/python"))
      add(prefix, found_by, kind);
  }

  /// Folders below a folder. What may not be read is said; what is not there is not.
  std::vector<std::string> children(const std::string& folder) {
    std::vector<std::string> found;
    const auto entries = system_.list(folder, most_children);
    if (!entries) {
      if (entries.error().code == ErrorCode::Denied)
        machine_.python.problems.push_back(origin_of(folder, entries.error().message));
      return found;
    }
    for (const DirectoryEntry& entry : *entries) {
      if (entry.type == FileType::Directory || entry.type == FileType::Link) found.push_back(entry.name);
    }
    return found;
  }

  void add_children(const std::string& folder, std::string_view kind = {}, std::string_view below = {}) {
    for (const std::string& name : children(folder)) {
      if (!name.starts_with('.')) add_if_environment(folder + "/" + name + std::string(below), "usual folder", kind);
    }
  }

  std::vector<EnvironmentPlace> places;

 private:
  System& system_;
  Machine& machine_;
  std::set<std::string> seen_;
};

void add_conda_installation(Places& places, const std::string& root) {
  places.add_if_environment(root, "usual folder");
  places.add_children(root + "/envs");
}

/// Items of `envs_dirs:` in a .condarc: a YAML list, on lines of their own or in brackets.
std::vector<std::string> condarc_folders(std::string_view text, const std::string& home) {
  std::vector<std::string> folders;
  bool inside = false;
  const auto take = [&](std::string_view item) {
    item = trim(item.substr(0, item.find(" #")));
    if (item.size() > 1 && (item.front() == '"' || item.front() == '\'')) item = item.substr(1, item.size() - 2);
    if (item.starts_with("~/"))
      folders.push_back(home + std::string(item.substr(1)));
    else if (item.starts_with('/'))
      folders.emplace_back(item);
  };
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view word = trim(line);
    if (inside && word.starts_with("- "))
      take(word.substr(2));
    else if (!word.empty() && !word.starts_with('#'))
      inside = false;
    if (!line.starts_with("envs_dirs:") && !line.starts_with("envs_path:")) return number < 512;
    inside = true;
    std::string_view rest = trim(line.substr(10));
    if (rest.starts_with('[') && rest.ends_with(']')) {
      for (const std::string_view item : split(rest.substr(1, rest.size() - 2), ',')) take(trim(item));
    }
    return true;
  });
  return folders;
}

void add_conda(System& system, Places& places, const Machine& machine, const std::string& home) {
  for (const char* folder : {"/opt/conda", "/opt/miniconda", "/opt/miniconda3", "/opt/miniforge3", "/opt/miniforge",
                             "/opt/mambaforge", "/opt/anaconda3", "/opt/anaconda", "/usr/local/miniconda3",
                             "/usr/local/anaconda3", "/usr/local/conda", "/root/miniconda3"})
    add_conda_installation(places, folder);
  for (const char* name : {"MAMBA_ROOT_PREFIX", "CONDA_ROOT"}) {
    if (const std::string root = variable(machine, name); !root.empty()) add_conda_installation(places, without_end_slash(root));
  }
  // CONDA_EXE is ROOT/bin/conda.
  if (const std::string program = variable(machine, "CONDA_EXE"); program.ends_with("/bin/conda"))
    add_conda_installation(places, parent(parent(program)));
  if (home.empty()) return;
  for (const char* name : {"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "miniconda", "anaconda",
                           "miniforge", "conda", ".conda", ".local/share/mamba", "mambaforge-pypy3"})
    add_conda_installation(places, home + "/" + name);
  if (const auto list = system.read_head(home + "/.conda/environments.txt", 65536)) {
    for_each_line(*list, [&](std::string_view line, std::uint32_t number) {
      if (trim(line).starts_with('/'))
        places.add_if_environment(without_end_slash(std::string(trim(line))), "conda environments.txt");
      return number < 512;
    });
  }
  for (const std::string& file :
       {home + "/.condarc", home + "/.mambarc", std::string("/etc/conda/.condarc"), std::string("/opt/conda/.condarc")}) {
    const auto text = system.read_head(file, 65536);
    if (!text) continue;
    for (const std::string& folder : condarc_folders(*text, home)) places.add_children(folder);
  }
}

void add_tools_of_home(System& system, Places& places, const Machine& machine, const std::string& home) {
  std::string pyenv = variable(machine, "PYENV_ROOT");
  if (pyenv.empty()) pyenv = home + "/.pyenv";
  for (const std::string& version : places.children(pyenv + "/versions")) {
    places.add_if_environment(pyenv + "/versions/" + version, "usual folder", "pyenv");
    if (system.is_directory(pyenv + "/versions/" + version + "/envs"))
      places.add_children(pyenv + "/versions/" + version + "/envs");
  }
  for (const char* folder : {"/.virtualenvs", "/.venvs", "/venvs", "/envs", "/virtualenvs"}) places.add_children(home + folder);
  places.add_children(home + "/.cache/pypoetry/virtualenvs", "poetry");
  places.add_children(home + "/.local/share/virtualenvs");
  places.add_children(home + "/.local/share/uv/python", "uv");
  places.add_children(home + "/.local/share/uv/tools", "uv");
  places.add_children(home + "/.local/share/pipx/venvs", "pipx");
  places.add_children(home + "/.local/pipx/venvs", "pipx");
  places.add_children(home + "/.pixi/envs", "pixi");
}

constexpr std::array environment_names{".venv", "venv", "env", ".env"};

/// The names that environments of a project have; asked one by one, for a folder of data can have a million entries.
void add_of_project(System& system, Places& places, const std::string& project) {
  for (const char* name : environment_names) {
    const std::string prefix = project + "/" + name;
    if (system.exists(prefix + "/pyvenv.cfg") || system.exists(prefix + "/conda-meta")) places.add(prefix, "usual folder");
  }
  if (system.is_directory(project + "/.pixi/envs")) places.add_children(project + "/.pixi/envs", "pixi");
}

/// A folder and the projects below it, `levels` deep. Folders that a desktop fills with other things are left out.
void add_projects(System& system, Places& places, const std::string& folder, int levels, int& budget) {
  static constexpr std::array passed_over{
      "Desktop", "Downloads", "Music", "Pictures", "Videos",        "Public", "Templates", "snap",  "node_modules", "lost+found",
      "proc",    "sys",       "dev",   "bin",      "site-packages", "lib",    "lib64",     "share", "include"};
  if (--budget < 0) return;
  add_of_project(system, places, folder);
  if (levels == 0) return;
  for (const DirectoryEntry& entry : entries_of(system, folder, 4096)) {
    if (entry.type != FileType::Directory || entry.name.starts_with('.')) continue;
    if (std::ranges::find(passed_over, entry.name) != passed_over.end()) continue;
    if (std::ranges::find(environment_names, entry.name) != environment_names.end()) continue;
    const std::string child = folder + "/" + entry.name;
    // A folder that is itself an environment ("~/torch-env") needs its pyvenv.cfg to say so.
    if (system.exists(child + "/pyvenv.cfg")) {
      places.add(child, "usual folder");
    } else {
      add_projects(system, places, child, levels - 1, budget);
    }
  }
}

void add_usual_projects(System& system, Places& places, const std::string& home) {
  int budget = 600;
  if (!home.empty() && home != "/") add_projects(system, places, home, 1, budget);
  static constexpr std::array usual{"projects", "project", "code",  "src",       "work", "workspace",
                                    "dev",      "git",     "repos", "Documents", "ml",   "research"};
  for (const char* name : usual) {
    const std::string folder = home + "/" + name;
    if (!home.empty() && system.is_directory(folder)) add_projects(system, places, folder, 2, budget);
  }
  for (const char* folder : {"/workspace", "/app", "/srv", "/code", "/work", "/workspaces", "/data", "/content"}) {
    if (system.is_directory(folder)) add_projects(system, places, folder, 1, budget);
  }
}

/// /opt/NAME with pyvenv.cfg or conda-meta, and venvs in the root as images have them.
void add_fixed(System& system, Places& places) {
  for (const char* folder : {"/venv", "/.venv", "/env", "/opt/venv", "/opt/.venv", "/opt/env", "/opt/python", "/root/venv",
                             "/root/.venv", "/virtualenv"})
    places.add_if_environment(folder, "usual folder");
  for (const std::string& name : places.children("/opt")) {
    const std::string prefix = "/opt/" + name;
    if (system.exists(prefix + "/pyvenv.cfg") || system.exists(prefix + "/conda-meta")) add_conda_installation(places, prefix);
    for (const char* inner : {"/venv", "/.venv"}) {
      if (system.exists(prefix + inner + "/pyvenv.cfg")) places.add(prefix + inner, "usual folder");
    }
  }
  for (const char* folder : {"/usr", "/usr/local"}) {
    for (const DirectoryEntry& entry : entries_of(system, std::string(folder) + "/bin", 16384)) {
      if (!is_python_name(entry.name)) continue;
      places.add(folder, "usual folder", "system");
      break;
    }
  }
}

/// Homes of others: never looked into, but said when they cannot be read.
void note_unreadable_homes(System& system, const std::string& home, Machine& machine) {
  const auto homes = system.list("/home", 256);
  if (!homes) {
    if (homes.error().code == ErrorCode::Denied) machine.python.problems.push_back(origin_of("/home", homes.error().message));
    return;
  }
  for (const DirectoryEntry& entry : *homes) {
    const std::string folder = "/home/" + entry.name;
    if (entry.type != FileType::Directory || folder == home || machine.python.problems.size() >= 32) continue;
    const auto inside = system.list(folder, 1);
    if (!inside && inside.error().code == ErrorCode::Denied)
      machine.python.problems.push_back(origin_of(folder, inside.error().message));
  }
}

void add_kernels(System& system, Places& places, const std::string& folder) {
  for (const JupyterKernel& kernel : find_jupyter_kernels(system, folder)) {
    const std::string prefix = kernel.interpreter.starts_with('/') ? prefix_of_interpreter(system, kernel.interpreter) : "";
    if (!prefix.empty()) places.add(prefix, "kernel");
  }
}

}  // namespace

std::string judged_home(System& system, const Machine& machine) {
  if (const std::string home = variable(machine, "HOME"); home.starts_with('/')) return without_end_slash(home);
  const auto passwd = system.read_head("/etc/passwd", 262144);
  std::string found;
  if (passwd && machine.user.name.is_known()) {
    for_each_line(*passwd, [&](std::string_view line, std::uint32_t) {
      const auto fields = split(line, ':');
      if (fields.size() < 6 || fields[0] != *machine.user.name.get()) return true;
      found = without_end_slash(std::string(fields[5]));
      return false;
    });
  }
  if (!found.empty() || machine.user.name.is_known()) return found;
  // Nobody is named: a machine with one home has one user.
  const auto homes = entries_of(system, "/home", 8);
  return homes.size() == 1 && homes.front().type == FileType::Directory ? "/home/" + homes.front().name : "";
}

std::string prefix_of_interpreter(System& system, const std::string& path) {
  const std::string folder = parent(path), above = parent(folder);
  if (!system.exists(path)) return system.exists(above + "/pyvenv.cfg") ? above : "";
  for (const std::string& prefix : {folder, above}) {
    if (system.exists(prefix + "/pyvenv.cfg")) return prefix;
  }
  if (system.exists(above + "/conda-meta")) return above;
  const auto real = system.real_path(path);
  if (!real) return above;
  const std::string real_above = parent(parent(*real));
  return real_above == "/" ? "/usr" : real_above;
}

namespace {

/// The version that a pyenv shim would start; the folder's own .python-version is that of the home, the folder itself is not
/// known.
std::string pyenv_version(System& system, const Machine& machine, const std::string& home, const std::string& root) {
  if (const std::string version = variable(machine, "PYENV_VERSION"); !version.empty()) return version;
  for (const std::string& file : {home + "/.python-version", root + "/version"}) {
    const auto text = system.read_head(file, 4096);
    if (!text) continue;
    const std::string_view line = trim(std::string_view(*text).substr(0, text->find('\n')));
    if (!line.empty()) return std::string(line);
  }
  return {};
}

std::string behind_shim(System& system, const Machine& machine, const std::string& home, const std::string& shim,
                        const std::string& name) {
  const std::string root = parent(parent(shim));
  const std::string versions = pyenv_version(system, machine, home, root), version = versions.substr(0, versions.find(':'));
  if (version.empty() || version == "system") return {};
  const std::string program = root + "/versions/" + version + "/bin/" + name;
  return is_program(system, program) ? program : "";
}

}  // namespace

PythonOnPath find_python_on_path(System& system, const Machine& machine, const std::string& home, const std::string& name) {
  PythonOnPath found;
  const std::string path = variable(machine, "PATH");
  if (path.empty()) {
    found.file = Fact<std::string>::not_seen("no PATH of the judged process is known");
    return found;
  }
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    const std::string file = without_end_slash(std::string(folder)) + "/" + name;
    if (!is_program(system, file)) continue;
    std::string program = file;
    if (folder.ends_with("/shims") && system.is_directory(parent(parent(file)) + "/versions")) {
      program = behind_shim(system, machine, home, file, name);
      if (program.empty()) continue;  // it passes on to what comes later on PATH
    }
    found.file = Fact<std::string>::known(program, origin_of("environment", "PATH: " + std::string(folder)));
    found.prefix = prefix_of_interpreter(system, program);
    return found;
  }
  found.file = Fact<std::string>::absent(origin_of("environment", "PATH"));
  return found;
}

std::vector<JupyterKernel> find_jupyter_kernels(System& system, const std::string& folder) {
  std::vector<JupyterKernel> kernels;
  for (const DirectoryEntry& entry : entries_of(system, folder, 64)) {
    const auto text = system.read_head(folder + "/" + entry.name + "/kernel.json", 16384);
    if (!text) continue;
    const auto program = json_scalar(*text, "argv/0");
    if (program && program->find("python") != std::string::npos) kernels.push_back({entry.name, *program});
  }
  return kernels;
}

std::vector<EnvironmentPlace> find_environment_places(System& system, const CollectOptions& options, const std::string& home,
                                                      Machine& machine) {
  Places places(system, machine);
  for (const char* name : {"python", "python3"}) {
    PythonOnPath on_path = find_python_on_path(system, machine, home, name);
    (std::string_view(name) == "python" ? machine.python.python : machine.python.python3) = std::move(on_path.file);
    if (!on_path.prefix.empty()) places.add(on_path.prefix, "PATH");
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = variable(machine, name); !prefix.empty()) places.add(prefix, name);
  }
  for (const std::string& prefix : options.python_environments) places.add(prefix, "--env");
  add_fixed(system, places);
  add_conda(system, places, machine, home);
  if (!home.empty()) {
    add_tools_of_home(system, places, machine, home);
    add_kernels(system, places, home + "/.local/share/jupyter/kernels");
  }
  for (const char* folder : {"/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"})
    add_kernels(system, places, folder);
  add_usual_projects(system, places, home);
  note_unreadable_homes(system, home, machine);
  return std::move(places.places);
}

}  // namespace gpuvet
