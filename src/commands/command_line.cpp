// The command line: CLI11 stays in this file.

#include <CLI/CLI.hpp>

#include "commands/nearest.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

/// Help text in the reader's language.
struct Say {
  Language language;
  std::string operator()(const char* english, const char* chinese) const {
    return language == Language::Chinese ? chinese : english;
  }
};

/// --lang decides about the help text too, so it is looked for before anything else.
Language language_of_arguments(int argc, const char* const* argv) {
  Language language = language_of_locale();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view value = argument == "--lang" && i + 1 < argc ? argv[i + 1]
                                   : argument.starts_with("--lang=")    ? argument.substr(7)
                                                                        : "";
    if (!value.empty()) language = value.starts_with("zh") ? Language::Chinese : Language::English;
  }
  return language;
}

void add_options(CLI::App& app, Options& options, std::string& language, const Say& say) {
  app.add_option("--format", options.format,
                 say("text or json; also markdown (check, explain, run, scan, trace) and dot (trace)",
                     "输出格式：text 或 json；另有 markdown（check、explain、run、scan、trace）和 dot（trace）"))
      ->type_name("FORMAT");
  app.add_option("--lang", language, say("en or zh (else the locale decides)", "en 或 zh（默认取决于系统语言）"))
      ->type_name("LANG");
  app.add_option(
         "--root", options.root,
         say("judge a mounted disk, an image or a captured machine in this folder", "检查此目录中的磁盘、镜像或采集的机器"))
      ->type_name("DIR");
  app.add_option("--environ", options.environ_file,
                 say("environment of the judged process: NAME=value lines or /proc/PID/environ",
                     "被判断进程的环境变量：NAME=value 行，或 /proc/PID/environ"))
      ->type_name("FILE");
  app.add_option("--kernel-log", options.kernel_log,
                 say("this machine's (or --root's) kernel log, from a file; - is standard input",
                     "本机（或 --root 中机器）的内核日志文件；- 表示标准输入"))
      ->type_name("FILE");
  app.add_flag("--windows", options.windows,
               say("in WSL: also ask Windows (powershell.exe, wsl.exe, nvidia-smi.exe) for its build, driver and driver model",
                   "在 WSL 中：同时询问 Windows（powershell.exe、wsl.exe、nvidia-smi.exe）的版本、驱动和驱动模型"));
  app.add_option("--snapshot", options.snapshot, say("judge a snapshot file", "检查一个快照文件"))->type_name("FILE");
  app.add_option("--for", options.purpose,
                 say("what has to work: torch, 'torch>=2.7@ENV', tensorflow, jax, cupy, nvcc, build:NAME, driver, or ./PROGRAM; "
                     "else what is "
                     "installed decides",
                     "需要能用的目标：torch、'torch>=2.7@环境'、tensorflow、jax、cupy、nvcc、build:"
                     "名称、driver，或 ./程序；不指定则由已安装的软件决定"))
      ->type_name("PURPOSE");
  app.add_option(
         "--env", options.python_environments,
         say("look at this Python environment too (its folder); may be repeated", "另外查看此 Python 环境（目录），可重复"))
      ->type_name("DIR");
  app.add_flag("-v,--verbose", options.verbosity, say("all facts with where they come from", "列出全部事实及其来源"));
  app.add_flag("--timing", options.timing, say("time of each part, on standard error", "在标准错误输出各部分的用时"));
  app.add_flag("--strict", options.strict, say("a warning as root cause gives exit code 1", "根本原因为警告时退出码为 1"));
  app.add_option("--color", options.color, say("auto, always or never", "颜色：auto、always 或 never"))->type_name("WHEN");
  app.add_option("--width", options.width, say("columns to wrap text to", "按此列数换行"))
      ->check(CLI::Range(20, 1000))
      ->type_name("N");
  app.add_option("--knowledge", options.knowledge,
                 say("folder of tables (*.tsv) that replace or extend the built-in ones", "用于替换或扩充内置表的目录（*.tsv）"))
      ->type_name("DIR");
  app.add_flag_callback(
      "--redact", [&options] { options.redact = true; },
      say("pseudonyms for names, serials and the like", "用化名代替姓名、序列号等"));
  app.add_flag_callback(
      "--no-redact", [&options] { options.redact = false; }, say("leave them as they are", "保留原样"));
}

