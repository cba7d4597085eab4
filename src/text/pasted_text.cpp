#include "text/pasted_text.h"

#include <algorithm>
#include <array>

#include "model/utf8.h"
#include "text/printable.h"

namespace gpuvet {
namespace {

constexpr std::size_t longest_quote = 400;
constexpr std::size_t longest_line = 8192;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}

std::string_view without_blanks_before(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  return s;
}

/// "> ", ">> ", "| > ": marks of a quoted mail or Markdown quote. ">>> " is Python's prompt.
std::string_view without_quote_marks(std::string_view s) {
  for (;;) {
    const std::string_view t = without_blanks_before(s);
    if (t.starts_with(">>> ") || t == ">>>") return s;
    if (t.starts_with("> ")) {
      s = t.substr(2);
    } else if (t.starts_with(">> ")) {
      s = t.substr(3);
    } else if (t == ">") {
      return {};
    } else {
      return s;
    }
  }
}

/// "  12  text", "12: text", "12| text" of a viewer: only where the number is this line's or counts on, which the caller knows.
std::size_t viewer_number_length(std::string_view s, std::uint64_t& number) {
  std::size_t i = 0;
  while (i < s.size() && s[i] == ' ') ++i;
  const std::size_t start = i;
  number = 0;
  while (i < s.size() && is_digit(s[i]) && i - start < 7) number = number * 10 + static_cast<std::uint64_t>(s[i++] - '0');
  if (i == start || i >= s.size()) return 0;
  if (s[i] == '\t') return i + 1;
  if (s[i] == ':' && i + 1 < s.size() && s[i + 1] == ' ') return i + 2;
  // A GPU's row of nvidia-smi ("|   0  NVIDIA …") starts with a bar, so "0  text" is a viewer's.
  if (s[i] == '|' && i + 1 < s.size() && s[i + 1] == ' ') return i + 2;
  if (s[i] == ' ' && i + 1 < s.size() && s[i + 1] == ' ' && start > 0) return i + 2;
  return 0;
}

/// Most lines of the text carry consecutive numbers in front.
void cut_viewer_numbers(std::vector<PasteLine>& lines) {
  std::size_t consecutive = 0, full = 0;
  std::uint64_t last = 0;
  for (const PasteLine& line : lines) {
    if (line.text.empty()) continue;
    ++full;
    std::uint64_t number = 0;
    if (viewer_number_length(line.text, number) == 0) continue;
    if (last != 0 && number == last + 1) ++consecutive;
    last = number;
  }
  if (full < 3 || consecutive * 10 < (full - 1) * 8) return;
  for (PasteLine& line : lines) {
    std::uint64_t number = 0;
    const std::string_view text = line.text;
    line.text = std::string(without_carrier(text.substr(viewer_number_length(text, number))));
  }
}

/// "web_1  | ", "trainer-0 | ", "(RayWorkerWrapper pid=2148) ", "[rank0]: ", "[1,0]<stderr>:", "2024-…Z stderr F ".
std::string_view without_log_carrier(std::string_view s) {
  // GitHub Actions and container runtimes: an ISO time with Z, then the text.
  const auto iso = [](std::string_view t) {
    if (t.size() < 21 || t[4] != '-' || t[7] != '-' || t[10] != 'T' || t[13] != ':' || t[16] != ':') return std::size_t{0};
    std::size_t i = 19;
    if (t[i] == '.')
      for (++i; i < t.size() && is_digit(t[i]);) ++i;
    if (i < t.size() && t[i] == 'Z') return i + 1;
    return std::size_t{0};
  };
  if (const std::size_t n = iso(s); n != 0 && n < s.size() && s[n] == ' ') {
    s.remove_prefix(n + 1);
    for (const std::string_view stream : {"stdout F ", "stderr F ", "stdout P ", "stderr P "})
      if (s.starts_with(stream)) s.remove_prefix(stream.size());
  }
  while (s.starts_with('(')) {  // a worker's line comes through its engine, and an engine's through Ray
    const std::size_t close = s.substr(0, 160).find(") ");
    if (close == std::string_view::npos || s.substr(0, close).find("pid=") == std::string_view::npos) break;
    s.remove_prefix(close + 2);
  }
  if (s.starts_with("[rank") || s.starts_with("[default")) {
    const std::size_t close = s.substr(0, 24).find("]:");
    if (close != std::string_view::npos) s = s.substr(close + 2);
    if (s.starts_with(' ') && !s.starts_with("  ")) s.remove_prefix(1);
  }
  if (s.starts_with('[')) {
    const std::size_t close = s.substr(0, 24).find(">:");
    if (close != std::string_view::npos && (s.substr(0, close).find("<std") != std::string_view::npos))
      s.remove_prefix(close + 2);
  }
  // compose: "name-1  | text"; nvidia-smi's own tables start with the bar.
  std::size_t i = 0;
  while (i < s.size() && is_word(s[i])) ++i;
  if (i > 1) {
    std::size_t j = i;
    while (j < s.size() && s[j] == ' ') ++j;
    if (j > i && j < s.size() && s[j] == '|' && (j + 1 == s.size() || s[j + 1] == ' ')) {
      // A table's row has further bars; compose's line has not, or it carries such a row, which starts with one.
      const std::string_view rest = s.substr(std::min(j + 2, s.size()));
      if (rest.find('|') == std::string_view::npos || rest.starts_with('|')) s = rest;
    }
  }
  return s;
}

struct Prompt {
  std::size_t length = 0;  ///< 0: none
  bool python = false, windows = false, root = false, container = false;
};

/// "# " is root's prompt and a comment's mark: only what is a command for sure counts as typed.
bool is_root_command(std::string_view s) {
  constexpr std::array<std::string_view, 62> commands{
      "apt",        "apt-get", "bash",     "cat",     "cd",         "chmod",  "chroot",  "conda",      "crictl",
      "ctr",        "curl",    "dkms",     "dmesg",   "dnf",        "docker", "dpkg",    "echo",       "env",
      "exit",       "export",  "find",     "gcc",     "getenforce", "grep",   "head",    "id",         "insmod",
      "journalctl", "kubectl", "ldconfig", "ldd",     "ls",         "lsmod",  "lspci",   "make",       "modinfo",
      "modprobe",   "mokutil", "mount",    "nerdctl", "nvcc",       "pacman", "pip",     "pip3",       "podman",
      "ps",         "python",  "python3",  "reboot",  "rmmod",      "rpm",    "service", "srun",       "sudo",
      "systemctl",  "tail",    "uname",    "which",   "whoami",     "yum",    "zypper",  "envycontrol"};
  const std::string_view word = s.substr(0, s.find(' '));
  if (word.starts_with("./") || word.starts_with('/') || word.starts_with("nvidia-")) return true;
  return std::ranges::find(commands, word) != commands.end();
}

/// A prompt at the beginning of a line.
Prompt prompt_of(std::string_view s) {
  if (s.starts_with(">>> ")) return {4, true, false, false, false};
  if (s.starts_with("In [")) {
    const std::size_t close = s.substr(0, 12).find("]: ");
    if (close != std::string_view::npos) return {close + 3, true, false, false, false};
  }
  std::size_t start = 0;
  Prompt prompt;
  // "(env) ", "(host) ", "(base) "
  while (s.substr(start).starts_with('(')) {
    const std::size_t close = s.substr(start, 48).find(") ");
    if (close == std::string_view::npos) break;
    prompt.container |= s.substr(start, close).find("container") != std::string_view::npos;
    start += close + 2;
  }
  const std::string_view rest = s.substr(start);
  if (rest.starts_with("PS ")) {
    const std::size_t mark = rest.substr(0, 200).find("> ");
    if (mark != std::string_view::npos)
      return {start + mark + 2, false, rest.substr(3, 8).find(':') != std::string_view::npos, false, prompt.container};
  }
  if (rest.size() > 3 && rest[1] == ':' && rest[2] == '\\' && std::isalpha(static_cast<unsigned char>(rest[0]))) {
    const std::size_t mark = rest.substr(0, 200).find('>');
    if (mark != std::string_view::npos && rest.substr(0, mark).find_first_of("\"|<*") == std::string_view::npos) {
      std::size_t n = mark + 1;
      while (n < rest.size() && rest[n] == ' ') ++n;
      return {start + n, false, true, false, prompt.container};
    }
  }
  for (const std::string_view mark : {"$ ", "# ", "% ", "❯ ", "➜ "}) {
    if (rest.starts_with(mark) && (mark != "# " || is_root_command(rest.substr(2)))) {
      prompt.length = start + mark.size();
      prompt.root = mark == "# ";
      return prompt;
    }
  }
  // "user@host:~/dir$ cmd", "[user@host dir]$ cmd", "root@ct:~# cmd", "~/pytorch$ cmd", "bash-5.1# cmd"
  const std::size_t limit = std::min<std::size_t>(rest.size(), 140);
  std::size_t at = std::string_view::npos;
  for (std::size_t i = 0; i + 1 < limit; ++i) {
    if ((rest[i] == '$' || rest[i] == '#' || rest[i] == '%') && rest[i + 1] == ' ') {
      at = i;
      break;
    }
    if (rest[i] == ' ' && !rest.starts_with('[')) break;
  }
  if (at == std::string_view::npos || at == 0) return {};
  const std::string_view head = rest.substr(0, at);
  const bool shaped = head.find('@') != std::string_view::npos || head.starts_with('~') || head.starts_with('/') ||
                      head.starts_with("bash-") || head.starts_with("sh-");
  if (!shaped || (head.starts_with('[') && !head.ends_with(']')) || head.find("://") != std::string_view::npos) return {};
  prompt.length = start + at + 2;
  prompt.root = rest[at] == '#';
  return prompt;
}

bool starts_with_any(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::ranges::any_of(list, [&](std::string_view prefix) { return s.starts_with(prefix); });
}

/// The command as it matters: without sudo and variables are kept ("CUDA_VISIBLE_DEVICES=1 python x.py").
std::string_view without_sudo(std::string_view command) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view word : {"sudo -E ", "sudo -H ", "sudo ", "time ", "nohup "})
      if (command.starts_with(word)) command = without_blanks_before(command.substr(word.size())), again = true;
  }
  return command;
}

