#include "collect/python_files.h"

#include <algorithm>
#include <array>

#include "collect/lines.h"
#include "model/release_version.h"

namespace gpuvet {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }

/// "Name: torch" → "torch" when the line is that header; names of headers ignore case.
std::optional<std::string_view> header_value(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (lower(line.substr(0, name.size())) != name) return std::nullopt;
  return trim(line.substr(name.size() + 1));
}

}  // namespace

std::map<std::string, std::string> read_venv_config(std::string_view text) {
  std::map<std::string, std::string> values;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    const std::size_t equal = line.find('=');
    if (equal != std::string_view::npos) values[lower(trim(line.substr(0, equal)))] = trim(line.substr(equal + 1));
    return number < 256;
  });
  return values;
}

DistributionMetadata read_metadata_headers(std::string_view text) {
  constexpr std::size_t most_requirements = 256;
  DistributionMetadata found;
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    if (line.empty()) return false;
    if (const auto name = header_value(line, "name"); name && found.name.empty()) found.name = *name;
    if (const auto version = header_value(line, "version"); version && found.version.empty()) found.version = *version;
    const auto requirement = header_value(line, "requires-dist");
    if (requirement && found.requirements.size() < most_requirements && package_matters(requirement_name(*requirement)))
      found.requirements.emplace_back(requirement->substr(0, max_quote));
    return true;
  });
  return found;
}

std::vector<std::string> read_wheel_tags(std::string_view text) {
  std::vector<std::string> tags;
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    if (const auto tag = header_value(line, "tag")) tags.emplace_back(tag->substr(0, max_quote));
    return tags.size() < 64;
  });
  return tags;
}

std::string requirement_name(std::string_view requirement) {
  std::size_t end = 0;
  while (end < requirement.size() && (is_word(requirement[end]) || requirement[end] == '-' || requirement[end] == '.')) ++end;
  return normalised_distribution_name(requirement.substr(0, end));
}

std::optional<DistributionFolder> parse_distribution_folder(std::string_view folder) {
  DistributionFolder found;
  if (folder.ends_with(".dist-info")) {
    folder.remove_suffix(10);
  } else if (folder.ends_with(".egg-info")) {
    folder.remove_suffix(9);
    found.egg = true;
  } else {
    return std::nullopt;
  }
  // pip renames a folder that it is about to remove so that it begins with "~": what is left of it is no distribution.
  if (folder.empty() || folder.front() == '~' || folder.front() == '.') return std::nullopt;
  const std::size_t dash = folder.find('-');
  found.name = folder.substr(0, dash);
  if (dash == std::string_view::npos) return found;
  std::string_view version = folder.substr(dash + 1);
  const std::size_t python = version.rfind("-py");
  if (found.egg && python != std::string_view::npos) version = version.substr(0, python);
  found.version = version;
  return found;
}

std::optional<CondaFile> parse_conda_file(std::string_view file) {
  if (!file.ends_with(".json")) return std::nullopt;
  file.remove_suffix(5);
  const std::size_t build = file.rfind('-');
  if (build == std::string_view::npos || build == 0) return std::nullopt;
  const std::size_t version = file.rfind('-', build - 1);
  if (version == std::string_view::npos || version == 0) return std::nullopt;
  return CondaFile{std::string(file.substr(0, version)), std::string(file.substr(version + 1, build - version - 1)),
                   std::string(file.substr(build + 1))};
}

// ---- packages that matter -----------------------------------------------------------------------------------------------

