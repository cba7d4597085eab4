// What an image asks of the driver: NVIDIA_REQUIRE_NAME="A B,C" means A, or B and C; all such variables must hold. Terms compare
// cuda, driver, brand or arch with a value (NVIDIA container toolkit documentation, "Constraints").

#include <algorithm>
#include <array>

#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

enum class Met : std::uint8_t { No, Unknown, Yes };

struct Term {
  std::string_view key, comparison, value;
};

std::optional<Term> split_term(std::string_view text) {
  const std::size_t at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find_first_not_of("<>=!", at);
  if (end == std::string_view::npos) return std::nullopt;
  return Term{text.substr(0, at), text.substr(at, end - at), text.substr(end)};
}

/// "470", "470.57", "470.57.02": missing numbers are 0.
std::optional<std::array<std::uint32_t, 3>> numbers(std::string_view text) {
  std::array<std::uint32_t, 3> result{};
  std::size_t index = 0;
  bool digit = false;
  for (const char c : text) {
    if (c == '.' && digit && index < 2) {
      ++index;
      digit = false;
    } else if (c >= '0' && c <= '9' && result[index] < 100'000'000) {
      result[index] = result[index] * 10 + static_cast<std::uint32_t>(c - '0');
      digit = true;
    } else {
      return std::nullopt;
    }
  }
  return digit ? std::optional(result) : std::nullopt;
}

Met compare(const std::array<std::uint32_t, 3>& have, std::string_view comparison, const std::array<std::uint32_t, 3>& want) {
  const auto met = [](bool yes) { return yes ? Met::Yes : Met::No; };
  if (comparison == ">=") return met(have >= want);
  if (comparison == "<=") return met(have <= want);
  if (comparison == ">") return met(have > want);
  if (comparison == "<") return met(have < want);
  if (comparison == "=" || comparison == "==") return met(have == want);
  if (comparison == "!=") return met(have != want);
  return Met::Unknown;
}

Met cuda_met(const RuleContext& context, const Term& term) {
  const auto want = numbers(term.value);
  const auto native = context.knowledge.native_cuda(*context.loaded_driver);
  if (!want || !native) return Met::Unknown;
  const Met by_version = compare({native->major, native->minor, 0}, term.comparison, *want);
  if (by_version == Met::Yes || (term.comparison != ">=" && term.comparison != ">")) return by_version;
  const auto least = context.knowledge.least_driver_for_runtime({(*want)[0], (*want)[1], 0});
  if (!least) return native->major == (*want)[0] ? Met::Unknown : Met::No;
  return *context.loaded_driver >= *least ? Met::Yes : Met::No;
}

/// The driver's brand of a GPU is not in our tables; only that a GeForce is neither Tesla nor Quadro is sure.
Met brand_met(const RuleContext& context, const Term& term) {
  const bool geforce = !context.gpus.empty() && std::ranges::all_of(context.gpus, [](const MachineGpu& gpu) {
    return gpu.identity.name.find("GeForce") != std::string::npos;
  });
  const bool other = term.value == "tesla" || term.value == "quadro" || term.value == "quadrortx" || term.value == "grid";
  return geforce && other && term.comparison == "=" ? Met::No : Met::Unknown;
}

Met term_met(const RuleContext& context, std::string_view text) {
  const auto term = split_term(text);
  if (!term) return Met::Unknown;
  if (term->key == "cuda") return cuda_met(context, *term);
  if (term->key == "brand") return brand_met(context, *term);
  const auto want = numbers(term->value);
  const DriverVersion& driver = *context.loaded_driver;
  return term->key == "driver" && want ? compare({driver.branch, driver.minor, driver.patch}, term->comparison, *want)
                                       : Met::Unknown;
}

template <class Part>
void for_each_part(std::string_view text, char separator, Part part) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) part(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Blanks are "or", commas are "and": the best alternative counts, in it the worst term. An empty requirement is met.
Met requirement_met(const RuleContext& context, std::string_view requirement) {
  Met best = Met::No;
  bool any = false;
  for_each_part(requirement, ' ', [&](std::string_view alternative) {
    Met worst = Met::Yes;
    for_each_part(alternative, ',', [&](std::string_view term) { worst = std::min(worst, term_met(context, term)); });
    best = std::max(best, worst);
    any = true;
  });
  return any ? best : Met::Yes;
}

}  // namespace

std::optional<std::string> unmet_requirement(const RuleContext& context) {
  const auto disabled = context.machine.environment.find("NVIDIA_DISABLE_REQUIRE");
  const bool off = disabled != context.machine.environment.end() && (disabled->second == "1" || disabled->second == "true");
  if (!context.loaded_driver || off) return std::nullopt;
  for (const auto& [name, value] : context.machine.environment) {
    if (name.starts_with("NVIDIA_REQUIRE_") && requirement_met(context, value) == Met::No) return name + "=" + value;
  }
  return std::nullopt;
}

}  // namespace gpuvet::user_driver
