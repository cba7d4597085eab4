#pragma once
// CUDA libraries that a framework takes from outside its own package, and where this machine has them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace gpuvet {

struct LibraryNeed {
  std::string soname;       ///< "libcublas.so.12"
  std::string family;       ///< "cublas": its wheel is nvidia-cublas-cu12
  std::uint32_t major = 0;  ///< CUDA's major; cuDNN: its own
};

/// What one framework of an environment loads.
struct CudaNeeds {
  std::string framework;  ///< "tensorflow", "cupy", …
  std::string label;      ///< "tensorflow 2.13.1"
  const PythonPackage* package = nullptr;
  std::uint32_t cuda_major = 0;
  std::string cuda;  ///< "11.8", "12"
  std::vector<LibraryNeed> libraries;
  /// Requirements of its metadata that are not installed, with their pins: "nvidia-cudnn-cu12==9.1.0.70". Not empty: these are
  /// the way to the libraries, whatever else lies on the machine.
  std::vector<std::string> requirements;
  std::vector<Origin> evidence;
};

/// Of the frameworks in this environment that are wanted and whose needs are known. What conda installed brings its own.
std::vector<CudaNeeds> cuda_needs(const RuleContext& context, const PythonEnvironment& environment);

enum class LibraryPlace : std::uint8_t {
  Loader,        ///< a new process finds it
  Environment,   ///< wheels or conda packages of the environment bring it
  OffPath,       ///< in a toolkit that the loader does not look into
  OtherRelease,  ///< only under another number
  Nowhere,
  Unknown,  ///< not everything was seen
};
struct LocatedLibrary {
  LibraryNeed need;
  LibraryPlace place = LibraryPlace::Unknown;
  const Toolkit* toolkit = nullptr;  ///< OffPath, OtherRelease: the toolkit that has it; null: elsewhere
  std::string other;                 ///< OtherRelease: "libcublas.so.11"
};

/// Only those that are neither found nor brought. Nothing at all when one of them is Unknown.
std::vector<LocatedLibrary> missing_libraries(const RuleContext& context, const PythonEnvironment& environment,
                                              const CudaNeeds& needs);
/// Every one is found by the loader or brought by the environment.
bool all_libraries_found(const RuleContext& context, const PythonEnvironment& environment, const CudaNeeds& needs);
bool any_at(const std::vector<LocatedLibrary>& libraries, LibraryPlace place);
/// "libcudart.so.12, libcudnn.so.9".
std::string list_sonames(const std::vector<LocatedLibrary>& libraries);
/// The folder of a toolkit that holds its libraries.
std::string library_folder(const Toolkit& toolkit);

}  // namespace gpuvet
