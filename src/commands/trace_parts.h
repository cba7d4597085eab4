#pragma once
// From a target to a TraceReport: plan, forecast, symbols, copies. One Tracer serves several environments.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/collect.h"
#include "collect/object_files.h"
#include "collect/process_plan.h"
#include "elf/symbol_index.h"
#include "render/trace.h"

namespace gpuvet {

/// The symbols of one file, read once.
struct KnownSymbols {
  std::unique_ptr<SymbolDefinitions> definitions;  ///< null: they could not be read
  std::vector<SymbolRecord> undefined;
};

class Tracer {
 public:
  Tracer(System& system, const CollectOptions& options, bool symbols)
      : system_(system), options_(options), objects_(system), symbols_(symbols) {}

  /// Finds the target and makes its plan; an error, or nothing.
  std::optional<PlanError> open(const std::string& target);
  TraceReport trace(const std::map<std::string, std::string>& environment);
  /// The machine with its user and names, for redaction.
  const Machine& machine();

 private:
  std::optional<PlanError> open_path(const std::string& target);
  void collect_surroundings();
  std::string absolute(const std::string& target);
  const LibraryFile* with_release(const LibraryFile* file);
  void fill_releases(Forecast& forecast);
  std::vector<ObjectSymbols> read_symbols(const Forecast& forecast);
  ObjectSymbols symbols_of(const LibraryFile& file);
  void find_copies(TraceReport& report);
  const std::vector<std::string>& folders();

  System& system_;
  const CollectOptions& options_;
  SystemObjects objects_;
  bool symbols_;
  bool surroundings_ = false;  ///< machine_ has the user and the system
  Machine machine_;
  std::string target_;
  ProcessPlan plan_;
  const LibraryFile* program_ = nullptr;
  LoaderRules rules_;
  std::map<std::string, KnownSymbols> symbols_of_;      ///< by real path
  std::map<std::string, const LibraryFile*> released_;  ///< by path: with the library's release
  std::deque<LibraryFile> own_files_;
  std::optional<std::vector<std::string>> folders_;
};

}  // namespace gpuvet
