#include "render/trace_words.h"

#include <algorithm>

#include "loader/library_family.h"
#include "loader/search_path.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

using Kind = SymbolConflict::Kind;

std::string ordinal(std::size_t number) {
  const std::size_t tens = number % 100;
  const char* ending = "th";
  if (tens < 11 || tens > 13) ending = number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
  return std::to_string(number) + ending;
}

/// Place of an element in LD_LIBRARY_PATH, from 1; 0: not told.
std::size_t element_number(std::string_view library_path, std::string_view element) {
  if (element.empty()) return 0;
  const std::vector<std::string> elements = split_library_path(library_path);
  if (elements.size() < 2) return 0;
  while (element.size() > 1 && element.ends_with('/')) element.remove_suffix(1);
  const auto found = std::ranges::find(elements, element);
  return found == elements.end() ? 0 : static_cast<std::size_t>(found - elements.begin()) + 1;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : separator).append(part);
  return text;
}

const LibraryFile* file_of(const TraceReport& report, int object) {
  return object < 0 || static_cast<std::size_t>(object) >= report.forecast.objects.size()
             ? nullptr
             : report.forecast.objects[static_cast<std::size_t>(object)].file;
}

/// "__nvJitLinkComplete_12_4, __nvJitLinkCreate_12_4 and 6 more"
std::string symbol_list(const std::vector<std::string>& symbols, std::size_t count, Language language) {
  constexpr std::size_t shown = 3;
  constexpr std::size_t longest = 120;
  const TraceLanguage say{language};
  std::vector<std::string> names;
  for (const std::string& symbol : symbols) {
    if (names.size() == shown) break;
    names.push_back(printable(symbol.size() > longest ? symbol.substr(0, longest) + "…" : symbol));
  }
  std::string text = joined(names, say(", ", "、"));
  const std::size_t more = count - std::min(count, names.size());
  if (more == 0) return text;
  return text +
         (language == Language::Chinese ? " 等 " + std::to_string(count) + " 个" : " and " + std::to_string(more) + " more");
}

std::string quoted_error(const std::string& error, Language language) {
  return std::string(TraceLanguage{language}("The loader's words: ", "加载器的原话：")) + error;
}

std::string where_loaded(const TraceReport& report, int object, Language language) {
  const LoadedObject& loaded = report.forecast.objects[static_cast<std::size_t>(object)];
  const std::string rule = rule_in_words(report, loaded, language);
  return std::string(TraceLanguage{language}("Loaded: ", "加载的是：")) + printable(loaded.path) + " (" + rule + ")";
}

std::string copies_with_it(const SymbolConflict& conflict, Language language) {
  const TraceLanguage say{language};
  std::vector<std::string> copies;
  for (const OtherCopy& copy : conflict.found_in)
    copies.push_back(printable(copy.path) + (copy.version.empty() ? "" : " (" + printable(copy.version) + ")"));
  return std::string(say("Copies on this machine that fit: ", "本机上合适的副本：")) + joined(copies, say(", ", "、"));
}

bool is_torch(std::string_view name) { return name.starts_with("libtorch") || name.starts_with("libc10"); }

/// What stands behind it, in words for a person who does not read symbols.
std::string meaning(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  const TraceLanguage say{language};
  const std::string wanting = object_name(report, conflict.wanted_by);
  const std::string owner = printable(conflict.expected_name);
  const std::string_view stem = library_stem(conflict.expected_name);
  if (conflict.cxx11_abi)
    return wanting + std::string(say(" was compiled with the other C++ ABI than ", " 与 ")) + owner +
           std::string(say(" (the macro _GLIBCXX_USE_CXX11_ABI differs): it needs a build for this one.",
                           " 使用了不同的 C++ ABI（宏 _GLIBCXX_USE_CXX11_ABI 不同）：需要为它重新构建。"));
  if (is_torch(conflict.expected_name))
    return wanting + std::string(say(" was built for another release of torch than the one that is loaded.",
                                     " 是为另一个版本的 torch 构建的，与加载的版本不同。"));
  if (stem == "libnvJitLink")
    return std::string(say("nvJitLink must be at least as new as the library that uses it; this copy is older.",
                           "nvJitLink 不能旧于使用它的库；加载的这一份更旧。"));
  if (stem == "libcublasLt" || stem == "libcublas")
    return std::string(say("cuBLAS and cuBLASLt have to come from one release; these do not.",
                           "cuBLAS 与 cuBLASLt 必须来自同一版本；这里不是。"));
  if (stem.starts_with("libcudnn"))
    return std::string(
        say("The parts of cuDNN have to come from one release; these do not.", "cuDNN 的各个部分必须来自同一版本；这里不是。"));
  if (stem == "libstdc++")
    return wanting + std::string(say(" was compiled with a newer GCC than this libstdc++ comes from.",
                                     " 由更新的 GCC 编译，而这份 libstdc++ 来自较旧的 GCC。"));
  if (stem == "libc" || stem == "libm" || stem == "libpthread")
    return wanting +
           std::string(say(" was built on a system with a newer C library than this one.", " 是在 C 库更新的系统上构建的。"));
  if (conflict.expected_in < 0) return {};
  return std::string(say("The two files come from different releases.", "这两个文件来自不同的版本。"));
}