/// A command whose output is that of a program inside a container.
bool runs_in_container(std::string_view command) {
  return starts_with_any(
      command, {"docker run ", "docker exec ", "podman run ", "podman exec ", "nerdctl run ", "nerdctl exec ", "kubectl exec ",
                "kubectl run ", "docker compose run ", "docker compose exec ", "docker-compose run ", "docker-compose exec ",
                "crictl exec ", "enroot start ", "singularity exec ", "apptainer exec ", "singularity run ", "apptainer run "});
}

/// Host names that container runtimes give: twelve hexadecimal digits ("root@3f4e5a6b7c8d:/#").
bool is_container_host(std::string_view prompt) {
  const std::size_t at = prompt.find('@');
  if (at == std::string_view::npos) return false;
  std::size_t n = 0;
  while (at + 1 + n < prompt.size() && (is_digit(prompt[at + 1 + n]) || (prompt[at + 1 + n] >= 'a' && prompt[at + 1 + n] <= 'f')))
    ++n;
  return n == 12;
}

void find_segments(PastedText& text) {
  PasteSegment open;
  PastePlace typed_in = PastePlace::Host;  // where a shell was entered
  const auto close = [&](std::size_t end) {
    open.end = end;
    if (!open.command.empty() || open.end > open.first) text.segments.push_back(open);
  };
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string_view line = text.lines[i].text;
    const Prompt prompt = prompt_of(line);
    if (prompt.length == 0 || prompt.length >= line.size()) continue;
    close(i);
    open = {};
    open.line = i;
    open.first = i + 1;
    open.prompt = std::string(trimmed(line.substr(0, prompt.length)));
    open.python = prompt.python;
    std::string command(without_sudo(trimmed(line.substr(prompt.length))));
    // A line that ends in a backslash goes on.
    while (command.ends_with('\\') && open.first < text.lines.size()) {
      command.pop_back();
      command += " " + std::string(trimmed(text.lines[open.first].text));
      ++open.first;
      i = open.first - 1;
    }
    open.command = command;
    if (command == "exit" || command == "logout") typed_in = PastePlace::Host;
    if (prompt.windows)
      open.place = PastePlace::Windows;
    else if (prompt.container || runs_in_container(command) || is_container_host(open.prompt))
      open.place = PastePlace::Container;
    else if (!prompt.python)
      open.place = typed_in;
    else if (!text.segments.empty())
      open.place = text.segments.back().place;
  }
  close(text.lines.size());
}

