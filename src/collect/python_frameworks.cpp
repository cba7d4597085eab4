// What frameworks say about their own build, read from the files that they ship and never by running them.
// Each reader fills a FrameworkBuild; a flavour that no file tells stays empty.

#include <algorithm>
#include <array>

#include "collect/lines.h"
#include "collect/python_parts.h"
#include "elf/dynamic.h"
#include "model/release_version.h"

namespace gpuvet {
namespace {

using Values = std::map<std::string, PythonValue>;

constexpr std::size_t longest_version_file = 65536;

/// One framework's folder in site-packages, and what its reader needs.
struct Package {
  System& system;
  const SiteFolder& site;
  std::string folder;  ///< "torch", or "jax_plugins/xla_cuda12"
  const PythonPackage* distribution = nullptr;

  std::string path(std::string_view name) const { return site.path + "/" + folder + "/" + std::string(name); }
  std::vector<DirectoryEntry> list(std::string_view sub) const {
    return entries_of(system, sub.empty() ? site.path + "/" + folder : path(sub), 4096);
  }
};

const PythonValue* find(const Values& values, std::string_view name) {
  const auto it = values.find(std::string(name));
  return it == values.end() ? nullptr : &it->second;
}

std::string text_of(const PythonValue* value) {
  return value && (value->kind == PythonValue::Kind::Text || value->kind == PythonValue::Kind::Number) ? value->text
                                                                                                       : std::string();
}

/// A release number, "12.4"; not 'False', 'None' or a sentence.
bool is_release(std::string_view text) { return !text.empty() && text.size() < 32 && text.front() >= '1' && text.front() <= '9'; }

Values read_values(const Package& package, std::string_view file) {
  const auto text = package.system.read_head(package.path(file), longest_version_file);
  return text ? read_python_values(*text) : Values{};
}

void set_flavour(FrameworkBuild& build, std::string_view flavour, Origin origin) {
  if (!build.flavour.empty()) return;
  build.flavour = flavour;
  build.origin = std::move(origin);
}

void set_cuda(FrameworkBuild& build, const std::string& release, const Origin& origin) {
  set_flavour(build, "cuda", origin);
  if (!build.cuda.is_known() && !release.empty()) build.cuda = Fact<std::string>::known(release, origin);
}

/// "2.5.1+cu124": what the local part of a version tells.
void apply_version(FrameworkBuild& build, const std::string& version, const Origin& origin) {
  const std::size_t plus = version.find('+');
  if (plus == std::string::npos) return;
  const std::string local = lower(version.substr(plus + 1));
  if (const std::string cuda = cuda_of_tag(local); !cuda.empty()) {
    set_cuda(build, cuda, origin);
  } else if (local == "cpu" || local.starts_with("cpu.") || local.ends_with(".cpu") || local.ends_with("cpu")) {
    set_flavour(build, "cpu", origin);
  } else if (local.starts_with("rocm")) {
    set_flavour(build, "rocm", origin);
    if (!build.hip.is_known() && is_release(local.substr(4))) build.hip = Fact<std::string>::known(local.substr(4), origin);
  } else if (local.starts_with("xpu")) {
    set_flavour(build, "xpu", origin);
  }
  if (local.find("cxx11abitrue") != std::string::npos) build.cxx11_abi = Fact<bool>::known(true, origin);
  if (local.find("cxx11abifalse") != std::string::npos) build.cxx11_abi = Fact<bool>::known(false, origin);
}

/// The version that a file assigns (one of these names), with what its local part tells.
void apply_version_file(const Package& package, FrameworkBuild& build, std::string_view file, const Values& values) {
  for (const char* name : {"__version__", "version", "_version", "_release_version", "full_version"}) {
    const PythonValue* value = find(values, name);
    const std::string text = text_of(value);
    if (text.empty()) continue;
    build.version = text;
    return apply_version(build, text, origin_of(package.path(file), std::string(name) + " = '" + text + "'", value->line));
  }
}

void read_version_file(const Package& package, FrameworkBuild& build, std::string_view file) {
  apply_version_file(package, build, file, read_values(package, file));
}

/// A library whose name tells the flavour, in a sub-folder of the package.
struct Sign {
  std::string_view begins;
  std::string_view flavour;
};

void apply_libraries(const Package& package, FrameworkBuild& build, std::string_view sub, std::initializer_list<Sign> signs) {
  std::vector<std::pair<std::string, std::string_view>> found;
  for (const DirectoryEntry& entry : package.list(sub)) {
    if (entry.name.find(".so") == std::string::npos) continue;
    for (const Sign& sign : signs) {
      if (!entry.name.starts_with(sign.begins)) continue;
      const std::string relative = package.folder + "/" + (sub.empty() ? "" : std::string(sub) + "/") + entry.name;
      if (build.libraries.size() < 32) build.libraries.push_back(relative);
      found.emplace_back(relative, sign.flavour);
      break;
    }
  }
  // A GPU's library decides before one that every build has.
  for (const bool cpu : {false, true}) {
    for (const auto& [library, flavour] : found) {
      if (!flavour.empty() && (flavour == "cpu") == cpu)
        set_flavour(build, flavour, origin_of(package.site.path + "/" + library));
    }
  }
}

/// Libraries that auditwheel packed into NAME.libs: a CUDA runtime among them makes it a CUDA build.
void apply_packed_libraries(const Package& package, FrameworkBuild& build, const std::string& name) {
  if (!package.site.has(name + ".libs")) return;
  for (const DirectoryEntry& entry : entries_of(package.system, package.site.path + "/" + name + ".libs", 4096)) {
    if (!entry.name.starts_with("libcudart") && !entry.name.starts_with("libcudnn") && !entry.name.starts_with("libcublas") &&
        !entry.name.starts_with("libnvjpeg"))
      continue;
    const std::string relative = name + ".libs/" + entry.name;
    build.libraries.push_back(relative);
    set_flavour(build, "cuda", origin_of(package.site.path + "/" + relative));
  }
}

// ---- torch --------------------------------------------------------------------------------------------------------------

/// The C++ ABI of libc10: the symbol of an error function that takes a std::string, in the new mangling or the old one.
Fact<bool> read_cxx11_abi(const Package& package) {
  constexpr const char* with_new = "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
  constexpr const char* with_old = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs";
  const std::string path = package.path("lib/libc10.so");
  const auto file = package.system.open(path);
  if (!file) return Fact<bool>::not_seen(file.error().message, origin_of(path));
  const auto header = read_elf_header(**file);
  if (!header) return Fact<bool>::not_seen(header.error(), origin_of(path));
  const ElfFile elf{**file, *header, read_segments(**file, *header)};
  const auto dynamic = read_dynamic_section(elf);
  if (dynamic && find_symbol(elf, *dynamic, with_new)) return Fact<bool>::known(true, origin_of(path));
  if (dynamic && find_symbol(elf, *dynamic, with_old)) return Fact<bool>::known(false, origin_of(path));
  return Fact<bool>::not_seen("no symbol that tells the C++ ABI", origin_of(path));
}

/// A version file's `cuda`, `hip`, `xpu`: a text names the release, None says that there is none.
void apply_release(const Package& package, std::string_view file, const Values& values, const char* name,
                   std::string_view flavour, FrameworkBuild& build, Fact<std::string>* fact) {
  const PythonValue* value = find(values, name);
  if (!value) return;
  const std::string text = text_of(value);
  const Origin origin =
      origin_of(package.path(file), std::string(name) + " = " + (text.empty() ? "None" : "'" + text + "'"), value->line);
  if (is_release(text)) {
    set_flavour(build, flavour, origin);
    if (fact) *fact = Fact<std::string>::known(text, origin);
  } else if (fact && !fact->is_known()) {
    *fact = Fact<std::string>::absent(origin);
  }
}

void read_torch(const Package& package, FrameworkBuild& build) {
  const Values values = read_values(package, "version.py");
  apply_release(package, "version.py", values, "cuda", "cuda", build, &build.cuda);
  apply_release(package, "version.py", values, "hip", "rocm", build, &build.hip);
  apply_release(package, "version.py", values, "xpu", "xpu", build, nullptr);
  apply_version_file(package, build, "version.py", values);
  apply_libraries(package, build, "lib",
                  {{"libtorch_cuda.so", "cuda"},
                   {"libc10_cuda.so", "cuda"},
                   {"libtorch_hip.so", "rocm"},
                   {"libc10_hip.so", "rocm"},
                   {"libtorch_xpu.so", "xpu"}});
  if (build.flavour.empty() && build.cuda.is_absent()) set_flavour(build, "cpu", build.cuda.origin());
  if (!build.flavour.empty()) build.cxx11_abi = read_cxx11_abi(package);
}

void read_torch_companion(const Package& package, FrameworkBuild& build) {
  const Values values = read_values(package, "version.py");
  apply_version_file(package, build, "version.py", values);
  apply_release(package, "version.py", values, "cuda", "cuda", build, &build.cuda);
  apply_packed_libraries(package, build, package.folder);
}

// ---- tensorflow, jax ------------------------------------------------------------------------------------------------------

void read_tensorflow(const Package& package, FrameworkBuild& build) {
  const std::string_view file = "python/platform/build_info.py";
  const Values values = read_values(package, file);
  const auto origin = [&](const char* name, const PythonValue& value) {
    return origin_of(package.path(file), std::string("'") + name + "': " + (value.text.empty() ? "None" : value.text),
                     value.line);
  };
  const auto is_true = [&](const char* name) {
    return text_of(find(values, name)) == "True" || (find(values, name) && find(values, name)->text == "True");
  };
  const PythonValue* cuda_build = find(values, "is_cuda_build");
  if (is_true("is_rocm_build")) set_flavour(build, "rocm", origin("is_rocm_build", *find(values, "is_rocm_build")));
  if (cuda_build) set_flavour(build, is_true("is_cuda_build") ? "cuda" : "cpu", origin("is_cuda_build", *cuda_build));
  if (cuda_build && !is_true("is_cuda_build")) build.cuda = Fact<std::string>::absent(build.origin);
  for (const char* name : {"cuda_version", "cuda_version_number"}) {
    const PythonValue* value = find(values, name);
    if (build.flavour == "cuda" && is_release(text_of(value)))
      build.cuda = Fact<std::string>::known(value->text, origin(name, *value));
  }
  for (const char* name : {"cudnn_version", "cudnn_version_number"}) {
    const PythonValue* value = find(values, name);
    if (build.flavour == "cuda" && is_release(text_of(value)))
      build.cudnn = Fact<std::string>::known(value->text, origin(name, *value));
  }
  if (const PythonValue* list = find(values, "cuda_compute_capabilities"); list && build.flavour == "cuda")
    build.compute_capabilities = list->list;
}

/// "0.4.7+cuda12.cudnn88": jaxlib of the time before plug-ins. Since then the GPU's part is a plug-in package of its own.
void read_jaxlib(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "version.py");
  const std::string whole = build.version + (package.distribution ? " " + package.distribution->version : "");
  if (const std::size_t cudnn = whole.find("cudnn"); cudnn != std::string::npos) {
    const std::string digits = whole.substr(cudnn + 5, whole.find_first_not_of("0123456789", cudnn + 5) - cudnn - 5);
    if (!digits.empty())
      build.cudnn =
          Fact<std::string>::known(digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : ""), build.origin);
  }
  apply_libraries(package, build, "cuda", {{"_solver.so", "cuda"}, {"_blas.so", "cuda"}, {"_sparse.so", "cuda"}});
  const bool plugin = std::ranges::any_of(package.site.entries, [](const DirectoryEntry& entry) {
    return entry.name == "jax_plugins" || (entry.name.starts_with("jax_") && entry.name.ends_with("_plugin"));
  });
  if (build.flavour.empty() && !plugin && !build.version.empty())
    set_flavour(build, "cpu", origin_of(package.path("version.py")));
}