bool package_matters(std::string_view name) {
  using namespace std::string_view_literals;
  static constexpr std::array names{"accelerate"sv,  "apex"sv,         "auto-gptq"sv, "autoawq"sv,        "autoawq-kernels"sv,
                                    "blas"sv,        "bitsandbytes"sv, "chainer"sv,   "causal-conv1d"sv,  "ctranslate2"sv,
                                    "cudatoolkit"sv, "cuda"sv,         "cudnn"sv,     "cuml"sv,           "cutensor"sv,
                                    "deepspeed"sv,   "dgl"sv,          "exllamav2"sv, "faster-whisper"sv, "flashinfer"sv,
                                    "ggml"sv,        "jax"sv,          "jaxlib"sv,    "keras"sv,          "libtorch"sv,
                                    "lightgbm"sv,    "llama.cpp"sv,    "llvmlite"sv,  "magma"sv,          "mamba-ssm"sv,
                                    "nccl"sv,        "numba"sv,        "pyg-lib"sv,   "pynvml"sv,         "pycuda"sv,
                                    "pytorch"sv,     "sgl-kernel"sv,   "sglang"sv,    "tensorboard"sv,    "torch"sv,
                                    "triton"sv,      "vllm"sv,         "xformers"sv,  "xgboost"sv,        "warp-lang"sv,
                                    "python"sv,      "numpy"sv,        "catboost"sv,  "nvidia"sv,         "cusparselt"sv,
                                    "__cuda"sv,      "torchdata"sv,    "torchao"sv,   "torchtext"sv};
  static constexpr std::array prefixes{"cuda-"sv,        "cucim"sv,        "cudf"sv,
                                       "cugraph"sv,      "cuml-"sv,        "cupy"sv,
                                       "cuspatial"sv,    "cutensor-"sv,    "cudnn-"sv,
                                       "dgl-"sv,         "faiss"sv,        "flash-attn"sv,
                                       "flashinfer-"sv,  "flash-linear"sv, "intel-extension-for"sv,
                                       "jax-"sv,         "libcublas"sv,    "libcudart"sv,
                                       "libcudnn"sv,     "libcufft"sv,     "libcufile"sv,
                                       "libcurand"sv,    "libcusolver"sv,  "libcusparse"sv,
                                       "libnvjitlink"sv, "libnvjpeg"sv,    "libfaiss"sv,
                                       "libmagma"sv,     "libnpp"sv,       "libtorch-"sv,
                                       "llama-cpp"sv,    "mxnet"sv,        "numba-cuda"sv,
                                       "nvidia-"sv,      "onnxruntime"sv,  "opencv"sv,
                                       "paddlepaddle"sv, "pylibcugraph"sv, "pylibraft"sv,
                                       "pytorch-"sv,     "raft-"sv,        "rapids"sv,
                                       "rmm"sv,          "spconv"sv,       "tensorflow"sv,
                                       "tensorrt"sv,     "tf-"sv,          "torch-"sv,
                                       "torchaudio"sv,   "torchvision"sv,  "transformer-engine"sv,
                                       "triton-"sv,      "ort-nightly"sv,  "tb-nightly"sv,
                                       "jaxlib-"sv,      "libraft"sv,      "libcudf"sv,
                                       "xla-"sv,         "py-opencv"sv,    "libopencv"sv,
                                       "cudatoolkit-"sv};
  return std::ranges::find(names, name) != names.end() ||
         std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string cuda_of_tag(std::string_view tag) {
  std::size_t at = 0;
  for (;; at += 2) {
    at = tag.find("cu", at);
    if (at == std::string_view::npos) return {};
    std::size_t digits = at + (tag.substr(at).starts_with("cuda") ? 4 : 2);
    if (at > 0 && is_letter(tag[at - 1])) continue;
    std::size_t end = digits;
    while (end < tag.size() && (is_digit(tag[end]) || (tag[end] == '.' && end > digits))) ++end;
    std::string_view number = tag.substr(digits, end - digits);
    while (number.ends_with('.')) number.remove_suffix(1);
    if (number.empty()) continue;
    if (number.find('.') != std::string_view::npos) return std::string(number);
    // Without a dot: one digit of minor release after the major one, which has two digits from CUDA 10 on.
    const std::size_t major = number.front() == '1' ? 2 : 1;
    if (number.size() <= major) return std::string(number);
    if (number.size() == major + 1) return std::string(number.substr(0, major)) + "." + number.back();
  }
}

}  // namespace gpuvet
