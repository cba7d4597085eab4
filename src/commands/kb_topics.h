#pragma once
// The topics of `gpuvet kb`: each turns one question into answers of sourced facts.

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.h"
#include "render/render.h"

namespace gpuvet::kb {

struct Entry {
  std::string key;    ///< stable name in JSON
  std::string label;  ///< in the language of the answer
  std::string value;
  std::string source;
};

struct Answer {
  std::string subject;
  std::vector<Entry> entries;

  /// Adds an entry unless its value is empty.
  void add(std::string key, std::string label, std::string value, std::string source);
};

/// The text in the wanted language.
inline std::string say(Language language, std::string_view en, std::string_view zh) {
  return std::string(language == Language::Chinese ? zh : en);
}

std::vector<Answer> driver(const Knowledge& knowledge, std::string_view version, Language language);
std::vector<Answer> gpu(const Knowledge& knowledge, std::string_view name_or_id, Language language);
std::vector<Answer> compute_capability(const Knowledge& knowledge, std::string_view text, Language language);
std::vector<Answer> cuda(const Knowledge& knowledge, std::string_view version, Language language);
std::vector<Answer> xid(const Knowledge& knowledge, std::string_view code, Language language);
std::vector<Answer> error(const Knowledge& knowledge, std::string_view code_or_name, Language language);
/// These five answer an empty question too: with the releases that the tables know.
std::vector<Answer> torch(const Knowledge& knowledge, std::string_view version, Language language);
std::vector<Answer> tensorflow(const Knowledge& knowledge, std::string_view version, Language language);
std::vector<Answer> jax(const Knowledge& knowledge, std::string_view version, Language language);
std::vector<Answer> cudnn(const Knowledge& knowledge, std::string_view version, Language language);
/// "cupy", "cupy 13.6", "onnxruntime-gpu 1.20.1": every other framework of the tables; empty: no such name, or no such release.
std::vector<Answer> framework(const Knowledge& knowledge, std::string_view name_and_version, Language language);
std::vector<Answer> soname(const Knowledge& knowledge, std::string_view name, Language language);
/// A function of libcuda: "cuMemcpyBatchAsync".
std::vector<Answer> function(const Knowledge& knowledge, std::string_view name, Language language);

/// What comes near to a question that has no answer; at most `most`.
std::vector<std::string> near_matches(const Knowledge& knowledge, std::string_view topic, std::string_view question,
                                      std::size_t most = 6);

/// "12.0 – 12.2, 12.4" of values of which those that follow one another in `order` are joined.
std::string ranges(const std::vector<std::string>& values, const std::vector<std::string>& order);
/// "X.Y" of every CUDA release of the tables, in order, each once.
std::vector<std::string> cuda_minor_releases(const Knowledge& knowledge);

/// Lower case; blanks, '-' and '_' left out.
std::string folded(std::string_view text);
/// folded() without "NVIDIA" and "GeForce": what people leave out of a GPU's name.
std::string bare_name(std::string_view name);
/// "10de:2684", "0x2684", "2684"; nothing for anything else.
std::optional<std::uint16_t> parse_device_id(std::string_view text);
/// A number that is the whole text; nothing otherwise.
std::optional<int> number(std::string_view text);

}  // namespace gpuvet::kb