void read_jax_plugin(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "version.py");
  const std::string tag =
      package.folder.find("rocm") != std::string::npos ? "rocm" : cuda_of_tag(package.folder.substr(package.folder.find("cuda")));
  const Origin origin = origin_of(package.site.path + "/" + package.folder);
  if (tag == "rocm")
    set_flavour(build, "rocm", origin);
  else
    set_cuda(build, tag, origin);
}

// ---- others ---------------------------------------------------------------------------------------------------------------

void read_onnxruntime(const Package& package, FrameworkBuild& build) {
  const std::string_view file = "capi/build_and_package_info.py";
  const Values values = read_values(package, file);
  apply_version_file(package, build, file, values);
  apply_libraries(package, build, "capi",
                  {{"libonnxruntime_providers_cuda.so", "cuda"},
                   {"libonnxruntime_providers_rocm.so", "rocm"},
                   {"libonnxruntime_providers_migraphx.so", "rocm"},
                   {"onnxruntime_pybind11_state", ""}});
  if (build.flavour.empty() && !build.libraries.empty()) set_flavour(build, "cpu", origin_of(package.path("capi")));
  std::erase_if(build.libraries, [](const std::string& library) { return library.find("pybind11_state") != std::string::npos; });
  const PythonValue* cuda = find(values, "cuda_version");
  if (build.flavour == "cuda" && is_release(text_of(cuda)))
    build.cuda = Fact<std::string>::known(cuda->text, origin_of(package.path(file), "cuda_version = " + cuda->text, cuda->line));
}

