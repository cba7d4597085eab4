// Text of `trace --live` and `trace --pid`: first what is wrong, then what was loaded.

#include <algorithm>

#include "render/own_words.h"
#include "render/terminal_text.h"
#include "render/trace_live.h"
#include "render/trace_live_words.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_lines = 200;

struct Page {
  const RenderOptions& options;
  std::string out;

  bool zh() const { return options.language == Language::Chinese; }
  std::string say(std::string_view english, std::string_view chinese) const { return std::string(zh() ? chinese : english); }
  void line(std::string_view text, std::string_view first = "", std::string_view rest = "    ") {
    out += paragraph(text, first, rest, options.width);
  }
  void heading(const std::string& text, Style style = Style::Bold) { out += styled(text, style, options.color) + "\n"; }
  std::string finish() { return options.ascii ? ascii_only(out) : std::move(out); }
};

std::string path_at(const RecordedProcess& process, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < process.objects.size()
             ? printable(process.objects[static_cast<std::size_t>(index)].path)
             : std::string();
}

/// The library that ended start-up: the last search that failed before the program's own code ran.
const RecordedFailure* deadly(const RecordedProcess& process) {
  if (process.started || process.forked || process.failures.empty()) return nullptr;
  return &process.failures.back();
}

void tell_tries(Page& page, const RecordedFailure& failure, const MissingLibrary* forecast) {
  std::vector<std::string> told;
  for (const RecordedTry& tried : failure.tried) {
    told.push_back(tried.path);
    page.line(printable(tried.path) + " (" + in_own_words(tried.rule, page.options.language) + ")" +
                  (tried.file.known() ? page.say(", is there", "，存在") : ""),
              "      - ", "        ");
  }
  if (forecast == nullptr) return;
  for (const TriedPlace& place : forecast->tried) {
    if (std::ranges::find(told, place.path) != told.end() || told.size() > most_lines) continue;
    told.push_back(place.path);
    page.line(printable(place.path) + " (" + in_own_words(place.rule, page.options.language) +
                  "): " + in_own_words(place.why, page.options.language),
              "      - ", "        ");
  }
}

const MissingLibrary* forecast_of(const ProcessReport& report, const std::string& name) {
  const auto found = std::ranges::find(report.forecast.missing, name, &MissingLibrary::name);
  return found != report.forecast.missing.end() ? &*found : nullptr;
}

void tell_death(Page& page, const ProcessReport& report, const RecordedFailure& failure) {
  const std::string program = printable(report.process.program), name = printable(failure.name);
  const std::string by = path_at(report.process, failure.requester);
  const MissingLibrary* forecast = forecast_of(report, failure.name);
  if (!failure.stopped_at.empty()) {
    page.heading(page.zh() ? program + " 没有启动：加载器停在 " + printable(failure.stopped_at)
                           : program + " did not start: the loader stopped at " + printable(failure.stopped_at),
                 Style::Bad);
    const std::string error = forecast != nullptr ? printable(forecast->error) : "";
    page.line(page.zh() ? by + " 需要 " + name + "，但该文件不能使用" + (error.empty() ? "" : "：" + error)
                        : by + " needs " + name + ", and that file cannot be used" + (error.empty() ? "" : ": " + error),
              "    ");
    return;
  }
  page.heading(page.zh() ? program + " 没有启动：找不到 " + name : program + " did not start: " + name + " was not found",
               Style::Bad);
  page.line(page.zh() ? "需要它的是 " + by + "。加载器找过：" : "It is needed by " + by + ". The loader looked here:", "    ");
  tell_tries(page, failure, forecast);
}

/// Everything was mapped, and still the program's code never ran.
void tell_refusal(Page& page, const ProcessReport& report) {
  const std::string program = printable(report.process.program);
  page.heading(page.zh() ? program + " 没有启动：库都已映射，但加载器随后拒绝了"
                         : program + " did not start: all libraries were mapped, then the loader refused",
               Style::Bad);
  page.line(page.zh()
                ? "通常是某个库缺少所需的符号或符号版本；加载器的消息在上方。`gpuvet trace " + program + "` 会指出是哪一个。"
                : "Usually a library lacks a symbol or a symbol version; the loader's own message is above. `gpuvet trace " +
                      program + "` names it.",
            "    ");
}

