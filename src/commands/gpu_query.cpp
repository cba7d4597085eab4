#include "commands/gpu_query.h"

#include <algorithm>

#include "commands/kb_topics.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_names = 8;

/// "sm_120", "sm_90a", "compute_89", "12.0", "89"; longer numbers are names ("5090").
std::optional<ComputeCapability> parse_capability(std::string_view text) {
  const bool prefixed = text.starts_with("sm_") || text.starts_with("compute_");
  const bool dotted = text.find('.') != std::string_view::npos;
  if (!prefixed && !dotted && text.size() > 3) return std::nullopt;
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return ComputeCapability::parse(text);
}

std::string with_capability(std::string name, const ComputeCapability& capability) {
  return std::move(name) + " (" + capability.text() + ")";
}

std::string short_name(const GpuIdentity& gpu) {
  std::string_view name = gpu.name;
  for (const std::string_view word : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(word)) name.remove_prefix(word.size());
  }
  return name.empty() ? gpu.label() : std::string(name);
}

std::vector<std::string> distinct_names(const std::vector<GpuIdentity>& gpus) {
  std::vector<std::string> names;
  for (const GpuIdentity& gpu : gpus) {
    if (!gpu.compute_capability || names.size() == most_names) continue;
    std::string name = with_capability(short_name(gpu), *gpu.compute_capability);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

/// The capability that all of them have; nothing when they differ.
std::optional<ComputeCapability> common_capability(const std::vector<GpuIdentity>& gpus) {
  std::optional<ComputeCapability> common;
  for (const GpuIdentity& gpu : gpus) {
    if (!gpu.compute_capability) continue;
    if (common && *common != *gpu.compute_capability) return std::nullopt;
    common = gpu.compute_capability;
  }
  return common;
}

tl::expected<NamedGpu, GpuQueryError> find_by_name(const Knowledge& knowledge, std::string_view text) {
  std::vector<GpuIdentity> whole, all = knowledge.gpus_named(text);
  std::ranges::copy_if(all, std::back_inserter(whole),
                       [&](const GpuIdentity& gpu) { return kb::bare_name(gpu.name) == kb::bare_name(text); });
  const std::vector<GpuIdentity>& gpus = whole.empty() ? all : whole;
  const std::vector<std::string> names = distinct_names(gpus);
  if (names.empty()) return tl::unexpected(GpuQueryError{false, kb::near_matches(knowledge, "gpu", text)});
  const auto capability = common_capability(gpus);
  if (!capability) return tl::unexpected(GpuQueryError{true, names});
  return NamedGpu{whole.empty() && names.size() > 1 ? with_capability(std::string(text), *capability) : names.front(),
                  *capability};
}

}  // namespace

tl::expected<NamedGpu, GpuQueryError> find_gpu(const Knowledge& knowledge, std::string_view text) {
  if (const auto capability = parse_capability(text); capability && capability->major > 0) {
    const std::string sm = "sm_" + std::to_string(capability->major) + std::to_string(capability->minor);
    return NamedGpu{with_capability(sm, *capability), *capability};
  }
  // Four digits alone are a model number before they are an id: "1080", "5090".
  const bool marked = text.find(':') != std::string_view::npos || text.starts_with("0x") || text.starts_with("0X");
  auto named = marked ? tl::expected<NamedGpu, GpuQueryError>(tl::unexpected(GpuQueryError{})) : find_by_name(knowledge, text);
  if (named || named.error().ambiguous) return named;
  if (const auto id = kb::parse_device_id(text)) {
    const GpuIdentity gpu = knowledge.gpu(*id);
    if (gpu.compute_capability)
      return NamedGpu{with_capability(short_name(gpu), *gpu.compute_capability), *gpu.compute_capability};
  }
  return named;
}

}  // namespace gpuvet
