// kb soname LIB, function NAME

#include <algorithm>

#include "commands/kb_topics.h"
#include "knowledge/cuda_libraries.h"

namespace gpuvet::kb {
namespace {

std::string_view without_folder(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view stem(std::string_view soname) { return soname.substr(0, soname.find(".so")); }

/// "libcusparse.so.11 (CUDA 11)", … : the same library of other releases.
std::string other_sonames(const Knowledge& knowledge, const CudaLibrary& library) {
  std::string list;
  for (const CudaLibrary& other : cuda_libraries(knowledge)) {
    if (stem(other.soname) != stem(library.soname) || other.soname == library.soname || other.cuda == "=") continue;
    list += (list.empty() ? "" : "; ") + other.soname + " (" + other.belongs_to() + ")";
  }
  return list;
}

/// For libraries of one CUDA major: "525.60.13".
std::string least_driver(const Knowledge& knowledge, const CudaLibrary& library) {
  const std::string_view first = std::string_view(library.cuda).substr(0, library.cuda.find_first_of(" -"));
  if (first.empty() || library.cuda.find(' ') != std::string::npos) return {};
  const std::string text = first.find('.') == std::string_view::npos ? std::string(first) + ".0" : std::string(first);
  const auto cuda = CudaVersion::parse(text);
  const auto least = cuda ? knowledge.least_driver_for_runtime(*cuda) : std::nullopt;
  return least ? least->text : "";
}

}  // namespace

std::vector<Answer> soname(const Knowledge& knowledge, std::string_view name, Language language) {
  const auto library = cuda_library(knowledge, without_folder(name));
  if (!library) return {};
  Answer answer;
  answer.subject = library->soname + " (" + library->name + ")";
  const auto add = [&](std::string key, std::string_view en, std::string_view zh, std::string value) {
    answer.add(std::move(key), say(language, en, zh), std::move(value), library->source);
  };
  add("belongs_to", "belongs to", "属于",
      library->is_of_driver() ? say(language, "the NVIDIA driver", "NVIDIA 驱动") : library->belongs_to());
  add("notes", "notes", "备注", library->note);
  add("other_sonames", "in other releases", "其他版本中的库名", other_sonames(knowledge, *library));
  answer.add("least_driver", say(language, "least driver", "最低驱动"), least_driver(knowledge, *library),
             "facts/cuda_releases.tsv");
  return {answer};
}

std::vector<Answer> function(const Knowledge& knowledge, std::string_view name, Language language) {
  const auto found = driver_entry_point(knowledge, name);
  if (!found) return {};
  Answer answer;
  answer.subject = std::string(name) + say(language, " (function of libcuda)", "（libcuda 的函数）");
  answer.add("since_cuda", say(language, "since CUDA", "始于 CUDA"), found->cuda.text(), found->source);
  answer.add("branch", say(language, "first driver branch", "首个驱动分支"),
             found->branch == 0 ? say(language, "every driver of the tables has it", "知识表中的所有驱动都有")
                                : "R" + std::to_string(found->branch),
             found->branch == 0 ? found->source : found->source + "; facts/driver_branches.tsv");
  return {answer};
}

}  // namespace gpuvet::kb