void read_cupy(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "_version.py");
  const std::string file = package.path(".data/_wheel.json");
  const auto text = package.system.read_head(file, longest_version_file);
  if (text) {
    const std::string cuda = json_scalar(*text, "cuda").value_or("");
    // "12.x": any release of the major one.
    if (is_release(cuda)) set_cuda(build, cuda.substr(0, cuda.find(".x")), origin_of(file, "\"cuda\": \"" + cuda + "\""));
    if (const auto cudnn = json_scalar(*text, "cudnn/version"); cudnn && is_release(*cudnn))
      build.cudnn = Fact<std::string>::known(*cudnn, origin_of(file));
  }
}

/// One library for each CUDA release that it serves.
void read_bitsandbytes(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "_version.py");
  if (build.version.empty()) read_version_file(package, build, "__init__.py");
  apply_libraries(package, build, "",
                  {{"libbitsandbytes_cuda", "cuda"},
                   {"libbitsandbytes_rocm", "rocm"},
                   {"libbitsandbytes_hip", "rocm"},
                   {"libbitsandbytes_cpu", "cpu"}});
  if (std::ranges::any_of(build.libraries, [](const std::string& name) { return name.find("_cuda") != std::string::npos; }))
    build.flavour = "cuda";
}

void read_xformers(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "version.py");
  const std::string file = package.path("cpp_lib.json");
  const auto text = package.system.read_head(file, longest_version_file);
  if (!text) return;
  // An integer, 1204 for 12.4, as torch's headers count.
  const auto number = decimal(json_scalar(*text, "version/cuda").value_or(""));
  const std::string hip = json_scalar(*text, "version/hip").value_or("null");
  if (number && *number >= 900 && *number < 10000) {
    set_cuda(build, std::to_string(*number / 100) + "." + std::to_string(*number % 100),
             origin_of(file, "\"cuda\": " + std::to_string(*number)));
  } else if (hip != "null") {
    set_flavour(build, "rocm", origin_of(file, "\"hip\": " + hip));
  } else {
    set_flavour(build, "cpu", origin_of(file, "\"cuda\": null"));
  }
}

