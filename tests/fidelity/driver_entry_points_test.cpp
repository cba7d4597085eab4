// data/facts/driver_entry_points.tsv against what genuine drivers export: a driver has every function up to the CUDA version that
// it reports, and none of a later one.
#include <gtest/gtest.h>

#include <set>

#include "cache.h"
#include "elf/elf.h"
#include "elf/symbol_table.h"
#include "knowledge/cuda_libraries.h"
#include "knowledge/table.h"
#include "system/system.h"

namespace gpuvet {
namespace {

std::set<std::string> exports_of(const std::filesystem::path& path) {
  std::set<std::string> names;
  const auto file = make_live_system()->open(path.string());
  if (!file) return names;
  const auto table = read_symbol_table(**file);
  if (!table) return names;
  for (const DynamicSymbol& symbol : table->symbols)
    if (symbol.defined && symbol.name.starts_with("cu")) names.emplace(symbol.name);
  return names;
}

void compare(const Knowledge& knowledge, const std::set<std::string>& exports, const CudaVersion& native) {
  const Knowledge::Table& table = knowledge.table("driver_entry_points");
  for (const auto& row : table.rows) {
    const auto cuda = CudaVersion::parse(table.cell(row, "cuda_version"));
    ASSERT_TRUE(cuda);
    for (const std::string_view name : split_cells(table.cell(row, "entry_points"), ' '))
      EXPECT_EQ(exports.contains(std::string(name)), *cuda <= native) << name << " of CUDA " << cuda->text();
  }
}

TEST(DriverEntryPoints, AsDriversExportThem) {
  const Knowledge knowledge;
  int compared = 0;
  for (const char* package : {"libnvidia-tesla-470-cuda1", "libnvidia-tesla-cuda1", "libcuda1"}) {
    const auto is_driver = [](const std::filesystem::path& path) { return path.filename().string().starts_with("libcuda.so."); };
    for (const auto& path : test::cached_files(package, is_driver)) {
      SCOPED_TRACE(path.filename().string());
      const auto driver = DriverVersion::parse(path.filename().string().substr(11));
      const auto native = driver ? knowledge.native_cuda(*driver) : std::nullopt;
      ASSERT_TRUE(native);
      const auto exports = exports_of(path);
      EXPECT_GT(exports.size(), 500U);
      compare(knowledge, exports, *native);
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "no driver packages in " << test::cache_folder();
  std::printf("libcuda of %d drivers compared with the table\n", compared);
}

}  // namespace
}  // namespace gpuvet
