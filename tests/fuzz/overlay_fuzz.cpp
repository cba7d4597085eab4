// Tables of an overlay folder: foreign text that becomes knowledge, or is refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "knowledge/knowledge.h"
#include "knowledge/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuvet;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  const std::string_view name = text.substr(0, line);
  text.remove_prefix(line == std::string_view::npos ? text.size() : line + 1);

  Knowledge knowledge;
  if (!knowledge.add_overlay_table(name, text)) return 0;
  for (const DriverBranch& branch : knowledge.driver_branches()) (void)knowledge.driver_branch(branch.branch);
  (void)knowledge.cuda_releases();
  (void)knowledge.cuda_release("12.4");
  (void)knowledge.least_driver_for_runtime({12, 4, 0});
  (void)knowledge.driver_defects();
  (void)knowledge.cuda_error(804);
  (void)knowledge.xid(79);
  (void)knowledge.gpu(0x2684).label();
  for (const GpuIdentity& gpu : knowledge.gpus_named("RTX")) (void)driver_serves(DriverVersion{535, 129, 3, "535.129.03"}, gpu);
  return 0;
}
