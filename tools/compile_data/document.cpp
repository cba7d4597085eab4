#include "compile_data/document.h"

#include <algorithm>
#include <filesystem>

#include <toml++/toml.h>

namespace compile_data {
namespace {

bool to_list(const toml::array& array, Value& value) {
  for (const toml::node& element : array) {
    const auto text = element.value_exact<std::string>();
    if (!text) return false;
    value.list.push_back(*text);
  }
  value.kind = Value::Kind::List;
  return true;
}

bool to_value(const toml::node& node, Value& value) {
  value.line = node.source().begin.line;
  if (const auto text = node.value_exact<std::string>()) {
    value.text = *text;
    return true;
  }
  if (const auto flag = node.value_exact<bool>()) {
    value.kind = Value::Kind::Flag;
    value.flag = *flag;
    return true;
  }
  if (const auto number = node.value<double>()) {
    value.kind = Value::Kind::Number;
    value.number = *number;
    return true;
  }
  const toml::array* array = node.as_array();
  return array && to_list(*array, value);
}

bool has_tables(const toml::node& node) {
  const toml::array* array = node.as_array();
  return array != nullptr &&
         std::any_of(array->begin(), array->end(), [](const toml::node& element) { return element.is_table(); });
}

// Tables nest at most three deep in our files; toml++ itself bounds the nesting of what it parses.
void flatten(const toml::table& table, const std::string& prefix, Document& document, Problems& problems) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, name, document, problems);
      continue;
    }
    if (has_tables(node)) {
      std::size_t index = 0;
      for (const toml::node& element : *node.as_array()) {
        const std::string at = name + "." + std::to_string(index++);
        Value value;
        if (const toml::table* inner = element.as_table())
          flatten(*inner, at, document, problems);
        else if (to_value(element, value))
          document.values.emplace(at + ".type", std::move(value));
      }
      continue;
    }
    Value value;
    if (!to_value(node, value)) {
      problems.add(document.path, node.source().begin.line, "'" + name + "' is neither a text, a boolean nor a list of texts");
      continue;
    }
    document.values.emplace(name, std::move(value));
  }
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

bool placeholder_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "{" : " {") + name + "}";
  return text.empty() ? "none" : text;
}

}  // namespace

const Value* Document::find(std::string_view key, Value::Kind kind) const {
  const auto it = values.find(key);
  return it != values.end() && it->second.kind == kind ? &it->second : nullptr;
}

std::size_t Document::line_of(std::string_view key) const {
  const auto it = values.find(key);
  return it == values.end() ? 1 : it->second.line;
}

std::set<std::string> Document::children(std::string_view prefix) const {
  std::set<std::string> names;
  const std::string start = std::string(prefix) + ".";
  for (const auto& [key, value] : values) {
    if (!key.starts_with(start)) continue;
    names.insert(key.substr(start.size(), key.find('.', start.size()) - start.size()));
  }
  return names;
}

std::optional<Document> read_document(const std::string& path, Problems& problems) {
  Document document;
  document.path = path;
  document.stem = std::filesystem::path(path).stem().string();
  try {
    flatten(toml::parse_file(path), "", document, problems);
  } catch (const toml::parse_error& error) {
    problems.add(path, error.source().begin.line, std::string(error.description()));
    return std::nullopt;
  }
  return document;
}

std::vector<Document> read_document_list(const std::string& path, std::string_view key, Problems& problems) {
  std::vector<Document> documents;
  try {
    const toml::table whole = toml::parse_file(path);
    for (const auto& [name, node] : whole) {
      const toml::array* array = node.as_array();
      if (name.str() != key || array == nullptr) {
        problems.add(path, node.source().begin.line,
                     "'" + std::string(name.str()) + "': only [[" + std::string(key) + "]] is known");
        continue;
      }
      for (const toml::node& element : *array) {
        Document& document = documents.emplace_back();
        document.path = path;
        document.stem = std::filesystem::path(path).stem().string();
        document.line = element.source().begin.line;
        if (const toml::table* table = element.as_table()) flatten(*table, "", document, problems);
      }
    }
  } catch (const toml::parse_error& error) {
    problems.add(path, error.source().begin.line, std::string(error.description()));
  }
  return documents;
}

std::string required_text(const Document& document, std::string_view key, Problems& problems) {
  const Value* value = document.find(key, Value::Kind::Text);
  if (value && !blank(value->text)) return value->text;
  problems.add(document.path, document.line_of(key), "'" + std::string(key) + "' is missing, empty or no text");
  return "";
}

std::string optional_text(const Document& document, std::string_view key) {
  const Value* value = document.find(key, Value::Kind::Text);
  return value ? value->text : "";
}

bool required_flag(const Document& document, std::string_view key, Problems& problems) {
  const Value* value = document.find(key, Value::Kind::Flag);
  if (!value) problems.add(document.path, document.line_of(key), "'" + std::string(key) + "' must be true or false");
  return value && value->flag;
}

std::set<std::string> placeholders(std::string_view text) {
  std::set<std::string> names;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    std::size_t end = open + 1;
    while (end < text.size() && placeholder_char(text[end])) ++end;
    if (end > open + 1 && end < text.size() && text[end] == '}') names.emplace(text.substr(open + 1, end - open - 1));
  }
  return names;
}

void check_same_placeholders(const Document& document, std::string_view left, std::string_view right, Problems& problems) {
  const auto a = placeholders(optional_text(document, left));
  const auto b = placeholders(optional_text(document, right));
  if (a == b) return;
  problems.add(document.path, document.line_of(right),
               "'" + std::string(left) + "' and '" + std::string(right) + "' differ in their placeholders: " + joined(a) +
                   " against " + joined(b));
}

}  // namespace compile_data
