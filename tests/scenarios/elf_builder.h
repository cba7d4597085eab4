#pragma once
// Small valid ELF files for scenarios: shared libraries as a loader and our reader see them, and kernel modules with .modinfo.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuvet::test {

struct SharedLibrarySpec {
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> symbols;  ///< exported functions
  std::string machine = "x86_64";    ///< or "aarch64", "i386"
  int elf_class = 64;
  std::string read_only_data;        ///< content of .rodata
  std::string rpath, runpath;
  std::vector<std::string> imports;  ///< undefined functions
  std::vector<std::pair<std::string, std::string>> functions;  ///< exported, with their machine code
  std::vector<std::string> version_definitions;                ///< "GLIBC_2.17", …
  std::vector<std::pair<std::string, std::string>> version_needs;  ///< soname, version
  std::string fatbin;       ///< content of .nv_fatbin
  std::string interpreter;  ///< not empty: a program
  bool bind_now = false;    ///< linked with -z now
};

std::string build_shared_library(const SharedLibrarySpec& spec);

/// Makes a library tell its release as NVIDIA's do: by the number that its version function returns, or by the names that it
/// exports. By soname: libcudart, libcublasLt, libcudnn and its parts, libnccl, libcusparse, libnvrtc, libnvrtc-builtins, libnvJitLink.
void tell_release(SharedLibrarySpec& spec, const std::string& version);

/// A fat binary with code for "sm_80", "compute_90" (PTX), "empty:sm_80": without kernels, "variables:sm_80": with
/// device variables alone, "thrust:sm_80": with the empty kernel of Thrust's headers.
std::string build_fatbin(const std::vector<std::string>& targets);

/// An ELF relocatable with a .modinfo section of "key=value" strings.
std::string build_kernel_module(const std::vector<std::pair<std::string, std::string>>& modinfo);
/// Appends a signature trailer as the kernel build does: PKCS#7 that names the signer, then "~Module signature appended~".
std::string append_module_signature(std::string module, std::string_view signer);
/// By suffix of the file name: .xz, .zst, .gz, else unchanged.
std::string compress_for_name(std::string bytes, std::string_view file_name);

}  // namespace gpuvet::test
