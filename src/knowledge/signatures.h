#pragma once
// Messages that programs print, as data: data/signatures/*.toml, compiled in. What a message means, and how likely a cause it is.

#include <span>
#include <string_view>

namespace gpuvet {

struct SignatureParameter {
  std::string_view name, value;
};
struct SignatureKind {
  std::string_view kind;
  double weight = 0;
};

struct Signature {
  std::string_view id;                         ///< "nvml-driver-library-mismatch"
  std::string_view pattern;                    ///< RE2 syntax, found anywhere in a line; named groups become parameters
  std::span<const std::string_view> literals;  ///< every match contains one of them
  std::string_view observes;                   ///< class that rules ask for; the id where none is told
  std::span<const SignatureParameter> with;    ///< fixed parameters of the observation
  std::string_view kind;                       ///< kind of the catalogue that this line alone speaks for; empty: none
  double weight = 0;                           ///< likelihood that `kind` is the root cause when nothing else is known
  std::span<const SignatureKind> also;         ///< further hypotheses
  std::string_view harmless_en, harmless_zh;   ///< a known red herring: why it is not the problem; empty: it is none
  std::string_view releases, source;
  std::span<const std::string_view> match, near_miss;  ///< lines that must and must not match, for the tests
};

std::span<const Signature> all_signatures();

}  // namespace gpuvet