struct Commands {
  CLI::App *check, *explain, *run, *scan, *snapshot, *kb, *rule, *version, *trace;
};

CLI::App* add_scan(CLI::App& app, Options& options, const Say& say) {
  CLI::App* scan = app.add_subcommand(
      "scan", say("GPU code inside files, archives and folders, and whether a GPU runs it: scan PATH --gpu \"RTX 4090\"",
                  "查看文件、压缩包和目录中的 GPU 代码，并判断 GPU 能否运行：scan 路径 --gpu \"RTX 4090\""));
  scan->add_option("path", options.scan_paths, say("files, wheels, conda packages, folders", "文件、wheel、conda 包、目录"));
  scan->add_option(
          "--gpu", options.gpus,
          say("judge for this GPU: a name, sm_120, 12.0, 10de:2684, or this (the machine's own; the default); may be repeated",
              "为此 GPU 判断：名称、sm_120、12.0、10de:2684 或 this（本机的 GPU，默认），可重复"))
      ->type_name("GPU")
      ->allow_extra_args(false);
  scan->add_option("--driver", options.driver, say("judge PTX for this driver version", "按此驱动版本判断 PTX"))
      ->type_name("VERSION");
  return scan;
}

bool is_process_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos &&
         text.find_first_not_of('0') != std::string::npos;
}

std::string bad_process_number(const std::string& text, const Say& say) {
  return say("must be a process number such as 1234, not ", "应为进程号（例如 1234），而不是 ") + printable(text);
}

CLI::App* add_trace(CLI::App& app, Options& options, const Say& say) {
  CLI::App* trace = app.add_subcommand(
      "trace",
      say("which libraries a program loads, from where and why, and what does not fit: trace ./PROGRAM, trace python:torch",
          "程序会加载哪些库、从哪里加载、为什么，以及哪些互不匹配：trace ./程序、trace python:torch"));
  trace->add_option("target", options.trace_target,
                    say("a program, a library, or python:NAME@ENV", "程序、库，或 python:名称@环境"));
  trace
      ->add_option("--without", options.without,
                   say("compare with this variable unset; may be repeated", "与不设此变量时比较，可重复"))
      ->type_name("NAME")
      ->allow_extra_args(false);
  trace->add_option("--with", options.with, say("compare with this variable set; may be repeated", "与设置此变量时比较，可重复"))
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  trace->add_flag("--live", options.live,
                  say("run the command behind -- and record what its loader does; the report goes to standard error or to -o",
                      "运行 -- 之后的命令并记录其加载器的行为；报告写到标准错误或 -o 指定的文件"));
  trace->add_option("--pid", options.trace_pid, say("what a running process has mapped", "查看运行中的进程映射了什么"))
      ->type_name("N")
      ->check([say](const std::string& text) { return is_process_number(text) ? std::string() : bad_process_number(text, say); });
  trace->add_option("-o,--output", options.output, say("--live: file for the report", "--live：报告写入的文件"))
      ->type_name("FILE");
  trace->add_flag("--no-symbols", options.no_symbols, say("do not compare symbols", "不比较符号"));
  return trace;
}

