#pragma once
// Pure readers of the small files that Python environments and packages are described by: pyvenv.cfg, METADATA and WHEEL,
// generated version files, JSON. Nothing here opens a file; every text may be cut off or hostile.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// "home = /usr/bin" lines: keys in lower case, values trimmed. The last of several wins, as in Python's own reader.
std::map<std::string, std::string> read_venv_config(std::string_view text);

/// What we want of a METADATA or PKG-INFO file. Headers end at the first empty line; folded lines are no headers of their own.
struct DistributionMetadata {
  std::string name, version;
  std::vector<std::string> requirements;  ///< Requires-Dist values that name packages that matter
};
DistributionMetadata read_metadata_headers(std::string_view text);

/// Values of "Tag:" in a WHEEL file.
std::vector<std::string> read_wheel_tags(std::string_view text);

/// A literal that a Python file assigns.
struct PythonValue {
  enum class Kind { None, Text, Bool, Number, List } kind = Kind::None;
  std::string text;               ///< Text, Number; Bool: "True" or "False"
  std::vector<std::string> list;  ///< List: its strings
  std::uint32_t line = 0;
};
/// Literals by name in a generated version file: `name = 'x'`, `name: Optional[str] = 'x'`, `a = b = 'x'` at the start of a line;
/// `'name': 'x'` and `('name', 'x')` in a dict or pair list. The first literal of a name wins; what is not a literal is left out.
std::map<std::string, PythonValue> read_python_values(std::string_view text);

/// Scalars of a JSON text in order, with their place: "version/cuda", "argv/0". Stops when f returns false. False when the text
/// is cut off or no JSON before f stopped it. Depth and number of values are bounded.
bool for_each_json_scalar(std::string_view text, const std::function<bool(std::string_view place, std::string_view value)>& f);
/// The value at one place; nothing when it is not there (before the text is cut off).
std::optional<std::string> json_scalar(std::string_view text, std::string_view place);

/// Distribution name of a requirement, normalised: "nvidia-cublas-cu12==12.4; …" → "nvidia-cublas-cu12".
std::string requirement_name(std::string_view requirement);

/// Name and version of "torch-2.5.1+cu124.dist-info" (or .egg-info, with "-py3.10" at its end); the name as written.
struct DistributionFolder {
  std::string name, version;
  bool egg = false;
};
std::optional<DistributionFolder> parse_distribution_folder(std::string_view folder);

/// Name, version and build of "pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.json" in conda-meta.
struct CondaFile {
  std::string name, version, build;
};
std::optional<CondaFile> parse_conda_file(std::string_view file);

/// Packages that decide what a GPU framework does: frameworks, their plug-ins, CUDA libraries, what is built on them. Of pip or
/// conda, name normalised.
bool package_matters(std::string_view name);

/// CUDA release of a local version or build string: "cu124" → "12.4", "cu12" → "12", "cuda126_py312h…" → "12.6", "cu92" → "9.2".
/// Empty: it names none.
std::string cuda_of_tag(std::string_view tag);

}  // namespace gpuvet
