#include "render/messages.h"

#include <algorithm>
#include <array>

namespace gpuvet {
namespace {

struct Sentence {
  Message id;
  std::string_view english, chinese;
};

constexpr Sentence sentences[] = {
    {Message::AtMost, "at most {severity}", "最高为{severity}"},
    {Message::Evidence, "Evidence", "证据"},
    {Message::Repair, "Repair", "修复步骤"},
    {Message::Consequences, "Consequences (they should go away with the repair)", "由此引起（修复后应随之消失）"},
    {Message::OtherFindings, "Also found", "其他发现"},
    {Message::NotSeen, "Could not be checked", "未能检查"},
    {Message::Facts, "All facts", "全部事实"},
    {Message::Source, "Source", "来源"},
    {Message::Decides, "What this rule is sure of", "这条规则的判断依据"},
    {Message::AppliesOn, "Applies on", "适用环境"},
    {Message::Explains, "Explains", "可以解释"},
    {Message::Variants, "Other cases of it", "其他情形"},
    {Message::Chain, "Chain", "链路"},
    {Message::RootCause, "Root cause", "根本原因"},
    {Message::NotAskedFor, "not asked for", "不在本次检查范围内"},
    {Message::BehindTheBreak, "not reached: the break is before it", "未到达：断点在它之前"},
    {Message::ThePythonEnvironment, "the Python environment", "当前 Python 环境"},
    {Message::CodesInLog, "What the kernel log says", "内核日志里的消息"},
    {Message::CodeCauses, "NVIDIA names as possible causes: {causes}.", "NVIDIA 列出的可能原因：{causes}。"},
    {Message::CodeAdvice, "NVIDIA's advice: {advice}.", "NVIDIA 的建议：{advice}。"},
    {Message::ExplainedCodes,
     "The driver reported an error on the GPU; this text alone does not say what caused it (exit code 3).",
     "驱动报告了 GPU 错误；仅凭这段文本无法确定原因（退出码 3）。"},
    {Message::NothingKnown, "not enough was seen", "看到的信息不足"},
    {Message::RebootNeeded, "A reboot is needed for this to take effect.", "需要重启后才能生效。"},
    {Message::NoRebootNeeded, "No reboot is needed.", "无需重启。"},
    {Message::CannotBeUndone, "This step cannot be undone.", "这一步无法撤销。"},
    {Message::NoRepairKnown, "No step that would safely repair this is known.", "目前没有已知的安全修复步骤。"},
    {Message::PackagesUnknown,
     "The names of the driver packages for this system are not known for sure; look them up at {where}.",
     "无法确定此系统上驱动软件包的名称，请查阅 {where}。"},
    {Message::StepInstead, "Or: ", "或者："},
    {Message::StepIfNotEnough, "If that does not help: ", "若仍无效："},
    {Message::OnDistributions, "on {distributions}:", "{distributions}："},
    {Message::OrWith, "or with {installer}:", "或用 {installer}："},
    {Message::BackUpFirst, "Back up first:", "请先备份："},
    {Message::VerdictHolds, "The chain holds, as far as it was seen (exit code 0).", "就目前所见，链路完好（退出码 0）。"},
    {Message::VerdictHoldsWarning, "The chain works, but see the warning above (exit code 0; 1 with --strict).",
     "链路可用，但请留意上面的警告（退出码 0；使用 --strict 时为 1）。"},
    {Message::VerdictHoldsStrict, "The chain works, but there is a warning and --strict was given (exit code 1).",
     "链路可用，但存在警告，且指定了 --strict（退出码 1）。"},
    {Message::VerdictBroken, "The chain is broken at: {link} (exit code 1).", "链路断在：{link}（退出码 1）。"},
    {Message::VerdictUnknown, "Not enough was seen to say whether the chain holds (exit code 3).",
     "看到的信息不足，无法判断链路是否完好（退出码 3）。"},
    {Message::Confirm, "To make sure, run", "要确认，请运行"},
    {Message::WouldDecide, "would decide: {command}", "可用此命令判定：{command}"},
    {Message::OtherPossibilities, "Also possible", "其他可能"},
    {Message::NotTheProblem, "Not the problem", "这些不是问题"},
    {Message::ExplainedCause, "The text points to this cause (exit code 1).", "从文本看，原因就是它（退出码 1）。"},
    {Message::ExplainedWarning, "The text shows a warning, no failure (exit code 0).", "文本里只有警告，没有故障（退出码 0）。"},
    {Message::ExplainedUnknown,
     "The text does not tell the cause (exit code 3). What is listed above would narrow it down; so would the lines before the "
     "first error.",
     "仅凭这段文本无法确定原因（退出码 3）。上面列出的命令可以缩小范围；第一条报错之前的内容也有帮助。"},
    {Message::ExplainedNothing,
     "Nothing in this text is a known sign of a GPU problem; it does not prove that all is well (exit code 3).",
     "这段文本里没有已知的 GPU 故障迹象，但也不能证明一切正常（退出码 3）。"},
    {Message::ExplainedPart, "The text is long: its beginning and end and the lines that matter were read.",
     "文本很长：读取了开头、结尾和其中相关的行。"},
    {Message::PasteAndEnd, "Paste the text, then press Ctrl-D on an empty line.", "请粘贴文本，然后在空行按 Ctrl-D 结束。"},
    {Message::ThisMachine, "This machine", "本机"},
    {Message::Contradictions, "Where the text and this machine differ", "文本与本机不一致之处"},
    {Message::LoaderDidNotFind, "What its loader did not find", "其加载器未找到的库"},
    {Message::Command, "Command", "命令"},
    {Message::NoTextGiven, "{name} is empty", "{name} 是空的"},
    {Message::UnknownRule, "there is no rule \"{name}\"", "没有名为“{name}”的规则"},
    {Message::UnknownCommand, "unknown command \"{name}\"", "未知的命令“{name}”"},
    {Message::DidYouMean, "did you mean \"{name}\"?", "您是不是想输入“{name}”？"},
    {Message::CannotRead, "cannot read {path}: {why}", "无法读取 {path}：{why}"},
    {Message::CannotWrite, "cannot write {path}: {why}", "无法写入 {path}：{why}"},
    {Message::NotADirectory, "{path} is no readable directory: {why}", "{path} 不是可读的目录：{why}"},
    {Message::BadSnapshot, "{path}: {why}", "{path}：{why}"},
    {Message::Toolkits, "CUDA toolkits (* nvcc on PATH)", "CUDA 工具包（* 为 PATH 上的 nvcc）"},
    {Message::PythonEnvironments, "Python environments (* in use)", "Python 环境（* 为正在使用的）"},
    {Message::NoCompilerIn, "no nvcc", "没有 nvcc"},
    {Message::MissingIn, "missing: {files}", "缺少：{files}"},
    {Message::CannotJudgeProgram, "--for: {why}", "--for：{why}"},
    {Message::SnapshotWithoutProgram,
     "the snapshot has nothing about {path}: make it anew on that machine with gpuvet snapshot --for {path} -o FILE",
     "快照中没有关于 {path} 的内容：请在那台机器上用 gpuvet snapshot --for {path} -o 文件 重新生成"},
    {Message::BadPurpose,
     "--for: {why}. Examples: --for torch, --for 'torch>=2.7@ml', --for nvcc, --for build:flash-attn, --for ./llama-server",
     "--for：{why}。例如：--for torch、--for 'torch>=2.7@ml'、--for nvcc、--for build:flash-attn、--for ./llama-server"},
    {Message::BadEnvironment, "{path}:{line}: not of the form NAME=value", "{path}:{line}：不是 NAME=value 的形式"},
    {Message::OutputIsLink, "{path} is a symbolic link; gpuvet does not write through links",
     "{path} 是符号链接；gpuvet 不会通过链接写入"},
    {Message::OutputExists, "{path} lies inside the inspected root, which is never written to",
     "{path} 位于被检查的根目录之内，gpuvet 从不写入那里"},
    {Message::MustBeOneOf, "{name} must be one of {values}", "{name} 必须是下列之一：{values}"},
    {Message::RuleListHint, "gpuvet rule lists them all", "运行 gpuvet rule 可列出全部规则"},
    {Message::OneInputOnly, "{a} and {b} cannot be given together", "{a} 与 {b} 不能同时使用"},
    {Message::TraceNoSnapshot,
     "trace reads the files themselves, which a snapshot does not hold: run it on that machine, or give its disk with --root",
     "trace 需要读取文件本身，而快照中没有文件内容：请在那台机器上运行，或用 --root 指定它的磁盘"},
    {Message::SnapshotWritten, "snapshot written to {path}", "快照已写入 {path}"},
    {Message::TooLong, "larger than {limit} MiB", "大于 {limit} MiB"},
    {Message::MissingOutput, "snapshot needs -o FILE (\"-o -\" for standard output)",
     "snapshot 需要 -o FILE（“-o -” 表示标准输出）"},
    {Message::UsageHint, "gpuvet --help shows how it is used", "运行 gpuvet --help 查看用法"},
    {Message::OutputNotRegular, "{path} is no regular file", "{path} 不是普通文件"},
    {Message::ScanRuns, "runs: machine code {arch}", "可运行：机器码 {arch}"},
    {Message::ScanJit, "runs, compiled at first use: PTX {arch} (ISA {isa}), needs driver {driver} or newer",
     "可运行，首次使用时编译：PTX {arch}（ISA {isa}），需要 {driver} 或更新的驱动"},
    {Message::ScanJitAnyDriver, "runs if the driver knows PTX ISA {isa}: PTX {arch}, compiled at first use",
     "若驱动支持 PTX ISA {isa} 则可运行：PTX {arch}，首次使用时编译"},
    {Message::ScanLto, "only LTO-IR fits ({arch}): runs if the program links it at run time",
     "只有 LTO-IR 适用（{arch}）：程序在运行时链接它才能运行"},
    {Message::ScanNoImage, "will fail with error 209 (no kernel image for this GPU): no code for {capability}",
     "将以错误 209 失败（没有此 GPU 的 kernel image）：不含 {capability} 的代码"},
    {Message::ScanPtxTooNew,
     "will fail with error 222 (unsupported PTX version): only PTX fits ({arch}), and its ISA {isa} needs driver {driver} or "
     "newer",
     "将以错误 222 失败（不支持的 PTX 版本）：只有 PTX 适用（{arch}），其 ISA {isa} 需要 {driver} 或更新的驱动"},
    {Message::ScanJitDisabled, "will fail: only PTX fits, and CUDA_DISABLE_PTX_JIT is set",
     "将失败：只有 PTX 适用，而 CUDA_DISABLE_PTX_JIT 已设置"},
    {Message::ScanNoPtxForced, "will fail: CUDA_FORCE_PTX_JIT is set, and no PTX fits",
     "将失败：CUDA_FORCE_PTX_JIT 已设置，而没有适用的 PTX"},
    {Message::ScanNoCode, "no GPU code", "没有 GPU 代码"},
    {Message::ScanOnlyStubs, "no GPU code: nvcc left an empty frame for {archs}, without any kernel",
     "没有 GPU 代码：nvcc 为 {archs} 只留下空壳，里面没有任何 kernel"},
    {Message::ScanNotAllRead, "not known: the file was not read to its end ({why})", "未知：文件没有读完（{why}）"},
    {Message::ScanTargetNotKnown, "not known: it has code of which no rule says whether this GPU runs it",
     "未知：其中的代码能否在此 GPU 上运行，没有已知规则"},
    {Message::ScanPartOfPtxTooNew, "not known: part of the PTX that fits needs driver {driver} or newer",
     "未知：适用的 PTX 有一部分需要 {driver} 或更新的驱动"},
    {Message::ScanPtxIsaNotKnown, "not known: only PTX fits, and gpuvet does not know which driver reads its ISA {isa}",
     "未知：只有 PTX 适用，而 gpuvet 不知道哪个驱动支持其 ISA {isa}"},
    {Message::ScanHoles,
     "but {n} of {all} {all|container|containers} {n|has|have} no code for it: kernels in {n|it|them} fail with error 209",
     "但 {all} 个容器中有 {n} 个不含适用代码：其中的 kernel 会以错误 209 失败"},
    {Message::ScanByPtx, "{n} of {all} {all|container|containers} {n|has|have} PTX only", "{all} 个容器中有 {n} 个只有 PTX"},
    {Message::ScanSpecial, "{n} of {all} {all|container|containers} {n|is|are} made for single other GPUs on purpose",
     "{all} 个容器中有 {n} 个是专为其他 GPU 而设的"},
    {Message::ScanContainers, "{n} {n|container|containers}: {places}", "{n} 个容器：{places}"},
    {Message::ScanHeading, "GPU code", "GPU 代码"},
    {Message::ScanFiles, "Files", "文件"},
    {Message::ScanTargets, "Targets", "目标架构"},
    {Message::ScanSummary, "By library", "按库汇总"},
    {Message::ScanProblems, "Could not be read", "无法读取"},
    {Message::ScanMoreProblems, "and {n} more", "另有 {n} 项"},
    {Message::ScanFileCount, "{n} {n|file|files}", "{n} 个文件"},
    {Message::ScanForcePtx, "CUDA_FORCE_PTX_JIT is set: machine code is ignored, all PTX is compiled.",
     "CUDA_FORCE_PTX_JIT 已设置：忽略机器码，全部编译 PTX。"},
    {Message::ScanDisablePtx, "CUDA_DISABLE_PTX_JIT is set: PTX is ignored.", "CUDA_DISABLE_PTX_JIT 已设置：忽略 PTX。"},
    {Message::ScanDriver, "driver {driver}", "驱动 {driver}"},
    {Message::ScanNothing, "No GPU code was found ({seen} files looked at).", "没有找到 GPU 代码（查看了 {seen} 个文件）。"},
    {Message::ScanFound, "{n} {n|file|files} {n|has|have} GPU code ({seen} {seen|file|files} looked at).",
     "{n} 个文件含有 GPU 代码（查看了 {seen} 个文件）。"},
    {Message::ScanAllRun, "{gpu}: {n|the|all} {n} {n|file|files} with GPU code {n|has|have} some for it.",
     "{gpu}：含 GPU 代码的 {n} 个文件{n||都}有适用的代码。"},
    {Message::ScanSomeFail, "{gpu}: {bad} of {n} {n|file|files} with GPU code will fail.",
     "{gpu}：{n} 个含 GPU 代码的文件中有 {bad} 个将失败。"},
    {Message::ScanSomeUnknown, "{gpu}: of {bad} of {n} {n|file|files} nothing sure can be said.",
     "{gpu}：{n} 个文件中有 {bad} 个无法确定。"},
    {Message::ScanStopped, "There are more files than gpuvet looks at; it stopped.", "文件过多，gpuvet 已停止查看。"},
    {Message::ScanNoPath, "scan needs at least one PATH", "scan 至少需要一个 PATH"},
    {Message::ScanUnknownGpu, "--gpu: no GPU is known as \"{name}\"", "--gpu：没有名为“{name}”的已知 GPU"},
    {Message::ScanAmbiguousGpu, "--gpu: \"{name}\" may be several GPUs with different code: {names}",
     "--gpu：“{name}”可能是代码不同的多款 GPU：{names}"},
    {Message::ScanNoGpuHere, "--gpu this: no NVIDIA GPU was seen on this machine", "--gpu this：在本机上没有看到 NVIDIA GPU"},
    {Message::ScanBadDriver, "--driver must be a version such as 550.54.14", "--driver 应为类似 550.54.14 的版本号"},
};

constexpr std::string_view choose(Language language, std::string_view english, std::string_view chinese) {
  return language == Language::Chinese ? chinese : english;
}

struct KeyText {
  std::string_view key, english, chinese;
};

constexpr KeyText not_seen_titles[] = {
    {"pci-bus", "the PCI bus", "PCI 总线"},
    {"kernel-modules", "the loaded kernel modules", "已加载的内核模块"},
    {"module-files", "the module files on disk", "磁盘上的模块文件"},
    {"device-nodes", "the device nodes", "设备节点"},
    {"driver-libraries", "the driver's libraries", "驱动的用户态库"},
    {"kernel-log", "the kernel log", "内核日志"},
    {"packages", "the installed packages", "已安装的软件包"},
    {"environment", "the environment of the judged process", "被判断进程的环境变量"},
    {"windows-driver", "the version of the NVIDIA driver in Windows", "Windows 中 NVIDIA 驱动的版本"},
    {"kernel-log-owner",
     "whose kernel log this is: it seems to be of another machine, for it names NVIDIA devices that are not on this PCI bus",
     "这份内核日志属于哪台机器：其中出现的 NVIDIA 设备不在本机的 PCI 总线上，日志似乎来自另一台机器"},
    {"toolkits", "the CUDA toolkits", "CUDA 工具包"},
    {"python-environments", "the Python environments", "Python 环境"},
    {"framework-unknown", "what this needs: gpuvet knows nothing about a distribution of this name",
     "它需要什么：gpuvet 没有关于此名称的资料"},
    {"interpreter", "anything that runs in this environment: its own python is gone (was the Python it was made from removed?)",
     "此环境中的任何程序：它的 python 已不存在（创建它所用的 Python 是否被卸载？）"},
    {"library-path", "whether LD_LIBRARY_PATH puts another CUDA library before the framework's own",
     "LD_LIBRARY_PATH 是否让其他 CUDA 库排在框架自带的库之前"},
    {"gpu-code", "whether this build has code for the GPU here", "这一构建是否含有本机 GPU 的代码"},
    {"program-without-cuda",
     "what this program has to do with the GPU: none of its files uses CUDA, so it needs neither GPU nor driver, unless it "
     "starts "
     "another program that does",
     "这个程序与 GPU 有什么关系：它的文件都不使用 CUDA，因此既不需要 GPU 也不需要驱动，除非它会启动另一个使用 CUDA 的程序"},
    {"program-part", "this part with CUDA, which the program opens or starts by itself: it has to be asked for",
     "程序会自行打开或启动的这个 CUDA 部分：需要单独检查"},
    {"program-code", "whether the program's GPU code runs here: the GPU's model cannot be seen",
     "程序的 GPU 代码能否在这里运行：看不到 GPU 的型号"},
    {"program-code-unsure", "whether the program's GPU code runs on this GPU: its files do not tell it for sure",
     "程序的 GPU 代码能否在这块 GPU 上运行：文件没有给出确切答案"},
    {"program-libraries", "whether the program finds these libraries: only its LD_LIBRARY_PATH could lead to them",
     "程序能否找到这些库：只有它的 LD_LIBRARY_PATH 可能指向它们"},
    {"program-opens",
     "whether the program works without these libraries: it opens them by name, they are not there, and nothing else in it leads "
     "to the GPU",
     "没有这些库程序能否工作：程序按名称打开它们，而这里没有；除此之外，它没有其他使用 GPU 的途径"},
    {"program-symbols", "what gives the program these symbols: nothing that it loads has them",
     "这些符号由谁提供：程序加载的所有文件中都没有"},
    {"program-plan", "what this script starts or imports: only its interpreter was judged",
     "这个脚本启动或导入了什么：这里只检查了它的解释器"},
};

constexpr KeyText advices[] = {
    {"run-as-root", "Run gpuvet as root (sudo gpuvet), then it can look there.",
     "请以 root 身份运行（sudo gpuvet），这样才能查看。"},
    {"give-kernel-log", "Give it a log: sudo dmesg > kernel.log, then gpuvet --kernel-log kernel.log.",
     "请提供日志：sudo dmesg > kernel.log，然后运行 gpuvet --kernel-log kernel.log。"},
    {"give-environment",
     "Give the process' environment: gpuvet --environ FILE (a copy of /proc/PID/environ, or the output of env).",
     "请提供进程的环境变量：gpuvet --environ FILE（/proc/PID/environ 的副本，或 env 的输出）。"},
    {"capture-live-machine",
     "An image has no /proc, /sys and /dev. Run gpuvet on the machine itself, or capture them as sosreport does.",
     "镜像中没有 /proc、/sys 和 /dev。请在机器本身上运行 gpuvet，或像 sosreport 那样把它们一起采集下来。"},
    {"run-on-host", "Run gpuvet on the host, outside the container.", "请在容器之外的宿主机上运行 gpuvet。"},
    {"give-whole-root", "Let --root include these folders.", "请让 --root 包含这些目录。"},
    {"this-machines-log",
     "--kernel-log FILE is this machine's log, read from a file. To judge another machine, run gpuvet there, or take its "
     "snapshot there and give it with --snapshot.",
     "--kernel-log FILE 是从文件读取的本机日志。要判断另一台机器，请在那台机器上运行 gpuvet，或在那里生成快照后用 --snapshot "
     "提供。"},
    {"try-without", "Try the program with LD_LIBRARY_PATH unset: env -u LD_LIBRARY_PATH COMMAND.",
     "请在不设置 LD_LIBRARY_PATH 的情况下运行程序：env -u LD_LIBRARY_PATH 命令。"},
    {"make-environment-anew", "Make the environment anew: python3 -m venv --upgrade DIR, or create it again.",
     "请重建该环境：python3 -m venv --upgrade 目录，或重新创建。"},
    {"ask-framework",
     "Compare python -c \"import torch; print(torch.cuda.get_arch_list())\" (or the like) with gpuvet kb gpu NAME.",
     "请将 python -c \"import torch; print(torch.cuda.get_arch_list())\"（或类似命令）的结果与 gpuvet kb gpu 名称 对照。"},
    {"name-gpu", "Name the GPU: gpuvet scan PROGRAM --gpu 'RTX 4090'.", "请指明 GPU：gpuvet scan 程序 --gpu 'RTX 4090'。"},
    {"scan-program", "See all of it, and why: gpuvet scan PROGRAM.", "查看全部代码及原因：gpuvet scan 程序。"},
    {"install-if-wanted", "If it is to use the GPU, install them and ask again; its own log may tell what it lacks.",
     "如果需要它使用 GPU，请安装这些库后再检查；程序自己的日志也可能说明缺什么。"},
    {"trace-program", "See which file should have them: gpuvet trace PROGRAM.", "查看应由哪个文件提供：gpuvet trace 程序。"},
    {"ask-other-program", "Ask for the program or library that does the work: gpuvet --for PATH. For the machine itself: gpuvet.",
     "请改为检查真正使用 GPU 的程序或库：gpuvet --for 路径。只检查本机：gpuvet。"},
    {"ask-part", "Ask for it: gpuvet --for {subject}.", "请单独检查它：gpuvet --for {subject}。"},
    {"ask-framework-of-script", "Ask for what the script imports, such as gpuvet --for torch{subject}.",
     "请改为检查脚本导入的框架，例如 gpuvet --for torch{subject}。"},
    {"ask-program-of-script", "Ask for the program that the script starts: gpuvet --for PATH.",
     "请改为检查脚本所启动的程序：gpuvet --for 路径。"},
    {"ask-windows", "Let gpuvet ask Windows: gpuvet --windows.", "让 gpuvet 询问 Windows：gpuvet --windows。"},
    {"name-environment", "Name the environment's folder: gpuvet --env DIR.", "请指定环境所在目录：gpuvet --env DIR。"},
};

template <std::size_t N>
std::string_view find_text(const KeyText (&table)[N], std::string_view key, Language language) {
  for (const KeyText& row : table) {
    if (row.key == key) return choose(language, row.english, row.chinese);
  }
  return {};
}

/// The interpreter in "/opt/run.py: #!/opt/venv/bin/python3 -u": "/opt/venv/bin/python3"; of "#!/usr/bin/env python3" the latter.
std::string_view interpreter_in(std::string_view why) {
  const std::size_t mark = why.find("#!");
  if (mark == std::string_view::npos) return {};
  why.remove_prefix(std::min(why.find_first_not_of(" \t", mark + 2), why.size()));
  const std::string_view first = why.substr(0, why.find_first_of(" \t\r"));
  return first.ends_with("/env") ? why.substr(why.find_last_of(" \t") + 1) : first;
}

bool runs_python(std::string_view why) {
  const std::string_view program = interpreter_in(why);
  return program.substr(program.rfind('/') + 1).starts_with("python");
}

/// "@/opt/venv" of a script that names its environment's own interpreter; a system's Python needs no name.
std::string environment_of_script(std::string_view why) {
  const std::string_view program = interpreter_in(why);
  const std::size_t bin = program.rfind("/bin/");
  if (bin == std::string_view::npos || bin == 0) return {};
  const std::string_view prefix = program.substr(0, bin);
  return prefix == "/usr" || prefix == "/usr/local" ? std::string() : "@" + printable(prefix);
}

/// What helps depends on how the machine was looked at.
std::string_view advice_key(const NotSeen& entry, const Machine& machine) {
  const bool denied = entry.why.find("ermission") != std::string::npos || entry.why.find("not permitted") != std::string::npos;
  const bool root_folder = machine.source == "root";
  if (denied) return "run-as-root";
  if (entry.what == "environment") return "give-environment";
  if (entry.what == "program-libraries") return {};  // the missing environment is told, and how to give it
  if (entry.what == "python-environments") return "name-environment";
  if (entry.what == "program-without-cuda") return "ask-other-program";
  if (entry.what == "program-code") return "name-gpu";
  if (entry.what == "program-code-unsure") return "scan-program";
  if (entry.what == "program-opens") return "install-if-wanted";
  if (entry.what == "program-symbols") return "trace-program";
  if (entry.what == "program-part") return "ask-part";
  if (entry.what == "program-plan") return runs_python(entry.why) ? "ask-framework-of-script" : "ask-program-of-script";
  if (entry.what == "library-path") return "try-without";
  if (entry.what == "interpreter") return "make-environment-anew";
  if (entry.what == "framework-unknown") return {};
  if (entry.what == "gpu-code") return "ask-framework";
  if (entry.what == "kernel-log-owner") return "this-machines-log";
  if (entry.what == "windows-driver") return "ask-windows";
  if (entry.what == "kernel-log") return machine.os.container.is_known() ? "run-on-host" : "give-kernel-log";
  if (!root_folder) return {};
  const bool live_only = entry.what == "pci-bus" || entry.what == "kernel-modules" || entry.what == "device-nodes";
  return live_only ? "capture-live-machine" : "give-whole-root";
}

}  // namespace

std::string_view message(Message id, Language language) {
  for (const Sentence& s : sentences) {
    if (s.id == id) return choose(language, s.english, s.chinese);
  }
  return {};
}

std::string message(Message id, Language language, const std::map<std::string, std::string>& values) {
  return fill_placeholders(message(id, language), values);
}

std::string_view layer_title(Layer layer, Language language) {
  switch (layer) {
    case Layer::Hardware:
      return choose(language, "GPU on the bus", "总线上的 GPU");
    case Layer::KernelModule:
      return choose(language, "Kernel driver", "内核驱动");
    case Layer::DeviceNode:
      return choose(language, "Device nodes", "设备节点");
    case Layer::UserDriver:
      return choose(language, "User-mode driver", "用户态驱动");
    case Layer::Toolkit:
      return choose(language, "CUDA toolkit", "CUDA 工具包");
    case Layer::RuntimeLibrary:
      return choose(language, "Runtime libraries", "运行时库");
    case Layer::Framework:
      return choose(language, "Framework", "框架");
    case Layer::Application:
      return choose(language, "Application", "应用程序");
    case Layer::Container:
      return choose(language, "Container", "容器");
    case Layer::Wsl:
      return "WSL";
  }
  return {};
}

std::string_view link_title(Layer layer, const Diagnosis& diagnosis, Language language) {
  const bool of_program = std::ranges::any_of(diagnosis.chain, [](const ChainLink& link) {
    return link.layer == Layer::Application && link.state != LinkState::NotNeeded;
  });
  if (layer == Layer::Framework && of_program) return choose(language, "GPU code", "GPU 代码");
  return layer_title(layer, language);
}

std::string_view severity_title(Severity severity, Language language) {
  switch (severity) {
    case Severity::Note:
      return choose(language, "note", "提示");
    case Severity::Warning:
      return choose(language, "warning", "警告");
    case Severity::Error:
      return choose(language, "error", "错误");
  }
  return {};
}

std::string_view world_title(World world, Language language) {
  switch (world) {
    case World::BareMetal:
      return choose(language, "bare metal", "物理机");
    case World::Vm:
      return choose(language, "virtual machine", "虚拟机");
    case World::Container:
      return choose(language, "container", "容器");
    case World::Wsl2:
      return "WSL 2";
    case World::Wsl1:
      return "WSL 1";
    case World::Jetson:
      return "Jetson";
  }
  return {};
}

std::string_view state_title(LinkState state, Language language) {
  switch (state) {
    case LinkState::Ok:
      return choose(language, "ok", "正常");
    case LinkState::Warning:
      return choose(language, "warning", "警告");
    case LinkState::Broken:
      return choose(language, "broken", "断开");
    case LinkState::Unknown:
      return choose(language, "unknown", "未知");
    case LinkState::NotNeeded:
      return choose(language, "not needed", "不需要");
  }
  return {};
}

std::string not_seen_title(std::string_view what, Language language) {
  const std::string_view known = find_text(not_seen_titles, what, language);
  return known.empty() ? printable(what) : std::string(known);
}

std::string not_seen_advice(const NotSeen& entry, const Machine& machine, Language language) {
  const std::string subject = entry.what == "program-plan" ? environment_of_script(entry.why) : printable(entry.why);
  return fill_placeholders(find_text(advices, advice_key(entry, machine), language), {{"subject", subject}});
}

std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('{');
    out.append(text.substr(0, open));
    if (open == std::string_view::npos) return out;
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    // "{n|file|files}": the word for one, and for any other number.
    const std::string_view inside = close == std::string_view::npos ? "" : text.substr(1, close - 1);
    const std::size_t bar = inside.find('|'), other = bar == std::string_view::npos ? bar : inside.find('|', bar + 1);
    const auto found = values.find(std::string(inside.substr(0, bar)));
    if (found == values.end()) {
      out += '{';
      text.remove_prefix(1);
    } else {
      if (other == std::string_view::npos)
        out += found->second;
      else
        out += found->second == "1" ? inside.substr(bar + 1, other - bar - 1) : inside.substr(other + 1);
      text.remove_prefix(close + 1);
    }
  }
}

bool has_placeholder(std::string_view text) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", open + 1);
    // "${NAME}" and "awk '{print}'" are the shell's own.
    const bool shell = open > 0 && text[open - 1] == '$';
    if (!shell && end != std::string_view::npos && end > open + 1 && text[end] == '}') return true;
  }
  return false;
}

}  // namespace gpuvet
