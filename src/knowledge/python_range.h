#pragma once
// The Python versions that a release has wheels for, as the release tables tell them.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// "3.12.8", "3.12", "3.13t" (free-threaded): what decides about a wheel.
struct PythonVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  bool free_threaded = false;

  /// Nothing when the text does not start as "X.Y". The abi tags "cp312", "cp313t" are read too.
  static std::optional<PythonVersion> parse(std::string_view text);
  std::string text() const;  ///< "3.12", "3.13t"
  friend auto operator<=>(const PythonVersion&, const PythonVersion&) = default;
};

enum class PythonFit : std::uint8_t {
  Fits,
  Experimental,  ///< wheels exist, the project calls them experimental
  TooOld,
  TooNew,
  Unknown,  ///< not told by the tables (also: free-threaded and nothing said about it is TooNew)
};

/// "3.9-3.12, 3.13 experimental", "3.10-3.14, 3.13t, 3.14t", "2.7,3.3-3.7", "3.10+", ">=3.8 (classifiers 3.8-3.11)".
struct PythonRange {
  struct Piece {
    PythonVersion first, last;
    bool experimental = false;
  };
  std::vector<Piece> pieces;  ///< empty: not known
  bool open_above = false;    ///< the table names a floor, and no end that is sure
  std::string text;           ///< the cell, for people

  bool known() const { return !pieces.empty(); }
  PythonFit fit(const PythonVersion& python) const;
  /// Newest and oldest ordinary (not free-threaded) Python that is not experimental.
  std::optional<PythonVersion> newest() const;
  std::optional<PythonVersion> oldest() const;
};
PythonRange parse_python_range(std::string_view cell);

}  // namespace gpuvet
