#pragma once
// The steps of the toolkits' collector: where toolkits may lie, where each one keeps its files, and what is read of it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Folders of one toolkit by their purpose, each in the order of preference. NVIDIA's own tree has one of each; a distribution
/// spreads them over /usr.
struct ToolkitLayout {
  std::vector<std::string> bins, cicc, libdevice, includes, libs;
  /// False: an arrangement that is only partly known here, where a file that is not seen proves nothing.
  bool well_known = true;
};

/// A place that may be a toolkit.
struct ToolkitCandidate {
  std::string path;         ///< as it was found
  std::string origin;       ///< "conda", "pip", "distribution", "hpc-sdk", …; empty: not told by the place
  std::string environment;  ///< conda and pip: the Python environment's prefix
  ToolkitLayout layout;
};

struct ToolkitPlaces {
  std::vector<ToolkitCandidate> candidates;  ///< each real folder once
  std::vector<ToolkitLink> links;
  std::vector<std::string> problems;  ///< folders that could not be looked into
};

// ---- toolkit_layout.cpp --------------------------------------------------------------------------------------------------

/// NVIDIA's tree below `root`; also conda's prefix and pip's nvidia/cu13.
ToolkitLayout standard_layout(System& system, const std::string& root);
/// Debian's and Fedora's packages in /usr.
ToolkitLayout distribution_layout(System& system, const Machine& machine);
/// The first of `folders` that has an entry `name` (a dangling link counts), with it.
std::optional<std::string> find_entry(System& system, const std::vector<std::string>& folders, std::string_view name);
/// Does something there say that it is (a part of) a toolkit: nvcc, the compiler's folder, the runtime's headers or library?
bool looks_like_toolkit(System& system, const ToolkitCandidate& candidate);
/// Some libcudart.so.N in the folders.
std::optional<std::string> find_runtime_library(System& system, const ToolkitLayout& layout);

// ---- toolkit_places.cpp --------------------------------------------------------------------------------------------------

ToolkitPlaces find_toolkit_places(System& system, const Machine& machine);

// ---- toolkit_python.cpp --------------------------------------------------------------------------------------------------

/// Toolkits that lie in the Python environments: conda's packages and pip's wheels.
std::vector<ToolkitCandidate> python_toolkits(System& system, const Machine& machine);
/// Fills package, and the versions that only the packages tell, of a toolkit of origin "conda" or "pip".
void read_python_packages(System& system, const Machine& machine, const ToolkitCandidate& candidate, Toolkit& toolkit);

// ---- toolkit_version.cpp -------------------------------------------------------------------------------------------------

/// "cuda" of a version.json, and every component with its version, in the order of their names. An error says what is wrong.
struct ToolkitManifest {
  std::string version;
  std::vector<ToolkitComponent> components;
};
tl::expected<ToolkitManifest, std::string> read_toolkit_manifest(std::string_view text);

/// Fills components, nvcc, nvcc_version, architectures and version.
void read_toolkit_version(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit);
/// "12.6" of "12.6.77".
std::string release_of(std::string_view version);

// ---- toolkit_components.cpp ----------------------------------------------------------------------------------------------

/// Fills `missing` of each component and of the toolkit.
void check_toolkit_files(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit);

// ---- toolkit_libraries.cpp -----------------------------------------------------------------------------------------------

/// CUDA's sonames in the library folders (stubs aside), sorted.
std::vector<std::string> sonames_of_toolkit(System& system, const ToolkitCandidate& candidate);

// ---- toolkit_packages.cpp ------------------------------------------------------------------------------------------------

/// Fills origin and package, and the versions that only the package tells.
void find_toolkit_package(System& system, const Machine& machine, const ToolkitCandidate& candidate, Toolkit& toolkit);
/// "12.6" of "cuda-nvcc-12-6"; empty for other names.
std::string release_in_package_name(std::string_view name);

// ---- toolkit_tools.cpp ---------------------------------------------------------------------------------------------------

/// Where the loader would find a soname, asked for few sonames: names in folders first, ld.so.cache only when they do not have
/// it.
class SonameSearch {
 public:
  SonameSearch(System& system, const Machine& machine);
  /// True: found, or the search was not complete.
  bool may_find(const std::string& soname, const std::vector<std::string>& own_folders);

 private:
  bool in_folder(const std::string& folder, const std::string& soname);
  bool in_cache(const std::string& soname);
  System& system_;
  std::vector<std::string> folders_;  // LD_LIBRARY_PATH and the loader's own
  std::optional<std::set<std::string>> cache_;
  std::map<std::string, bool> known_;
  bool complete_ = true;
};

void read_toolkit_tools(System& system, const ToolkitCandidate& candidate, SonameSearch& search, Toolkit& toolkit);

}  // namespace gpuvet