CLI::App* add_run(CLI::App& app, Options& options, const Say& say) {
  CLI::App* run =
      app.add_subcommand("run", say("run the command behind -- as it is; when it fails, say why: run -- python train.py",
                                    "原样运行 -- 之后的命令；失败时说明原因：run -- python train.py"));
  run->add_flag("--trace", options.trace_run,
                say("record what its loader does, and use that too", "同时记录其加载器的行为并用于判断"));
  run->add_flag("--sanitize", options.sanitize,
                say("run it under compute-sanitizer, where that is installed", "在 compute-sanitizer 下运行（需已安装）"));
  run->add_flag("--profile", options.profile, say("run it under nsys, where that is installed", "在 nsys 下运行（需已安装）"));
  run->add_option("--report", options.report,
                  say("auto: after a failure; one line where it succeeded in spite of a known message. always, or never",
                      "auto：失败后报告；若成功但出现已知报错则只给一行提示。也可为 always 或 never"))
      ->type_name("WHEN");
  run->add_option("-o,--output", options.output,
                  say("file for the report; else it goes to standard error", "报告写入的文件；默认写到标准错误"))
      ->type_name("FILE");
  run->footer(
      say("What stands behind -- is the command's own, and so is the exit code (127: not found, 126: cannot be run). "
          "Input, output, terminal and signals pass through.\nOptions of all commands: gpuvet --help.",
          "-- 之后的内容都属于该命令，退出码也与它相同（127：找不到，126：无法运行）。输入、输出、终端和信号均原样传递。\n"
          "所有命令共用的选项见 gpuvet --help。"));
  return run;
}

Commands add_commands(CLI::App& app, Options& options, const Say& say) {
  Commands c{};
  c.check = app.add_subcommand("check", say("say what is wrong, from the GPU on the bus to the program (the default)",
                                            "从总线上的 GPU 到程序，说明哪一环有问题（默认命令）"));
  c.explain = app.add_subcommand(
      "explain", say("name the cause from a text: an error message, a log, any output: explain FILE, or paste into explain -",
                     "从文本中找出原因：报错、日志或任何输出：explain 文件，或粘贴给 explain -"));
  c.explain->add_option("file", options.texts,
                        say("texts to read together; - or nothing: standard input", "一起读取的文本；- 或不写：标准输入"));
  c.explain->add_flag("--with-host", options.with_host,
                      say("use this machine's own facts too, and say where they contradict the text",
                          "同时使用本机的事实，并指出与文本矛盾之处"));
  c.run = add_run(app, options, say);
  c.scan = add_scan(app, options, say);
  c.snapshot = app.add_subcommand("snapshot", say("write all facts to a file", "把全部事实写入文件"));
  c.snapshot
      ->add_option("-o,--output", options.output, say("file to write; - is standard output", "要写入的文件；- 表示标准输出"))
      ->type_name("FILE");
  c.kb = app.add_subcommand("kb", say("what the tables know: kb gpu \"RTX 4090\", kb driver 550.120, kb xid 79 …",
                                      "查询知识表：kb gpu \"RTX 4090\"、kb driver 550.120、kb xid 79 ……"));
  c.kb->add_option("question", options.kb, say("topic and words", "主题与关键词"));
  c.rule = app.add_subcommand("rule", say("page of a rule; without a name the list of all", "显示一条规则；不带名称时列出全部"));
  c.rule->add_option("slug", options.rule, say("name of the rule", "规则名称"));
  c.trace = add_trace(app, options, say);
  c.version = app.add_subcommand("version", say("version of gpuvet", "gpuvet 的版本"));
  for (CLI::App* command : {c.check, c.explain, c.run, c.scan, c.snapshot, c.kb, c.rule, c.version, c.trace})
    command->fallthrough();
  for (CLI::App* command : {c.check, c.explain, c.scan, c.snapshot, c.kb, c.rule})
    command->footer(say("Options of all commands: gpuvet --help.", "所有命令共用的选项见 gpuvet --help。"));
  c.trace->footer(say(
      "trace --live -- CMD ARG… runs CMD; what stands behind -- is its own.\n"
      "Of the options of all commands (gpuvet --help) these count: --root, --environ, --env, --format text|json|markdown|dot, "
      "--redact (not with --live and --pid), --lang, --width, --color.",
      "trace --live -- 命令 参数…… 会运行该命令；-- 之后的内容都属于它。\n"
      "所有命令共用的选项（见 gpuvet --help）中，适用的有：--root、--environ、--env、--format text|json|markdown|dot、"
      "--redact（不能与 --live、--pid 同用）、--lang、--width、--color。"));
  return c;
}

