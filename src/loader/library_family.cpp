#include "loader/library_family.h"

#include <algorithm>

namespace gpuvet {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_hexadecimal(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

/// Beginning of a symbol → stems of the libraries that define such symbols. Longer beginnings first. Measured with `nm -D` on the
/// libraries of CUDA 13.0, cuDNN 9.19, NCCL 2.28 and torch 2.8.
struct Owner {
  std::string_view prefix;
  std::string_view stems[3];
};
constexpr Owner owners[] = {
    {"__nvJitLink", {"libnvJitLink"}},
    {"nvJitLink", {"libnvJitLink"}},
    {"__nvrtc", {"libnvrtc"}},
    {"nvrtc", {"libnvrtc"}},
    {"nvvm", {"libnvvm"}},
    {"cublasLt", {"libcublasLt"}},
    {"cublas", {"libcublas"}},
    {"cudnn", {"libcudnn", "libcudnn_ops", "libcudnn_graph"}},
    {"_ZN5cudnn", {"libcudnn_graph", "libcudnn_ops"}},
    {"_ZNK5cudnn", {"libcudnn_graph", "libcudnn_ops"}},
    {"cufft", {"libcufft"}},
    {"curand", {"libcurand"}},
    {"cusolverMg", {"libcusolverMg"}},
    {"cusolver", {"libcusolver"}},
    {"cusparseLt", {"libcusparseLt"}},
    {"cusparse", {"libcusparse"}},
    {"cuFile", {"libcufile"}},
    {"cupti", {"libcupti"}},
    {"pnccl", {"libnccl"}},
    {"nccl", {"libnccl"}},
    {"__cudaRegister", {"libcudart"}},
    {"__cudaUnregister", {"libcudart"}},
    {"__cudaPushCall", {"libcudart"}},
    {"__cudaPopCall", {"libcudart"}},
    {"cuda", {"libcudart"}},
    {"nvml", {"libnvidia-ml"}},
    {"_ZN3c104cuda", {"libc10_cuda"}},
    {"_ZNK3c104cuda", {"libc10_cuda"}},
    {"_ZN3c10", {"libc10"}},
    {"_ZNK3c10", {"libc10"}},
    {"_ZTIN3c10", {"libc10"}},
    {"_ZTVN3c10", {"libc10"}},
    {"_ZN2at4cuda", {"libtorch_cuda"}},
    {"_ZN2at", {"libtorch_cpu", "libtorch_cuda"}},
    {"_ZNK2at", {"libtorch_cpu", "libtorch_cuda"}},
    {"_ZN5torch", {"libtorch_cpu", "libtorch_python"}},
    {"_ZNK5torch", {"libtorch_cpu", "libtorch_python"}},
    {"_ZN8pybind11", {"libtorch_python"}},
    {"THPVariable", {"libtorch_python"}},
    {"aoti_torch_", {"libtorch_cpu", "libtorch_cuda"}},
    {"_ZNSt7__cxx11", {"libstdc++"}},
    {"_ZNSt", {"libstdc++"}},
    {"_ZNKSt", {"libstdc++"}},
    {"_ZSt", {"libstdc++"}},
    {"__cxa_", {"libstdc++"}},
};

struct Host {
  std::string_view prefix, name;
};
constexpr Host hosts[] = {
    {"Py", "Python"},  {"_Py", "Python"},         {"Perl_", "Perl"}, {"PL_", "Perl"},  {"rb_", "Ruby"},
    {"lua_", "Lua"},   {"luaL_", "Lua"},          {"JNI_", "Java"},  {"JVM_", "Java"}, {"R_", "R"},
    {"Rf_", "R"},      {"jl_", "Julia"},          {"ap_", "httpd"},  {"zend_", "PHP"}, {"_zend", "PHP"},
    {"ngx_", "nginx"}, {"plugin_default", "GCC"}, {"Tcl_", "Tcl"},
};

/// "cuInit" is of libcuda: "cu" and a capital letter, after all longer names were tried.
bool is_driver_symbol(std::string_view symbol) {
  return symbol.size() > 2 && symbol.starts_with("cu") && symbol[2] >= 'A' && symbol[2] <= 'Z';
}

}  // namespace

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

std::string_view library_stem(std::string_view file_name) {
  std::string_view name = base_name(file_name);
  const std::size_t end = name.find(".so");
  if (end == std::string_view::npos) return {};
  name = name.substr(0, end);
  // auditwheel adds "-" and eight hexadecimal digits of a hash.
  const std::size_t dash = name.rfind('-');
  if (dash != std::string_view::npos && name.size() - dash == 9 && all_hexadecimal(name.substr(dash + 1)))
    name = name.substr(0, dash);
  return name;
}

std::vector<std::string_view> owners_of_symbol(std::string_view symbol) {
  std::vector<std::string_view> stems;
  for (const Owner& owner : owners) {
    if (!symbol.starts_with(owner.prefix)) continue;
    for (const std::string_view stem : owner.stems) {
      if (!stem.empty()) stems.push_back(stem);
    }
    return stems;
  }
  if (is_driver_symbol(symbol)) stems.push_back("libcuda");
  return stems;
}

std::string_view host_of_symbol(std::string_view symbol) {
  for (const Host& host : hosts) {
    if (symbol.starts_with(host.prefix)) return host.name;
  }
  return {};
}

std::string release_of(const LibraryFile& file) {
  if (const std::string* driver = file.driver_version.get()) return *driver;
  if (const std::string* version = file.library_version.get()) return *version;
  const std::string_view name = base_name(file.real_path.empty() ? file.path : file.real_path);
  const std::size_t mark = name.find(".so.");
  if (mark == std::string_view::npos) return {};
  const std::string_view version = name.substr(mark + 4);
  // A bare ABI number ("12") is the soname's, no release.
  const bool is_release = !version.empty() && version.size() <= 40 && version.find('.') != std::string_view::npos &&
                          is_digit(version.front()) &&
                          std::ranges::all_of(version, [](char c) { return is_digit(c) || c == '.'; });
  return is_release ? std::string(version) : std::string();
}

}  // namespace gpuvet
