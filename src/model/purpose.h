#pragma once
// What has to work: NAME[OP VERSION][@ENV], or a path. One grammar for `check --for`, later for plans and what-if.

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace gpuvet {

struct Purpose {
  std::string
      name;  ///< normalised: "torch", "tensorflow", "jax", "cupy", "nvcc", "build", "driver", "path"; empty: none was asked
  std::string specifier;    ///< ">=2.7", "==2.5.1"; empty: any
  std::string environment;  ///< behind "@": name or prefix of a Python environment; empty: the one in use
  std::string target;       ///< of build:flash-attn "flash-attn"; of a path the path
  std::string text;         ///< as it was asked

  bool asked() const { return !name.empty(); }
  /// Only the driver is judged.
  bool is_driver() const { return name == "driver" || name == "cuda" || name == "nvidia-smi"; }
  /// A compiler is needed: nvcc itself, or building an extension.
  bool needs_toolkit() const { return name == "nvcc" || name == "build" || name == "cuda-toolkit"; }
  /// A Python framework, or an extension for one.
  bool needs_framework() const { return asked() && !is_driver() && name != "nvcc" && name != "cuda-toolkit" && name != "path"; }
};

/// Accepts common other names ("pytorch", "tf", "jaxlib", "build-extension", "extension"); the error says what is wrong with it.
tl::expected<Purpose, std::string> parse_purpose(std::string_view text);

}  // namespace gpuvet
