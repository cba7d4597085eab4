#include "model/version.h"

#include <charconv>
#include <tuple>

namespace gpuvet {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Takes a decimal number off the front; false when there is none or it does not fit.
bool take_number(std::string_view& text, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || text.empty() || !is_digit(text.front())) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// Two runs of digits of any length, by value: leading zeros do not count.
std::strong_ordering compare_digits(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

template <class Predicate>
std::string_view take_while(std::string_view& text, Predicate matches) {
  std::size_t length = 0;
  while (length < text.size() && matches(text[length])) ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

/// deb-version(7): letters sort before all other characters, `~` before everything, even the end.
int dpkg_weight(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return 0;
  const char c = text.front();
  if (c == '~') return -1;
  return is_letter(c) ? c : static_cast<unsigned char>(c) + 256;
}

std::strong_ordering compare_dpkg_part(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    while ((!a.empty() && !is_digit(a.front())) || (!b.empty() && !is_digit(b.front()))) {
      const int left = dpkg_weight(a), right = dpkg_weight(b);
      if (left != right) return left <=> right;
      a.remove_prefix(a.empty() ? 0 : 1);
      b.remove_prefix(b.empty() ? 0 : 1);
    }
    const auto order = compare_digits(take_while(a, is_digit), take_while(b, is_digit));
    if (order != std::strong_ordering::equal) return order;
  }
  return std::strong_ordering::equal;
}

struct PackageVersionParts {
  std::string_view epoch = "0", version, release;
};

PackageVersionParts split_package_version(std::string_view text) {
  PackageVersionParts parts;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    parts.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const auto dash = text.rfind('-');
  parts.version = text.substr(0, dash);
  if (dash != std::string_view::npos) parts.release = text.substr(dash + 1);
  return parts;
}

/// `~` sorts before the end, `^` after it but before anything else: which of both texts starts with `mark` decides.
std::optional<std::strong_ordering> compare_rpm_mark(std::string_view& a, std::string_view& b) {
  const bool tilde_a = a.starts_with('~'), tilde_b = b.starts_with('~');
  if (tilde_a != tilde_b) return tilde_a ? std::strong_ordering::less : std::strong_ordering::greater;
  const bool caret_a = a.starts_with('^'), caret_b = b.starts_with('^');
  if (caret_a != caret_b) {
    if (a.empty()) return std::strong_ordering::less;
    if (b.empty()) return std::strong_ordering::greater;
    return caret_a ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return std::nullopt;
}

/// rpm's rule for one part: runs of digits and runs of letters in turn, everything else only separates.
std::strong_ordering compare_rpm_part(std::string_view a, std::string_view b) {
  const auto separates = [](char c) { return !is_digit(c) && !is_letter(c) && c != '~' && c != '^'; };
  while (!a.empty() || !b.empty()) {
    take_while(a, separates);
    take_while(b, separates);
    if (const auto order = compare_rpm_mark(a, b)) return *order;
    if (a.starts_with('~') || a.starts_with('^')) {
      a.remove_prefix(1), b.remove_prefix(1);
      continue;
    }
    if (a.empty() || b.empty()) break;
    const bool digits = is_digit(a.front());
    const auto run_a = digits ? take_while(a, is_digit) : take_while(a, is_letter);
    const auto run_b = digits ? take_while(b, is_digit) : take_while(b, is_letter);
    if (run_b.empty()) return digits ? std::strong_ordering::greater : std::strong_ordering::less;
    const auto order = digits ? compare_digits(run_a, run_b) : run_a.compare(run_b) <=> 0;
    if (order != std::strong_ordering::equal) return order;
  }
  return !a.empty() <=> !b.empty();
}

}  // namespace

std::optional<DriverVersion> DriverVersion::parse(std::string_view text) {
  DriverVersion version;
  version.text = text;
  if (!take_number(text, version.branch) || !take(text, '.') || !take_number(text, version.minor)) return std::nullopt;
  if (take(text, '.') && !take_number(text, version.patch)) return std::nullopt;
  if (!text.empty()) return std::nullopt;
  return version;
}

std::strong_ordering operator<=>(const DriverVersion& a, const DriverVersion& b) {
  return std::tie(a.branch, a.minor, a.patch) <=> std::tie(b.branch, b.minor, b.patch);
}
bool operator==(const DriverVersion& a, const DriverVersion& b) { return (a <=> b) == std::strong_ordering::equal; }

std::optional<CudaVersion> CudaVersion::parse(std::string_view text) {
  CudaVersion version;
  if (!take_number(text, version.major) || !take(text, '.') || !take_number(text, version.minor)) return std::nullopt;
  if (take(text, '.') && !take_number(text, version.update)) return std::nullopt;
  if (!text.empty()) return std::nullopt;
  return version;
}

CudaVersion CudaVersion::from_driver_api(int number) {
  if (number < 0) return {};
  return {static_cast<std::uint32_t>(number / 1000), static_cast<std::uint32_t>(number % 1000 / 10), 0};
}

std::string CudaVersion::text() const { return std::to_string(major) + "." + std::to_string(minor); }

std::optional<ComputeCapability> ComputeCapability::parse(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  ComputeCapability capability;
  if (text.find('.') != std::string_view::npos) {
    if (!take_number(text, capability.major) || !take(text, '.') || !take_number(text, capability.minor) || !text.empty())
      return std::nullopt;
    return capability;
  }
  std::uint32_t number = 0;
  if (!take_number(text, number) || !text.empty() || number < 10 || number > 999) return std::nullopt;
  return ComputeCapability{number / 10, number % 10};
}

std::string ComputeCapability::text() const { return std::to_string(major) + "." + std::to_string(minor); }

std::optional<KernelVersion> KernelVersion::parse(std::string_view text) {
  KernelVersion version;
  version.text = text;
  if (!take_number(text, version.major) || !take(text, '.') || !take_number(text, version.minor)) return std::nullopt;
  if (take(text, '.') && !take_number(text, version.patch)) return std::nullopt;
  return version;
}

std::strong_ordering operator<=>(const KernelVersion& a, const KernelVersion& b) {
  const auto order = std::tie(a.major, a.minor, a.patch) <=> std::tie(b.major, b.minor, b.patch);
  return order != std::strong_ordering::equal ? order : compare_rpm_part(a.text, b.text);
}
bool operator==(const KernelVersion& a, const KernelVersion& b) { return a.text == b.text; }

std::strong_ordering compare_dpkg_versions(std::string_view a, std::string_view b) {
  const auto left = split_package_version(a), right = split_package_version(b);
  if (const auto order = compare_digits(left.epoch, right.epoch); order != std::strong_ordering::equal) return order;
  if (const auto order = compare_dpkg_part(left.version, right.version); order != std::strong_ordering::equal) return order;
  return compare_dpkg_part(left.release, right.release);
}

std::strong_ordering compare_rpm_versions(std::string_view a, std::string_view b) {
  const auto left = split_package_version(a), right = split_package_version(b);
  if (const auto order = compare_digits(left.epoch, right.epoch); order != std::strong_ordering::equal) return order;
  if (const auto order = compare_rpm_part(left.version, right.version); order != std::strong_ordering::equal) return order;
  return compare_rpm_part(left.release, right.release);
}

std::optional<DriverVersion> driver_version_in_package_version(std::string_view package_version) {
  if (const auto colon = package_version.find(':'); colon != std::string_view::npos) package_version.remove_prefix(colon + 1);
  const auto upstream = take_while(package_version, [](char c) { return is_digit(c) || c == '.'; });
  // What follows must be a revision or suffix, not more of a word: "550.120-1", "570.133.07_k6.4", "550.120+deb", or the end.
  if (!package_version.empty() && is_letter(package_version.front())) return std::nullopt;
  auto version = DriverVersion::parse(upstream);
  return version && version->branch >= 60 ? version : std::nullopt;
}

}  // namespace gpuvet