/// Does an option of `run` take the next word as its value?
bool takes_value(std::string_view option) {
  constexpr std::string_view names[] = {"-o",          "--output", "--report",  "--for",     "--env",
                                        "--lang",      "--width",  "--color",   "--format",  "--kernel-log",
                                        "--knowledge", "--root",   "--environ", "--snapshot"};
  return std::find(std::begin(names), std::end(names), option) != std::end(names);
}

/// `run [options] [--] COMMAND…`: the first word that is no option begins the command. Returns the index of "--" or of that word.
int begin_of_command(int argc, const char* const* argv, int from) {
  for (int i = from; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--" || !argument.starts_with('-')) return i;
    if (takes_value(argument)) ++i;
  }
  return argc;
}

/// What stands behind `run` or `trace --live --` is not gpuvet's. Returns how many arguments are.
int cut_off_command(int argc, const char* const* argv, Options& options) {
  bool trace = false, live = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    trace |= argument == "trace";
    live |= argument == "--live";
    const bool run = argument == "run" && !trace;
    if (!run && !(argument == "--" && trace && live)) {
      // Another command, or an option's value: "kb run", "--for run".
      if (!argument.starts_with('-') && argument != "trace" && !trace) return argc;
      if (takes_value(argument)) ++i;
      continue;
    }
    const int begin = run ? begin_of_command(argc, argv, i + 1) : i;
    const bool marked = begin < argc && std::string_view(argv[begin]) == "--";
    if (begin < argc) options.live_command.assign(argv + begin + (marked ? 1 : 0), argv + argc);
    return begin;
  }
  return argc;
}

ParseStop usage_error(std::string text, Language language) {
  return {2, "", "gpuvet: " + std::move(text) + "\n" + std::string(message(Message::UsageHint, language)) + "\n"};
}

std::vector<std::string> known_options() {
  return {"--format",  "--lang",   "--root",       "--environ", "--kernel-log", "--snapshot",  "--for",    "--verbose",
          "--timing",  "--env",    "--strict",     "--color",   "--width",      "--knowledge", "--redact", "--no-redact",
          "--without", "--with",   "--no-symbols", "--live",    "--pid",        "--output",    "--help",   "--version",
          "--gpu",     "--driver", "--with-host",  "--trace",   "--sanitize",   "--profile",   "--report", "--windows"};
}

ParseStop explain_extra(const std::string& extra, Language language) {
  const bool option = extra.starts_with("-");
  std::string text = message(Message::UnknownCommand, language, {{"name", printable(extra)}});
  if (option) text = language == Language::Chinese ? "未知的选项 " + printable(extra) : "unknown option " + printable(extra);
  const std::string near =
      nearest(extra.substr(0, extra.find('=')),
              option ? known_options()
                     : std::vector<std::string>{"check", "explain", "run", "scan", "snapshot", "trace", "kb", "rule", "version"});
  if (!near.empty())
    text += (language == Language::Chinese ? "；" : "; ") + message(Message::DidYouMean, language, {{"name", near}});
  return usage_error(std::move(text), language);
}

