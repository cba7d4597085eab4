// Symbols on which two copies of a CUDA library differ: what a loaded library wants and some copy of the library that should give
// it does not have. On a machine where every copy has everything nothing is kept. And functions of the driver that a file is
// linked against and that a driver here does not have, be it the only copy.

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "collect/process_plan_parts.h"
#include "elf/static_cuda_runtime.h"
#include "elf/symbol_table.h"
#include "loader/library_family.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_wanted = 64;
constexpr std::int64_t max_reader = std::int64_t{600} << 20;
/// Only symbols are read, and only where there are two copies of what the file needs: libtorch_cuda.so of torch 2.8.0 has 968
/// MiB.
constexpr std::int64_t max_wanting = std::int64_t{4} << 30;

/// Symbols of one file, read once.
class Tables {
 public:
  explicit Tables(SystemObjects& objects) : objects_(objects) {}
  const SymbolTable* of(const LibraryFile& file) {
    const auto [it, added] = tables_.try_emplace(file.inode);
    if (added)
      if (const auto reader = objects_.reader(file))
        if (auto table = read_symbol_table(*reader)) it->second = std::make_unique<SymbolTable>(std::move(*table));
    return it->second.get();
  }
  bool defines(const LibraryFile& file, std::string_view name) {
    auto [it, added] = defined_.try_emplace(file.inode);
    if (added)
      if (const SymbolTable* table = of(file))
        for (const DynamicSymbol& symbol : table->symbols)
          if (symbol.defined) it->second.insert(symbol.name);
    return it->second.contains(name);
  }

 private:
  SystemObjects& objects_;
  std::map<std::string, std::unique_ptr<SymbolTable>> tables_;
  std::map<std::string, std::unordered_set<std::string_view>> defined_;
};

using Copies = std::map<std::string, std::vector<LibraryFile*>, std::less<>>;  // by soname, one entry a file

Copies copies_of(LoaderView& view) {
  Copies out;
  for (LibraryFile& file : view.files) {
    // What a file that is cut off has lost says nothing of its release.
    if (file.state != "elf" || file.soname.empty() || file.whole_size != 0) continue;
    auto& same = out[file.soname];
    if (std::ranges::none_of(same, [&](const LibraryFile* f) { return f->inode == file.inode; })) same.push_back(&file);
  }
  return out;
}

void compare(Tables& tables, const LibraryFile& wanting, const Copies& copies, std::vector<std::string>& wanted) {
  const SymbolTable* table = tables.of(wanting);
  if (table == nullptr) return;
  for (const DynamicSymbol& symbol : table->symbols) {
    if (symbol.defined || symbol.weak || wanted.size() >= max_wanted) continue;
    const auto owners = owners_of_symbol(symbol.name);
    if (owners.empty()) continue;
    for (const std::string& needed : wanting.needed) {
      const auto stem = library_stem(needed);
      const auto found = copies.find(needed);
      if (found == copies.end() || std::ranges::find(owners, stem) == owners.end()) continue;
      std::vector<LibraryFile*> have, lack;
      for (LibraryFile* copy : found->second) (tables.defines(*copy, symbol.name) ? have : lack).push_back(copy);
      if (lack.empty() || have.empty()) continue;
      wanted.emplace_back(symbol.name);
      for (LibraryFile* copy : have)
        if (std::ranges::find(copy->symbols, symbol.name) == copy->symbols.end()) copy->symbols.emplace_back(symbol.name);
    }
  }
}

bool is_libcuda(std::string_view soname) { return library_stem(soname) == "libcuda"; }

bool links_driver(const LibraryFile& file) { return std::ranges::any_of(file.needed, is_libcuda); }