void read_vllm(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "_version.py");
  apply_libraries(package, build, "",
                  {{"_rocm_C", "rocm"}, {"_flashmla_C", "cuda"}, {"cumem_allocator", ""}, {"_C.", ""}, {"_moe_C", ""}});
  if (package.site.has("vllm") && build.flavour.empty())
    apply_libraries(package, build, "vllm_flash_attn",
                    {{"_vllm_fa2_C", "cuda"}, {"_vllm_fa3_C", "cuda"}, {"vllm_flash_attn_c", "cuda"}});
}

void read_paddle(const Package& package, FrameworkBuild& build) {
  const std::string_view file = "version/__init__.py";
  const Values values = read_values(package, file);
  apply_version_file(package, build, file, values);
  apply_release(package, file, values, "cuda_version", "cuda", build, &build.cuda);
  apply_release(package, file, values, "hip_version", "rocm", build, &build.hip);
  if (build.flavour == "cuda") apply_release(package, file, values, "cudnn_version", "cuda", build, &build.cudnn);
  if (build.flavour.empty() && build.cuda.is_absent()) set_flavour(build, "cpu", build.cuda.origin());
}

/// Wheels of OpenCV's own names on an index are built without CUDA; one built at home has a plain linux tag.
void read_opencv(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "version.py");
  if (!package.distribution) return;
  std::string underscored = package.distribution->name;
  std::ranges::replace(underscored, '-', '_');
  apply_packed_libraries(package, build, underscored);
  const auto& tags = package.distribution->tags;
  if (package.distribution->name.starts_with("opencv-") &&
      std::ranges::any_of(tags, [](const std::string& tag) { return tag.find("manylinux") != std::string::npos; }))
    set_flavour(build, "cpu", origin_of(package.distribution->folder + "/WHEEL", "Tag: " + tags.front()));
}