/// The first thing that is wrong with values; empty: nothing.
std::string check_values(const Options& options, const std::string& language_name) {
  struct Choice {
    const char* name;
    const std::string& value;
    std::vector<std::string> allowed;
  };
  for (const Choice& choice :
       {Choice{"--format", options.format, {"text", "json", "markdown", "dot"}},
        Choice{"--color", options.color, {"auto", "always", "never"}}, Choice{"--lang", language_name, {"", "en", "zh"}},
        Choice{"--report", options.report, {"auto", "always", "never"}}}) {
    if (std::find(choice.allowed.begin(), choice.allowed.end(), choice.value) != choice.allowed.end()) continue;
    std::string values;
    for (const std::string& value : choice.allowed) values += value.empty() ? "" : (values.empty() ? "" : ", ") + value;
    return message(Message::MustBeOneOf, options.language, {{"name", choice.name}, {"values", values}});
  }
  if (options.format == "dot" && options.command != "trace") {
    return message(Message::MustBeOneOf, options.language,
                   {{"name", options.command + " --format"}, {"values", "text, json, markdown"}});
  }
  if (options.format == "markdown" && (options.command == "kb" || options.command == "rule")) {
    return message(Message::MustBeOneOf, options.language, {{"name", options.command + " --format"}, {"values", "text, json"}});
  }
  if (options.command == "trace" && (options.live || options.trace_pid != 0)) {
    const std::string form = options.live ? "trace --live" : "trace --pid";
    if (options.format != "text" && options.format != "json")
      return message(Message::MustBeOneOf, options.language, {{"name", form + " --format"}, {"values", "text, json"}});
    if (!options.root.empty()) return message(Message::OneInputOnly, options.language, {{"a", form}, {"b", "--root"}});
  }
  if (options.command == "run") {
    for (const auto& [name, value] : {std::pair{"--root", options.root}, std::pair{"--snapshot", options.snapshot},
                                      std::pair{"--environ", options.environ_file}})
      if (!value.empty()) return message(Message::OneInputOnly, options.language, {{"a", "run"}, {"b", name}});
  }
  if (options.windows) {
    for (const auto& [name, value] : {std::pair{"--root", options.root}, std::pair{"--snapshot", options.snapshot}})
      if (!value.empty()) return message(Message::OneInputOnly, options.language, {{"a", "--windows"}, {"b", name}});
  }
  if (options.snapshot.empty()) return {};
  if (options.command == "trace") return std::string(message(Message::TraceNoSnapshot, options.language));
  for (const auto& [name, value] : {std::pair{"--root", options.root}, std::pair{"--environ", options.environ_file},
                                    std::pair{"--kernel-log", options.kernel_log}}) {
    if (!value.empty()) return message(Message::OneInputOnly, options.language, {{"a", "--snapshot"}, {"b", name}});
  }
  return {};
}

}  // namespace

tl::expected<Options, ParseStop> parse_command_line(int argc, const char* const* argv) {
  Options options;
  options.language = language_of_arguments(argc, argv);
  const Say say{options.language};
  CLI::App app(say("gpuvet says why this machine's NVIDIA GPU stack does not work, with evidence and the repair.",
                   "gpuvet 说明这台机器的 NVIDIA GPU 软件栈为何不工作，并给出证据与修复步骤。"),
               "gpuvet");
  app.set_help_flag("-h,--help", say("this text", "显示本帮助"));
  app.footer(
      say("Exit codes: 0 holds, 1 broken, 2 usage or internal error (a named file is not there, is a folder or FIFO, or is no "
          "program; kb, rule: nothing of that name), 3 not enough was seen (a file cannot be read).",
          "退出码：0 完好，1 断开，2 用法或内部错误（指定的文件不存在、是目录或 FIFO，或不是程序；kb、rule：查无此名），"
          "3 看到的信息不足（如文件无法读取）。"));
  bool version_flag = false;
  std::string language_name;
  app.add_flag("--version", version_flag, say("version of gpuvet", "gpuvet 的版本"));
  add_options(app, options, language_name, say);
  const Commands commands = add_commands(app, options, say);
  try {
    app.parse(cut_off_command(argc, argv, options), argv);
  } catch (const CLI::CallForHelp&) {
    CLI::App* shown = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    return tl::unexpected(ParseStop{0, shown->help(), ""});
  } catch (const CLI::ExtrasError&) {
    const auto extras = app.remaining(true);
    return tl::unexpected(explain_extra(extras.empty() ? "" : extras.front(), options.language));
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(usage_error(printable(error.what()), options.language));
  }
  for (const CLI::App* command : {commands.check, commands.explain, commands.run, commands.scan, commands.snapshot, commands.kb,
                                  commands.rule, commands.version, commands.trace}) {
    if (command->parsed()) options.command = command->get_name();
  }
  if (version_flag) options.command = "version";
  const std::string wrong = check_values(options, language_name);
  if (!wrong.empty()) return tl::unexpected(usage_error(wrong, options.language));
  if (options.command == "snapshot" && options.output.empty()) {
    return tl::unexpected(usage_error(std::string(message(Message::MissingOutput, options.language)), options.language));
  }
  return options;
}

}  // namespace gpuvet
