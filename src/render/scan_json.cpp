// gpuvet scan --format json: docs/json.md describes it.

#include "model/json_writer.h"
#include "render/scan.h"

namespace gpuvet {
namespace {

constexpr std::int64_t document_schema = 1;

void write_driver(JsonWriter& w, std::uint32_t branch) {
  w.key("min_driver");
  if (branch == 0) return w.null();
  w.string(std::to_string(branch));
}

void write_targets(JsonWriter& w, const std::vector<GpuCodeTarget>& targets, const Knowledge& knowledge) {
  w.key("targets");
  w.begin_array();
  for (const GpuCodeTarget& target : targets) {
    w.begin_object();
    w.field("kind", target.kind);
    w.field("arch", target.arch);
    w.key("count");
    w.integer(target.count);
    w.key("listed");
    w.integer(target.listed);
    if (!target.ptx_isa.empty()) w.field("ptx_isa", target.ptx_isa);
    if (!target.ptx_isa_oldest.empty()) w.field("ptx_isa_oldest", target.ptx_isa_oldest);
    write_driver(w, min_driver_of(target, knowledge));
    w.end_object();
  }
  w.end_array();
}

void write_counts(JsonWriter& w, std::string_view name, const std::vector<CodeCount>& counts) {
  w.key(name);
  w.begin_array();
  for (const CodeCount& count : counts) {
    w.begin_object();
    w.field("name", count.name);
    w.key("count");
    w.integer(count.count);
    w.end_object();
  }
  w.end_array();
}

void write_verdict(JsonWriter& w, const GpuCodeFile& file, const CodeJudgement& verdict, const ScanGpu& gpu,
                   const RenderOptions& options) {
  w.begin_object();
  w.field("gpu", gpu.label);
  w.field("capability", gpu.capability.text());
  w.field("verdict", code_verdict_name(verdict.verdict));
  w.field("reason", code_reason_name(verdict.reason));
  w.field("why", scan_verdict_text(file, verdict, gpu, options));
  w.key("arch");
  verdict.arch.empty() ? w.null() : w.string(verdict.arch);
  write_driver(w, verdict.min_driver);
  if (verdict.judged > 0) {
    w.key("containers_judged"), w.integer(verdict.judged);
    w.key("containers_without_code"), w.integer(verdict.holes);
    w.key("containers_with_ptx_only"), w.integer(verdict.by_ptx);
    w.key("containers_for_other_gpus"), w.integer(verdict.special);
  }
  w.end_object();
}

void write_file(JsonWriter& w, const ScanReport& report, const ScanReport::File& file, const Knowledge& knowledge,
                const RenderOptions& options) {
  const GpuCodeFile& code = file.code;
  w.begin_object();
  w.field("path", code.path);
  w.field("group", scan_group(code.path));
  w.key("size"), w.integer(code.size);
  w.field("state", code.state.empty() ? "complete" : code.state);
  if (!code.problem.empty()) w.field("problem", code.problem);
  write_targets(w, code.targets, knowledge);
  w.key("verdicts");
  w.begin_array();
  for (std::size_t i = 0; i < report.gpus.size() && i < file.verdicts.size(); ++i)
    write_verdict(w, code, file.verdicts[i], report.gpus[i], options);
  w.end_array();
  w.key("containers"), w.integer(code.containers);
  w.key("stub_containers"), w.integer(code.stub_containers);
  write_counts(w, "stub_targets", code.stub_targets);
  write_counts(w, "places", code.places);
  write_counts(w, "container_sets", code.container_sets);
  w.end_object();
}

void write_summary(JsonWriter& w, const ScanReport& report, const Knowledge& knowledge) {
  w.key("summary");
  w.begin_array();
  for (const ScanGroup& group : scan_groups(report)) {
    w.begin_object();
    w.field("group", group.name);
    w.key("files"), w.natural(group.files);
    write_targets(w, group.targets, knowledge);
    w.key("verdicts");
    w.begin_array();
    for (std::size_t i = 0; i < group.worst.size(); ++i) {
      w.begin_object();
      w.field("gpu", report.gpus[i].label);
      w.field("capability", report.gpus[i].capability.text());
      w.field("verdict", code_verdict_name(group.worst[i]));
      w.end_object();
    }
    w.end_array();
    w.end_object();
  }
  w.end_array();
}

void write_question(JsonWriter& w, const ScanReport& report) {
  w.key("gpus");
  w.begin_array();
  for (const ScanGpu& gpu : report.gpus) {
    w.begin_object();
    w.field("asked", gpu.asked);
    w.field("gpu", gpu.label);
    w.field("capability", gpu.capability.text());
    w.end_object();
  }
  w.end_array();
  w.key("driver");
  report.context.driver ? w.string(report.context.driver->text) : w.null();
  w.field_bool("force_ptx_jit", report.context.force_ptx_jit);
  w.field_bool("disable_ptx_jit", report.context.disable_ptx_jit);
}

void write_seen(JsonWriter& w, const ScanReport& report) {
  w.key("problems");
  w.begin_array();
  for (const auto& [path, why] : report.problems) {
    w.begin_object();
    w.field("path", path);
    w.field("why", why);
    w.end_object();
  }
  w.end_array();
  w.key("files_seen"), w.natural(report.files_seen);
  w.key("files_read"), w.natural(report.files_read);
  w.key("bytes_read"), w.natural(report.bytes_read);
  w.field_bool("stopped", report.stopped);
}

}  // namespace

std::string render_scan_json(const ScanReport& report, const Knowledge& knowledge, const RenderOptions& options) {
  JsonWriter w;
  w.begin_object();
  w.key("schema"), w.integer(document_schema);
  w.field("document", "scan");
  w.key("exit_code"), w.integer(exit_code(report));
  write_question(w, report);
  w.key("files");
  w.begin_array();
  for (const ScanReport::File& file : report.files) write_file(w, report, file, knowledge, options);
  w.end_array();
  write_summary(w, report, knowledge);
  write_seen(w, report);
  w.end_object();
  return w.take() + "\n";
}

}  // namespace gpuvet
