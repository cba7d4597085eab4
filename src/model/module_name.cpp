#include "model/module_name.h"

#include <algorithm>
#include <array>

namespace gpuvet {

namespace {

constexpr std::array<std::string_view, 6> parts = {"-uvm", "-modeset", "-drm", "-peermem", "-vgpu-vfio", "-fs"};
constexpr std::array<std::string_view, 6> roles = {"nvidia-uvm",     "nvidia-modeset",   "nvidia-drm",
                                                   "nvidia-peermem", "nvidia-vgpu-vfio", "nvidia-fs"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What Debian and others put between "nvidia" and the part: nothing, "-current", "-tesla", "-tesla-470", "-legacy-390xx",
/// "-open", "-535".
bool is_variant(std::string_view middle) {
  if (middle.empty()) return true;
  for (std::string_view known : {"-current", "-tesla", "-legacy", "-open", "-srv", "-server"}) {
    if (middle.starts_with(known)) return middle.size() == known.size() || middle[known.size()] == '-';
  }
  return middle.size() > 1 && middle[0] == '-' && is_digit(middle[1]);
}

}  // namespace

std::string module_name_with_underscores(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string_view nvidia_module_role(std::string_view name) {
  std::string dashed(name.substr(0, 64));
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::string_view rest = dashed;
  if (!rest.starts_with("nvidia")) return {};
  rest.remove_prefix(6);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (rest.ends_with(parts[i]) && is_variant(rest.substr(0, rest.size() - parts[i].size()))) return roles[i];
  }
  return is_variant(rest) ? std::string_view("nvidia") : std::string_view();
}

}  // namespace gpuvet
