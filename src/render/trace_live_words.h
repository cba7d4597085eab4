#pragma once
// The words of `trace --live` and `--pid`: keys for JSON, sentences in both languages.

#include <string>
#include <string_view>

#include "render/trace_live.h"

namespace gpuvet {

std::string_view reason_key(DlopenReason reason);
std::string_view difference_key(LoadDifference::Kind kind);
std::string_view why_key(LoadDifference::Why why);
std::string_view no_record_key(NoRecord reason);
std::string_view state_key(RunningObject::State state);
std::string_view expected_key(RunningObject::Expected expected);

std::string_view reason_text(DlopenReason reason, Language language);
/// What differs, and why. Printable.
std::string difference_text(const LoadDifference& difference, Language language);
std::string no_record_text(const LiveReport& report, Language language);

}  // namespace gpuvet
