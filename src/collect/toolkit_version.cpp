// The release of a toolkit: version.json, version.txt, cuda.h, nvcc's bytes, the runtime library's name.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "collect/lines.h"
#include "collect/toolkit_parts.h"
#include "elf/cuda_compiler.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_manifest = std::size_t{256} << 10;
constexpr std::size_t max_components = 256;
constexpr std::size_t max_cuda_h = std::size_t{64} << 10;

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= 32 && text.front() >= '0' && text.front() <= '9' &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

/// The dotted number at the beginning of a text.
std::string_view leading_number(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// Does nothing but note how deep values are nested: the parser would otherwise recurse as deep as the file wants.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > 16) return true;
  }
  return false;
}

void read_components(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  using Components = Fact<std::vector<ToolkitComponent>>;
  const auto path = candidate.path + "/version.json";
  const auto text = system.read_file(path, max_manifest);
  if (!text) {
    toolkit.components = text.error().code == ErrorCode::NotFound ? Components::absent(origin_of(path))
                                                                  : Components::not_seen(text.error().message, origin_of(path));
    return;
  }
  auto manifest = read_toolkit_manifest(*text);
  if (!manifest) {
    toolkit.components = Components::not_seen(path + ": " + manifest.error(), origin_of(path));
    return;
  }
  if (!manifest->version.empty())
    toolkit.version =
        Fact<std::string>::known(manifest->version, origin_of(path, "\"cuda\": \"version\": \"" + manifest->version + "\""));
  toolkit.components = Components::known(std::move(manifest->components), origin_of(path));
}

/// "CUDA Version 10.2.89": up to CUDA 10.2 and in many containers.
void read_version_txt(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  const auto path = candidate.path + "/version.txt";
  const auto text = system.read_head(path, 4096);
  if (!text) return;
  constexpr auto label = "CUDA Version "sv;
  const auto at = text->find(label);
  if (at == std::string::npos) return;
  const auto version = leading_number(std::string_view(*text).substr(at + label.size()));
  if (is_version(version))
    toolkit.version = Fact<std::string>::known(std::string(version),
                                               origin_of(path, std::string_view(*text).substr(at, text->find('\n', at) - at)));
}

/// "#define CUDA_VERSION 12060": thousands are the major release, tens the minor one.
void read_cuda_h(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  const auto path = find_entry(system, candidate.layout.includes, "cuda.h");
  if (!path) return;
  const auto text = system.read_head(*path, max_cuda_h);
  if (!text) return;
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    if (!line.starts_with('#')) return true;
    const auto parts = words(line.substr(1));
    if (parts.size() < 3 || parts[0] != "define" || parts[1] != "CUDA_VERSION") return true;
    const auto value = decimal(parts[2]);
    if (value && *value >= 1000 && *value < 1000000)
      toolkit.version = Fact<std::string>::known(std::to_string(*value / 1000) + "." + std::to_string(*value % 1000 / 10),
                                                 origin_of(*path, trim(line), number));
    return false;
  });
}

/// nvcc itself is a script in some distributions: then the program that it calls is read.
std::optional<std::string> compiler_program(System& system, const ToolkitCandidate& candidate) {
  auto folders = candidate.layout.bins;
  std::reverse(folders.begin(), folders.end());
  for (const auto& folder : folders) {
    const auto path = folder + "/nvcc";
    const auto head = system.read_head(path, 4);
    if (head && *head ==
                    "\x7f"
                    "ELF")
      return path;
  }
  return std::nullopt;
}

void read_compiler(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  const auto path = find_entry(system, candidate.layout.bins, "nvcc");
  toolkit.nvcc = path ? Fact<std::string>::known(*path, origin_of(*path)) : Fact<std::string>::absent(origin_of(candidate.path));
  const auto program = path ? compiler_program(system, candidate) : std::nullopt;
  if (!program) {
    toolkit.nvcc_version =
        path ? Fact<std::string>::not_seen(*path + ": not a program", origin_of(*path)) : Fact<std::string>::absent();
    return;
  }
  const auto file = system.open(*program);
  if (!file) {
    toolkit.nvcc_version = not_seen_because<std::string>(file.error(), *program);
    return;
  }
  auto strings = read_compiler_strings(**file);
  toolkit.nvcc_version = strings.version.empty()
                             ? Fact<std::string>::not_seen(*program + ": no version text", origin_of(*program))
                             : Fact<std::string>::known(
                                   strings.version, origin_of(*program, "release " + strings.release + ", V" + strings.version));
  toolkit.architectures = std::move(strings.architectures);
}

/// The compiler's, else the runtime library's file name: a release of two numbers, without the update's.
void version_from_files(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  if (const auto* compiler = toolkit.nvcc_version.get()) {
    toolkit.version = Fact<std::string>::known(release_of(*compiler), toolkit.nvcc_version.origin());
    return;
  }
  const auto library = find_runtime_library(system, candidate.layout);
  const auto real = library ? system.real_path(*library) : Result<std::string>(tl::unexpected(SystemError{}));
  if (real) {
    const auto at = real->find("libcudart.so.");
    const auto version = at == std::string::npos ? ""sv : std::string_view(*real).substr(at + 13);
    if (is_version(version) && std::ranges::count(version, '.') >= 2) {
      toolkit.version = Fact<std::string>::known(release_of(version), origin_of(*real));
      return;
    }
  }
  toolkit.version = Fact<std::string>::not_seen(candidate.path + ": no file tells its release", origin_of(candidate.path));
}

}  // namespace

std::string release_of(std::string_view version) {
  const auto dot = version.find('.');
  if (dot == std::string_view::npos) return std::string(version);
  return std::string(version.substr(0, version.find('.', dot + 1)));
}

tl::expected<ToolkitManifest, std::string> read_toolkit_manifest(std::string_view text) {
  if (is_too_deep(text)) return tl::unexpected<std::string>("nested too deep");
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return tl::unexpected<std::string>("not a JSON object");
  ToolkitManifest manifest;
  for (const auto& [name, entry] : json.items()) {
    const auto* version =
        entry.is_object() && entry.contains("version") ? entry["version"].get_ptr<const nlohmann::json::string_t*>() : nullptr;
    if (version == nullptr || !is_version(*version) || name.size() > 64) continue;
    if (name == "cuda") {
      manifest.version = *version;
    } else if (manifest.components.size() < max_components) {
      ToolkitComponent component;
      component.name = name;
      component.version = *version;
      manifest.components.push_back(std::move(component));
    }
  }
  return manifest;
}

void read_toolkit_version(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  read_components(system, candidate, toolkit);
  read_compiler(system, candidate, toolkit);
  if (!toolkit.version.is_known()) read_version_txt(system, candidate, toolkit);
  if (!toolkit.version.is_known()) read_cuda_h(system, candidate, toolkit);
  if (!toolkit.version.is_known()) version_from_files(system, candidate, toolkit);
}

}  // namespace gpuvet