std::string origin_of(Page& page, const RecordedObject& object, const RecordedProcess& process) {
  std::string text = object.rule;
  if (const std::string by = path_at(process, object.requester); !by.empty())
    text += page.say(object.root ? ", opened by " : ", needed by ", object.root ? "，打开它的是 " : "，需要它的是 ") + by;
  if (object.root) {
    const auto reason = reason_text(dlopen_reason(object, process), page.options.language);
    if (!reason.empty()) text += " (" + std::string(reason) + ")";
  }
  if (object.closed) text += page.say(", closed again", "，已再次关闭");
  return text;
}

void tell_objects(Page& page, const RecordedProcess& process, bool dlopen) {
  std::size_t count = 0;
  for (const RecordedObject& object : process.objects) {
    if (object.dlopen != dlopen || object.rule == "program" || object.rule == "loader") continue;
    if (count == 0) page.line(dlopen ? page.say("at run time:", "运行期间：") : page.say("at start-up:", "启动时："), "  ");
    if (++count > most_lines) continue;
    page.line(printable(object.path) + "  [" + origin_of(page, object, process) + "]", "    ", "        ");
  }
  if (count > most_lines) page.line("… +" + std::to_string(count - most_lines), "    ");
}

void tell_failures(Page& page, const RecordedProcess& process) {
  std::size_t count = 0;
  for (const RecordedFailure& failure : process.failures) {
    if (&failure == deadly(process)) continue;
    if (count == 0) page.line(page.say("asked for and not loaded:", "请求过但没有加载："), "  ");
    if (++count > most_lines) continue;
    const std::string by = path_at(process, failure.requester);
    std::string text = printable(failure.name) + "  [";
    text += failure.stopped_at.empty() ? page.say("found nowhere", "未找到")
                                       : page.say("looked at, not mapped: ", "已查看，未映射：") + printable(failure.stopped_at);
    if (!by.empty()) text += page.say(", asked by ", "，请求者：") + by;
    page.line(text + "]", "    ", "        ");
  }
}

void tell_comparison(Page& page, const ProcessReport& report) {
  if (!report.forecasted) {
    page.line(page.say("no forecast was made for this process", "没有为此进程做预测"), "  ");
    return;
  }
  const RecordComparison& c = report.comparison;
  const std::string start = std::to_string(c.start_up_equal) + "/" + std::to_string(c.start_up);
  const std::string run = std::to_string(c.run_time_equal) + "/" + std::to_string(c.run_time);
  page.line(page.zh() ? "与预测一致：启动时 " + start + "，运行期间 " + run
                      : "as forecast: " + start + " at start-up, " + run + " at run time",
            "  ");
  for (const LoadDifference& difference : c.differences)
    page.line(difference_text(difference, page.options.language), "  ! ", "    ");
}

void tell_environment(Page& page, const RecordedProcess& process) {
  for (const auto& [name, value] : process.environment) {
    if (!value.empty()) page.line(name + "=" + printable(value), "  ");
  }
}

bool is_quiet(const ProcessReport& report) {
  const bool dead = !report.process.started && !report.process.forked;
  return !dead && report.process.failures.empty() && report.comparison.differences.empty();
}

void tell_process(Page& page, const ProcessReport& report) {
  const RecordedProcess& process = report.process;
  page.out += "\n";
  std::string title = printable(process.program) + "  (" + std::to_string(process.pid) + ")";
  if (process.forked) title += page.say(", forked", "，fork 的子进程");
  page.heading(title);
  tell_environment(page, process);
  tell_objects(page, process, false);
  tell_objects(page, process, true);
  tell_failures(page, process);
  if (!process.forked) tell_comparison(page, report);
}

void tell_end(Page& page, const LiveReport& report) {
  std::string text = page.zh() ? "命令以退出码 " + std::to_string(report.exit_code) + " 结束"
                               : "the command ended with exit code " + std::to_string(report.exit_code);
  if (report.signal != 0)
    text = page.zh() ? "命令被信号 " + std::to_string(report.signal) + " 终止"
                     : "the command was ended by signal " + std::to_string(report.signal);
  text += page.zh() ? "；记录了 " + std::to_string(report.processes.size()) + " 个程序"
                    : "; programs recorded: " + std::to_string(report.processes.size());
  page.line(text);
}

// ---- a running process ------------------------------------------------------------------------------------------------

