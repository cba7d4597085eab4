#include "collect/rpm_header.h"

#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

enum Tag : std::uint32_t { Name = 1000, Version = 1001, Release = 1002, Epoch = 1003, Architecture = 1022 };
constexpr std::uint32_t max_entries = 65536;

}  // namespace

std::optional<RpmPackage> parse_rpm_header(std::string_view blob) {
  const ByteView bytes{blob, true};
  if (!bytes.has(0, 8)) return std::nullopt;
  const std::uint32_t entries = bytes.u32(0);
  const std::uint64_t data = 8 + std::uint64_t{entries} * 16;
  if (entries == 0 || entries > max_entries || data > blob.size()) return std::nullopt;
  RpmPackage package;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::uint64_t entry = 8 + std::uint64_t{i} * 16;
    const std::uint64_t at = data + bytes.u32(entry + 8);
    switch (bytes.u32(entry)) {
      case Tag::Name:
        package.name = bytes.c_string(at);
        break;
      case Tag::Version:
        package.version = bytes.c_string(at);
        break;
      case Tag::Release:
        package.release = bytes.c_string(at);
        break;
      case Tag::Architecture:
        package.architecture = bytes.c_string(at);
        break;
      case Tag::Epoch:
        if (bytes.has(at, 4)) package.epoch = bytes.u32(at);
        break;
      default:
        break;
    }
  }
  if (package.name.empty() || package.version.empty()) return std::nullopt;
  return package;
}

bool rpm_header_worth_reading(std::string_view start) {
  const auto package = parse_rpm_header(start);
  return !package || relevant_package(package->name);
}

}  // namespace gpuvet
