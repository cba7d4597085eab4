#pragma once
// A diagnosis sorted for people: the root cause, what follows from it, the rest, each with its text in the reader's language.

#include <string>
#include <vector>

#include "render/render.h"

namespace gpuvet {

struct FindingText {
  std::string title, explanation;  ///< placeholders filled, safe to print
};
FindingText finding_text(const Finding& finding, Language language);

struct Report {
  const Finding* root = nullptr;
  const Finding* healthy = nullptr;          ///< the finding driver-healthy
  std::vector<const Finding*> consequences;  ///< of the root cause
  std::vector<const Finding*> others;        ///< neither
};
Report make_report(const Diagnosis& diagnosis);

/// What to write behind a link of the chain: its detail, or the title of what broke it.
std::string link_text(const ChainLink& link, const Diagnosis& diagnosis, Language language);
/// The last sentence: what the verdict and the exit code mean.
std::string verdict_sentence(const Diagnosis& diagnosis, bool strict, Language language);
/// "Xid 62 (PMU_HALT_ERROR): …", then what may cause it and what to do, where that is known; a line each.
std::vector<std::string> code_meaning_lines(const CodeMeaning& code, Language language);
/// The command that confirms a finding of a text or rules it out; empty: none is needed.
std::string_view confirming_command(const Finding& finding);
/// The line above the commands of one of several ways: "or with uv:", "on Ubuntu, Debian:".
std::string way_heading(const RenderedWay& way, Language language);
/// "/etc/modprobe.d/x.conf:3"
std::string origin_place(const Origin& origin);

}  // namespace gpuvet