void read_llama_cpp(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "__init__.py");
  apply_libraries(package, build, "lib", {{"libggml-cuda.so", "cuda"}, {"libggml-hip.so", "rocm"}, {"libggml-cpu", "cpu"}});
}

void read_ctranslate2(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "version.py");
  apply_packed_libraries(package, build, "ctranslate2");
}

/// The torch that DeepSpeed's operators were built with is in torch_info.
void read_deepspeed(const Package& package, FrameworkBuild& build) {
  const std::string_view file = "git_version_info_installed.py";
  const Values values = read_values(package, file);
  apply_version_file(package, build, file, values);
  const PythonValue* cuda = find(values, "cuda_version");
  if (is_release(text_of(cuda)))
    set_cuda(build, cuda->text, origin_of(package.path(file), "cuda_version " + cuda->text, cuda->line));
}

/// Extension modules beside or inside the package whose names say CUDA.
void read_extension(const Package& package, FrameworkBuild& build) {
  read_version_file(package, build, "__init__.py");
  if (package.distribution) apply_version(build, package.distribution->version, origin_of(package.distribution->folder));
  for (const DirectoryEntry& entry : package.site.entries) {
    if (entry.name.find(".so") == std::string::npos || entry.name.find("cuda") == std::string::npos) continue;
    if (!entry.name.starts_with(package.folder) && !(package.folder == "flash_attn" && entry.name.starts_with("flash_attn")))
      continue;
    build.libraries.push_back(entry.name);
    set_flavour(build, "cuda", origin_of(package.site.path + "/" + entry.name));
  }
  for (const DirectoryEntry& entry : package.list("")) {
    if (entry.name.find(".so") == std::string::npos || entry.name.find("_cuda") == std::string::npos) continue;
    build.libraries.push_back(package.folder + "/" + entry.name);
    set_flavour(build, "cuda", origin_of(package.path(entry.name)));
  }
}

/// Nothing but the distribution's own version and name to go by.
void read_by_name(const Package&, FrameworkBuild&) {}

struct Reader {
  std::string_view folder;         ///< import package
  std::string_view name;           ///< the framework's name in findings
  std::string_view distributions;  ///< names of its distributions begin so
  void (*read)(const Package&, FrameworkBuild&);
};

