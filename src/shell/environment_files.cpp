// /etc/environment, environment.d, login.defs, crontab, systemd's DefaultEnvironment: files of NAME=value that no shell reads.

#include <algorithm>

#include "model/text_search.h"
#include "shell/parse.h"
#include "shell/start_up.h"

namespace gpuvet::shell {
namespace {

template <class F>
void for_each_line_of(const std::string& text, F&& f) {
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    f(std::string_view(text).substr(at, end - at), ++number);
    at = end + 1;
  }
}

std::string_view stripped(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r' || line.back() == '\n'))
    line.remove_suffix(1);
  return line;
}

Origin quoted(const std::string& file, std::uint32_t line, std::string_view text) {
  return {file, line, std::string(text.substr(0, 300))};
}

void set(Variables& environment, const std::string& name, Value value, Origin origin) {
  Variable& variable = environment[name];
  variable.value = std::move(value);
  variable.exported = true;
  constexpr std::size_t most_lines = 200;
  if (is_reported(name) && variable.set_by.size() < most_lines) variable.set_by.push_back(std::move(origin));
}

/// ${NAME}, $NAME, ${NAME:-x}, ${NAME:+x} as environment.d(5) has them.
Value with_variables(std::string_view text, const Variables& environment, int depth = 0) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out.push_back(text[i + 1]);
      i += 2;
      continue;
    }
    if (text[i] != '$' || i + 1 >= text.size()) {
      out.push_back(text[i++]);
      continue;
    }
    const bool braced = text[i + 1] == '{';
    std::size_t end = i + (braced ? 2 : 1);
    const std::size_t start = end;
    while (end < text.size() && is_name_char(text[end])) ++end;
    const std::string_view name = text.substr(start, end - start);
    if (name.empty()) return Value::unknown("a $ without a name");
    std::string_view other;
    char op = '\0';
    if (braced) {
      const std::size_t close = text.find('}', end);
      if (close == std::string_view::npos) return Value::unknown("${ is never closed");
      if (text[end] == ':' && end + 1 < close) {
        op = text[end + 1];
        other = text.substr(end + 2, close - end - 2);
      } else if (end != close) {
        return Value::unknown("an operator inside ${ }");
      }
      if (other.find('{') != std::string_view::npos) return Value::unknown("${ inside ${ }");
      end = close + 1;
    }
    const auto found = environment.find(name);
    Value value = found == environment.end() ? Value{} : found->second.value;
    if (value.is_unknown()) return value;
    const bool filled = !value.text.empty() && value.is_known();
    if (depth < 4 && ((op == '-' && !filled) || (op == '+' && filled)))
      value = with_variables(other, environment, depth + 1);
    else if (op == '+')
      value = {};
    if (value.is_unknown()) return value;
    out += value.text;
    i = end;
    if (out.size() > 65536) return Value::unknown("too long a value");
  }
  return Value::known(out);
}

}  // namespace

/// pam_env's reading of its envfile: blanks around, an optional "export ", a value in quotes loses them; no variables are
/// expanded.
void apply_pam_environment(const std::string& text, const std::string& file, Variables& environment) {
  for_each_line_of(text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view whole = stripped(line);
    std::string_view key = whole.substr(0, whole.find('#'));
    key = stripped(key);
    if (key.starts_with("export ") || key.starts_with("export\t")) key = stripped(key.substr(7));
    const std::size_t equal = key.find('=');
    if (equal == std::string_view::npos) return;
    const std::string name(key.substr(0, equal));
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_char)) return;
    std::string_view value = key.substr(equal + 1);
    if (!value.empty() && (value.front() == '"' || value.front() == '\'')) {
      value.remove_prefix(1);
      if (!value.empty() && (value.back() == '"' || value.back() == '\'')) value.remove_suffix(1);
    }
    if (value.empty()) {
      Variable& variable = environment[name];
      variable.value = {};
      variable.exported = false;
      return;
    }
    // Releases since 1.5.2 differ in how they end a value at '#' and in escapes: such values are left open.
    const bool plain = whole.find('#') == std::string_view::npos && value.find('\\') == std::string_view::npos;
    set(environment, name,
        plain ? Value::known(std::string(value)) : Value::unknown(file + ":" + std::to_string(number) + ": # or \\ in a value"),
        quoted(file, number, whole));
  });
}