/// A guide's entry: "- *no kernel image is available*: take another build".
bool is_entry_of_guide(std::string_view line) {
  const std::size_t bullet = line.find_first_not_of(" \t");
  if (bullet == std::string_view::npos || (line[bullet] != '-' && line[bullet] != '*' && line[bullet] != '#')) return false;
  const std::size_t open = line.find_first_not_of("-*# \t", bullet);
  if (open == std::string_view::npos || open == 0) return false;
  const char quote = line[open] == '`' ? '`' : line[open - 1];
  if (quote != '`' && quote != '*') return false;
  const std::size_t close = line.find(quote, open + 1);
  const std::size_t after = close == std::string_view::npos ? close : line.find_first_not_of("`* ", close);
  return after != std::string_view::npos && line[after] == ':';
}

/// A guide's line: "- If `nvidia-smi` prints `Failed to …`, reboot". Nobody reports what happened with an "if" and quotes.
bool is_advice(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t-*>#.)0123456789");
  if (first == std::string_view::npos) return false;
  line.remove_prefix(first);
  constexpr std::string_view conditions[] = {"If ", "When ", "Whenever ", "In case ", "Should ", "如果", "若", "当"};
  const auto begins = [&](std::string_view word) { return line.starts_with(word); };
  if (std::ranges::none_of(conditions, begins)) return false;
  return line.find('`') != std::string_view::npos || line.find("“") != std::string_view::npos ||
         line.find('"') != line.rfind('"');
}

}  // namespace