constexpr std::array readers{Reader{"apex", "apex", "apex", read_extension},
                             Reader{"bitsandbytes", "bitsandbytes", "bitsandbytes", read_bitsandbytes},
                             Reader{"causal_conv1d", "causal-conv1d", "causal-conv1d", read_extension},
                             Reader{"ctranslate2", "ctranslate2", "ctranslate2", read_ctranslate2},
                             Reader{"cudf", "cudf", "cudf", read_by_name},
                             Reader{"cuml", "cuml", "cuml", read_by_name},
                             Reader{"cupy", "cupy", "cupy", read_cupy},
                             Reader{"cv2", "opencv-python", "opencv", read_opencv},
                             Reader{"deepspeed", "deepspeed", "deepspeed", read_deepspeed},
                             Reader{"dgl", "dgl", "dgl", read_by_name},
                             Reader{"exllamav2", "exllamav2", "exllamav2", read_extension},
                             Reader{"faiss", "faiss", "faiss", read_by_name},
                             Reader{"flash_attn", "flash-attn", "flash-attn", read_extension},
                             Reader{"jaxlib", "jaxlib", "jaxlib", read_jaxlib},
                             Reader{"llama_cpp", "llama-cpp-python", "llama-cpp", read_llama_cpp},
                             Reader{"mamba_ssm", "mamba-ssm", "mamba-ssm", read_extension},
                             Reader{"mxnet", "mxnet", "mxnet", read_by_name},
                             Reader{"onnxruntime", "onnxruntime", "onnxruntime", read_onnxruntime},
                             Reader{"paddle", "paddlepaddle", "paddlepaddle", read_paddle},
                             Reader{"rmm", "rmm", "rmm", read_by_name},
                             Reader{"spconv", "spconv", "spconv", read_by_name},
                             Reader{"tensorflow", "tensorflow", "tensorflow", read_tensorflow},
                             Reader{"tensorrt", "tensorrt", "tensorrt", read_by_name},
                             Reader{"torch", "torch", "torch", read_torch},
                             Reader{"torch_scatter", "torch-scatter", "torch-scatter", read_extension},
                             Reader{"torch_sparse", "torch-sparse", "torch-sparse", read_extension},
                             Reader{"torchaudio", "torchaudio", "torchaudio", read_torch_companion},
                             Reader{"torchvision", "torchvision", "torchvision", read_torch_companion},
                             Reader{"transformer_engine", "transformer-engine", "transformer-engine", read_by_name},
                             Reader{"triton", "triton", "triton", read_by_name},
                             Reader{"vllm", "vllm", "vllm", read_vllm},
                             Reader{"xformers", "xformers", "xformers", read_xformers}};

/// What stands behind a framework's name when the distribution is a variant of it: "cpu", "gpu", "cuda12x", "python-headless"; an
/// "io", a "hub" or a "scatter" is another package.
bool is_variant(std::string_view rest) {
  static constexpr std::array variants{"cpu",     "gpu",      "cu1",      "cuda1",  "rocm",    "intel",    "macos", "aarch64",
                                       "nightly", "training", "openvino", "python", "contrib", "directml", "mkl",   "qnn"};
  return rest.empty() || std::ranges::any_of(variants, [&](std::string_view variant) { return rest.starts_with(variant); });
}

/// The distribution of an import package. Of several (onnxruntime beside onnxruntime-gpu) the plain one: which one's files are
/// there only the files can tell.
const PythonPackage* distribution_of(const SiteFolder& site, const Reader& reader) {
  const PythonPackage* found = nullptr;
  for (const PythonPackage& package : site.packages) {
    if (package.name == reader.name) return &package;
    if (found || reader.name == "torch" || !package.name.starts_with(reader.distributions)) continue;
    const std::string_view rest = std::string_view(package.name).substr(reader.distributions.size());
    if (rest.empty() || (rest.front() == '-' && is_variant(rest.substr(1)))) found = &package;
  }
  return found;
}

/// "cupy-cuda12x", "faiss-gpu-cu12", "mxnet-cu112", "faiss-cpu": names that tell the build.
void apply_distribution_name(const PythonPackage& package, FrameworkBuild& build) {
  const Origin origin = origin_of(package.folder);
  apply_version(build, package.version, origin);
  const std::size_t dash = package.name.rfind('-');
  if (dash == std::string::npos) return;
  const std::string suffix = package.name.substr(dash + 1);
  if (const std::string cuda = cuda_of_tag(suffix); !cuda.empty()) set_cuda(build, cuda, origin);
  if (suffix == "cpu") set_flavour(build, "cpu", origin);
  if (suffix == "gpu") set_flavour(build, "cuda", origin);
  if (package.name.find("-rocm") != std::string::npos) set_flavour(build, "rocm", origin);
}

