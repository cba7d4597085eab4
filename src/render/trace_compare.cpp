#include "render/trace_compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "loader/library_family.h"
#include "render/own_words.h"
#include "render/terminal_text.h"
#include "render/trace_words.h"

namespace gpuvet {
namespace {

std::string key_of(const LoadedObject& object) {
  if (object.file != nullptr && !object.file->soname.empty()) return object.file->soname;
  return std::string(base_name(object.name));
}

/// The libraries of one run, in order, by soname.
struct Places {
  std::vector<std::string> order;
  std::map<std::string, ChangedLibrary::Place> by_name;
};

Places places_of(const TraceReport& report) {
  Places places;
  const auto add = [&](const std::string& name, ChangedLibrary::Place place) {
    if (places.by_name.emplace(name, std::move(place)).second) places.order.push_back(name);
  };
  for (const LoadedObject& object : report.forecast.objects) {
    if (object.rule == "program" || object.rule == "loader") continue;
    add(key_of(object), {object.path, rule_in_words(report, object, Language::English),
                         object.file == nullptr ? "" : release_of(*object.file), false});
  }
  for (const MissingLibrary& library : report.forecast.missing) add(std::string(base_name(library.name)), {"", "", "", true});
  return places;
}

std::string place_text(const ChangedLibrary::Place& place, const TraceLanguage& say) {
  if (place.missing) return std::string(say("not found", "找不到"));
  if (place.path.empty()) return std::string(say("not loaded", "不加载"));
  return printable(place.path) + (place.version.empty() ? "" : " " + printable(place.version)) + " (" +
         in_own_words(place.rule, say.language) + ")";
}

std::string change_text(const std::vector<ChangedVariable>& changes, const TraceLanguage& say) {
  std::string text;
  for (const ChangedVariable& change : changes) {
    if (!text.empty()) text += say(", ", "，");
    text += change.set ? std::string(say("with ", "设置 ")) + printable(change.name) + "=" + printable(change.value)
                       : std::string(say("without ", "不设 ")) + printable(change.name);
  }
  return text;
}

std::set<std::string> conflict_titles(const TraceReport& report, Language language) {
  std::set<std::string> titles;
  for (const SymbolConflict& conflict : report.conflicts.conflicts)
    titles.insert(conflict_text(report, conflict, language).title);
  return titles;
}

void append_lines(std::string& out, std::string_view text, std::string_view first, std::string_view rest, Style style, int width,
                  bool color) {
  bool is_first = true;
  for (const std::string& line : wrap(text, std::max(20, width - display_width(rest)))) {
    out += std::string(is_first ? first : rest) + styled(line, style, color) + '\n';
    is_first = false;
  }
}

}  // namespace

std::vector<ChangedLibrary> changed_libraries(const TraceReport& before, const TraceReport& after) {
  const Places old_places = places_of(before);
  const Places new_places = places_of(after);
  std::vector<std::string> names = old_places.order;
  for (const std::string& name : new_places.order)
    if (!old_places.by_name.contains(name)) names.push_back(name);
  std::vector<ChangedLibrary> changed;
  const auto find = [](const Places& places, const std::string& name) {
    const auto found = places.by_name.find(name);
    return found == places.by_name.end() ? ChangedLibrary::Place() : found->second;
  };
  for (const std::string& name : names) {
    const ChangedLibrary library{name, find(old_places, name), find(new_places, name)};
    if (library.before.path != library.after.path || library.before.missing != library.after.missing) changed.push_back(library);
  }
  return changed;
}

std::string render_comparison_text(const TraceReport& before, const TraceReport& after,
                                   const std::vector<ChangedVariable>& changes, const RenderOptions& options) {
  const TraceLanguage say{options.language};
  const int width = std::clamp(options.width, 40, 200);
  std::string out;
  const auto add = [&](std::string_view text, std::string_view first, std::string_view rest, Style style) {
    append_lines(out, text, first, rest, style, width, options.color);
  };
  add(printable(after.target) + ", " + change_text(changes, say), "", "", Style::Bold);
  const auto changed = changed_libraries(before, after);
  if (changed.empty()) add(say("No library changes its place.", "没有库的位置发生变化。"), "", "", Style::Plain);
  for (const ChangedLibrary& library : changed) {
    add(printable(library.name), "", "", Style::Plain);
    add(place_text(library.before, say), "  - ", "    ", Style::Bad);
    add(place_text(library.after, say), "  + ", "    ", Style::Good);
  }
  const auto old_titles = conflict_titles(before, options.language);
  const auto new_titles = conflict_titles(after, options.language);
  for (const std::string& title : old_titles)
    if (!new_titles.contains(title))
      add(std::string(say("gone: ", "消失：")) + title, options.ascii ? "+ " : "✓ ", "  ", Style::Good);
  for (const std::string& title : new_titles) {
    const bool is_new = !old_titles.contains(title);
    add(std::string(is_new ? say("new: ", "新增：") : say("stays: ", "仍在：")) + title, options.ascii ? "x " : "✗ ", "  ",
        Style::Bad);
  }
  out += '\n';
  add(std::string(say("As it is: ", "现状：")) + verdict_text(before, options.language), "", "", Style::Plain);
  add(std::string(say("Changed: ", "更改后：")) + verdict_text(after, options.language), "", "", Style::Bold);
  return options.ascii ? ascii_only(out) : out;
}

}  // namespace gpuvet
