#include "render/own_words.h"

#include <array>
#include <vector>

#include "render/terminal_text.h"

namespace gpuvet {
namespace {

/// `said` is what the code says, each {} a part that is not fixed; the others are what is printed, with {1}, {2}, … for these
/// parts (an empty one: as it was said).
struct Sentence {
  std::string_view said, chinese, english = {};
};

// The more specific first.
constexpr Sentence sentences[] = {
    // evidence about libraries of a process
    {"needs version {} of {}", "需要 {2} 的版本 {1}"},
    {"needs lib{}, which belongs to {}", "需要 lib{1}（属于 {2}）"},
    {"needs lib{}", "需要 lib{1}"},
    {"{}, found by {}; asked for by {}", "{1}，查找依据：{2}；请求者：{3}"},
    {"defines versions up to {}, found by {}", "提供的版本最高到 {1}，查找依据：{2}"},
    {"the toolkit's link-time stub (no driver version inside); found by {}",
     "toolkit 中仅供链接的 stub（其中没有驱动版本）；查找依据：{1}"},
    {"{}, found by {}", "{1}，查找依据：{2}"},
    {"release {}: {}", "版本 {1}：{2}"},
    {"the loader looked in {}; LD_LIBRARY_PATH is not set", "动态链接器查找过 {1}；未设置 LD_LIBRARY_PATH"},
    {"the loader looked in {}", "动态链接器查找过 {1}"},
    {"{} and {} more", "{1} 等（另有 {2} 处）"},
    {"its own folders", "它自己的目录"},
    {"is on this machine, where the loader does not look", "本机上有这个文件，但动态链接器不会到这里查找"},
    {"GPU code for {}; none of it for {}", "含有 {1} 的 GPU 代码，没有适用于 {2} 的"},
    {"{} of any release serves compute capability {} and newer; {} has {}",
     "{1} 的各个版本都只支持计算能力 {2} 及更新的 GPU；{3} 为 {4}"},
    {"has the name {}", "其中有 {1} 这个名称"},
    {"GPU code for {}", "含有 {1} 的 GPU 代码"},
    {"ELF machine {}", "ELF 架构 {1}"},
    {"linked against {} of libcuda.so.1", "链接了 libcuda.so.1 的 {1}"},
    {"does not export {}", "没有导出 {1}"},
    {"{} since CUDA {}", "{1} 始于 CUDA {2}"},
    {"the CUDA {} runtime is linked into it", "其中静态链接了 CUDA {1} 运行时"},
    {"driver {}", "驱动 {1}"},
    {"its own copy, {}, is not reached", "它自带的副本（{1}）没有被用到"},
    {"the copy that the process gets without the variable: {}", "不设该变量时进程得到的副本：{1}"},
    {"wants {}, which {} does not have", "需要 {1}，而 {2} 中没有"},
    {"version {}", "版本 {1}"},
    {"asks for cuDNN {}", "要求 cuDNN {1}"},
    {"not found for {}", "{1} 找不到它"},
    {"unknown release", "版本未知"},
    {"an older one", "更旧的版本"},
    {"LD_LIBRARY_PATH is not set", "未设置 LD_LIBRARY_PATH"},
    {"no entry for these libraries", "没有这些库的条目"},
    {"{} is not there, in no toolkit, and no wheel brings it", "动态链接器找不到 {1}；toolkit 里没有，也没有 wheel 提供它"},
    {"{} is not there, and no wheel brings it", "动态链接器找不到 {1}，也没有 wheel 提供它"},
    {"{}, not lib{}", "是 {1}，不是 lib{2}"},
    {"not on the loader's search path", "不在动态链接器的查找路径上"},
    {"an empty file", "空文件"},
    {"not an ELF library", "不是 ELF 库"},
    {"not an ELF file", "不是 ELF 文件"},
    {"a link that leads nowhere", "悬空的链接"},
    {"what a program gets that asks for {}", "请求 {1} 的程序得到的文件"},
    {"the driver's library, not reached by this process", "驱动的库，这个进程没有用到它"},
    {"the real driver library {}, not reached", "真正的驱动库 {1}，没有被用到"},
    {"no {} beside it or elsewhere on the loader's path", "它旁边和动态链接器的查找路径上都没有 {1}"},
    {"libcuda {}, not the one that a new process gets", "libcuda {1}，但新进程得到的不是它"},
    {"no NVIDIA module for any kernel", "没有任何内核版本的 NVIDIA 模块"},
    {"no driver package with a kernel module", "没有带内核模块的驱动软件包"},
    {"no driver bound", "没有绑定驱动"},
    {"{}, compute capability {}", "{1}，计算能力 {2}"},
    {"{}; PTX ISA {}", "{1}；PTX ISA {2}"},
    // links of the chain
    {"CUDA {}, linked in", "CUDA {1}（静态链接）"},
    {"no CUDA library", "没有用到 CUDA 库"},
    {"none in the program itself; it works through {}", "程序本身没有；它通过 {1} 使用 GPU"},
    {"none in the program itself", "程序本身没有"},
    // rules of the loader
    {"default", "默认目录"},
    {"path", "按路径指定"},
    {"musl path", "musl 的搜索路径"},
    {"default folder", "默认目录"},
    {"named by its path", "按路径指定"},
    {"musl's path", "musl 的搜索路径"},
    {"LD_LIBRARY_PATH, {}st element", "LD_LIBRARY_PATH 的第 {1} 项"},
    {"LD_LIBRARY_PATH, {}nd element", "LD_LIBRARY_PATH 的第 {1} 项"},
    {"LD_LIBRARY_PATH, {}rd element", "LD_LIBRARY_PATH 的第 {1} 项"},
    {"LD_LIBRARY_PATH, {}th element", "LD_LIBRARY_PATH 的第 {1} 项"},
    {"RUNPATH {} of {}", "{2} 的 RUNPATH {1}"},
    {"RPATH {} of {}", "{2} 的 RPATH {1}"},
    // why a plan has a step
    {"a name in {}", "{1} 工作时可能打开的库（其文件中有这些库名）", "what {1} may open while it works (it has their names)"},
    {"the library itself", "库本身"},
    {"an extension module of {}", "{1} 的扩展模块"},
    {"JAX preloads what pip installed under nvidia/", "JAX 预加载 pip 装在 nvidia/ 下的库"},
    {"NCCL asks NVML for the topology", "NCCL 通过 NVML 查询拓扑"},
    {"NCCL looks for a network plug-in", "NCCL 查找网络插件"},
    {"NCCL opens the driver", "NCCL 打开驱动库"},
    {"NVRTC opens its builtins", "NVRTC 打开它的 builtins"},
    {"Python, before {} loads anything", "{1} 加载任何库之前的 Python"},
    {"TensorFlow opens its CUDA libraries when it looks for GPUs", "TensorFlow 查找 GPU 时打开 CUDA 库"},
    {"a session with an execution provider", "使用 execution provider 的会话"},
    {"a session with the CUDA execution provider", "使用 CUDA execution provider 的会话"},
    {"bitsandbytes takes its library by the CUDA release of torch", "bitsandbytes 按 torch 的 CUDA 版本选择自己的库"},
    {"cuBLASLt compiles epilogues with NVRTC", "cuBLASLt 用 NVRTC 编译 epilogue"},
    {"cuFFT compiles callbacks with NVRTC", "cuFFT 用 NVRTC 编译回调函数"},
    {"cuFFT links callbacks", "cuFFT 链接回调函数"},
    {"ggml opens its CUDA backend in the folder of the program", "ggml 打开程序所在目录中的 CUDA 后端"},
    {"import torch, first its global dependencies", "import torch：先加载它的全局依赖"},
    {"{} opens its parts by name", "{1} 按名称打开它的各个部分"},
    {"{} opens engines and heuristics by name", "{1} 按名称打开 engines 和 heuristics"},
    {"modules of CuPy", "CuPy 的模块"},
    {"modules of Python and numpy that torch imports", "torch 导入的 Python 与 numpy 模块"},
    {"newest release that was read", "已查阅的最新版本"},
    {"numpy, which torch imports where it is", "numpy（安装了就会被 torch 导入）"},
    {"sleep mode of vllm", "vllm 的睡眠模式"},
    {"the CUDA plug-in of JAX compares releases", "JAX 的 CUDA 插件比较版本"},
    {"the CUDA plug-in of JAX", "JAX 的 CUDA 插件"},
    {"the PJRT plug-in of JAX", "JAX 的 PJRT 插件"},
    {"the CUDA runtime opens the driver", "CUDA 运行时打开驱动库"},
    {"torch asks NVML", "torch 查询 NVML"},
    {"torch opens NVRTC and the driver at first use", "torch 首次使用时打开 NVRTC 和驱动库"},
    {"torch opens its linear algebra at first use", "torch 首次使用时打开线性代数库"},
    {"torch preloads its CUDA libraries once libcudart is loaded", "加载 libcudart 后，torch 预加载它的 CUDA 库"},
    {"torch preloads libraries beside a pip-installed libcudart", "torch 预加载 pip 安装的 libcudart 旁边的库"},
    {"torch preloads what pip installed under nvidia/ when its own search failed",
     "torch 自己找不到时，预加载 pip 装在 nvidia/ 下的库"},
    {"{} imports torch", "{1} 导入 torch"},
    {"{} opens the driver", "{1} 打开驱动库"},
    {"import {}", "import {1}"},
    // what a plan or a forecast does not know
    {"{}: {} is not in this environment", "{1}：此环境中没有 {2}"},
    {"{} is newer than what was read: taken to load its libraries as {} does",
     "{1} 比已查阅的版本更新：按 {2} 的方式推断它如何加载库"},
    {"the release of {} is not known: taken to load its libraries as {} does", "{1} 的版本未知：按 {2} 的方式推断它如何加载库"},
    {"in which order {} imports its extension modules, and whether it does, is not known",
     "{1} 是否导入、以什么顺序导入它的扩展模块，无法得知"},
    {"part with CUDA", "带 CUDA 的部分：程序会自行打开或启动它，这里没有跟踪",
     "a part with CUDA, which the program opens or starts by itself: not followed here"},
    {"{} element \"{}\" depends on the current folder, which is not known", "{1} 中的“{2}”取决于当前目录，而当前目录未知"},
    {"{} element {}: ${} is not known", "{1} 中的 {2}：${3} 的值未知"},
    {"LD_AUDIT is set: that library may change what is found", "设置了 LD_AUDIT：该库可能改变查找结果"},
    {"GLIBC_TUNABLES changes which CPU features count: other glibc-hwcaps folders may be searched",
     "GLIBC_TUNABLES 改变了生效的 CPU 特性：可能会查找其他 glibc-hwcaps 目录"},
    {"LD_PRELOAD {} counts only with a set-user-ID bit of its own: the program is set-user-ID",
     "程序是 set-user-ID 的：LD_PRELOAD 中的 {1} 只有自己也带 set-user-ID 位才生效"},
    {"{} is not loaded, so a search that it asks for is taken as the program's",
     "{1} 没有被加载，因此它发起的查找按程序本身的规则处理"},
    // why a place was passed over
    {"not there", "不存在"},
    {"no such folder", "没有这个目录"},
    {"dangling link", "悬空的链接"},
    {"too big to be read", "太大，未读取"},
    {"current folder not known", "当前目录未知"},
    {"default folder, and the library says nodefaultlib", "位于默认目录，而该库带有 nodefaultlib 标志"},
};

/// The parts that stand for {} in a sentence that was said, or nothing: it is another one.
bool take_apart(std::string_view pattern, std::string_view text, std::vector<std::string_view>& parts) {
  while (true) {
    const std::size_t hole = pattern.find("{}");
    const std::string_view fixed = pattern.substr(0, hole);
    if (!text.starts_with(fixed)) return false;
    text.remove_prefix(fixed.size());
    if (hole == std::string_view::npos) return text.empty();
    pattern.remove_prefix(hole + 2);
    const std::string_view next = pattern.substr(0, pattern.find("{}"));
    const std::size_t end = next.empty() ? text.size() : text.find(next);
    if (end == std::string_view::npos || end == 0) return false;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string words(std::string_view text, Language language, int depth) {
  constexpr int deepest = 3;
  for (const Sentence& sentence : sentences) {
    std::vector<std::string_view> parts;
    if (!take_apart(sentence.said, text, parts)) continue;
    const std::string_view shown = language == Language::Chinese ? sentence.chinese : sentence.english;
    if (shown.empty()) break;
    std::string out;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool part = shown[i] == '{' && i + 2 < shown.size() && shown[i + 2] == '}';
      const std::size_t number = part ? static_cast<std::size_t>(shown[i + 1] - '1') : parts.size();
      if (number >= parts.size()) {
        out += shown[i];
        continue;
      }
      out += depth < deepest ? words(parts[number], language, depth + 1) : printable(parts[number]);
      i += 2;
    }
    return out;
  }
  return printable(text);
}

}  // namespace

std::string in_own_words(std::string_view text, Language language) { return words(text, language, 0); }

std::string evidence_text(const Origin& origin, Language language) {
  return origin.line > 0 ? printable(origin.text) : in_own_words(origin.text, language);
}

std::string problem_text(const Origin& problem, Language language) {
  if (!problem.text.starts_with("#!")) return in_own_words(problem.text, language);
  return printable(problem.text) +
         (language == Language::Chinese
              ? "（脚本：这里给出的是它的解释器加载的库，脚本运行的内容没有跟踪）"
              : " (a script: what its interpreter loads is shown, what the script runs is not followed)");
}

}  // namespace gpuvet
