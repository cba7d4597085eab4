#include "commands/trace_parts.h"

#include <algorithm>

#include "collect/library_copies.h"
#include "collect/process_plan.h"
#include "collect/working_folder.h"
#include "elf/cuda_library_version.h"
#include "elf/symbol_hash.h"
#include "loader/library_family.h"
#include "loader/search_path.h"

namespace gpuvet {
namespace {

bool is_python_target(const std::string& target) { return target.starts_with("python:"); }

/// "/home/x/./app": as users write it behind a folder.
std::string without_dots(std::string path) {
  for (std::size_t at = 0; (at = path.find("/./", at)) != std::string::npos;) path.erase(at, 2);
  return path;
}

/// Libraries whose release their bytes may tell.
bool may_tell_release(const LibraryFile& file) {
  const std::string_view stem = library_stem(file.soname.empty() ? file.path : file.soname);
  return stem.starts_with("libcu") || stem.starts_with("libnv") || stem.starts_with("libnccl") || stem.starts_with("libnpp");
}

SymbolRecord record_of(const DynamicSymbol& s) {
  constexpr std::uint8_t stt_object = 1, stt_tls = 6;
  const bool function = s.type != stt_object && s.type != stt_tls;
  return {s.name, s.version, s.file, s.defined, s.weak, s.hidden_version, function};
}

/// A file's definitions behind its hash table; the whole symbol table is read only where a conflict has to be explained.
class FileDefinitions final : public SymbolDefinitions {
 public:
  FileDefinitions(SystemObjects& objects, const LibraryFile& file, std::shared_ptr<FileReader> reader, SymbolIndex index)
      : objects_(objects), file_(file), reader_(std::move(reader)), index_(std::move(index)) {}

  bool answers(const SymbolRecord& reference, bool any_version) const override {
    const std::uint32_t hash = reference.hash != 0 ? reference.hash : gnu_symbol_hash(reference.name);
    return index_.defines(reference.name, any_version ? std::string_view() : reference.version, hash);
  }
  std::vector<SymbolRecord> all() const override {
    if (!table_) {
      const auto reader = objects_.reader(file_);
      auto table = reader ? read_symbol_table(*reader) : tl::unexpected<std::string>("");
      table_ = table ? std::move(*table) : SymbolTable();
    }
    std::vector<SymbolRecord> records;
    for (const DynamicSymbol& symbol : table_->symbols)
      if (symbol.defined && !symbol.name.empty()) records.push_back(record_of(symbol));
    return records;
  }
  std::vector<SymbolRecord> undefined() const {
    std::vector<SymbolRecord> records;
    const std::vector<DynamicSymbol> all = index_.undefined();
    records.reserve(all.size());
    for (const DynamicSymbol& symbol : all) {
      if (symbol.weak || symbol.name.empty()) continue;
      records.push_back(record_of(symbol));
      records.back().hash = gnu_symbol_hash(symbol.name);
    }
    return records;
  }

