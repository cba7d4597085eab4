#pragma once
// A TOML file flattened to dotted keys: "text.title_en" → value with its line.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile_data/problems.h"

namespace compile_data {

struct Value {
  enum class Kind { Text, Flag, List, Number } kind = Kind::Text;
  std::size_t line = 0;
  std::string text;
  bool flag = false;
  double number = 0;
  std::vector<std::string> list;
};

struct Document {
  std::string path;
  std::size_t line = 1;  ///< where it starts
  std::string stem;      ///< file name without ".toml"
  std::map<std::string, Value, std::less<>> values;

  const Value* find(std::string_view key, Value::Kind kind) const;
  std::size_t line_of(std::string_view key) const;
  /// Sub-tables of `prefix`: "variant" → {"pending-reboot", …}.
  std::set<std::string> children(std::string_view prefix) const;
};

/// A list with tables in it becomes "key.0.name" and so on; a plain text among them "key.0.type".
/// Reads one file; nothing (and a problem) when it is no TOML or has a value that is no text, boolean or list of texts.
std::optional<Document> read_document(const std::string& path, Problems& problems);

/// The tables of a list of tables ([[key]]), each with its own keys; other keys of the file are problems.
std::vector<Document> read_document_list(const std::string& path, std::string_view key, Problems& problems);

/// The text of a required key; empty (and a problem) when it is missing or blank.
std::string required_text(const Document& document, std::string_view key, Problems& problems);
std::string optional_text(const Document& document, std::string_view key);
bool required_flag(const Document& document, std::string_view key, Problems& problems);

/// {placeholders} of a text: a brace, lower-case letters, digits and underscores, a brace.
std::set<std::string> placeholders(std::string_view text);
/// A problem unless `left` and `right` use the same placeholders.
void check_same_placeholders(const Document& document, std::string_view left, std::string_view right, Problems& problems);

}  // namespace compile_data
