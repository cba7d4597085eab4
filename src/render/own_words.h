#pragma once
// Sentences that gpuvet words itself while it collects and judges (evidence that is no quotation, why a plan has a step, what a
// forecast does not know). They are kept in English, in JSON too, and put into the reader's words here.

#include <string>
#include <string_view>

#include "model/finding.h"
#include "render/render.h"

namespace gpuvet {

/// The sentence in the reader's words, made printable; as it is where it is none of gpuvet's own.
std::string in_own_words(std::string_view text, Language language);
/// The same for evidence: a line of a file is a quotation and stays.
std::string evidence_text(const Origin& origin, Language language);
/// What a plan does not know: of a script that only its interpreter was looked at.
std::string problem_text(const Origin& problem, Language language);

}  // namespace gpuvet
