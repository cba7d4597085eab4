#pragma once
// What extensions for torch say about the torch that they were compiled against.

#include <optional>
#include <string>

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

}  // namespace gpuvet
