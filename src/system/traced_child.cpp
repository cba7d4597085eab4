#include "system/traced_child.h"

#include "system/audit_files.h"

namespace gpuvet {

Result<TracedRun> run_traced(const std::vector<std::string>& command, std::string_view library, const HearOutput& hear) {
  const auto files = AuditFiles::make(library);
  if (!files) return tl::unexpected(files.error());
  auto run = run_relayed(command, files->environment(), hear);
  if (!run) return tl::unexpected(run.error());
  TracedRun traced;
  traced.run = std::move(*run);
  auto records = files->records(traced.full);
  if (!records) return tl::unexpected(records.error());
  traced.records = std::move(*records);
  return traced;
}

}  // namespace gpuvet
