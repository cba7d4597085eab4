#pragma once
// The compiled-in record of a repair step, from data/actions/TYPE.toml: its texts and its commands per distribution.

#include <span>
#include <string_view>

namespace gpuvet {

struct FamilyCommands {
  /// An os id ("ubuntu"), a family ("debian", "rhel", "suse", …) or "any": one of them is chosen. Or an installer of Python
  /// packages ("pip", "uv", "conda", "poetry", "pixi"): each is a way of its own, and all are shown.
  std::string_view family;
  std::span<const std::string_view> commands;  ///< with {placeholders}, written with sudo
};

struct ActionRecord {
  std::string_view type;  ///< "install-kernel-headers"
  std::string_view text_en, text_zh;
  std::string_view backup_en, backup_zh;  ///< how to save what the step cannot bring back; empty: nothing to save
  std::string_view risk;                  ///< none variable file symlink package kernel firmware hardware
  bool reversible = true;
  bool reboot = false;
  std::span<const FamilyCommands> commands;  ///< empty: nothing to type (a BIOS setting)
};

/// Null when there is no such type. O(number of records).
const ActionRecord* find_action_record(std::string_view type);
std::span<const ActionRecord> all_action_records();

}  // namespace gpuvet