std::string_view shown_part(std::string_view line, std::size_t limit) {
  if (line.size() > limit) {
    const std::size_t end = line.find_last_not_of('\r');
    const std::size_t back = line.substr(0, end == std::string_view::npos ? 0 : end).rfind('\r');
    if (back != std::string_view::npos) line.remove_prefix(back + 1);
  }
  return line.substr(0, limit);
}

std::string without_escapes(std::string_view line) {
  std::string out;
  bool returned = false;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size();) {
    const unsigned char c = static_cast<unsigned char>(line[i]);
    if (c == 0x1b) {
      ++i;
      if (i < line.size() && line[i] == '[') {  // CSI … final byte
        for (++i; i < line.size() && (line[i] < 0x40 || line[i] > 0x7e);) ++i;
        if (i < line.size()) ++i;
      } else if (i < line.size() && line[i] == ']') {  // OSC … BEL or ESC backslash
        for (++i; i < line.size() && line[i] != 0x07 && line[i] != 0x1b;) ++i;
        if (i < line.size()) ++i;
        if (i < line.size() && line[i - 1] == 0x1b && line[i] == '\\') ++i;
      } else if (i < line.size()) {
        ++i;
      }
      continue;
    }
    // A progress bar's carriage return: what is written behind it is what stayed on the screen.
    if (c == '\r') {
      returned = true;
    } else if (c == '\b') {
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
      if (!out.empty()) out.pop_back();
    } else if ((c >= 0x20 && c != 0x7f) || c == '\t') {
      if (returned) out.clear();
      returned = false;
      out += line[i];
    }
    ++i;
  }
  return out;
}

std::string_view without_carrier(std::string_view line) { return without_log_carrier(without_quote_marks(line)); }

std::string decoded_text(std::string bytes) {
  bool little = true;
  std::size_t start = 0;
  if (bytes.size() >= 2 && bytes[0] == '\xff' && bytes[1] == '\xfe') {
    start = 2;
  } else if (bytes.size() >= 2 && bytes[0] == '\xfe' && bytes[1] == '\xff') {
    start = 2;
    little = false;
  } else {
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
    // Without a mark: every second byte of the beginning is zero.
    const std::size_t n = std::min<std::size_t>(bytes.size(), 512) & ~std::size_t{1};
    std::array<std::size_t, 2> zeros{};
    for (std::size_t i = 0; i < n; ++i) zeros[i & 1] += bytes[i] == 0;
    if (n < 8 || (zeros[0] < n / 4 && zeros[1] < n / 4)) return bytes;
    little = zeros[1] >= zeros[0];
  }
  std::string out;
  out.reserve(bytes.size() / 2);
  const auto unit = [&](std::size_t i) {
    const auto a = static_cast<unsigned char>(bytes[i]), b = static_cast<unsigned char>(bytes[i + 1]);
    return static_cast<char32_t>(little ? a | b << 8 : b | a << 8);
  };
  for (std::size_t i = start; i + 1 < bytes.size(); i += 2) {
    char32_t code = unit(i);
    if (code >= 0xd800 && code < 0xdc00 && i + 3 < bytes.size()) {
      const char32_t low = unit(i + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      }
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000)) code = U'?';
    append_utf8(out, code);
  }
  return out;
}

namespace {

/// What evidence shows of a line. Container engines put the tool's own message at the end of a long chain of errors: of such a
/// line the beginning and the message.
std::string quote_of(std::string_view plain) {
  constexpr std::size_t beginning = 120;
  const std::size_t message = plain.size() <= longest_quote ? std::string_view::npos : plain.rfind("nvidia-container-cli");
  if (message == std::string_view::npos || message < beginning + 40) return printable(plain, longest_quote);
  return printable(plain, beginning) + " … " + printable(plain.substr(message), longest_quote - beginning - 5);
}

}  // namespace

PastedText make_pasted_text(std::string name, std::vector<PasteLine> lines, bool complete) {
  PastedText text;
  text.name = std::move(name);
  text.complete = complete;
  text.lines = std::move(lines);
  for (PasteLine& line : text.lines) {
    const std::string plain = without_escapes(line.quoted);
    line.quoted = quote_of(plain);
    line.text = std::string(without_carrier(plain));
  }
  cut_viewer_numbers(text.lines);
  for (PasteLine& line : text.lines) line.text = printable(line.text, longest_line);
  find_segments(text);
  for (PasteLine& line : text.lines)
    if (is_advice(line.text) || is_entry_of_guide(line.text)) line.text.clear();
  return text;
}

PastedText make_pasted_text(std::string name, std::string_view whole) {
  const std::string decoded = decoded_text(std::string(whole));
  std::vector<PasteLine> lines;
  std::string_view rest = decoded;
  std::uint32_t number = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({++number, std::string(shown_part(line, longest_line)), {}, false});
  }
  return make_pasted_text(std::move(name), std::move(lines), true);
}

}  // namespace gpuvet
