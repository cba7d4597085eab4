#pragma once
// Conditions of a C preprocessor's #if, with a third answer for what is not understood.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// In this order, so that the least of several is their conjunction.
enum class Truth : std::uint8_t { No, Unknown, Yes };

constexpr Truth both(Truth a, Truth b) { return a < b ? a : b; }
constexpr Truth either(Truth a, Truth b) { return a < b ? b : a; }
constexpr Truth negate(Truth a) { return a == Truth::Unknown ? a : a == Truth::Yes ? Truth::No : Truth::Yes; }

/// Macros that are defined, with their numbers. All others are undefined, and count as 0 like in C.
using Macros = std::map<std::string, std::int64_t, std::less<>>;

/// Operators ! && || == != < <= > >= + - * ( ), `defined X`, numbers and macros; anything else makes the value unknown where
/// it matters.
Truth evaluate_condition(std::string_view expression, const Macros& macros);

/// All decimal numbers of at most three digits that stand in the expression.
std::vector<std::int64_t> numbers_in_condition(std::string_view expression);

}  // namespace gpuvet
