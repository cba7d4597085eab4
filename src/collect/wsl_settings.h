#pragma once
// /etc/wsl.conf and %UserProfile%\.wslconfig: "[section]", "key = value", "#" begins a comment, values may be quoted; names count
// without regard to case, and of a name given twice the first holds (microsoft/WSL, src/shared/configfile).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

struct WslSetting {
  std::string name;  ///< "gpu.enabled", in lower case
  std::string value;
  std::string line;  ///< as written
  std::uint32_t number = 0;
};

/// What WSL would take from the text, at most 256 settings; lines that it would refuse are left out. O(length).
std::vector<WslSetting> parse_wsl_settings(std::string_view text);

/// The setting of that name; null: not told.
const WslSetting* find_setting(const std::vector<WslSetting>& settings, std::string_view name);

/// "true", "1", "false", "0" in any case; nothing for what WSL warns of and does not take.
std::optional<bool> wsl_switch(std::string_view value);

}  // namespace gpuvet
