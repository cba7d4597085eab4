// NVIDIA's runfile installer: its log says what it installed; its own record (/var/lib/nvidia/log) and uninstaller say that it is
// still there.
#include "collect/lines.h"
#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

constexpr const char* log_path = "/var/log/nvidia-installer.log";
constexpr const char* uninstall_log = "/var/log/nvidia-uninstall.log";
constexpr std::size_t log_limit = std::size_t{8} << 20;

/// "(version: 535.183.01)" or "(535.183.01)" of a line; empty when there is none.
std::string version_in_parentheses(std::string_view line) {
  const auto open = line.rfind('(');
  if (open == std::string_view::npos) return {};
  std::string_view text = line.substr(open + 1, line.find(')', open) - open - 1);
  if (text.starts_with("version: ")) text.remove_prefix(9);
  return text.find_first_not_of("0123456789.") == std::string_view::npos ? std::string(text) : std::string();
}

/// The last completed installation; a later failed one does not undo it, for the installer removes nothing before it succeeds.
Fact<std::string> last_installation(std::string_view text) {
  auto installed = Fact<std::string>::absent(origin_of(log_path));
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (line.find("is now complete") == std::string_view::npos) return true;
    if (std::string version = version_in_parentheses(line); !version.empty())
      installed = Fact<std::string>::known(std::move(version), origin_of(log_path, line, number));
    return true;
  });
  return installed;
}

bool uninstalled_since(System& system) {
  const auto log = system.status(log_path), removal = system.status(uninstall_log);
  if (system.exists("/var/lib/nvidia/log") || system.exists("/usr/bin/nvidia-uninstall")) return false;
  return removal.has_value() && (!log || removal->modified >= log->modified);
}

}  // namespace

Fact<std::string> read_runfile_driver(System& system) {
  const auto text = system.read_tail(log_path, log_limit);
  if (!text) {
    if (text.error().code == ErrorCode::NotFound) return Fact<std::string>::absent(origin_of(log_path));
    return not_seen_because<std::string>(text.error(), log_path);
  }
  if (uninstalled_since(system)) return Fact<std::string>::absent(origin_of(uninstall_log));
  return last_installation(text->text);
}

}  // namespace gpuvet
