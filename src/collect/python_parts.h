#pragma once
// Parts of the Python collector: what one folder of packages holds, what conda says, where environments may be.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collect/collect.h"
#include "collect/python_files.h"

namespace gpuvet {

/// One folder on sys.path, listed once.
struct SiteFolder {
  std::string path;
  std::vector<DirectoryEntry> entries;  ///< sorted by name
  std::vector<DirectoryEntry> nvidia;   ///< of its folder nvidia, which many wheels share
  std::int64_t package_count = 0;
  std::vector<PythonPackage> packages;  ///< those that matter
  std::vector<FrameworkBuild> frameworks;
  std::vector<Origin> problems;

  bool has(std::string_view name) const;
};

/// Lists the folder and reads its packages that matter. `manager`: of its dist-info packages, "pip" or "distribution".
/// Nothing when there is no such folder.
std::optional<SiteFolder> read_site_folder(System& system, const std::string& path, const std::string& manager);

/// What the frameworks in a listed folder say about their build (python_frameworks.cpp).
std::vector<FrameworkBuild> read_framework_builds(System& system, const SiteFolder& site);
/// Build, where the files do not tell, by conda's build strings.
void complete_by_conda(const std::vector<PythonPackage>& packages, std::vector<FrameworkBuild>& frameworks);

/// What conda-meta tells: packages that matter, and Python's version.
struct CondaRecords {
  bool found = false;
  std::string python;  ///< "3.12.8"; empty: python is no package of it
  std::int64_t package_count = 0;
  std::vector<PythonPackage> packages;
  std::vector<Origin> problems;
};
CondaRecords read_conda_records(System& system, const std::string& prefix);

/// A prefix where an environment may be, and why we think so.
struct EnvironmentPlace {
  std::string prefix;
  std::string found_by;
  std::string kind;  ///< when the place tells: "pyenv", "uv", "pipx", "poetry", "pixi"; else empty
};

/// The judged user's home; empty: not known.
std::string judged_home(System& system, const Machine& machine);

/// Where a plain `name` leads on the judged process' PATH.
struct PythonOnPath {
  Fact<std::string> file;  ///< as PATH names it, or what a pyenv shim starts
  std::string prefix;      ///< of its environment; empty: none
};
PythonOnPath find_python_on_path(System& system, const Machine& machine, const std::string& home, const std::string& name);
/// Prefix of the environment that an interpreter's path belongs to, as Python's start-up decides it: pyvenv.cfg beside or above
/// it, else the folder above bin of the file after links. Empty: there is no such file.
std::string prefix_of_interpreter(System& system, const std::string& path);

/// All places, the judged process' own first; each prefix once. Adds to machine.python.problems.
std::vector<EnvironmentPlace> find_environment_places(System& system, const CollectOptions& options, const std::string& home,
                                                      Machine& machine);

/// Kernels of Jupyter by the interpreter that they start.
struct JupyterKernel {
  std::string name;
  std::string interpreter;
};
std::vector<JupyterKernel> find_jupyter_kernels(System& system, const std::string& folder);

}  // namespace gpuvet
