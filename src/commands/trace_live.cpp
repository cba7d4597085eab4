// `gpuvet trace --live -- COMMAND…` and `gpuvet trace --pid N`. The command's standard output is its own: the report goes to
// standard error, or to the file that -o names.

#include "commands/trace_live.h"
#include "audit/embedded.h"
#include "collect/process_record.h"
#include "commands/input.h"
#include "commands/output_file.h"
#include "commands/report_output.h"
#include "render/messages.h"
#include "render/trace_live.h"
#include "system/child_process.h"
#include "system/traced_child.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_forecasts = 200;

std::string say(const Options& options, const char* english, const char* chinese) {
  return options.language == Language::Chinese ? chinese : english;
}

NoRecord why_no_record(System& system, const std::string& program) {
  switch (program_kind_of(system, program)) {
    case ProgramKind::Static:
      return NoRecord::Static;
    case ProgramKind::Musl:
      return NoRecord::Musl;
    case ProgramKind::Secure:
      return NoRecord::Secure;
    case ProgramKind::OtherMachine:
      return NoRecord::OtherMachine;
    case ProgramKind::Dynamic:
    case ProgramKind::Unknown:
      break;
  }
  return NoRecord::NotKnown;
}

LiveReport report_of(const Options& options, const TracedRun& traced) {
  const auto system = make_live_system();
  LoadRecord record = parse_load_record(traced.records);
  const RelayedRun& run = traced.run;
  LiveReport report;
  report.command = options.live_command;
  report.program = run.program;
  report.pid = run.pid;
  report.exit_code = run.exit_code;
  report.signal = run.signal;
  report.cut = traced.full || record.cut;
  auto judged = judge_records(*system, record.processes, most_forecasts);
  bool recorded = false;
  for (std::size_t i = 0; i < record.processes.size(); ++i) {
    recorded |= record.processes[i].pid == run.pid;
    report.processes.push_back(
        {std::move(record.processes[i]), judged[i].forecasted, std::move(judged[i].forecast), std::move(judged[i].comparison)});
  }
  if (!recorded) report.no_record = why_no_record(*system, run.program);
  return report;
}

RunningReport report_of(std::int64_t pid, RunningProcess running) {
  RunningReport report;
  report.pid = pid;
  report.program = running.program;
  report.other_root = running.other_root;
  report.environment_seen = running.environment_seen;
  report.forecasted = running.forecasted;
  report.not_mapped = std::move(running.not_mapped);
  report.missing = std::move(running.missing);
  for (const RunningProcess::Object& object : running.objects) {
    RunningObject out;
    out.path = object.file.path;
    out.on_disk = object.on_disk;
    if (object.file.deleted)
      out.state = RunningObject::State::Deleted;
    else if (object.replaced)
      out.state = RunningObject::State::Replaced;
    else if (object.written)
      out.state = RunningObject::State::Written;
    out.forecast = object.forecast;
    out.expected = object.start_up           ? RunningObject::Expected::StartUp
                   : object.forecast.empty() ? RunningObject::Expected::RunTime
                                             : RunningObject::Expected::OtherPath;
    report.objects.push_back(std::move(out));
  }
  return report;
}

int cannot_redact(const Options& options) {
  return fail(say(options, "trace --live and trace --pid cannot redact what they tell; leave out --redact",
                  "trace --live 与 trace --pid 不能隐去其输出中的名称；请去掉 --redact"));
}

}  // namespace

int run_trace_live(const Options& options) {
  if (options.redact.value_or(false)) return cannot_redact(options);
  if (options.live_command.empty())
    return fail(say(options, "trace --live needs a command behind --: gpuvet trace --live -- ./program",
                    "trace --live 需要在 -- 之后给出命令：gpuvet trace --live -- ./程序"));
  if (audit_library().empty())
    return fail(say(options, "this gpuvet was built without the audit library: its compiler could not make one",
                    "此 gpuvet 未带审计库：编译它的编译器无法生成"));
  const auto traced = run_traced(options.live_command, audit_library(), {});
  if (!traced) {
    fail(printable(traced.error().message));
    return traced.error().code == ErrorCode::NotFound ? 127 : 126;
  }
  const LiveReport report = report_of(options, *traced);
  const RenderOptions how = render_options(options);
  const int wrong = put_report(options, options.format == "json" ? render_live_json(report, how) : render_live_text(report, how));
  if (wrong != 0) return wrong;
  if (traced->run.signal != 0) die_by_signal(traced->run.signal);
  return traced->run.exit_code;
}

int run_trace_pid(const Options& options) {
  if (options.redact.value_or(false)) return cannot_redact(options);
  const auto system = make_live_system();
  auto running = read_running_process(*system, options.trace_pid);
  if (!running) {
    const bool denied = running.error().code == ErrorCode::Denied;
    const auto self = system->identity();
    const bool is_root = self && self->uid == 0;
    std::string text = printable(running.error().message);
    if (denied && is_root)
      text += say(options, "; not even root may look into it here (a container without CAP_SYS_PTRACE, or a security module)",
                  "；这里连 root 也无权查看它（容器没有 CAP_SYS_PTRACE，或受安全模块限制）");
    else if (denied)
      text += say(options, "; it is another user's process: try sudo", "；这是其他用户的进程，请用 sudo 重试");
    return fail(text, denied ? 3 : 2);
  }
  const RunningReport report = report_of(options.trace_pid, std::move(*running));
  const RenderOptions how = render_options(options);
  const int printed = print(options.format == "json" ? render_running_json(report, how) : render_running_text(report, how));
  return printed != 0 ? printed : running_exit_code(report);
}

}  // namespace gpuvet
