// Rules as JSON: docs/json.md describes it, tests/unit/render/rule_test.cpp holds it to that.

#include "model/json_writer.h"
#include "render/render.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

constexpr std::int64_t document_schema = 1;
constexpr World all_worlds[] = {World::BareMetal, World::Vm, World::Container, World::Wsl2, World::Wsl1, World::Jetson};

void begin_document(JsonWriter& w, std::string_view name) {
  w.begin_object();
  w.key("schema");
  w.integer(document_schema);
  w.field("document", name);
}

void write_text(JsonWriter& w, const RuleText& text, bool chinese) {
  w.field("title", chinese ? text.title_zh : text.title_en);
  w.field("explanation", chinese ? text.explanation_zh : text.explanation_en);
}

void write_variants(JsonWriter& w, const RuleRecord& record, bool chinese) {
  w.key("variants");
  w.begin_array();
  for (const RuleText& text : record.texts) {
    if (text.variant.empty()) continue;
    w.begin_object();
    w.field("variant", text.variant);
    write_text(w, text, chinese);
    w.end_object();
  }
  w.end_array();
}

void write_fields(JsonWriter& w, const RuleRecord& record, Language language) {
  const bool chinese = language == Language::Chinese;
  w.field("slug", record.slug);
  w.field("layer", layer_name(record.layer));
  w.field("severity", severity_name(record.severity));
  w.key("worlds");
  w.begin_array();
  for (const World world : all_worlds) {
    if ((record.worlds & static_cast<Worlds>(world)) != 0) w.string(world_name(world));
  }
  w.end_array();
  write_text(w, record.texts.front(), chinese);
  write_variants(w, record, chinese);
  w.field("decides", chinese ? record.decides_zh : record.decides_en);
  w.key("explains");
  w.begin_array();
  for (const std::string_view kind : record.explains) w.string(kind);
  w.end_array();
  w.field("source", record.source);
}

}  // namespace

std::string render_rule_json(std::string_view slug, const RenderOptions& options) {
  const RuleRecord* record = find_rule_record(slug);
  if (record == nullptr || record->texts.empty()) return {};
  JsonWriter w;
  begin_document(w, "rule");
  write_fields(w, *record, options.language);
  w.end_object();
  return w.take() + "\n";
}

std::string render_rule_list_json(const RenderOptions& options) {
  JsonWriter w;
  begin_document(w, "rules");
  w.key("rules");
  w.begin_array();
  for (const RuleRecord& record : all_rule_records()) {
    if (record.texts.empty()) continue;
    w.begin_object();
    write_fields(w, record, options.language);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

}  // namespace gpuvet
