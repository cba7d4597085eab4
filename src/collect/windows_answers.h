#pragma once
// What programs of Windows answer, as text: UTF-16 or UTF-8 or a code page, CRLF, in any language of Windows.

#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// `wsl.exe --version`; empty: not told. The labels are translated ("WSL 版本：", "Windows-Version:"), the products' names are
/// not.
struct WslVersionAnswer {
  std::string wsl;      ///< "2.3.26.0"
  std::string windows;  ///< "10.0.22631.4460"
};
WslVersionAnswer parse_wsl_version(std::string_view output);

/// A line of `nvidia-smi.exe --query-gpu=name,driver_version,driver_model.current --format=csv,noheader`.
struct SmiGpuAnswer {
  std::string driver;  ///< "560.94"
  std::string model;   ///< "WDDM", "TCC", "MCDM"; empty: "[N/A]"
};
/// At most 64; lines that are no GPU's (an error, a remark) are left out.
std::vector<SmiGpuAnswer> parse_smi_gpus(std::string_view output);

/// What PowerShell was asked to print: "build=10.0.19045.0", "display=NAME|VERSION" for each display adapter.
struct PowershellAnswer {
  std::string build;
  std::string nvidia_driver;  ///< "32.0.15.6094" of the first adapter of NVIDIA
};
PowershellAnswer parse_powershell(std::string_view output);

/// The first line that says something, made printable: what a program said instead of an answer.
std::string first_words(std::string_view output);

}  // namespace gpuvet
