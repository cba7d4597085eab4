// `gpuvet trace` for a person at a terminal.

#include <algorithm>
#include <set>

#include "knowledge/cuda_libraries.h"
#include "loader/library_family.h"
#include "render/own_words.h"
#include "render/terminal_text.h"
#include "render/trace.h"
#include "render/trace_tree.h"
#include "render/trace_words.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_shadows = 3, most_places = 40, most_copies = 6;

class TraceText {
 public:
  TraceText(const TraceReport& report, const RenderOptions& options)
      : report_(report), options_(options), say_{options.language}, width_(std::clamp(options.width, 40, 200)) {}

  std::string render() {
    if (!report_.is_static || !cut_off_objects(report_).empty()) tree();
    missing();
    conflicts();
    host();
    unknown();
    out_ += '\n';
    lines(verdict_text(report_, options_.language), "", "", Style::Bold);
    return options_.ascii ? ascii_only(out_) : std::move(out_);
  }

 private:
  void lines(std::string_view text, std::string_view first, std::string_view rest, Style style) {
    bool is_first = true;
    for (const std::string& line : wrap(text, std::max(20, width_ - display_width(rest)))) {
      out_ += std::string(is_first ? first : rest) + styled(line, style, options_.color) + '\n';
      is_first = false;
    }
  }
  void heading(std::string_view text) {
    out_ += '\n';
    lines(text, "", "", Style::Bold);
  }
  std::string mark(std::string_view unicode, std::string_view ascii) const {
    return std::string(options_.ascii ? ascii : unicode);
  }

  /// The lines that lead to a node: before its first line, and before what follows under it.
  std::pair<std::string, std::string> branches(const TraceNode& node) const {
    std::string first, rest;
    for (std::size_t i = 0; i + 1 < node.last.size(); ++i) first += node.last[i] ? "   " : mark("│  ", "|  ");
    rest = first;
    if (!node.last.empty()) {
      first += node.last.back() ? mark("└─ ", "`- ") : mark("├─ ", "|- ");
      rest += node.last.back() ? "   " : mark("│  ", "|  ");
    }
    return {first, rest};
  }

  void tree() {
    int step = -1;
    for (const TraceNode& node : trace_tree(report_.forecast)) {
      if (node.last.empty() && node.object >= 0) step_heading(node.object, step);
      const auto [first, rest] = branches(node);
      switch (node.kind) {
        case TraceNode::Kind::Object:
          object(node.object, first, rest);
          break;
        case TraceNode::Kind::Missing:
          lines(mark("✗ ", "x ") + printable(node.names.front()) + std::string(say_(": not found", "：找不到")), first, rest,
                Style::Bad);
          break;
        case TraceNode::Kind::Above:
          lines(mark("↑ ", "^ ") + std::string(say_("above: ", "见上：")) + names(node.names), first, rest, Style::Dim);
          break;
        case TraceNode::Kind::Below:
          lines(mark("↓ ", "v ") + std::string(say_("below: ", "见下：")) + names(node.names), first, rest, Style::Dim);
          break;
      }
    }
  }

  std::string names(const std::vector<std::string>& list) const {
    std::string text;
    for (const std::string& name : list) text += (text.empty() ? "" : std::string(say_(", ", "、"))) + printable(name);
    return text;
  }

  /// Who opens the next libraries once the process runs.
  void step_heading(int index, int& step) {
    const int own = report_.forecast.objects[static_cast<std::size_t>(index)].step;
    if (own < 0 || own == step || static_cast<std::size_t>(own) >= report_.plan.steps.size()) return;
    const std::string& why = report_.plan.steps[static_cast<std::size_t>(own)].why;
    const bool same = step >= 0 && report_.plan.steps[static_cast<std::size_t>(step)].why == why;
    step = own;
    if (!same && !why.empty())
      lines(std::string(say_("then: ", "随后：")) + in_own_words(why, options_.language), "", "", Style::Dim);
  }

  void object(int index, const std::string& first, const std::string& rest) {
    const LoadedObject& object = report_.forecast.objects[static_cast<std::size_t>(index)];
    std::string text = printable(object.name);
    const std::string release = object.file == nullptr ? "" : release_of(*object.file);
    if (!release.empty()) text += " " + printable(release);
    if (object.path != object.name) text += mark(" → ", " -> ") + printable(object.path);
    if (object.rule != "program") text += " (" + rule_in_words(report_, object, options_.language) + ")";
    lines(text, first, rest, object.rule == "program" ? Style::Bold : Style::Plain);
    if (const std::string cut = cut_off_text(object, options_.language); !cut.empty())
      lines(mark("✗ ", "x ") + cut, rest + "  ", rest + "  ", Style::Bad);
    shadows(object, rest);
  }

  void shadows(const LoadedObject& object, const std::string& rest) {
    std::size_t shown = 0;
    for (const ShadowedCopy& copy : object.shadows) {
      if (shown++ == most_shadows) break;
      std::string text = std::string(say_("shadows ", "遮蔽了 ")) + printable(copy.path) + " (";
      const std::string release = copy.file == nullptr ? "" : release_of(*copy.file);
      if (!release.empty()) text += printable(release) + ", ";
      lines(text + rule_in_words(copy.rule, options_.language) + ")", rest + "  ", rest + "  ", Style::Dim);
    }
    if (object.shadows.size() > most_shadows) {
      const std::string more = std::to_string(object.shadows.size() - most_shadows);
      lines(options_.language == Language::Chinese ? "另遮蔽 " + more + " 个副本"
                                                   : "and " + more + (more == "1" ? " more copy" : " more copies"),
            rest + "  ", rest + "  ", Style::Dim);
    }
  }

