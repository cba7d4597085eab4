// Python in a text: package lists of pip, conda and uv, environment reports of frameworks, what a Python prompt answered.

#include <algorithm>
#include <array>
#include <string>

#include "text/printable.h"
#include "text/re2_text.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

struct Patterns {
  RE2 column{
      R"re(^\s*(?:\[(pip3?|conda)\]\s+)?([A-Za-z0-9][A-Za-z0-9_.-]*)(?:\s+|==|=)(\d[A-Za-z0-9_.+!-]*)(?:(?:\s+|=)(\S+))?(?:\s+(\S+))?\s*$)re"};
  RE2 satisfied{R"re(Requirement already satisfied: ([A-Za-z0-9_.-]+)\S* in (\S.*?) (?:\(from .*\) )?\(([0-9][^)]*)\))re"};
  RE2 wheel{R"re(\b([A-Za-z0-9_]+)-(\d[A-Za-z0-9_.+]*)-(?:\d\S*-)?((?:cp|py|pp)\d[^-\s]*-[^-\s]+-[A-Za-z0-9_.]+)\.whl)re"};
  RE2 installed{R"re(([A-Za-z][A-Za-z0-9_.-]*?)-(\d[A-Za-z0-9_.+]*)(?:\s|$))re"};
  RE2 frame{R"re(File "[^"]*[/\\](?:site|dist)-packages[/\\]([^"]+)", line \d+)re"};
  RE2 exception{R"re(\b\w*(?:Error|Exception): )re"};
  RE2 site{R"re(((?:[A-Za-z]:)?[^\s"':,(]*?)[/\\]lib(?:64)?[/\\]python(\d\.\d+)[/\\](?:site|dist)-packages)re"};
  RE2 windows_site{R"re(([A-Za-z]:[^\s"'*?]*?)[/\\][Ll]ib[/\\]site-packages)re"};
  RE2 python_report{R"re(^\s*-?\s*(?:Python|python)(?: [Vv]ersion)?\s*[:=]\s*v?(\d+\.\d+(?:\.\d+)?))re"};
  RE2 python_banner{R"re(^Python (\d+\.\d+\.\d+)\b)re"};
  // "PyTorch version: 2.1.0+cu118", "- PyTorch version (GPU?): 2.1.0+cu121 (False)", "pytorch.version: …", "torch: 2.1"
  RE2 torch_report{
      R"re((?i)^\s*[-*]?\s*(?:py)?torch(?:[ ._]version)?(?: \(GPU\?\))?\s*[:=]+\s*["']?(\d+\.\d[A-Za-z0-9_.+]*)(?:\s*\((True|False|NA)\))?)re"};
  RE2 other_report{
      R"re((?i)^\s*[-*]?\s*(tensorflow|jax|jaxlib|vllm|flax|cupy|numba|onnxruntime|transformers|xformers|bitsandbytes|deepspeed|paddlepaddle|accelerate|triton)(?:[ ._]?version)?(?: \(GPU\?\)| \([^)]*\))?\s*[:=]+\s*["']?v?(\d+\.\d[A-Za-z0-9_.+]*))re"};
  RE2 built_with{R"re((?i)^\s*CUDA used to build (?:PyTorch|torch):\s*(\S+))re"};
  RE2 hip_with{R"re((?i)^\s*ROCM used to build PyTorch:\s*(\d\S*))re"};
  RE2 available{R"re((?i)^\s*(?:[-*]\s*)?(?:Is )?(?:CUDA|GPU)(?: is)? available\s*[:=]?\s*(Yes|No|True|False)\b)re"};
  RE2 gpu{R"re(^\s*(?:GPU models and configuration:\s*)?GPU (\d+): (\S.*?)(?: \(UUID.*)?\s*$)re"};
  RE2 gpu_of_torch{R"re(^\s*(?:Found GPU\d+ )?(\S.*?) (?:with CUDA capability sm_\d+|which is of cuda capability \d))re"};
  RE2 driver{R"re((?i)^\s*Nvidia driver version:\s*(\d[0-9.]+))re"};
  RE2 pip_show{R"re(\bpip3?(?:\.exe)? show\b((?:\s+[A-Za-z0-9_.-]+)+)(?:[\s|;]|$))re"};
  RE2 field{R"re(^\s*(Name|Version): (\S+)\s*$)re"};
  RE2 expression{
      R"re(torch\.__version__|torch\.version\.cuda|torch\.version\.hip|torch\.cuda\.is_available\(\)|torch\.cuda\.get_device_name\([^)]*\)|torch\.cuda\.get_device_capability\([^)]*\)|torch\.cuda\.device_count\(\)|torch\._C\._GLIBCXX_USE_CXX11_ABI|(?:tf|tensorflow)\.__version__|tf\.test\.is_built_with_cuda\(\)|(?:tf|tensorflow)\.config\.(?:experimental\.)?list_physical_devices\(['"]GPU['"]\)|jaxlib\.__version__|jax\.__version__|cupy\.__version__|onnxruntime\.__version__|ort\.__version__|vllm\.__version__)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

constexpr int most_gpus = 64;  // of one machine

std::string normalised(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '_' || c == '.' || c == '-') {
      if (!out.ends_with('-')) out += '-';
    } else {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

/// Packages that say something of GPUs: frameworks, their extensions and plug-ins, CUDA's own.
bool matters(std::string_view name) {
  constexpr std::array<std::string_view, 30> starts{
      "torch",        "pytorch",  "tensorflow",  "tf-nightly",   "jax",       "nvidia-",          "cupy",
      "onnxruntime",  "xformers", "flash-attn",  "bitsandbytes", "vllm",      "triton",           "deepspeed",
      "paddlepaddle", "opencv",   "mxnet",       "cudf",         "cuml",      "rmm-cu",           "faiss",
      "tensorrt",     "cuda-",    "cudatoolkit", "cudnn",        "auto-gptq", "llama-cpp-python", "libtorch",
      "sglang",       "numba"};
  constexpr std::array<std::string_view, 8> exact{"apex",        "nccl",         "libcublas",   "libcufft",
                                                  "libcusparse", "libnvjitlink", "ctranslate2", "transformer-engine"};
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); }) ||
         std::ranges::find(exact, name) != exact.end();
}

class Reader {
 public:
  Reader(const PastedText& text, const Knowledge& knowledge, Machine& machine)
      : text_(text), knowledge_(knowledge), machine_(machine) {}

  void read() {
    for (std::size_t i = 0; i < text_.lines.size(); ++i) line(i);
    for (const PasteSegment& segment : text_.segments) answer(segment);
    for (std::size_t i = 0; i < text_.lines.size(); ++i) shown_field(i);
  }

 private:
  void add_package(std::size_t at, std::string_view name, std::string_view version, std::string_view manager,
                   std::string_view build = {}, std::string_view channel = {}) {
    const std::string wanted = normalised(name);
    if (!matters(wanted) || version.empty()) return;
    auto& environment = text_environment(machine_);
    for (const PythonPackage& known : environment.packages)
      if (known.name == wanted && known.manager == manager) return;
    PythonPackage package;
    package.name = wanted;
    package.version = version;
    package.manager = manager;
    package.build = build;
    package.channel = channel;
    package.origin = origin_of(text_, at);
    environment.packages.push_back(std::move(package));
    if (in_windows(text_, at) && environment.machine.empty()) environment.machine = "x86_64";
  }

  /// The one package that the `pip show` around a line was asked for; empty: none, or several.
  std::string shown_package(std::size_t at) const {
    const PasteSegment* segment = segment_of(text_, at);
    StringPiece names;
    if (segment == nullptr || !RE2::PartialMatch(piece(segment->command), patterns().pip_show, &names)) return {};
    std::string only;
    static const RE2 word(R"re(([A-Za-z0-9_.-]+))re");
    for (StringPiece name; RE2::FindAndConsume(&names, word, &name);) {
      if (name.starts_with("-")) continue;
      if (!only.empty()) return {};
      only = view(name);
    }
    return only;
  }

  /// `pip show`: "Name: torch" with "Version: 2.9.1" below it; or the latter alone, of the package that was asked for.
  void shown_field(std::size_t i) {
    StringPiece key, value;
    const std::string& s = text_.lines[i].text;
    if (s.find(": ") == std::string::npos || !RE2::PartialMatch(piece(s), patterns().field, &key, &value)) {
      shown_name_.clear();
      return;
    }
    if (key == "Name") {
      shown_name_ = view(value);
      return;
    }
    const std::string name = shown_name_.empty() ? shown_package(i) : shown_name_;
    shown_name_.clear();
    if (name.empty() || value[0] < '0' || value[0] > '9') return;
    if (normalised(name) == "torch")
      set_torch_version(view(value), i);
    else
      add_package(i, name, view(value), "pip");
  }

  FrameworkBuild& build_of(std::string_view name, std::size_t at) {
    auto& environment = text_environment(machine_);
    for (FrameworkBuild& build : environment.frameworks)
      if (build.name == name) return build;
    FrameworkBuild build;
    build.name = name;
    build.origin = origin_of(text_, at);
    environment.frameworks.push_back(std::move(build));
    return environment.frameworks.back();
  }

  void set_torch_cuda(std::string_view value, std::size_t at) {
    FrameworkBuild& build = build_of("torch", at);
    if (build.flavour.empty() && value != "None" && value.find_first_of("0123456789") == 0) {
      build.flavour = "cuda";
      build.cuda = Fact<std::string>::known(std::string(value), origin_of(text_, at));
      build.origin = origin_of(text_, at);
    } else if (build.flavour.empty() && value == "None") {
      build.flavour = "cpu";
      build.cuda = Fact<std::string>::absent(origin_of(text_, at));
      build.origin = origin_of(text_, at);
    }
  }

  void set_torch_version(std::string_view version, std::size_t at) {
    add_package(at, "torch", version, "pip");
    FrameworkBuild& build = build_of("torch", at);
    if (build.version.empty()) build.version = version;
    if (build.flavour.empty()) {
      if (version.find("+cpu") != std::string_view::npos) build.flavour = "cpu", build.origin = origin_of(text_, at);
      if (version.find("+rocm") != std::string_view::npos) build.flavour = "rocm", build.origin = origin_of(text_, at);
    }
  }

  void set_available(bool available, std::size_t at) {
    add_observation(machine_, text_, at, available ? "gpu-available" : "gpu-not-available");
  }

  void line(std::size_t i) {
    const Patterns& p = patterns();
    const std::string& s = text_.lines[i].text;
    StringPiece a, b, c, d, e;
    if (RE2::PartialMatch(piece(s), p.column, &a, &b, &c, &d, &e)) {
      const bool conda = view(a) == "conda" || (!d.empty() && s.find("==") == std::string::npos);
      add_package(i, view(b), view(c), conda ? "conda" : "pip", conda ? view(d) : "", conda ? view(e) : "");
    }
    if (s.find("already satisfied") != std::string::npos && RE2::PartialMatch(piece(s), p.satisfied, &a, &b, &c)) {
      add_package(i, view(a), view(c), "pip");
      if (normalised(view(a)) == "torch") set_torch_version(view(c), i);
    }
    if (s.find(".whl") != std::string::npos && RE2::PartialMatch(piece(s), p.wheel, &a, &b, &c)) {
      add_observation(machine_, text_, i, "wheel",
                      {{"name", normalised(view(a))}, {"version", std::string(view(b))}, {"tags", std::string(view(c))}});
    }
    if (const auto list = value_behind(s, "Successfully installed ")) {
      StringPiece rest = piece(*list);
      while (RE2::FindAndConsume(&rest, p.installed, &a, &b)) {
        add_package(i, view(a), view(b), "pip");
      }
    }
    int index = 0;
    if (RE2::PartialMatch(piece(s), p.torch_report, &a, &b)) {
      set_torch_version(view(a), i);
      if (view(b) == "False") set_available(false, i);
    }
    if (RE2::PartialMatch(piece(s), p.other_report, &a, &b)) add_package(i, view(a), view(b), "pip");
    if (RE2::PartialMatch(piece(s), p.built_with, &a)) set_torch_cuda(view(a), i);
    if (RE2::PartialMatch(piece(s), p.hip_with, &a)) {
      FrameworkBuild& build = build_of("torch", i);
      build.flavour = "rocm";
      build.hip = Fact<std::string>::known(std::string(view(a)), origin_of(text_, i));
      build.origin = origin_of(text_, i);
    }
    if (RE2::PartialMatch(piece(s), p.available, &a))
      set_available(view(a) == "Yes" || view(a) == "True" || view(a) == "true", i);
    if (s.find("UUID") == std::string::npos && RE2::PartialMatch(piece(s), p.gpu, &index, &b) && index < most_gpus)
      add_gpu(machine_, knowledge_, text_, i, view(b), "", index);
    if (s.find("capability") != std::string::npos && RE2::PartialMatch(piece(s), p.gpu_of_torch, &a))
      add_gpu(machine_, knowledge_, text_, i, view(a), "", -1);
    if (RE2::PartialMatch(piece(s), p.driver, &a)) set_fact(machine_.kernel_driver.version, std::string(view(a)), text_, i);
    if (RE2::PartialMatch(piece(s), p.python_report, &a) || RE2::PartialMatch(piece(s), p.python_banner, &a))
      set_fact(text_environment(machine_).python, std::string(view(a)), text_, i);
    StringPiece file;
    if (RE2::PartialMatch(piece(s), p.frame, &file)) {
      frame_ = i;
      frame_file_ = view(file);
      std::ranges::replace(frame_file_, '\\', '/');
    } else if (!frame_file_.empty() && RE2::PartialMatch(piece(s), p.exception)) {
      add_observation(machine_, text_, frame_, "failing-frame", {{"file", frame_file_}});
      frame_file_.clear();
    }
    if (s.find("-packages") != std::string::npos) {
      if (RE2::PartialMatch(piece(s), p.site, &a, &b)) {
        auto& environment = text_environment(machine_);
        if (environment.prefix.empty()) environment.prefix = view(a);
        set_fact(environment.python, std::string(view(b)), text_, i);
      } else if (RE2::PartialMatch(piece(s), p.windows_site, &a)) {
        add_observation(machine_, text_, i, "windows", {{"by", "path"}});
      }
    }
  }

  /// print(torch.__version__, torch.version.cuda) and the like: the values in the order of the expressions.
  void answer(const PasteSegment& segment) {
    if (segment.command.find("__version__") == std::string::npos && segment.command.find("is_available") == std::string::npos &&
        segment.command.find("torch.") == std::string::npos && segment.command.find("physical_devices") == std::string::npos)
      return;
    std::vector<std::string> expressions;
    StringPiece rest = piece(segment.command), match;
    static const RE2 whole("(" + patterns().expression.pattern() + ")");
    while (RE2::FindAndConsume(&rest, whole, &match)) expressions.emplace_back(view(match));
    std::size_t next = 0;
    for (std::size_t i = segment.first; i < segment.end && i < segment.first + 40 && next < expressions.size(); ++i) {
      const std::string& s = text_.lines[i].text;
      if (s.starts_with("Traceback") || s.find("Warning") != std::string::npos || s.find("Error") != std::string::npos) continue;
      next = take_values(s, i, expressions, next);
    }
  }

  std::size_t take_values(std::string_view s, std::size_t i, const std::vector<std::string>& expressions, std::size_t next) {
    while (next < expressions.size()) {
      s = trimmed(s);
      while (!s.empty() && (s.front() == ',' || s.front() == '(' || s.front() == '\'' || s.front() == '"'))
        s = trimmed(s.substr(1));
      if (s.empty()) return next;
      const std::string& expression = expressions[next];
      const std::size_t end = s.find_first_of(" ,'\")");
      const std::string_view word = s.substr(0, end);
      const bool is_version =
          expression.ends_with("__version__") || expression == "torch.version.cuda" || expression == "torch.version.hip";
      if (is_version) {
        if (word != "None" && (word.empty() || word.front() < '0' || word.front() > '9')) return next;
        if (expression == "torch.__version__")
          set_torch_version(word, i);
        else if (expression == "torch.version.cuda")
          set_torch_cuda(word, i);
        else if (expression == "torch.version.hip") {
          if (word != "None") build_of("torch", i).flavour = "rocm";
        } else {
          std::string name = expression.substr(0, expression.find('.'));
          if (name == "tf") name = "tensorflow";
          if (name == "ort") name = "onnxruntime";
          add_package(i, name, word, "pip");
        }
      } else if (expression == "torch.cuda.is_available()") {
        if (word != "True" && word != "False") return next;
        set_available(word == "True", i);
      } else if (expression == "tf.test.is_built_with_cuda()") {
        if (word != "True" && word != "False") return next;
        FrameworkBuild& build = build_of("tensorflow", i);
        if (build.flavour.empty()) build.flavour = word == "True" ? "cuda" : "cpu";
        build.origin = origin_of(text_, i);
      } else if (expression.find("physical_devices") != std::string::npos) {
        if (!s.starts_with('[')) return next;
        set_available(!s.starts_with("[]"), i);
      } else if (expression.find("get_device_name") != std::string::npos) {
        const std::string_view name = s.substr(0, s.find_first_of("'\""));
        add_gpu(machine_, knowledge_, text_, i, name, "", 0);
        return next + 1;
      } else if (expression.find("capability") != std::string::npos) {
        int major = 0, minor = 0;
        if (RE2::PartialMatch(piece(s), R"(\(?(\d+), (\d+)\))", &major, &minor))
          add_observation(machine_, text_, i, "gpu-capability",
                          {{"capability", std::to_string(major) + "." + std::to_string(minor)}});
        return next + 1;
      } else if (expression.find("CXX11_ABI") != std::string::npos) {
        if (word != "True" && word != "False") return next;
        build_of("torch", i).cxx11_abi = Fact<bool>::known(word == "True", origin_of(text_, i));
      }
      s.remove_prefix(end == std::string_view::npos ? s.size() : end);
      ++next;
    }
    return next;
  }

  const PastedText& text_;
  const Knowledge& knowledge_;
  Machine& machine_;
  std::size_t frame_ = 0;   ///< line of the innermost frame of a traceback so far
  std::string frame_file_;  ///< its file below site-packages, with slashes; empty: none
  std::string shown_name_;  ///< of the line above
};

}  // namespace

void read_python(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  Reader(text, knowledge, machine).read();
}

}  // namespace gpuvet
