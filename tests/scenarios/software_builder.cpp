#include "software_builder.h"

#include <functional>

#include <algorithm>
#include <stdexcept>

#include "elf_builder.h"

namespace gpuvet::test {
namespace {

std::string get(const Options& options, const std::string& key, const std::string& fallback = "") {
  const auto it = options.find(key);
  return it == options.end() ? fallback : it->second;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// "12.6" of "12.6.3"; "12" with count 1.
std::string leading(const std::string& version, std::size_t count) {
  std::string out;
  for (const auto& part : split(version, '.')) {
    if (count-- == 0) break;
    out += (out.empty() ? "" : ".") + part;
  }
  return out;
}

std::string program(const std::string& strings, const std::vector<std::string>& needed = {"libc.so.6"}, const std::string& machine = "x86_64") {
  SharedLibrarySpec spec;
  spec.needed = needed;
  spec.machine = machine;
  spec.read_only_data = std::string(1, '\0') + strings + std::string(1, '\0');
  return build_shared_library(spec);
}

std::string joined_by_zero(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += part + std::string(1, '\0');
  return out;
}

void executable(MachineBuilder& builder, const std::string& path, std::string content) {
  builder.tree.remove(path);
  builder.tree.add_file(path, std::move(content));
  builder.tree.nodes.at(path).mode = 0755;
}

void library(MachineBuilder& builder, const std::string& path, const std::string& soname) {
  builder.library(path, {{"soname", soname}});
}

std::vector<std::string> architectures_of(const std::string& version, const Options& options) {
  const std::string given = get(options, "sm", version.starts_with("13") ? "75,80,86,87,88,89,90,100,103,110,120,121" : version.starts_with("12.8") || version.starts_with("12.9") ? "50,52,53,60,61,62,70,72,75,80,86,87,89,90,100,101,120" : "50,52,53,60,61,62,70,72,75,80,86,87,89,90");
  std::vector<std::string> out;
  for (const auto& sm : split(given, ',')) out.push_back("sm_" + sm);
  return out;
}

std::string host_config(const std::string& version, const Options& options) {
  const std::string gcc = get(options, "gcc-max", "13"), clang = get(options, "clang-max", "");
  std::string text = "#if !defined(__HOST_CONFIG_H__)\n#define __HOST_CONFIG_H__\n#define __CUDACC_VER_MAJOR__ " + leading(version, 1) + "\n#if defined(__GNUC__)\n\n#if __GNUC__ > " + gcc +
                     "\n\n#error -- unsupported GNU version! gcc versions later than " + gcc + " are not supported!\n\n#endif /* __GNUC__ > " + gcc + " */\n\n";
  if (!clang.empty()) text += "#if defined(__clang__)\n#if (__clang_major__ >= " + std::to_string(std::stoi(clang) + 1) + ")\n#error -- unsupported clang version!\n#endif\n#endif\n";
  return text + "#endif /* __GNUC__ */\n#endif\n";
}

std::string math_functions(bool knows_glibc_2_41, bool knows_glibc_2_42) {
  const std::string tail = knows_glibc_2_41 ? " __NV_IEC_60559_FUNCS_EXCEPTION_SPECIFIER;\n" : ";\n";
  std::string text;
  if (knows_glibc_2_41)
    text = "#if __NV_GLIBC_PROVIDES_IEC_60559_FUNCS\n#define __NV_IEC_60559_FUNCS_EXCEPTION_SPECIFIER __THROW\n#else\n#define __NV_IEC_60559_FUNCS_EXCEPTION_SPECIFIER\n#endif\n";
  for (const char* f : {"double                 sinpi(double x)", "float                  sinpif(float x)", "double                 cospi(double x)", "float                  cospif(float x)"})
    text += std::string("extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ ") + f + tail;
  for (const char* f : {"double                 rsqrt(double x)", "float                  rsqrtf(float x)"})
    text += std::string("extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ ") + f + (knows_glibc_2_42 ? " _NV_RSQRT_SPECIFIER;\n" : ";\n");
  return text;
}

std::string manifest(const std::string& version, bool runtime_only) {
  const std::string build = leading(version, 2) + ".85";
  std::string text = "{\n   \"cuda\" : {\n      \"name\" : \"CUDA SDK\",\n      \"version\" : \"" + version + "\"\n   }";
  std::vector<std::string> names = {"cuda_cudart", "cuda_nvrtc", "libcublas"};
  if (!runtime_only)
    for (const char* name : {"cuda_cuobjdump", "cuda_gdb", "cuda_nvcc", "cuda_nvdisasm", "cuda_nvprune", "cuda_sanitizer_api"}) names.emplace_back(name);
  for (const auto& name : names) text += ",\n   \"" + name + "\" : {\n      \"name\" : \"" + name + "\",\n      \"version\" : \"" + build + "\"\n   }";
  return text + "\n}\n";
}

void add_toolkit_programs(MachineBuilder& builder, const std::string& path, const std::string& version, const Options& options, const std::vector<std::string>& without) {
  const auto keeps = [&](const std::string& part) { return std::ranges::find(without, part) == without.end(); };
  const std::string banner = "Cuda compilation tools, release " + leading(version, 2) + ", V" + leading(version, 2) + ".85";
  auto strings = architectures_of(version, options);
  strings.insert(strings.begin(), banner);
  for (const char* tool : {"nvcc", "ptxas", "fatbinary", "cudafe++", "nvlink", "cuobjdump", "nvdisasm", "nvprune", "cu++filt", "compute-sanitizer"})
    if (keeps(tool)) executable(builder, path + "/bin/" + tool, program(joined_by_zero(strings)));
  if (keeps("cuda-gdb")) executable(builder, path + "/bin/cuda-gdb", program(banner, split(get(options, "gdb-needs", "libc.so.6"), ',')));
  builder.tree.add_file(path + "/bin/nvcc.profile", "\nTOP              = $(_HERE_)/..\n\nCICC_PATH        = $(TOP)/nvvm/bin\n");
  if (keeps("cicc")) executable(builder, path + "/nvvm/bin/cicc", program(joined_by_zero(strings)));
  if (keeps("libdevice")) builder.tree.add_file(path + "/nvvm/libdevice/libdevice.10.bc", "BC\xc0\xde");
}

void add_headers(MachineBuilder& builder, const std::string& include, const std::string& version, const Options& options) {
  const std::string number = leading(version, 1) + "0" + split(version, '.').at(1) + "0";
  builder.tree.add_file(include + "/crt/host_config.h", host_config(version, options));
  builder.tree.add_file(include + "/crt/math_functions.h", math_functions(options.contains("glibc-2.41") || version.starts_with("13"), version.starts_with("13.2") || version.starts_with("13.3")));
  builder.tree.add_file(include + "/cuda.h", "/* CUDA driver API */\n#define CUDA_VERSION " + number + "\n");
  builder.tree.add_file(include + "/cuda_runtime.h", "#include \"cuda_runtime_api.h\"\n");
  builder.tree.add_file(include + "/cuda_runtime_api.h", "#define CUDART_VERSION  " + number + "\n");
}

void add_toolkit_libraries(MachineBuilder& builder, const std::string& path, const std::string& version, bool development) {
  const std::string folder = path + "/targets/x86_64-linux/lib", major = leading(version, 1);
  for (const auto& [name, number] : {std::pair{"libcudart", major}, {"libcublas", major}, {"libcublasLt", major}, {"libnvrtc", major}, {"libcusparse", major}, {"libnvJitLink", major}}) {
    const std::string soname = std::string(name) + ".so." + number, file = soname + "." + version.substr(version.find('.') + 1);
    library(builder, folder + "/" + file, soname);
    builder.tree.add_link(folder + "/" + soname, file);
    if (development) builder.tree.add_link(folder + "/" + name + ".so", soname);
  }
  if (!development) return;
  for (const char* archive : {"libcudart_static.a", "libcudadevrt.a"}) builder.tree.add_file(folder + "/" + archive, "!<arch>\n");
  builder.library(folder + "/stubs/libcuda.so", {{"soname", "libcuda.so.1"}, {"stub", ""}});
}

const std::string& require_site(const std::string& site, const std::string& prefix) {
  if (site.empty()) throw std::runtime_error("no python in " + prefix + ": add a `python` line first");
  return site;
}

std::string python_minor(const MachineBuilder& builder, const std::string& prefix) {
  const std::string site = require_site(site_packages_of(builder, prefix), prefix);
  const std::size_t at = site.rfind("/python3.");
  const std::string minor = at == std::string::npos ? "" : site.substr(at + 9, site.find('/', at + 9) - at - 9);
  return minor.empty() ? "12" : minor;
}

std::string underscored(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

void add_toolkit(MachineBuilder& builder, const std::string& path, const std::string& version, const Options& options) {
  const auto without = split(get(options, "without"), ',');
  const bool runtime_only = options.contains("runtime-only");
  if (!options.contains("no-manifest")) builder.tree.add_file(path + "/version.json", manifest(version, runtime_only));
  if (!runtime_only) {
    add_toolkit_programs(builder, path, version, options, without);
    if (std::ranges::find(without, "headers") == without.end()) add_headers(builder, path + "/targets/x86_64-linux/include", version, options);
    builder.tree.add_link(path + "/include", "targets/x86_64-linux/include");
  }
  if (std::ranges::find(without, "cudart") == without.end()) add_toolkit_libraries(builder, path, version, !runtime_only);
  builder.tree.add_link(path + "/lib64", "targets/x86_64-linux/lib");
}

void add_compiler(MachineBuilder& builder, const std::string& name, const std::string& version, const Options& options) {
  const std::string major = leading(version, 1), triple = "x86_64-linux-gnu";
  const bool clang = name.starts_with("clang");
  for (const std::string one : {clang ? "clang" : "gcc", clang ? "clang++" : "g++"}) {
    const std::string real = clang ? "/usr/lib/llvm-" + major + "/bin/" + one : "/usr/bin/" + triple + "-" + one + "-" + major;
    executable(builder, real, program((clang ? "clang version " : "GCC: (Debian) ") + version));
    builder.tree.add_link("/usr/bin/" + one + "-" + major, clang ? "../lib/llvm-" + major + "/bin/" + one : triple + "-" + one + "-" + major);
    if (!options.contains("default")) continue;
    builder.tree.remove("/usr/bin/" + one);
    builder.tree.add_link("/usr/bin/" + one, one + "-" + major);
    if (!clang) builder.tree.add_link(one == "gcc" ? "/usr/bin/cc" : "/usr/bin/c++", one);
  }
  if (!clang) builder.tree.add_file("/usr/lib/gcc/" + triple + "/" + major + "/include/stddef.h", "/* gcc " + version + " */\n");
}

void add_libc_headers(MachineBuilder& builder, const std::string& version) {
  builder.tree.add_file("/usr/include/features.h", "#ifndef\t_FEATURES_H\n#define\t_FEATURES_H\t1\n/* Major and minor version number of the GNU C library package. */\n#define\t__GLIBC__\t" + leading(version, 1) +
                                                       "\n#define\t__GLIBC_MINOR__\t" + version.substr(version.find('.') + 1) + "\n#endif\n");
}

void add_python(MachineBuilder& builder, const std::string& prefix, const std::string& version, const Options& options) {
  const std::string kind = get(options, "kind", prefix == "/usr" ? "system" : "venv"), minor = leading(version, 2), name = "python" + minor;
  const std::string base = get(options, "base", "/usr"), machine = get(options, "machine", "x86_64");
  const auto interpreter = [&](const std::string& path) {
    if (!builder.tree.nodes.contains(path)) executable(builder, path, program("Python " + minor, {"libm.so.6", "libc.so.6"}, machine));
  };
  if (kind == "system" || kind == "conda" || kind == "pyenv") {
    interpreter(prefix + "/bin/" + name);
    builder.tree.remove(prefix + "/bin/python3");
    builder.tree.add_link(prefix + "/bin/python3", name);
    if (kind != "system") builder.tree.add_link(prefix + "/bin/python", name);
    builder.tree.add_file(prefix + "/lib/" + name + "/os.py", "# os\n");
    const bool debian = kind == "system" && prefix == "/usr" && builder.tree.nodes.contains("/var/lib/dpkg/status");
    builder.tree.add_directory(prefix + (debian ? "/lib/python3/dist-packages" : "/lib/" + name + "/site-packages"));
    if (kind == "conda") {
      builder.tree.add_file(prefix + "/conda-meta/history", "==> 2025-05-20 10:00:00 <==\n# cmd: conda create\n");
      add_conda_package(builder, prefix, "python", version, "h1234567_0_cpython", {{"channel", "conda-forge"}});
    }
    return;
  }
  interpreter(base + "/bin/" + name);
  builder.tree.add_link(prefix + "/bin/python", "python3");
  builder.tree.add_link(prefix + "/bin/python3", base + "/bin/" + name);
  builder.tree.add_link(prefix + "/bin/" + name, "python3");
  const std::string system_site = options.contains("system-site") ? "true" : "false";
  builder.tree.add_file(prefix + "/pyvenv.cfg",
                        kind == "uv" ? "home = " + base + "/bin\nimplementation = CPython\nuv = 0.5.9\nversion_info = " + version + "\ninclude-system-site-packages = " + system_site + "\n"
                                     : "home = " + base + "/bin\ninclude-system-site-packages = " + system_site + "\nversion = " + version + "\nexecutable = " + base + "/bin/" + name + "\n");
  builder.tree.add_directory(prefix + "/lib/" + name + "/site-packages");
}

std::string site_packages_of(const MachineBuilder& builder, const std::string& prefix) {
  for (const auto& [path, node] : builder.tree.nodes)
    if (path.starts_with(prefix + "/lib/python3") && node.type == FileType::Directory && (path.ends_with("/site-packages") || path.ends_with("/dist-packages")) &&
        std::ranges::count(path.substr(prefix.size()), '/') == 3)
      return path;
  return {};
}

void add_wheel(MachineBuilder& builder, const std::string& prefix, const std::string& name, const std::string& version, const Options& options) {
  const std::string site = require_site(site_packages_of(builder, prefix), prefix), minor = python_minor(builder, prefix);
  const std::string info = site + "/" + underscored(name) + "-" + version + ".dist-info", import = get(options, "import", underscored(name));
  if (!options.contains("no-metadata")) {
    std::string metadata = "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\nSummary: " + name + "\n";
    for (const auto& requirement : split(get(options, "requires"), ',')) metadata += "Requires-Dist: " + requirement + "\n";
    builder.tree.add_file(info + "/METADATA", metadata + "\n" + name + "\n");
  }
  builder.tree.add_file(info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: setuptools (75.1.0)\nRoot-Is-Purelib: false\nTag: " + get(options, "tag", "cp3" + minor + "-cp3" + minor + "-manylinux_2_28_x86_64") + "\n");
  builder.tree.add_file(info + "/INSTALLER", get(options, "installer", "pip") + "\n");
  if (options.contains("url")) builder.tree.add_file(info + "/direct_url.json", R"({"archive_info": {}, "url": ")" + get(options, "url") + "\"}");
  std::string record = import + "/__init__.py,sha256=AAAA,1000\n";
  if (!options.contains("no-files")) builder.tree.add_file(site + "/" + import + "/__init__.py", "__version__ = \"" + version + "\"\n");
  for (const auto& file : split(get(options, "files"), ',')) {
    record += file + ",sha256=AAAA,1000\n";
    if (options.contains("no-files")) continue;
    if (file.find(".so") != std::string::npos) library(builder, site + "/" + file, file.substr(file.rfind('/') + 1));
    else builder.tree.add_file(site + "/" + file, "# " + file + "\n");
  }
  builder.tree.add_file(info + "/RECORD", record);
  builder.tree.add_file(info + "/top_level.txt", import + "\n");
}

namespace {

/// RPATH of torch's own libraries (pytorch, .ci/manywheel/repair_wheel.py), for CUDA 12 and 13.
std::string torch_rpath(const std::string& cuda) {
  if (cuda.starts_with("13")) return "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/nccl/lib:$ORIGIN/../../nvidia/cu13/lib:$ORIGIN:$ORIGIN/lib";
  std::string path;
  for (const char* folder : {"cublas", "cuda_cupti", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl"})
    path += std::string("$ORIGIN/../../nvidia/") + folder + "/lib:";
  return path + "$ORIGIN:$ORIGIN/lib";
}

/// Files that need each other as those of the wheel do; code=sm_80,compute_90: what libtorch_cuda.so carries.
void link_torch(MachineBuilder& builder, const std::string& prefix, const Options& options) {
  const std::string cuda = get(options, "cuda"), major = leading(cuda, 1), site = site_packages_of(builder, prefix), rpath = torch_rpath(cuda);
  const std::string cudnn = "libcudnn.so." + get(options, "cudnn-soname", "9");
  const auto put = [&](const std::string& file, const std::string& soname, const std::string& needed, Options more = {}) {
    more.insert({{"soname", soname}, {"needed", needed + ",libc.so.6"}, {"rpath", rpath}});
    builder.tree.remove(site + "/torch/" + file);
    builder.library(site + "/torch/" + file, more);
  };
  Options with_code;
  if (options.contains("code")) with_code["code"] = get(options, "code");
  if (options.contains("imports")) with_code["imports"] = get(options, "imports");
  put("lib/libtorch_global_deps.so", "libtorch_global_deps.so", "libcudart.so." + major);
  put("lib/libc10.so", "libc10.so", "libstdc++.so.6");
  put("lib/libc10_cuda.so", "libc10_cuda.so", "libcudart.so." + major + ",libc10.so");
  put("lib/libtorch_cpu.so", "libtorch_cpu.so", "libc10.so,libcudart.so." + major);
  put("lib/libtorch_cuda.so", "libtorch_cuda.so",
      "libc10_cuda.so,libcudart.so." + major + ",libcusparse.so.12,libnccl.so.2,libcublas.so." + major + ",libcublasLt.so." + major + "," + cudnn + ",libc10.so,libtorch_cpu.so", with_code);
  put("lib/libcaffe2_nvrtc.so", "", "libnvrtc.so." + major + ",libcuda.so.1");
  put("lib/libtorch.so", "libtorch.so", "libtorch_cpu.so,libtorch_cuda.so");
  put("lib/libtorch_python.so", "libtorch_python.so", "libtorch.so,libtorch_cpu.so,libtorch_cuda.so,libc10.so");
  put("_C.cpython-3" + python_minor(builder, prefix) + "-x86_64-linux-gnu.so", "", "libtorch_python.so");
}

/// cuDNN 9 as its wheel and its packages lay it out: a front library that opens its parts by name.
void link_cudnn(MachineBuilder& builder, const std::string& folder, const std::string& version) {
  const auto put = [&](const std::string& soname, const std::string& needed) {
    builder.tree.remove(folder + "/" + soname);
    builder.library(folder + "/" + soname, {{"soname", soname}, {"needed", needed}, {"runpath", "$ORIGIN"}, {"version", soname == "libcudnn.so.9" ? "" : version}});
  };
  put("libcudnn.so.9", "libc.so.6");
  put("libcudnn_graph.so.9", "libc.so.6");
  put("libcudnn_ops.so.9", "libcudnn_graph.so.9,libc.so.6");
  put("libcudnn_cnn.so.9", "libcudnn_ops.so.9,libcudnn_graph.so.9,libc.so.6");
  put("libcudnn_adv.so.9", "libcudnn_ops.so.9,libcudnn_graph.so.9,libc.so.6");
}

/// Libraries of a CUDA release in one folder each (`folder_of`), that need each other as NVIDIA's do.
void link_cuda(MachineBuilder& builder, const std::string& release, const std::function<std::string(const std::string&)>& folder_of) {
  const std::string major = leading(release, 1), minor = release.substr(major.size() + 1), two = leading(release, 2);
  const auto put = [&](const std::string& family, const std::string& soname, Options options) {
    options["soname"] = soname;
    const std::string path = folder_of(family) + "/" + soname;
    builder.tree.remove(path);
    builder.library(path, options);
  };
  put("cuda_runtime", "libcudart.so." + major, {{"version", two}});
  // Up to CUDA 12 libnvrtc finds its builtins beside itself, that of 13 has no path of its own (readelf -d of the wheels).
  put("cuda_nvrtc", "libnvrtc.so." + major, {{"version", two}, {"runpath", major == "13" ? "" : "$ORIGIN"}});
  put("cuda_nvrtc", "libnvrtc-builtins.so." + two, {{"version", two}});
  put("nvjitlink", "libnvJitLink.so." + major, {{"version", two}});
  put("cublas", "libcublasLt.so." + major, {{"version", two + ".5"}, {"runpath", "$ORIGIN"}, {"symbols", "cublasLtMatmul,cublasLtSince_" + two}});
  put("cublas", "libcublas.so." + major, {{"needed", "libcublasLt.so." + major + ",libc.so.6"}, {"runpath", "$ORIGIN"}, {"imports", "cublasLtMatmul,cublasLtSince_" + two}});
  put("cusparse", "libcusparse.so.12",
      {{"needed", "libnvJitLink.so." + major + ",libc.so.6"}, {"runpath", "$ORIGIN/../../nvjitlink/lib:$ORIGIN"}, {"imports", "__nvJitLinkComplete_" + major + "_" + leading(minor, 1)}});
}

}  // namespace

void add_cuda_libraries(MachineBuilder& builder, const std::string& folder, const std::string& release, const Options& options) {
  link_cuda(builder, release, [&](const std::string&) { return folder; });
  if (options.contains("cudnn")) link_cudnn(builder, folder, get(options, "cudnn"));
}

void add_cudnn(MachineBuilder& builder, const std::string& folder, const std::string& version) { link_cudnn(builder, folder, version); }

void add_libc(MachineBuilder& builder, const std::string& folder, const std::string& glibc, const std::string& glibcxx) {
  const auto versions = [](const std::string& family, const std::string& newest) {
    std::string list;
    for (int i = 0; i <= std::stoi(newest.substr(newest.rfind('.') + 1)); ++i) list += (list.empty() ? "" : ",") + family + newest.substr(0, newest.rfind('.') + 1) + std::to_string(i);
    return list;
  };
  builder.library(folder + "/libc.so.6", {{"soname", "libc.so.6"}, {"needed", ""}, {"defines", versions("GLIBC_", glibc)}});
  builder.library(folder + "/libm.so.6", {{"soname", "libm.so.6"}, {"defines", versions("GLIBC_", glibc)}});
  builder.library(folder + "/libstdc++.so.6", {{"soname", "libstdc++.so.6"}, {"defines", versions("GLIBCXX_", glibcxx)}});
}

void add_torch(MachineBuilder& builder, const std::string& prefix, const std::string& version, const Options& options) {
  const std::string cuda = get(options, "cuda"), hip = get(options, "hip");
  Options wheel = options;
  std::string files = "torch/lib/libc10.so,torch/lib/libtorch_cpu.so,torch/lib/libtorch.so";
  if (!cuda.empty()) files += ",torch/lib/libtorch_cuda.so,torch/lib/libc10_cuda.so";
  if (!hip.empty()) files += ",torch/lib/libtorch_hip.so";
  wheel["files"] = files;
  add_wheel(builder, prefix, "torch", version, wheel);
  const auto quoted = [](const std::string& text) { return text.empty() ? std::string("None") : "'" + text + "'"; };
  builder.tree.add_file(site_packages_of(builder, prefix) + "/torch/version.py", "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n__version__ = '" + version +
                                                                                     "'\ndebug = False\ncuda: Optional[str] = " + quoted(cuda) + "\ngit_version = '0123456789abcdef'\nhip: Optional[str] = " + quoted(hip) + "\n");
  if (options.contains("linked") && !cuda.empty()) link_torch(builder, prefix, options);
}

void add_tensorflow(MachineBuilder& builder, const std::string& prefix, const std::string& version, const Options& options) {
  add_wheel(builder, prefix, get(options, "name", "tensorflow"), version, [&] {
    Options wheel = options;
    wheel["import"] = "tensorflow";
    return wheel;
  }());
  const std::string cuda = get(options, "cuda");
  std::string text = "import collections\n\nbuild_info = collections.OrderedDict([";
  if (cuda.empty()) {
    text += "('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n";
  } else {
    text += "('cpu_compiler', '/usr/lib/llvm-18/bin/clang'), ('cuda_compute_capabilities', [";
    std::string list;
    for (const auto& one : split(get(options, "capabilities", "sm_60,sm_70,sm_80,sm_89,compute_90"), ',')) list += (list.empty() ? "'" : ", '") + one + "'";
    text += list + "]), ('cuda_version', '" + cuda + "'), ('cudnn_version', '" + get(options, "cudnn", "9") + "'), ('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n";
  }
  builder.tree.add_file(site_packages_of(builder, prefix) + "/tensorflow/python/platform/build_info.py", text);
}

void add_nvidia_wheels(MachineBuilder& builder, const std::string& prefix, const std::string& major, const Options& options) {
  const bool cu12 = major == "cu12" || major == "cu11";
  const std::string number = major.substr(2), suffix = cu12 ? "-" + major : "", version = get(options, "version", number == "12" ? "12.4" : number == "11" ? "11.8" : "13.0");
  const auto without = split(get(options, "without"), ',');
  struct Wheel {
    std::string name, version, folder, soname;
  };
  const std::string other = number == "12" ? "11" : number == "13" ? "12" : "10";
  const std::vector<Wheel> wheels = {{"nvidia-cuda-runtime", version + ".127", "cuda_runtime", "libcudart.so." + (number == "11" ? std::string("11.0") : number)},
                                     {"nvidia-cublas", version + ".5.8", "cublas", "libcublas.so." + number},
                                     {"nvidia-cuda-nvrtc", version + ".127", "cuda_nvrtc", "libnvrtc.so." + number},
                                     {"nvidia-cuda-cupti", version + ".127", "cuda_cupti", "libcupti.so." + number},
                                     {"nvidia-cudnn-" + major, get(options, "cudnn", "9.1.0.70"), "cudnn", "libcudnn.so." + leading(get(options, "cudnn", "9.1.0.70"), 1)},
                                     {"nvidia-cufft", "11.2.1.3", "cufft", "libcufft.so." + other},
                                     {"nvidia-curand", "10.3.5.147", "curand", "libcurand.so.10"},
                                     {"nvidia-cusolver", "11.6.1.9", "cusolver", "libcusolver.so." + other},
                                     {"nvidia-cusparse", "12.3.1.170", "cusparse", "libcusparse.so." + number},
                                     {"nvidia-nccl-" + major, "2.21.5", "nccl", "libnccl.so.2"},
                                     {"nvidia-nvjitlink", version + ".127", "nvjitlink", "libnvJitLink.so." + number}};
  for (const Wheel& wheel : wheels) {
    const std::string name = wheel.name.ends_with("-" + major) ? wheel.name : wheel.name + suffix;
    if (std::ranges::find(without, name) != without.end() || std::ranges::find(without, wheel.name) != without.end()) continue;
    const bool own_folder = cu12 || wheel.name.ends_with("-" + major);
    add_wheel(builder, prefix, name, wheel.version, {{"import", "nvidia"}, {"tag", "py3-none-manylinux2014_x86_64"}, {"files", "nvidia/" + (own_folder ? wheel.folder : major) + "/lib/" + wheel.soname}});
  }
  if (!options.contains("linked")) return;
  const std::string nvidia = site_packages_of(builder, prefix) + "/nvidia/";
  link_cuda(builder, version, [&](const std::string& family) { return nvidia + (cu12 ? family : major) + "/lib"; });
  const std::string cudnn = get(options, "cudnn", "9.1.0.70");
  if (cudnn.starts_with("9")) link_cudnn(builder, nvidia + "cudnn/lib", leading(cudnn, 3));
  builder.library(nvidia + "nccl/lib/libnccl.so.2", {{"soname", "libnccl.so.2"}, {"version", get(options, "nccl", "2.21.5")}, {"symbols", "ncclCommInitRank,ncclCommRegister"}});
}

void add_conda_package(MachineBuilder& builder, const std::string& prefix, const std::string& name, const std::string& version, const std::string& build, const Options& options) {
  const std::string channel = get(options, "channel", "conda-forge");
  builder.tree.add_file(prefix + "/conda-meta/" + name + "-" + version + "-" + build + ".json",
                        "{\n  \"arch\": \"x86_64\",\n  \"build\": \"" + build + "\",\n  \"build_number\": 0,\n  \"channel\": \"https://conda.anaconda.org/" + channel + "/linux-64\",\n  \"depends\": [],\n  \"files\": [],\n  \"name\": \"" + name +
                            "\",\n  \"platform\": \"linux\",\n  \"subdir\": \"linux-64\",\n  \"version\": \"" + version + "\"\n}\n");
}

}  // namespace gpuvet::test