std::string when_it_fails(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  const TraceLanguage say{language};
  const std::string name = object_name(report, conflict.wanted_by);
  if (conflict.at_load)
    return language == Language::Chinese ? "加载 " + name + " 时即失败。" : "It fails as soon as " + name + " is loaded.";
  return std::string(say("It fails when one of them is called for the first time (or at load, under LD_BIND_NOW or RTLD_NOW).",
                         "首次调用其中之一时失败（设置 LD_BIND_NOW 或以 RTLD_NOW 打开时，加载即失败）。"));
}

ConflictText version_missing(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  const std::string wanting = object_with_release(report, conflict.wanted_by);
  const std::string owner = object_with_release(report, conflict.expected_in);
  const std::string version = printable(conflict.version);
  ConflictText text;
  text.title = language == Language::Chinese
                   ? wanting + " 需要 " + owner + " 的版本 " + version + "，加载的这一份没有"
                   : wanting + " wants version " + version + " of " + owner + ", and the copy that is loaded lacks it";
  if (!conflict.newest.empty())
    text.title += language == Language::Chinese ? "（最高到 " + printable(conflict.newest) + "）"
                                                : " (it goes up to " + printable(conflict.newest) + ")";
  text.details.push_back(meaning(report, conflict, language));
  text.details.push_back(where_loaded(report, conflict.expected_in, language));
  const std::string path = printable(report.forecast.objects[static_cast<std::size_t>(conflict.expected_in)].path);
  const std::string by = printable(report.forecast.objects[static_cast<std::size_t>(conflict.wanted_by)].path);
  text.details.push_back(quoted_error(path + ": version `" + version + "' not found (required by " + by + ")", language));
  return text;
}

ConflictText symbol_missing(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  const std::string wanting = object_with_release(report, conflict.wanted_by);
  const std::string list = symbol_list(conflict.symbols, conflict.count, language);
  const bool chinese = language == Language::Chinese;
  ConflictText text;
  if (conflict.expected_in >= 0) {
    const std::string owner = object_with_release(report, conflict.expected_in);
    text.title = chinese ? wanting + " 需要 " + owner + " 所没有的符号：" + list
                         : wanting + " needs what " + owner + " does not have: " + list;
  } else {
    text.title = chinese ? wanting + " 需要的符号，进程中没有任何库提供：" + list
                         : wanting + " needs what no library of the process has: " + list;
    if (!conflict.expected_name.empty())
      text.title += (chinese ? "（通常在 " : " (it is usually in ") + printable(conflict.expected_name) + (chinese ? "）" : ")");
  }
  text.details.push_back(meaning(report, conflict, language));
  if (conflict.expected_in >= 0) text.details.push_back(where_loaded(report, conflict.expected_in, language));
  const std::string version = conflict.version.empty() ? "" : ", version " + printable(conflict.version);
  if (!conflict.symbols.empty())
    text.details.push_back(quoted_error("undefined symbol: " + printable(conflict.symbols.front()) + version, language));
  text.details.push_back(when_it_fails(report, conflict, language));
  return text;
}

std::string copy_list(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  std::vector<std::string> copies;
  for (const int object : conflict.objects) {
    const LibraryFile* file = file_of(report, object);
    const std::string release = file == nullptr ? "" : release_of(*file);
    const std::string path = printable(report.forecast.objects[static_cast<std::size_t>(object)].path);
    copies.push_back(release.empty() ? path : path + " (" + printable(release) + ")");
  }
  return joined(copies, language == Language::Chinese ? "、" : ", ");
}

ConflictText copies_text(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  const TraceLanguage say{language};
  const std::string name = printable(conflict.expected_name);
  ConflictText text;
  const bool chinese = language == Language::Chinese;
  if (conflict.kind == Kind::MixedReleases) {
    text.title = chinese ? name + " 的各个部分来自不同的版本" : "the parts of " + name + " come from different releases";
    text.details.emplace_back(say("They are made for parts of their own release only.", "它们只能与同一版本的部分一起工作。"));
  } else if (conflict.kind == Kind::LoadedTwice) {
    text.title = chinese ? name + " 被加载了两次，来自不同的文件" : name + " is loaded twice, from different files";
    text.details.emplace_back(say("Calls from one half of the process may end up in the other half's copy.",
                                  "进程一部分的调用可能落到另一部分的副本中。"));
  } else {
    text.title = chinese ? "进程中有两个版本的 " + name : "there are two releases of " + name + " in the process";
    text.details.emplace_back(say("That is no fault by itself: each user gets the one that it was built for.",
                                  "这本身不是错误：每个使用者得到的是它构建时所用的那一个。"));
  }
  text.details.push_back(copy_list(report, conflict, language));
  return text;
}