/// Functions of libcuda that `wanting` is linked against and some driver's copy lacks. Whatever other file defines them (a
/// wrapper that is preloaded, say) is told too.
void compare_driver(Tables& tables, const LibraryFile& wanting, const Copies& copies, LoaderView& view,
                    std::vector<std::string>& wanted) {
  const SymbolTable* table = tables.of(wanting);
  const auto found = copies.find("libcuda.so.1");
  if (table == nullptr || found == copies.end()) return;
  for (const DynamicSymbol& symbol : table->symbols) {
    if (symbol.defined || symbol.weak || wanted.size() >= max_wanted) continue;
    const auto owners = owners_of_symbol(symbol.name);
    if (std::ranges::find(owners, "libcuda") == owners.end() || std::ranges::find(wanted, symbol.name) != wanted.end()) continue;
    const auto lacks = [&](LibraryFile* copy) {
      return !copy->stub && tables.of(*copy) != nullptr && !tables.defines(*copy, symbol.name);
    };
    if (!std::ranges::any_of(found->second, lacks)) continue;
    wanted.emplace_back(symbol.name);
    for (LibraryFile& file : view.files)
      if (file.state == "elf" && file.size <= max_reader && tables.defines(file, symbol.name) &&
          std::ranges::find(file.symbols, symbol.name) == file.symbols.end())
        file.symbols.emplace_back(symbol.name);
  }
}

/// One file may be there under several paths: each has to tell the same symbols.
void share_symbols(LoaderView& view) {
  std::map<std::string, std::vector<std::string>> by_inode;
  for (const LibraryFile& file : view.files) {
    auto& all = by_inode[file.inode];
    for (const std::string& symbol : file.symbols)
      if (std::ranges::find(all, symbol) == all.end()) all.push_back(symbol);
  }
  for (LibraryFile& file : view.files)
    if (const auto& all = by_inode[file.inode]; !file.inode.empty() && all.size() > file.symbols.size()) file.symbols = all;
}

/// NVIDIA's own libraries have a runtime inside too, of the release that they come with.
bool is_of_nvidia(std::string_view soname) {
  for (const char* start : {"libcu", "libnv", "libnccl", "libnpp"})
    if (soname.starts_with(start)) return true;
  return false;
}

}  // namespace

void add_static_runtimes(const PlanSource& source, const ProcessPlan& plan, LoaderView& view) {
  constexpr std::int64_t max_size = std::int64_t{1} << 30;
  for (const LoadedObject& object : forecast_so_far(source, plan, source.machine.environment).objects) {
    if (object.file == nullptr || object.file->state != "elf" || object.file->size > max_size) continue;
    // A system library has no CUDA in it, unless it is what was asked for.
    const bool of_system = object.rule == "default" || object.rule == "ld.so.cache" || object.rule == "loader";
    if (of_system || is_of_nvidia(object.file->soname)) continue;
    const auto reader = source.objects.reader(*object.file);
    if (!reader) continue;
    const Fact<std::string> release = read_static_cuda_runtime(*reader);
    for (LibraryFile& file : view.files)
      if (file.path == object.file->path) file.runtime_inside = release;
  }
}

void add_wanted_symbols(const PlanSource& source, LoaderView& view) {
  const Copies copies = copies_of(view);
  const auto has_two = [&](const std::string& soname) {
    const auto found = copies.find(soname);
    return found != copies.end() && found->second.size() > 1;
  };
  Tables tables(source.objects);
  std::map<std::string, std::vector<std::string>> by_inode;
  for (LibraryFile& file : view.files) {
    if (file.state != "elf" || file.size > max_wanting) continue;
    // One copy of everything: nothing can differ, nothing is read.
    const bool differs = std::ranges::any_of(
        file.needed, [&](const std::string& needed) { return has_two(needed) && is_cuda_library_name(needed); });
    const bool driver = links_driver(file) && file.size <= max_reader;
    if (!differs && !driver) continue;
    const auto [it, added] = by_inode.try_emplace(file.inode);
    if (added && differs) compare(tables, file, copies, it->second);
    if (added && driver) compare_driver(tables, file, copies, view, it->second);
    file.wanted_symbols = it->second;
  }
  share_symbols(view);
}

}  // namespace gpuvet
