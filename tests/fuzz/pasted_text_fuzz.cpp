// Any bytes as a pasted text: lines, segments, signatures, all readers, and what explain makes of it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "diagnose/explain.h"
#include "text/paste_collector.h"
#include "text/text_readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gpuvet::Knowledge knowledge;
  static const gpuvet::SignatureMatcher matcher(knowledge);
  // Small limits, so that short inputs reach the middle and the end too; pieces of uneven length.
  gpuvet::PasteCollector collector(
      matcher.literals(), {.head = 256, .tail = 256, .middle = 512, .longest_line = 200, .per_literal = 2, .context = 1});
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (std::size_t at = 0, piece = 1; at < bytes.size(); at += piece, piece = piece % 97 + 13)
    collector.feed(bytes.substr(at, piece));
  const gpuvet::Machine machine = gpuvet::machine_of_text(collector.finish("text"), matcher, knowledge);
  const gpuvet::Diagnosis diagnosis = gpuvet::explain(machine, knowledge);
  (void)diagnosis;
  return 0;
}