 private:
  SystemObjects& objects_;
  const LibraryFile& file_;
  std::shared_ptr<FileReader> reader_;  ///< has the bytes of the index; null: the index has them itself
  SymbolIndex index_;
  mutable std::optional<SymbolTable> table_;
};

}  // namespace

/// Relative to the current folder of the live host; a bare name that is not there is looked for on PATH.
std::string Tracer::absolute(const std::string& target) {
  if (target.starts_with('/')) return target;
  const std::string folder = working_folder(system_);
  const std::string here = (folder == "/" ? "" : folder) + "/" + target;
  if (target.find('/') != std::string::npos || system_.exists(here)) return here;
  const auto path = options_.environment.find("PATH");
  if (path == options_.environment.end()) return here;
  std::string file = find_on_path(system_, path->second, target);
  return file.empty() ? here : file;
}

void Tracer::collect_surroundings() {
  surroundings_ = true;
  collect_environment(system_, options_, machine_);
  collect_os(system_, options_, machine_);
}

const Machine& Tracer::machine() {
  if (!surroundings_) collect_surroundings();
  return machine_;
}

std::optional<PlanError> Tracer::open(const std::string& target) {
  target_ = target;
  // The files of a live host say all that a path's plan needs; a root may lack its loader.
  if (system_.is_live() && !is_python_target(target)) {
    machine_.environment = options_.environment;
    return open_path(target);
  }
  collect_surroundings();
  if (!is_python_target(target)) return open_path(target);
  collect_python(system_, options_, machine_);
  auto plan = plan_for_target(objects_, system_, machine_, Knowledge(), target);
  if (!plan) return plan.error();
  plan_ = std::move(*plan);
  program_ = objects_.open(plan_.program);
  rules_ = objects_.rules(machine_, program_);
  return std::nullopt;
}

std::optional<PlanError> Tracer::open_path(const std::string& target) {
  const std::string path = without_dots(absolute(target));
  auto plan = plan_for_target(objects_, system_, machine_, Knowledge(), path);
  if (!plan) return plan.error();
  plan_ = std::move(*plan);
  // A script's process is its interpreter; a library stands in the place of the program itself.
  program_ = objects_.open(plan_.program.empty() ? path : plan_.program);
  rules_ = objects_.rules(machine_, program_);
  return std::nullopt;
}

/// The same record with the library's own release, where its bytes tell it.
const LibraryFile* Tracer::with_release(const LibraryFile* file) {
  if (file == nullptr || file->library_version.is_known() || !may_tell_release(*file)) return file;
  auto [known, added] = released_.try_emplace(file->path, file);
  if (!added) return known->second;
  const auto reader = objects_.reader(*file);
  if (!reader) return file;
  LibraryFile copy = *file;
  copy.library_version = read_cuda_library_version(*reader, *file);
  return known->second = &own_files_.emplace_back(std::move(copy));
}

void Tracer::fill_releases(Forecast& forecast) {
  for (LoadedObject& object : forecast.objects) {
    object.file = with_release(object.file);
    for (ShadowedCopy& copy : object.shadows) copy.file = with_release(copy.file);
  }
}

ObjectSymbols Tracer::symbols_of(const LibraryFile& file) {
  auto [known, added] = symbols_of_.try_emplace(file.real_path.empty() ? file.path : file.real_path);
  if (added) {
    const auto reader = objects_.reader(file);
    auto index = reader ? SymbolIndex::read(*reader) : tl::unexpected<std::string>("");
    if (index) {
      auto definitions =
          std::make_unique<FileDefinitions>(objects_, file, reader->bytes().empty() ? nullptr : reader, std::move(*index));
      known->second.undefined = definitions->undefined();
      known->second.definitions = std::move(definitions);
    }
  }
  const SymbolDefinitions* definitions = known->second.definitions.get();
  if (definitions == nullptr) return {};
  return {known->second.undefined, true, definitions};
}

std::vector<ObjectSymbols> Tracer::read_symbols(const Forecast& forecast) {
  std::vector<ObjectSymbols> symbols;
  if (!symbols_) return symbols;
  for (const LoadedObject& object : forecast.objects)
    symbols.push_back(object.file == nullptr ? ObjectSymbols() : symbols_of(*object.file));
  return symbols;
}

const std::vector<std::string>& Tracer::folders() {
  if (!folders_) {
    if (!surroundings_) collect_surroundings();
    if (machine_.python.environments.is_not_seen()) collect_python(system_, options_, machine_);
    folders_ = usual_library_folders(system_, machine_);
  }
  return *folders_;
}

/// Copies of what is missing, and copies that have what the loaded ones lack.
void Tracer::find_copies(TraceReport& report) {
  const LibraryFile* like = report.forecast.objects.empty() ? nullptr : report.forecast.objects.front().file;
  if (like == nullptr) return;
  for (const MissingLibrary& library : report.forecast.missing) {
    if (library.optional || report.copies.contains(library.name)) continue;
    auto& copies = report.copies[library.name];
    for (const LibraryFile* file : find_library_copies(objects_, folders(), library.name, like->elf_class, like->machine))
      copies.push_back({file->path, release_of(*with_release(file))});
  }
  for (SymbolConflict& conflict : report.conflicts.conflicts) {
    if (conflict.wanted_by < 0 || conflict.expected_name.empty()) continue;
    const LibraryFile* loaded =
        conflict.expected_in < 0 ? nullptr : report.forecast.objects[static_cast<std::size_t>(conflict.expected_in)].file;
    for (const LibraryFile* file :
         find_library_copies(objects_, folders(), conflict.expected_name, like->elf_class, like->machine)) {
      if (loaded != nullptr && file->real_path == loaded->real_path) continue;
      if (would_satisfy(conflict, *file, symbols_of(*file)))
        conflict.found_in.push_back({file->path, release_of(*with_release(file))});
    }
  }
}

TraceReport Tracer::trace(const std::map<std::string, std::string>& environment) {
  TraceReport report;
  report.target = target_;
  report.plan = plan_;
  report.loader = rules_.kind;
  const auto path = environment.find("LD_LIBRARY_PATH");
  if (path != environment.end()) report.library_path = path->second;
  const bool is_program = program_ != nullptr && program_->type == "program";
  report.is_static = is_program && program_->interpreter.empty() && program_->needed.empty();
  LoaderRules rules = rules_;
  rules.want_tried = false;
  rules.want_shadows = true;
  report.forecast = forecast(objects_, rules, plan_, environment);
  if (report.is_static) return report;
  fill_releases(report.forecast);
  report.conflicts = find_conflicts(report.forecast, plan_, rules.kind, read_symbols(report.forecast));
  find_copies(report);
  return report;
}

}  // namespace gpuvet
