#include "model/purpose.h"

#include <array>
#include <utility>

#include "model/release_version.h"

namespace gpuvet {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> other_names{{{"pytorch", "torch"},
                                                                                     {"tf", "tensorflow"},
                                                                                     {"tensorflow-gpu", "tensorflow"},
                                                                                     {"jaxlib", "jax"},
                                                                                     {"onnxruntime-gpu", "onnxruntime"},
                                                                                     {"paddlepaddle", "paddle"},
                                                                                     {"paddlepaddle-gpu", "paddle"},
                                                                                     {"opencv-python", "opencv"},
                                                                                     {"cv2", "opencv"},
                                                                                     {"build-extension", "build"},
                                                                                     {"extension", "build"},
                                                                                     {"compile", "build"},
                                                                                     {"toolkit", "nvcc"},
                                                                                     {"cuda-toolkit", "nvcc"}}};

/// Names of frameworks have no slash; behind @ stands an environment, which may be a folder.
bool is_path(std::string_view text) {
  if (text == "." || text == ".." || text.starts_with('~')) return true;
  return text.substr(0, text.find_first_of("@<>=!")).find('/') != std::string_view::npos;
}

}  // namespace

tl::expected<Purpose, std::string> parse_purpose(std::string_view text) {
  Purpose purpose;
  purpose.text = text;
  if (text.empty()) return purpose;
  if (is_path(text)) {
    purpose.name = "path";
    purpose.target = text;
    return purpose;
  }
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    purpose.environment = rest.substr(at + 1);
    if (purpose.environment.empty()) return tl::unexpected("no environment behind @ in " + std::string(text));
    rest = rest.substr(0, at);
  }
  if (const std::size_t op = rest.find_first_of("<>=!~"); op != std::string_view::npos) {
    purpose.specifier = rest.substr(op);
    const auto probe = ReleaseVersion::parse("1");
    if (!satisfies(*probe, purpose.specifier)) return tl::unexpected("no version specifier: " + purpose.specifier);
    rest = rest.substr(0, op);
  }
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    purpose.target = normalised_distribution_name(rest.substr(colon + 1));
    rest = rest.substr(0, colon);
  }
  purpose.name = normalised_distribution_name(rest);
  for (const auto& [other, name] : other_names)
    if (purpose.name == other) purpose.name = name;
  const bool plain = purpose.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (purpose.name.empty() || !plain) return tl::unexpected("no name of a framework or tool: " + std::string(text));
  if (purpose.is_driver() && !purpose.specifier.empty())
    return tl::unexpected(
        std::string("a version of the driver cannot be asked for: gpuvet kb driver VERSION tells what it can do"));
  if (!purpose.target.empty() && purpose.name != "build")
    return tl::unexpected("only build:NAME has a part behind a colon: " + std::string(text));
  return purpose;
}

}  // namespace gpuvet
