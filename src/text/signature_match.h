#pragma once
// Signatures and CUDA errors in the lines of a text.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.h"
#include "knowledge/signatures.h"
#include "model/machine.h"
#include "text/literal_set.h"
#include "text/pasted_text.h"

namespace gpuvet {

/// All signatures, searched for at once: literals first, the patterns (RE2) only in lines that have one of them.
class SignatureMatcher {
 public:
  explicit SignatureMatcher(const Knowledge& knowledge);
  ~SignatureMatcher();
  SignatureMatcher(const SignatureMatcher&) = delete;
  SignatureMatcher& operator=(const SignatureMatcher&) = delete;

  /// Literals of every signature and CUDA error: what a line must have to matter here.
  const LiteralSet& literals() const { return literals_; }
  /// What one line says. `origin` is filled but for its source and line.
  std::vector<Observation> match(std::string_view line) const;
  /// Does this signature's pattern match the line? (Its literals are asked for too.) Empty id: no such signature.
  bool matches(const Signature& signature, std::string_view line) const;

 private:
  struct Patterns;
  void make_canonical(Observation& observation) const;
  void match_errors(std::string_view line, std::vector<Observation>& found) const;

  const Knowledge& knowledge_;
  std::span<const Signature> signatures_;
  LiteralSet literals_;
  std::unique_ptr<Patterns> patterns_;
};

/// Every observation of a text, each signature with the same parameters once, in the order of the lines. Phrases that a terminal
/// broke over two lines are found too.
std::vector<Observation> observe(const PastedText& text, const SignatureMatcher& matcher);

/// "GPU 0: …" is a list of one GPU: the CUDA error that a code or name stands for, as an observation; null code: unknown name.
std::string canonical_cuda_error_name(const Knowledge& knowledge, int code);

}  // namespace gpuvet
