// Python versions of releases, as the tables write them.

#include "knowledge/python_range.h"

#include <algorithm>
#include <charconv>

namespace gpuvet {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool take_number(std::string_view& text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Takes "3.13" or "3.13t" off the front.
std::optional<PythonVersion> take_version(std::string_view& text) {
  PythonVersion version;
  std::string_view rest = text;
  if (!take_number(rest, version.major) || !rest.starts_with('.')) return std::nullopt;
  rest.remove_prefix(1);
  if (!take_number(rest, version.minor)) return std::nullopt;
  if (rest.starts_with('t')) {
    version.free_threaded = true;
    rest.remove_prefix(1);
  }
  text = rest;
  return version;
}

/// One piece between commas: "3.9-3.12", "3.13 experimental", "3.13t", "3.10+", ">=3.8".
void add_piece(PythonRange& range, std::string_view text) {
  text = trimmed(text);
  const bool floor = text.starts_with(">=");
  if (floor) text.remove_prefix(2);
  const auto first = take_version(text);
  if (!first) return;
  PythonRange::Piece piece{*first, *first, false};
  if (text.starts_with('-')) {
    text.remove_prefix(1);
    if (const auto last = take_version(text)) piece.last = *last;
  }
  range.open_above |= floor || text.starts_with('+');
  piece.experimental = text.find("experimental") != std::string_view::npos || text.find("later") != std::string_view::npos;
  range.pieces.push_back(piece);
}

/// Classifiers tell what was tested, not what has wheels: a newer Python may have them.
bool drop_classifiers(PythonRange& range, std::string_view note) {
  const std::size_t at = note.find("classifiers ");
  if (at == std::string_view::npos) return false;
  add_piece(range, note.substr(at + 12));
  range.open_above = true;
  return true;
}

}  // namespace

std::optional<PythonVersion> PythonVersion::parse(std::string_view text) {
  if (!text.starts_with("cp")) return take_version(text);
  // "cp312", "cp313t": the first digit is the major.
  text.remove_prefix(2);
  if (text.size() < 2 || text[0] < '2' || text[0] > '9') return std::nullopt;
  PythonVersion version;
  version.major = static_cast<std::uint32_t>(text[0] - '0');
  text.remove_prefix(1);
  if (!take_number(text, version.minor)) return std::nullopt;
  version.free_threaded = text.starts_with('t');
  return version;
}

std::string PythonVersion::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + (free_threaded ? "t" : "");
}

PythonRange parse_python_range(std::string_view cell) {
  PythonRange range;
  range.text = std::string(cell);
  const std::size_t open = cell.find('(');
  const std::string_view note = open == std::string_view::npos ? "" : cell.substr(open + 1);
  std::string_view rest = cell.substr(0, open);
  if (drop_classifiers(range, note)) return range;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    add_piece(range, rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  add_piece(range, note);
  return range;
}

PythonFit PythonRange::fit(const PythonVersion& python) const {
  if (!known()) return PythonFit::Unknown;
  bool above_some = false;
  for (const Piece& piece : pieces) {
    if (piece.first.free_threaded != python.free_threaded) continue;
    if (piece.first <= python && python <= piece.last) return piece.experimental ? PythonFit::Experimental : PythonFit::Fits;
    above_some |= piece.last < python;
  }
  if (python.free_threaded && !above_some) return open_above ? PythonFit::Unknown : PythonFit::TooNew;
  const auto oldest_known = oldest();
  if (!python.free_threaded && oldest_known && python < *oldest_known) return PythonFit::TooOld;
  if (open_above) return PythonFit::Unknown;
  const auto newest_known = newest();
  return !python.free_threaded && newest_known && python < *newest_known ? PythonFit::TooOld : PythonFit::TooNew;
}

std::optional<PythonVersion> PythonRange::newest() const {
  std::optional<PythonVersion> found;
  for (const Piece& piece : pieces) {
    if (!piece.experimental && !piece.last.free_threaded && (!found || *found < piece.last)) found = piece.last;
  }
  return found;
}

std::optional<PythonVersion> PythonRange::oldest() const {
  std::optional<PythonVersion> found;
  for (const Piece& piece : pieces) {
    if (!piece.experimental && !piece.first.free_threaded && (!found || piece.first < *found)) found = piece.first;
  }
  return found;
}

}  // namespace gpuvet