std::optional<FrameworkBuild> read_build(System& system, const SiteFolder& site, const Reader& reader) {
  Package package{system, site, std::string(reader.folder), distribution_of(site, reader)};
  FrameworkBuild build;
  build.name = reader.name;
  build.folder = site.path + "/" + package.folder;
  reader.read(package, build);
  if (package.distribution) {
    apply_distribution_name(*package.distribution, build);
    if (build.version.empty()) build.version = package.distribution->version;
  }
  // A folder that pip left behind with nothing in it is no framework.
  if (build.version.empty() && build.flavour.empty() && build.libraries.empty()) return std::nullopt;
  return build;
}

void add_jax_plugins(System& system, const SiteFolder& site, std::vector<FrameworkBuild>& builds) {
  std::vector<std::string> folders;
  for (const DirectoryEntry& entry : site.entries) {
    if (entry.name.starts_with("jax_") && entry.name.ends_with("_plugin")) folders.push_back(entry.name);
  }
  if (site.has("jax_plugins")) {
    for (const DirectoryEntry& entry : entries_of(system, site.path + "/jax_plugins", 64)) {
      if (entry.name.starts_with("xla_cuda") || entry.name.starts_with("xla_rocm"))
        folders.push_back("jax_plugins/" + entry.name);
    }
  }
  for (const std::string& folder : folders) {
    const bool pjrt = folder.find('/') != std::string::npos;
    if (folder.find("cuda") == std::string::npos && folder.find("rocm") == std::string::npos) continue;
    FrameworkBuild build;
    build.name = normalised_distribution_name(pjrt ? "jax-" + folder.substr(16) + "-pjrt" : folder);
    build.folder = site.path + "/" + folder;
    read_jax_plugin({system, site, folder}, build);
    for (const PythonPackage& package : site.packages) {
      if (package.name == build.name && build.version.empty()) build.version = package.version;
    }
    if (pjrt && system.exists(build.folder + "/xla_cuda_plugin.so")) build.libraries.push_back(folder + "/xla_cuda_plugin.so");
    builds.push_back(std::move(build));
  }
}

}  // namespace

std::vector<FrameworkBuild> read_framework_builds(System& system, const SiteFolder& site) {
  std::vector<FrameworkBuild> builds;
  for (const Reader& reader : readers) {
    if (!site.has(reader.folder)) continue;
    if (auto build = read_build(system, site, reader)) builds.push_back(std::move(*build));
  }
  add_jax_plugins(system, site, builds);
  return builds;
}

void complete_by_conda(const std::vector<PythonPackage>& packages, std::vector<FrameworkBuild>& frameworks) {
  for (FrameworkBuild& build : frameworks) {
    for (const PythonPackage& package : packages) {
      if (package.manager != "conda") continue;
      const bool same = package.name == build.name ||
                        (build.name == "torch" &&
                         (package.name == "pytorch" || package.name == "pytorch-gpu" || package.name == "pytorch-cpu")) ||
                        (build.name == "tensorflow" && package.name == "tensorflow-base") ||
                        (build.name == "opencv-python" && (package.name == "py-opencv" || package.name == "opencv"));
      if (!same) continue;
      const Origin origin = origin_of(package.folder, package.build);
      if (build.version.empty()) build.version = package.version;
      if (const std::string cuda = cuda_of_tag(package.build); !cuda.empty()) {
        if (build.flavour.empty() || build.flavour == "cuda") set_cuda(build, cuda, origin);
      } else if (package.build.starts_with("cpu") || package.build.find("_cpu") != std::string::npos) {
        set_flavour(build, "cpu", origin);
      }
      const std::size_t cudnn = package.build.find("cudnn");
      if (cudnn != std::string::npos && build.flavour == "cuda" && !build.cudnn.is_known()) {
        const std::string release = package.build.substr(cudnn + 5, package.build.find('_', cudnn) - cudnn - 5);
        if (is_release(release)) build.cudnn = Fact<std::string>::known(release, origin);
      }
    }
  }
}

}  // namespace gpuvet