  void missing() {
    std::set<std::string> told;
    bool any = false;
    for (const MissingLibrary* library : required_missing(report_)) {
      if (!told.insert(library->name).second) continue;
      if (!any) heading(say_("Missing", "缺少的库"));
      any = true;
      missing_library(*library);
    }
    std::vector<std::string> optional;
    for (const MissingLibrary& library : report_.forecast.missing)
      if (library.optional && told.insert(library.name).second) optional.push_back(library.name);
    if (!optional.empty())
      lines(std::string(say_("Not there, and the process goes on without: ", "不存在，但进程可以继续：")) + names(optional), "\n",
            "", Style::Dim);
  }

  void missing_library(const MissingLibrary& library) {
    const bool chinese = options_.language == Language::Chinese;
    std::string by = object_name(report_, library.needed_by);
    if (by.empty()) by = printable(base_name(library.needed_by_path));
    std::string text = printable(library.name);
    if (!by.empty()) text += chinese ? "，" + by + " 需要它" : ", needed by " + by;
    lines(text, mark("✗ ", "x "), "  ", Style::Bad);
    belongs_to(library);
    if (!library.blocked_by.empty()) blocked(library);
    places(library);
    const auto copies = report_.copies.find(library.name);
    if (copies == report_.copies.end() || copies->second.empty()) {
      if (library.blocked_by.empty())
        lines(say_("No copy was found in the usual folders either.", "在常见目录中也没有找到副本。"), "  ", "  ", Style::Plain);
      return;
    }
    lines(say_("Copies that lie unused:", "未被使用的副本："), "  ", "  ", Style::Plain);
    for (std::size_t i = 0; i < copies->second.size() && i < most_copies; ++i) {
      const OtherCopy& copy = copies->second[i];
      lines(printable(copy.path) + (copy.version.empty() ? "" : " (" + printable(copy.version) + ")"), "    ", "      ",
            Style::Good);
    }
  }

  /// Of which CUDA, or of what else, a library is a part.
  void belongs_to(const MissingLibrary& library) {
    const auto known = cuda_library(Knowledge(), base_name(library.name));
    if (!known) return;
    if (known->is_of_driver()) {
      lines(say_("It comes with the NVIDIA driver, with no toolkit and no wheel.",
                 "它随 NVIDIA 驱动安装，工具包和 wheel 里都没有。"),
            "  ", "  ", Style::Plain);
      return;
    }
    const std::string releases = known->belongs_to();
    lines(options_.language == Language::Chinese ? "它属于 " + releases + "。" : "It belongs to " + releases + ".", "  ", "  ",
          Style::Plain);
  }

  void blocked(const MissingLibrary& library) {
    const std::string path = printable(library.blocked_by);
    const std::string error = printable(library.error);
    lines(options_.language == Language::Chinese ? "加载器在 " + path + " 处停下：" + error
                                                 : "The loader ends at " + path + ": " + error,
          "  ", "  ", Style::Plain);
  }

  void places(const MissingLibrary& library) {
    if (library.tried.empty()) return;
    lines(say_("Looked for at:", "查找过的位置："), "  ", "  ", Style::Plain);
    for (std::size_t i = 0; i < library.tried.size() && i < most_places; ++i) {
      const TriedPlace& place = library.tried[i];
      std::string text = printable(place.path) + " (" + rule_in_words(place.rule, options_.language);
      if (!place.why.empty() && place.why != "not there")
        text += std::string(say_("; ", "；")) + in_own_words(place.why, options_.language);
      lines(text + ")", "    ", "      ", Style::Dim);
    }
    if (library.tried.size() > most_places)
      lines(std::string(say_("and more: ", "另有：")) + std::to_string(library.tried.size() - most_places), "    ", "      ",
            Style::Dim);
  }

  void conflicts() {
    bool any = false;
    for (const SymbolConflict& conflict : report_.conflicts.conflicts) {
      if (!any) heading(say_("What does not fit", "互不匹配之处"));
      any = true;
      const ConflictText text = conflict_text(report_, conflict, options_.language);
      lines(text.title, conflict.note ? "! " : mark("✗ ", "x "), "  ", conflict.note ? Style::Warning : Style::Bad);
      for (const std::string& detail : text.details) lines(detail, "  ", "    ", Style::Plain);
    }
  }

  void host() {
    if (report_.conflicts.host.empty()) return;
    out_ += '\n';
    for (const HostSymbols& entry : report_.conflicts.host)
      lines(host_text(report_, entry, options_.language), "", "  ", Style::Dim);
  }

  void unknown() {
    if (report_.forecast.unknown.empty() && report_.plan.problems.empty()) return;
    heading(say_("Could not be decided", "未能确定"));
    for (const std::string& what : report_.forecast.unknown)
      lines(in_own_words(what, options_.language), "? ", "  ", Style::Plain);
    for (const Origin& origin : report_.plan.problems)
      lines(printable(origin.source) +
                (origin.text.empty() ? "" : std::string(say_(": ", "：")) + problem_text(origin, options_.language)),
            "? ", "  ", Style::Plain);
  }

  const TraceReport& report_;
  const RenderOptions& options_;
  TraceLanguage say_;
  int width_;
  std::string out_;
};

}  // namespace

std::string render_trace_text(const TraceReport& report, const RenderOptions& options) {
  return TraceText(report, options).render();
}

std::string render_trace_markdown(const TraceReport& report, const RenderOptions& options) {
  RenderOptions plain = options;
  plain.color = false;
  plain.width = 120;
  // A name that holds the fence is harmless inside a longer one.
  return "## gpuvet trace " + printable(report.target) + "\n\n``````text\n" + TraceText(report, plain).render() + "``````\n";
}

}  // namespace gpuvet
