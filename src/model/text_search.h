#pragma once
// Searching foreign text where upper and lower case do not matter.

#include <string_view>

namespace gpuvet {

/// Upper and lower case of ASCII letters count as equal; an empty part is in every text. O(length × part), no allocation.
bool contains_ignoring_case(std::string_view text, std::string_view part);

}  // namespace gpuvet
