#pragma once
// Names of data/facts/framework_loading.tsv → paths in one Python environment.

#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Where an environment's interpreter looks for modules.
struct PythonFolders {
  std::vector<std::string> sys_path;  ///< PYTHONPATH, site-packages, those of the base where the environment sees them
  std::vector<std::string> dynload;   ///< extension modules of the standard library
  std::vector<std::string> suffixes;  ///< of extension modules, in Python's order: ".cpython-311-", ".abi3.so", ".so"
  std::string prefix;
};
PythonFolders python_folders(System& system, const Machine& machine, const PythonEnvironment& environment);

/// CUDA release of a build, for {cuda}, {cuda_major}, {cuda_digits}.
std::string fill_in(std::string_view name, std::string_view cuda);

/// Lists folders once.
class PythonNames {
 public:
  PythonNames(System& system, PythonFolders folders) : system_(system), folders_(std::move(folders)) {}

  /// The file that `import a.b.c` would load; empty: none.
  std::string module(std::string_view dotted);
  /// Files that a name of the table leads to: a path for module: and @, the soname itself. Empty: nothing there.
  std::vector<std::string> resolve(std::string_view name);
  /// The folder of a package (or its parent for a single-file module); empty: not there.
  std::string package_folder(std::string_view package);
  /// Extension modules below a package's folder, relative order by path; at most `limit`.
  std::vector<std::string> extension_modules(const std::string& folder, std::size_t limit);
  const PythonFolders& folders() const { return folders_; }

 private:
  const std::vector<DirectoryEntry>& list(const std::string& folder);
  std::string below(const std::string& folder, std::string_view alternatives);

  System& system_;
  PythonFolders folders_;
  std::vector<std::pair<std::string, std::vector<DirectoryEntry>>> listed_;
};

}  // namespace gpuvet
