#pragma once
// The sentences of `gpuvet trace`, in both languages. Everything that comes from an inspected file is made printable here.

#include <string>
#include <string_view>
#include <vector>

#include "render/trace.h"

namespace gpuvet {

/// English or Chinese.
struct TraceLanguage {
  Language language;
  std::string_view operator()(std::string_view english, std::string_view chinese) const {
    return language == Language::Chinese ? chinese : english;
  }
};

/// "LD_LIBRARY_PATH, 2nd element", "RUNPATH $ORIGIN/../lib of libfoo.so".
std::string rule_in_words(const TraceReport& report, const LoadedObject& object, Language language);
/// The same for a rule without its object: a place that was tried, a shadowed copy.
std::string rule_in_words(std::string_view rule, Language language);

/// File name of an object: "libcusparse.so.12".
std::string object_name(const TraceReport& report, int object);
/// With its release: "libcusparse.so.12 (12.3.1.170)".
std::string object_with_release(const TraceReport& report, int object);

/// A conflict in words: what is wrong first, then details, one string a line of thought.
struct ConflictText {
  std::string title;
  std::vector<std::string> details;
};
ConflictText conflict_text(const TraceReport& report, const SymbolConflict& conflict, Language language);

std::string host_text(const TraceReport& report, const HostSymbols& host, Language language);
std::string verdict_text(const TraceReport& report, Language language);
/// Key of a conflict's kind in JSON: "symbol-missing".
std::string_view conflict_kind(SymbolConflict::Kind kind);

/// "cut off: needs at least 968 MiB, has 12 MiB"; empty: the file is whole.
std::string cut_off_text(const LoadedObject& object, Language language);

/// Required libraries that are missing (an optional one is not).
std::vector<const MissingLibrary*> required_missing(const TraceReport& report);

}  // namespace gpuvet
