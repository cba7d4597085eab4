#pragma once
// The two files that a command under the rtld-audit library opens by path: the library, and the record that it appends to.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/fd.h"
#include "system/system.h"

namespace gpuvet {

class AuditFiles {
 public:
  AuditFiles() = default;
  AuditFiles(AuditFiles&& other) noexcept;
  AuditFiles& operator=(AuditFiles&&) = delete;
  /// Removes what was put into a folder.
  ~AuditFiles();

  /// In memory where the kernel and /proc allow it, else in a folder of their own. `library` is the audit library's content.
  static Result<AuditFiles> make(std::string_view library);

  /// Variables that make a loader use them: LD_AUDIT (somebody else's audit libraries stay, before ours) and GPUVET_AUDIT.
  std::vector<std::string> environment() const;
  /// What was recorded; `full` is set where later records are missing.
  Result<std::string> records(bool& full) const;

 private:
  static std::optional<AuditFiles> in_memory(std::string_view library);
  static std::optional<AuditFiles> in_folder(const std::string& above, std::string_view library);

  Fd library_, record_;
  std::string library_path_, record_path_;
  std::string folder_;  ///< empty: both are in memory
};

}  // namespace gpuvet