std::string state_text(Page& page, const RunningObject& object) {
  switch (object.state) {
    case RunningObject::State::Same:
      return {};
    case RunningObject::State::Deleted:
      return object.on_disk
                 ? page.say("replaced on disk since: the process still runs the old file", "磁盘上已被替换：进程仍在使用旧文件")
                 : page.say("removed from disk since: the process still runs it", "已从磁盘删除：进程仍在使用它");
    case RunningObject::State::Replaced:
      return page.say("the path leads to another file now", "该路径现在指向另一个文件");
    case RunningObject::State::Written:
      return page.say("written to after the process had started", "在进程启动后被修改过");
  }
  return {};
}

void tell_running(Page& page, const RunningReport& report) {
  for (const RunningObject& object : report.objects) {
    std::string text = printable(object.path);
    const std::string state = state_text(page, object);
    if (!state.empty()) text += "  ! " + state;
    if (report.forecasted && object.expected == RunningObject::Expected::OtherPath)
      text += page.say("  ! a new start would take ", "  ! 重新启动会改用 ") + printable(object.forecast);
    if (report.forecasted && object.expected == RunningObject::Expected::RunTime)
      text += page.say("  [opened at run time]", "  [运行期间打开]");
    page.line(text, "  ", "      ");
  }
}

}  // namespace

std::string render_live_text(const LiveReport& report, const RenderOptions& options) {
  Page page{options, {}};
  for (const ProcessReport& process : report.processes) {
    if (const RecordedFailure* failure = deadly(process.process))
      tell_death(page, process, *failure);
    else if (!process.process.started && !process.process.forked && report.exit_code != 0 && process.process.pid == report.pid &&
             report.signal == 0)
      tell_refusal(page, process);
  }
  if (report.no_record != NoRecord::Recorded) page.line(no_record_text(report, options.language));
  tell_end(page, report);
  if (report.cut) page.line(page.say("The record was full: what came later is missing.", "记录已满：之后的内容缺失。"));
  std::size_t told = 0, quiet = 0;
  for (const ProcessReport& process : report.processes) {
    const bool first = process.process.pid == report.pid;
    if (!first && options.verbosity == 0 && is_quiet(process) && report.processes.size() > 8)
      ++quiet;
    else if (++told <= most_lines)
      tell_process(page, process);
  }
  if (quiet > 0)
    page.line(page.zh() ? std::to_string(quiet) + " 个其他程序与预测一致（-v 列出）"
                        : std::to_string(quiet) + (quiet == 1 ? " further program as forecast (-v lists it)"
                                                              : " further programs as forecast (-v lists them)"),
              "\n");
  return page.finish();
}

std::string render_running_text(const RunningReport& report, const RenderOptions& options) {
  Page page{options, {}};
  page.heading(printable(report.program) + "  (" + std::to_string(report.pid) + ")");
  if (report.other_root)
    page.line(page.say("It runs in another root (a container): files are those of that root.",
                       "它运行在另一个根目录（容器）中：文件取自该根目录。"),
              "  ", "  ");
  if (!report.environment_seen)
    page.line(page.say("Its environment could not be read (sudo helps): the forecast knows no LD_LIBRARY_PATH.",
                       "无法读取其环境变量（可用 sudo）：预测不知道 LD_LIBRARY_PATH。"),
              "  ", "  ");
  if (!report.forecasted)
    page.line(page.say("Its program file could not be read: nothing was forecast.", "无法读取其程序文件：没有预测。"), "  ",
              "  ");
  tell_running(page, report);
  for (const std::string& path : report.not_mapped)
    page.line(page.say("a new start would also map ", "重新启动还会映射 ") + printable(path), "  ! ", "      ");
  for (const std::string& name : report.missing)
    page.line(page.say("a new start would not find ", "重新启动将找不到 ") + printable(name), "  ! ", "      ");
  const bool stale = running_exit_code(report) != 0;
  page.line(stale ? page.say("What runs is not what is installed: restart the process to use the files on disk.",
                             "正在运行的与已安装的不一致：请重启该进程以使用磁盘上的文件。")
                  : page.say("What is mapped is what is installed.", "正在使用的就是已安装的文件。"));
  return page.finish();
}

int running_exit_code(const RunningReport& report) {
  const bool stale = std::ranges::any_of(report.objects, [](const RunningObject& object) {
    return object.state == RunningObject::State::Deleted || object.state == RunningObject::State::Replaced ||
           object.expected == RunningObject::Expected::OtherPath;
  });
  return stale || !report.missing.empty() ? 1 : 0;
}

}  // namespace gpuvet
