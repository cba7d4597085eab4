// The page of a rule, and the list of all.

#include <algorithm>

#include "render/messages.h"
#include "render/render.h"
#include "render/terminal_text.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

constexpr World all_worlds[] = {World::BareMetal, World::Vm, World::Container, World::Wsl2, World::Wsl1, World::Jetson};

std::string names_of_worlds(Worlds worlds, Language language) {
  std::string out;
  for (const World world : all_worlds) {
    if ((worlds & static_cast<Worlds>(world)) == 0) continue;
    if (!out.empty()) out += language == Language::Chinese ? "、" : ", ";
    out += world_title(world, language);
  }
  return out;
}

/// Placeholders as a reader understands them: "{kernel}" → "<kernel>".
std::string readable(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '{', '<');
  std::replace(out.begin(), out.end(), '}', '>');
  return out;
}

void out_heading(std::string& out, std::string_view title, const RenderOptions& options) {
  if (!out.empty()) out += '\n';
  out += styled(title, Style::Bold, options.color) + "\n";
}

class RulePage {
 public:
  explicit RulePage(const RenderOptions& options) : options_(options), width_(std::clamp(options.width, 40, 120)) {}

  std::string render(const RuleRecord& record) {
    out_ += styled(record.slug, Style::Bold, options_.color) + "  " + std::string(layer_title(record.layer, options_.language)) +
            " · " + severity(record.severity) + "\n\n";
    for (std::size_t i = 0; i < record.texts.size(); ++i) text(record.texts[i], i);
    section(Message::Decides, chinese() ? record.decides_zh : record.decides_en);
    section(Message::AppliesOn, names_of_worlds(record.worlds, options_.language));
    std::string kinds;
    for (const std::string_view kind : record.explains) kinds += (kinds.empty() ? "" : ", ") + std::string(kind);
    section(Message::Explains, kinds);
    section(Message::Source, record.source);
    return std::move(out_);
  }

 private:
  /// The record has the worst that the rule says; by what was seen it may say less.
  std::string severity(Severity worst) const {
    const std::string title(severity_title(worst, options_.language));
    return worst == Severity::Note ? title : message(Message::AtMost, options_.language, {{"severity", title}});
  }

  bool chinese() const { return options_.language == Language::Chinese; }

  void text(const RuleText& text, std::size_t index) {
    if (index == 1) out_ += styled(message(Message::Variants, options_.language), Style::Bold, options_.color) + "\n";
    const std::string title = readable(chinese() ? text.title_zh : text.title_en);
    const std::string label = text.variant.empty() ? "" : std::string(text.variant) + (chinese() ? "：" : ": ");
    out_ += paragraph(label + title, "  ", "  ", width_);
    out_ += paragraph(readable(chinese() ? text.explanation_zh : text.explanation_en), index == 0 ? "  " : "    ",
                      index == 0 ? "  " : "    ", width_);
    out_ += '\n';
  }

  void section(Message title, std::string_view body) {
    if (body.empty()) return;
    out_ += styled(message(title, options_.language), Style::Bold, options_.color) + "\n" + paragraph(body, "  ", "  ", width_) +
            "\n";
  }

  const RenderOptions& options_;
  int width_;
  std::string out_;
};

/// The name and its title; beside it where there is room, else below.
std::string list_entry(std::string_view slug, std::string_view title, std::size_t slug_width, int width) {
  const std::string name = "  " + std::string(slug);
  const std::string beside = name + std::string(slug_width - slug.size() + 2, ' ');
  const bool narrow = width < static_cast<int>(slug_width) + 34;
  if (narrow) return name + "\n" + paragraph(title, "      ", "      ", std::max(width, 40));
  return paragraph(title, beside, std::string(slug_width + 4, ' '), width);
}

}  // namespace

std::string render_rule_page(std::string_view slug, const RenderOptions& options) {
  const RuleRecord* record = find_rule_record(slug);
  if (record == nullptr) return {};
  std::string page = RulePage(options).render(*record);
  while (page.ends_with("\n\n")) page.pop_back();
  return options.ascii ? ascii_only(page) : page;
}

std::string render_rule_list(const RenderOptions& options) {
  std::string out;
  std::size_t slug_width = 0;
  for (const RuleRecord& record : all_rule_records()) slug_width = std::max(slug_width, record.slug.size());
  const bool chinese = options.language == Language::Chinese;
  for (int layer = 0; layer <= static_cast<int>(Layer::Wsl); ++layer) {
    bool first = true;
    for (const RuleRecord& record : all_rule_records()) {
      if (static_cast<int>(record.layer) != layer || record.texts.empty()) continue;
      if (first) out_heading(out, layer_title(record.layer, options.language), options);
      first = false;
      const std::string title = readable(chinese ? record.texts.front().title_zh : record.texts.front().title_en);
      out += list_entry(record.slug, title, slug_width, options.width);
    }
  }
  return options.ascii ? ascii_only(out) : out;
}

}  // namespace gpuvet
