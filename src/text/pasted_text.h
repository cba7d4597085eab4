#pragma once
// A pasted text as lines that readers can understand: without the encoding, colours, quoting and log prefixes that it came with,
// and with the prompts and commands in it recognised.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

struct PasteLine {
  std::uint32_t number = 0;  ///< in the text as it was given, from 1
  std::string quoted;        ///< as given, printable, at most some hundred bytes: what evidence shows
  std::string text;          ///< printable, without quote marks, line numbers and prefixes of a log that carried it
  bool gap_before = false;   ///< lines between the one before and this one were left out
};

/// Where an output comes from.
enum class PastePlace : std::uint8_t { Host, Container, Windows };

/// A command in the text and the lines that it printed; the first one has no command where the text starts without.
struct PasteSegment {
  std::string command;  ///< "nvidia-smi -L", without prompt and "sudo"; empty: none
  std::string prompt;   ///< "user@host:~$", ">>>", "C:\>"
  PastePlace place = PastePlace::Host;
  bool python = false;    ///< typed into a Python prompt
  std::size_t line = 0;   ///< index of the line with the command
  std::size_t first = 0;  ///< output: lines [first, end)
  std::size_t end = 0;
};

struct PastedText {
  std::string name = "text";  ///< origin of evidence: "text", a file's name, "standard input"
  std::vector<PasteLine> lines;
  std::vector<PasteSegment> segments;
  bool complete = true;  ///< nothing was left out
};

/// One line without ANSI sequences, quote marks ("> ", "| "), line numbers and the prefixes of compose, Ray, Kubernetes and CI
/// logs. Times and hosts of syslog stay: they belong to the message's own form. O(length).
std::string_view without_carrier(std::string_view line);
/// ANSI escape sequences and other control characters taken out; tabs stay.
std::string without_escapes(std::string_view line);

/// What is kept of a line that is longer than `limit`: its beginning, or that of what its last carriage return left to see.
std::string_view shown_part(std::string_view line, std::size_t limit);

/// UTF-16 (with a byte order mark, or evident from its zero bytes) as UTF-8; anything else as it is, without a UTF-8 mark.
std::string decoded_text(std::string bytes);

/// Lines as given → text with segments. `lines` need number, quoted (raw) and gap_before only.
PastedText make_pasted_text(std::string name, std::vector<PasteLine> lines, bool complete);
/// A whole text in memory.
PastedText make_pasted_text(std::string name, std::string_view text);

}  // namespace gpuvet
