#pragma once
// Versions of Python distributions, as PEP 440 orders them, and the specifiers that select them (">=2.5,<2.7").

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// "2.5.1+cu124", "0.0.1.dev5", "1.13.0a0+git1234", "2024.10". The local part ("cu124") is kept apart and takes no part in order.
struct ReleaseVersion {
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> release;  ///< 2, 5, 1; trailing zeros kept
  /// Before or after the release: (-4, n) dev, (-3, n) a, (-2, n) b, (-1, n) rc, (0, 0) the release itself, (1, n) post.
  std::int32_t phase = 0;
  std::uint32_t phase_number = 0;
  std::string local;  ///< "cu124", "cpu", "rocm6.2"
  std::string text;

  /// Nothing when the text does not start as a version. O(length).
  static std::optional<ReleaseVersion> parse(std::string_view text);
  /// "2.5" of "2.5.1+cu124".
  std::string minor_text() const;
  /// "2.5.1" of "2.5.1+cu124".
  std::string public_text() const;
  friend std::strong_ordering operator<=>(const ReleaseVersion& a, const ReleaseVersion& b);
  friend bool operator==(const ReleaseVersion& a, const ReleaseVersion& b) { return (a <=> b) == std::strong_ordering::equal; }
};

/// Is the version inside a specifier of PEP 440: ">=2.5,<2.7", "==2.5.*", "~=2.5", "!=2.6.0", "" (everything)? A specifier that
/// is none gives nothing.
std::optional<bool> satisfies(const ReleaseVersion& version, std::string_view specifier);

/// PEP 503: "Nvidia_Cublas.cu12" → "nvidia-cublas-cu12".
std::string normalised_distribution_name(std::string_view name);

}  // namespace gpuvet