std::string count_of_libraries(const TraceReport& report) {
  const auto is_library = [](const LoadedObject& o) { return o.rule != "program" && o.rule != "loader"; };
  return std::to_string(std::ranges::count_if(report.forecast.objects, is_library));
}

std::string short_title(std::string title) {
  const std::size_t colon = title.find(": ");
  return colon == std::string::npos ? title : title.substr(0, colon);
}

std::string broken_text(const TraceReport& report, Language language) {
  const bool chinese = language == Language::Chinese;
  if (const auto cut = cut_off_objects(report); !cut.empty()) {
    const std::string path = printable(cut.front()->path);
    return chinese ? "无法工作：" + path + " 不完整（退出码 1）。" : "It does not work: " + path + " is cut off (exit code 1).";
  }
  const auto missing = required_missing(report);
  if (!missing.empty() && !missing.front()->blocked_by.empty()) {
    const std::string path = printable(missing.front()->blocked_by), error = printable(missing.front()->error);
    return chinese ? "无法加载：" + path + "：" + error + "（退出码 1）。"
                   : "It does not load: " + path + ": " + error + " (exit code 1).";
  }
  if (!missing.empty()) {
    std::vector<std::string> names;
    for (const MissingLibrary* library : missing) {
      const std::string name = printable(library->name);
      if (names.size() < 4 && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    const std::string list = joined(names, chinese ? "、" : ", ") + (names.size() < missing.size() ? " …" : "");
    return chinese ? "无法加载：找不到 " + list + "（退出码 1）。" : "It does not load: " + list + " is missing (exit code 1).";
  }
  const auto conflict = std::ranges::find_if(report.conflicts.conflicts, [](const SymbolConflict& c) { return !c.note; });
  const std::string title = short_title(conflict_text(report, *conflict, language).title);
  return chinese ? "库之间互不匹配：" + title + "（退出码 1）。"
                 : "The libraries do not fit together: " + title + " (exit code 1).";
}

}  // namespace

std::string rule_in_words(std::string_view rule, Language language) {
  const TraceLanguage say{language};
  if (rule == "ld.so.preload") return "/etc/ld.so.preload";
  if (rule == "default") return std::string(say("default folder", "默认目录"));
  if (rule == "path") return std::string(say("named by its path", "按路径指定"));
  if (rule == "loader") return std::string(say("the loader itself", "加载器本身"));
  if (rule == "program") return std::string(say("the target", "目标本身"));
  if (rule == "musl path") return std::string(say("musl's path", "musl 的搜索路径"));
  return printable(rule);
}

std::string rule_in_words(const TraceReport& report, const LoadedObject& object, Language language) {
  const bool chinese = language == Language::Chinese;
  const std::string detail = printable(object.rule_detail);
  if (object.rule == "LD_LIBRARY_PATH") {
    const std::size_t number = element_number(report.library_path, object.rule_detail);
    if (number == 0) return object.rule;
    return chinese ? "LD_LIBRARY_PATH 的第 " + std::to_string(number) + " 项" : object.rule + ", " + ordinal(number) + " element";
  }
  const bool inherited = object.rule.starts_with("RPATH of ");
  if (object.rule != "RUNPATH" && object.rule != "RPATH" && !inherited) return rule_in_words(object.rule, language);
  const std::string kind = object.rule == "RUNPATH" ? "RUNPATH" : "RPATH";
  const std::string of =
      inherited ? printable(base_name(std::string_view(object.rule).substr(9))) : object_name(report, object.loader);
  if (chinese) return (of.empty() ? "" : of + " 的 ") + kind + (detail.empty() ? "" : " " + detail);
  return kind + (detail.empty() ? "" : " " + detail) + (of.empty() ? "" : " of " + of);
}

std::string object_name(const TraceReport& report, int object) {
  if (object < 0 || static_cast<std::size_t>(object) >= report.forecast.objects.size()) return {};
  return printable(base_name(report.forecast.objects[static_cast<std::size_t>(object)].path));
}

std::string object_with_release(const TraceReport& report, int object) {
  const LibraryFile* file = file_of(report, object);
  const std::string release = file == nullptr ? "" : release_of(*file);
  return object_name(report, object) + (release.empty() ? "" : " (" + printable(release) + ")");
}

ConflictText conflict_text(const TraceReport& report, const SymbolConflict& conflict, Language language) {
  ConflictText text = conflict.kind == Kind::VersionMissing  ? version_missing(report, conflict, language)
                      : conflict.kind == Kind::SymbolMissing ? symbol_missing(report, conflict, language)
                                                             : copies_text(report, conflict, language);
  if (!conflict.found_in.empty()) text.details.push_back(copies_with_it(conflict, language));
  std::erase_if(text.details, [](const std::string& detail) { return detail.empty(); });
  return text;
}

std::string host_text(const TraceReport& report, const HostSymbols& host, Language language) {
  const std::string name = object_name(report, host.wanted_by);
  const std::string list = symbol_list(host.symbols, host.count, language);
  const bool chinese = language == Language::Chinese;
  const std::string by = host.host.empty() ? "" : (chinese ? "（" : " (") + host.host + (chinese ? "）" : ")");
  return chinese ? name + " 的 " + std::to_string(host.count) + " 个符号由打开它的程序" + by + "提供：" + list
                 : std::to_string(host.count) + (host.count == 1 ? " symbol of " : " symbols of ") + name +
                       (host.count == 1 ? " is" : " are") + " provided by the program that opens it" + by + ": " + list;
}

std::string verdict_text(const TraceReport& report, Language language) {
  const TraceLanguage say{language};
  switch (trace_verdict(report)) {
    case TraceVerdict::Static:
      return std::string(
          say("Statically linked: the loader maps nothing (exit code 0).", "静态链接：加载器不映射任何库（退出码 0）。"));
    case TraceVerdict::NotSeen:
      return std::string(
          say("Not enough was seen to say what is loaded (exit code 3).", "看到的信息不足，无法判断会加载什么（退出码 3）。"));
    case TraceVerdict::Broken:
      return broken_text(report, language);
    case TraceVerdict::Fits:
      break;
  }
  const std::map<std::string, std::string> values{{"n", count_of_libraries(report)}};
  if (!report.conflicts.symbols_seen)
    return fill_placeholders(say("{n|The|All} {n} {n|library is|libraries are} found; symbols were not compared (exit code 0).",
                                 "找到全部 {n} 个库；未比较符号（退出码 0）。"),
                             values);
  return fill_placeholders(say("{n|The|All} {n} {n|library is|libraries are} found and {n|fits|fit together} (exit code 0).",
                               "找到全部 {n} 个库，彼此匹配（退出码 0）。"),
                           values);
}

std::string_view conflict_kind(Kind kind) {
  switch (kind) {
    case Kind::VersionMissing:
      return "version-missing";
    case Kind::SymbolMissing:
      return "symbol-missing";
    case Kind::MixedReleases:
      return "mixed-releases";
    case Kind::LoadedTwice:
      return "loaded-twice";
    case Kind::TwoReleases:
      return "two-releases";
  }
  return {};
}

std::vector<const MissingLibrary*> required_missing(const TraceReport& report) {
  std::vector<const MissingLibrary*> missing;
  for (const MissingLibrary& library : report.forecast.missing)
    if (!library.optional) missing.push_back(&library);
  return missing;
}

std::vector<const LoadedObject*> cut_off_objects(const TraceReport& report) {
  std::vector<const LoadedObject*> cut;
  for (const LoadedObject& object : report.forecast.objects)
    if (object.file != nullptr && object.file->whole_size != 0) cut.push_back(&object);
  return cut;
}

std::string cut_off_text(const LoadedObject& object, Language language) {
  if (object.file == nullptr || object.file->whole_size == 0) return {};
  const std::string needs = std::to_string(object.file->whole_size), has = std::to_string(object.file->size);
  return language == Language::Chinese ? "文件不完整：至少应有 " + needs + " 字节，实际只有 " + has + " 字节"
                                       : "cut off: needs at least " + needs + " bytes, has " + has;
}

TraceVerdict trace_verdict(const TraceReport& report) {
  if (!cut_off_objects(report).empty()) return TraceVerdict::Broken;
  if (report.is_static) return TraceVerdict::Static;
  if (!required_missing(report).empty() || !report.conflicts.fits()) return TraceVerdict::Broken;
  if (report.forecast.objects.empty()) return TraceVerdict::NotSeen;
  return TraceVerdict::Fits;
}

int trace_exit_code(const TraceReport& report) {
  const TraceVerdict verdict = trace_verdict(report);
  return verdict == TraceVerdict::Broken ? 1 : verdict == TraceVerdict::NotSeen ? 3 : 0;
}

}  // namespace gpuvet
