#pragma once
// What extensions for torch say about the torch that they were compiled against.

#include <optional>
#include <string>
#include <vector>

#include "model/machine.h"
#include "model/version.h"

namespace gpuvet {

/// "2.6.0" of a requirement "torch==2.6.0"; empty: it pins none.
std::string torch_pinned_by(const PythonPackage& package);

/// From a wheel's version or address: "2.7.4.post1+cu12torch2.5cxx11abiFALSE", "2.1.2+pt25cu124".
struct ExtensionTag {
  std::string torch;  ///< "2.5"
  std::optional<std::uint32_t> cuda_major;
  std::optional<bool> cxx11_abi;
  std::string text;  ///< where it was read
};
std::optional<ExtensionTag> extension_tag(const PythonPackage& package);

/// The compiled modules of one package that was built for an environment's torch, as far as its binaries were read.
struct ExtensionModules {
  PythonPackage package;
  std::vector<const LibraryFile*> files;
  std::vector<Origin> other_python;  ///< those of them that are made for another Python: path, "3.10"
};
std::vector<ExtensionModules> extension_modules(const Machine& machine, const PythonEnvironment& environment);

}  // namespace gpuvet
