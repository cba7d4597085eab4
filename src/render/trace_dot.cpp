// `gpuvet trace --format dot`: the graph for Graphviz.

#include <set>

#include "loader/library_family.h"
#include "render/trace.h"
#include "render/trace_words.h"

namespace gpuvet {
namespace {

/// A quoted DOT string: foreign text made printable, quotes and backslashes escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string node(int object) { return "n" + std::to_string(object); }

void write_object(const TraceReport& report, int index, const RenderOptions& options, std::string& out) {
  const LoadedObject& object = report.forecast.objects[static_cast<std::size_t>(index)];
  const std::string release = object.file == nullptr ? "" : release_of(*object.file);
  const std::string label = object_name(report, index) + (release.empty() ? "" : " " + printable(release));
  out += "  " + node(index) + " [label=" + quoted(label) +
         ", tooltip=" + quoted(object.path + " (" + rule_in_words(report, object, options.language) + ")") + "];\n";
}

void write_edges(const TraceReport& report, int index, std::set<std::string>& missing, std::string& out) {
  const LoadedObject& object = report.forecast.objects[static_cast<std::size_t>(index)];
  for (const int needed : object.needed)
    if (needed >= 0) out += "  " + node(index) + " -> " + node(needed) + ";\n";
  for (const MissingLibrary& library : report.forecast.missing) {
    if (library.needed_by != index) continue;
    missing.insert(library.name);
    out += "  " + node(index) + " -> " + quoted("missing: " + library.name) + " [color=red];\n";
  }
}

}  // namespace

std::string render_trace_dot(const TraceReport& report, const RenderOptions& options) {
  std::string out = "digraph " + quoted(report.target) + " {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const int count = static_cast<int>(report.forecast.objects.size());
  for (int i = 0; i < count; ++i) write_object(report, i, options, out);
  std::set<std::string> missing;
  for (int i = 0; i < count; ++i) write_edges(report, i, missing, out);
  for (const MissingLibrary& library : report.forecast.missing)
    if (!library.optional) missing.insert(library.name);
  for (const std::string& name : missing)
    out += "  " + quoted("missing: " + name) + " [label=" + quoted(name) + ", color=red, fontcolor=red];\n";
  for (const SymbolConflict& conflict : report.conflicts.conflicts) {
    if (conflict.wanted_by < 0 || conflict.expected_in < 0) continue;
    const std::string label = conflict.symbols.empty() ? conflict.version : conflict.symbols.front();
    out += "  " + node(conflict.wanted_by) + " -> " + node(conflict.expected_in) +
           " [color=red, style=dashed, constraint=false, label=" + quoted(label) + "];\n";
  }
  return out + "}\n";
}

}  // namespace gpuvet