void apply_environment_d(const std::string& text, const std::string& file, Variables& environment) {
  for_each_line_of(text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view whole = stripped(line);
    if (whole.empty() || whole.front() == '#' || whole.front() == ';') return;
    const std::size_t equal = whole.find('=');
    if (equal == std::string_view::npos || !is_name(stripped(whole.substr(0, equal)))) return;
    const std::string name(stripped(whole.substr(0, equal)));
    std::string_view value = stripped(whole.substr(equal + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    Value expanded = value.find_first_of("\"'") != std::string_view::npos || value.ends_with('\\')
                         ? Value::unknown("quotes inside a value")
                         : with_variables(value, environment);
    if (expanded.is_unknown() && !expanded.text.starts_with('/'))
      expanded.text = file + ":" + std::to_string(number) + ": " + expanded.text;
    set(environment, name, std::move(expanded), quoted(file, number, whole));
  });
}

std::optional<Origin> login_defs_path(const std::string& text, const std::string& file, bool root) {
  const std::string_view wanted = root ? "ENV_SUPATH" : "ENV_PATH";
  std::optional<Origin> found;
  for_each_line_of(text, [&](std::string_view line, std::uint32_t number) {
    line = stripped(line);
    if (!line.starts_with(wanted) || line.size() == wanted.size()) return;
    std::string_view value = line.substr(wanted.size());
    if (value.front() != ' ' && value.front() != '\t') return;
    value = stripped(value);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (value.starts_with("PATH=")) value.remove_prefix(5);
    found = Origin{file, number, std::string(value)};
  });
  return found;
}

std::optional<Origin> crontab_variable(const std::string& text, const std::string& file, std::string_view name) {
  std::optional<Origin> found;
  for_each_line_of(text, [&](std::string_view line, std::uint32_t number) {
    line = stripped(line);
    const std::size_t equal = line.find('=');
    if (equal == std::string_view::npos || stripped(line.substr(0, equal)) != name) return;
    std::string_view value = stripped(line.substr(equal + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    found = Origin{file, number, std::string(value)};
  });
  return found;
}

/// DefaultEnvironment= of system.conf or user.conf: blank-separated assignments, each maybe in quotes; an empty one forgets those
/// before.
void apply_default_environment(const std::string& text, const std::string& file, Variables& environment) {
  for_each_line_of(text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view whole = stripped(line);
    constexpr std::string_view key = "DefaultEnvironment";
    if (!whole.starts_with(key)) return;
    std::string_view rest = stripped(whole.substr(key.size()));
    if (!rest.starts_with('=')) return;
    rest = stripped(rest.substr(1));
    while (!rest.empty()) {
      const char quote = rest.front() == '"' || rest.front() == '\'' ? rest.front() : ' ';
      if (quote != ' ') rest.remove_prefix(1);
      const std::size_t end = std::min(rest.find(quote), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest = stripped(rest.substr(std::min(end + 1, rest.size())));
      const std::size_t equal = word.find('=');
      if (equal == std::string_view::npos || !is_name(word.substr(0, equal))) continue;
      const bool plain = word.find_first_of("\\%\"'") == std::string_view::npos;
      set(environment, std::string(word.substr(0, equal)),
          plain ? Value::known(std::string(word.substr(equal + 1)))
                : Value::unknown(file + ":" + std::to_string(number) + ": quoting"),
          quoted(file, number, whole));
    }
  });
}

namespace {

bool names_variable(std::string_view line) {
  static constexpr std::string_view words[] = {"PATH",     "CUDA_HOME", "CUDA_ROOT", "CUDACXX", "path", "CUDA_VISIBLE_DEVICES",
                                               "pathmunge"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

bool names_cuda_folder(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '/' && line[at] != '{' && line[at] != '$') continue;
    const std::string_view rest = line.substr(at + 1, 40);
    const std::string_view piece = rest.substr(0, rest.find_first_of("/:\"' ;}"));
    if (contains_ignoring_case(piece, "cuda") || contains_ignoring_case(piece, "hpc_sdk") ||
        contains_ignoring_case(piece, "cudnn"))
      return true;
  }
  return false;
}

}  // namespace

void find_cuda_lines(const std::string& text, const std::string& file, std::vector<Origin>& lines) {
  constexpr std::size_t most = 200;
  for_each_line_of(text, [&](std::string_view line, std::uint32_t number) {
    line = stripped(line);
    if (line.empty() || line.front() == '#' || lines.size() >= most) return;
    const std::size_t comment = line.find(" #");
    const std::string_view code = line.substr(0, comment);
    if (names_variable(code) && names_cuda_folder(code)) lines.push_back(quoted(file, number, code));
  });
}

}  // namespace gpuvet::shell
