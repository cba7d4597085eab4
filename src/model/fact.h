#pragma once
// Three-valued facts: what was seen of a machine, what was seen to be absent, and what could not be seen.
// A rule speaks only from known facts; a finding quotes their origins as its evidence.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace gpuvet {

/// Where a fact comes from: a file (path as the inspected machine names it, never with the --root prefix),
/// a log, or a line of a pasted text.
struct Origin {
  std::string source;      ///< "/proc/modules", "kernel log", "environment"
  std::uint32_t line = 0;  ///< 1-based line in the source; 0 where lines mean nothing
  std::string text;        ///< the quoted line or value, at most some hundred bytes; may be empty

  friend bool operator==(const Origin&, const Origin&) = default;
};

enum class Seen : std::uint8_t { NotSeen, Absent, Known };

/// A value of the machine that is known, known to be absent, or not seen (with the reason).
template <class T>
class Fact {
 public:
  using value_type = T;

  /// Not seen, without a reason: nobody has looked.
  Fact() = default;

  static Fact known(T value, Origin origin = {}) {
    Fact f;
    f.seen_ = Seen::Known;
    f.value_ = std::move(value);
    f.origin_ = std::move(origin);
    return f;
  }
  static Fact absent(Origin origin = {}) {
    Fact f;
    f.seen_ = Seen::Absent;
    f.origin_ = std::move(origin);
    return f;
  }
  static Fact not_seen(std::string why, Origin origin = {}) {
    Fact f;
    f.why_ = std::move(why);
    f.origin_ = std::move(origin);
    return f;
  }

  Seen seen() const { return seen_; }
  bool is_known() const { return seen_ == Seen::Known; }
  bool is_absent() const { return seen_ == Seen::Absent; }
  bool is_not_seen() const { return seen_ == Seen::NotSeen; }

  /// The value, or null unless known: `if (const auto* version = fact.get())`.
  const T* get() const { return seen_ == Seen::Known ? &*value_ : nullptr; }
  T* get() { return seen_ == Seen::Known ? &*value_ : nullptr; }
  T value_or(T other) const { return seen_ == Seen::Known ? *value_ : std::move(other); }
  /// Known and equal to `other`.
  bool is(const T& other) const { return seen_ == Seen::Known && *value_ == other; }

  const Origin& origin() const { return origin_; }
  Origin& origin() { return origin_; }
  /// Why it was not seen; empty when known, absent, or nobody looked.
  const std::string& why() const { return why_; }

  friend bool operator==(const Fact&, const Fact&) = default;

 private:
  Seen seen_ = Seen::NotSeen;
  std::optional<T> value_;
  Origin origin_;
  std::string why_;
};

}  // namespace gpuvet
