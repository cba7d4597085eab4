#include "render/trace_live_words.h"

#include "render/own_words.h"

namespace gpuvet {
namespace {

std::string_view say(Language language, std::string_view english, std::string_view chinese) {
  return language == Language::Chinese ? chinese : english;
}

using Kind = LoadDifference::Kind;
using Why = LoadDifference::Why;

std::string what_differs(const LoadDifference& d, Language language) {
  const std::string name = printable(d.name), recorded = printable(d.recorded), forecast = printable(d.forecast);
  const bool zh = language == Language::Chinese;
  switch (d.kind) {
    case Kind::OnlyRecorded:
      return zh ? "加载器映射了 " + recorded + "，但预测中没有" : "the loader mapped " + recorded + ", which was not forecast";
    case Kind::OnlyForecast:
      return zh ? "预测有 " + forecast + "，但加载器没有映射" : forecast + " was forecast, but the loader did not map it";
    case Kind::OtherPath:
      return zh ? "对 " + name + "，加载器取了 " + recorded + "，而预测为 " + forecast
                : "for " + name + " the loader took " + recorded + " where " + forecast + " was forecast";
    case Kind::OtherOrder:
      return zh ? "加载顺序不同：实际在 " + forecast + " 的位置上是 " + recorded
                : "the order differs: " + recorded + " came where " + forecast + " was forecast";
  }
  return {};
}

std::string reason_of(const LoadDifference& d, Language language) {
  switch (d.why) {
    case Why::NotKnown:
      return std::string(
          say(language, "no reason is known; please report this as a bug of gpuvet", "原因未知，请作为 gpuvet 的错误报告"));
    case Why::ProgramEnded:
      return std::string(say(language, "the loader stopped before it came to that", "加载器在此之前已停止"));
    case Why::Undecided:
      return std::string(say(language, "the forecast was not sure: ", "预测本身不确定：")) + in_own_words(d.detail, language);
    case Why::FilesChanged:
      return std::string(say(language, "the file came or went meanwhile", "该文件在此期间出现或消失"));
    case Why::ClosedBefore:
      return std::string(
          say(language, "a library that it would have shared had been closed before", "它本会共用的库此前已被关闭"));
    case Why::Preload:
      return std::string(say(language, "it was preloaded", "它是被预加载的"));
    case Why::WorkingFolder:
      return std::string(say(language, "it was asked for by a relative path, and the program may have changed its working folder",
                             "请求使用的是相对路径，而程序可能已改变工作目录"));
  }
  return {};
}

}  // namespace

std::string_view reason_key(DlopenReason reason) {
  switch (reason) {
    case DlopenReason::Program:
      return "program";
    case DlopenReason::NameService:
      return "name-service";
    case DlopenReason::Conversion:
      return "character-conversion";
    case DlopenReason::Unwinder:
      return "unwinder";
    case DlopenReason::Python:
      return "python-module";
    case DlopenReason::Perl:
      return "perl-module";
    case DlopenReason::Plugin:
      return "plugin";
    case DlopenReason::Driver:
      return "gpu-driver";
  }
  return "program";
}

std::string_view difference_key(Kind kind) {
  switch (kind) {
    case Kind::OnlyRecorded:
      return "only-recorded";
    case Kind::OnlyForecast:
      return "only-forecast";
    case Kind::OtherPath:
      return "other-path";
    case Kind::OtherOrder:
      return "other-order";
  }
  return "only-recorded";
}

std::string_view why_key(Why why) {
  switch (why) {
    case Why::NotKnown:
      return "not-known";
    case Why::ProgramEnded:
      return "program-ended";
    case Why::Undecided:
      return "forecast-undecided";
    case Why::FilesChanged:
      return "files-changed";
    case Why::ClosedBefore:
      return "closed-before";
    case Why::Preload:
      return "preload";
    case Why::WorkingFolder:
      return "working-folder";
  }
  return "not-known";
}

std::string_view no_record_key(NoRecord reason) {
  switch (reason) {
    case NoRecord::Recorded:
      return "recorded";
    case NoRecord::Static:
      return "static-program";
    case NoRecord::Musl:
      return "musl-program";
    case NoRecord::Secure:
      return "set-user-id-program";
    case NoRecord::OtherMachine:
      return "other-architecture";
    case NoRecord::NotKnown:
      return "not-recorded";
  }
  return "not-recorded";
}

std::string_view state_key(RunningObject::State state) {
  switch (state) {
    case RunningObject::State::Same:
      return "same";
    case RunningObject::State::Deleted:
      return "deleted";
    case RunningObject::State::Replaced:
      return "replaced";
    case RunningObject::State::Written:
      return "written";
  }
  return "same";
}

std::string_view expected_key(RunningObject::Expected expected) {
  switch (expected) {
    case RunningObject::Expected::StartUp:
      return "start-up";
    case RunningObject::Expected::OtherPath:
      return "other-path";
    case RunningObject::Expected::RunTime:
      return "run-time";
  }
  return "run-time";
}

std::string_view reason_text(DlopenReason reason, Language language) {
  switch (reason) {
    case DlopenReason::Program:
      return "";
    case DlopenReason::NameService:
      return say(language, "name service of the C library (/etc/nsswitch.conf)", "C 库的名称服务（/etc/nsswitch.conf）");
    case DlopenReason::Conversion:
      return say(language, "character conversion of the C library (iconv)", "C 库的字符转换（iconv）");
    case DlopenReason::Unwinder:
      return say(language, "the C library's unwinder", "C 库的栈回溯");
    case DlopenReason::Python:
      return say(language, "import of a Python module", "导入 Python 模块");
    case DlopenReason::Perl:
      return say(language, "use of a Perl module", "使用 Perl 模块");
    case DlopenReason::Plugin:
      return say(language, "plug-in", "插件");
    case DlopenReason::Driver:
      return say(language, "the GPU driver's library", "GPU 驱动的库");
  }
  return "";
}

std::string difference_text(const LoadDifference& difference, Language language) {
  const bool zh = language == Language::Chinese;
  return what_differs(difference, language) + (zh ? "：" : ": ") + reason_of(difference, language);
}

std::string no_record_text(const LiveReport& report, Language language) {
  const std::string program = printable(report.program);
  const bool zh = language == Language::Chinese;
  switch (report.no_record) {
    case NoRecord::Recorded:
      return {};
    case NoRecord::Static:
      return program + (zh ? " 是静态链接的：没有加载器，无可记录。"
                           : " is statically linked: no loader runs, so there is nothing to record.");
    case NoRecord::Musl:
      return program + (zh ? " 使用 musl 的加载器，它没有审计接口。请用 gpuvet trace 查看预测。"
                           : " is run by musl's loader, which has no audit interface. `gpuvet trace` forecasts what it loads.");
    case NoRecord::Secure:
      return program +
             (zh ? " 以其他用户或组的权限运行（set-user-ID、set-group-ID）：加载器此时忽略 LD_AUDIT。"
                 : " runs with another user's or group's rights (set-user-ID, set-group-ID): there the loader ignores LD_AUDIT.");
    case NoRecord::OtherMachine:
      return program + (zh ? " 属于另一种架构：gpuvet 只带有本架构的审计库。"
                           : " is of another architecture: gpuvet carries an audit library for its own only.");
    case NoRecord::NotKnown:
      return program + (zh ? " 没有留下记录：它可能带有文件权能（getcap），或在沙箱中运行。"
                           : " left no record: it may have file capabilities (see getcap), or run in a sandbox that cannot reach "
                             "gpuvet's files.");
  }
  return {};
}

}  // namespace gpuvet
