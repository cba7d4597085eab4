#pragma once
// Which symbols of the libraries that a process maps find no definition, and which copies do not belong together: the binding of
// ld.so as a pure function of a forecast and the dynamic symbols of its files. docs/loader.md has the rules.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/forecast.h"

namespace gpuvet {

/// A dynamic symbol. The views belong to whoever read the file.
struct SymbolRecord {
  std::string_view name;
  std::string_view version;  ///< empty: none
  std::string_view file;     ///< undefined: soname that the version is wanted of
  bool defined = false;
  bool weak = false;
  bool hidden_version = false;  ///< name@VERSION, not the default
  bool function = true;         ///< false: data or TLS, needed as soon as the file is loaded
  std::uint32_t hash = 0;       ///< its gnu_symbol_hash(), which many libraries are asked with; 0: not computed
};

/// Definitions of one file by name, for who need not read all of them.
class SymbolDefinitions {
 public:
  virtual ~SymbolDefinitions() = default;
  /// Does one of them answer the reference, as glibc binds? With any_version its version is not looked at.
  virtual bool answers(const SymbolRecord& reference, bool any_version) const = 0;
  /// All defined symbols; called only where a reference found no answer.
  virtual std::vector<SymbolRecord> all() const = 0;
};

/// Of one file. `seen` false: its symbols could not be read, so nothing that it might define is called absent.
struct ObjectSymbols {
  std::vector<SymbolRecord> symbols;  ///< all, or with `definitions` only the undefined ones
  bool seen = false;
  const SymbolDefinitions* definitions = nullptr;  ///< belongs to who made this

  std::vector<SymbolRecord> defined() const;
};

/// A copy on disk that the process does not take.
struct OtherCopy {
  std::string path, version;
};

struct SymbolConflict {
  enum class Kind : std::uint8_t {
    VersionMissing,  ///< the file that is loaded does not define a version that is wanted of it: the loader refuses
    SymbolMissing,   ///< nothing in reach defines the symbol
    MixedReleases,   ///< parts of one library that come from different releases (cuDNN's, cuBLAS and cuBLASLt)
    LoadedTwice,     ///< one soname, two files
    TwoReleases,     ///< two major releases of one library in a process
  } kind = Kind::SymbolMissing;
  bool note = false;                 ///< worth knowing, but no fault by itself
  std::vector<std::string> symbols;  ///< the first few
  std::size_t count = 0;             ///< all of them
  std::string version;               ///< that is wanted: "libnvJitLink.so.12", "GLIBCXX_3.4.32"; empty: none
  int wanted_by = -1;                ///< object
  int expected_in = -1;              ///< loaded object that should have it; -1: none, or none known
  std::string expected_name;         ///< soname, or the library's usual name where none is loaded
  bool at_load = false;              ///< else at the first call
  bool cxx11_abi = false;            ///< the owner has the symbol with the other std::string (the other C++ ABI)
  std::string newest;                ///< VersionMissing: newest version of the same family that the file defines
  std::vector<int> objects;          ///< the copies: MixedReleases, LoadedTwice, TwoReleases
  std::vector<OtherCopy> found_in;   ///< copies on disk that have it (filled by who looks)
};

/// Symbols that the program which opens a library has to bring along.
struct HostSymbols {
  int wanted_by = -1;
  std::string host;                  ///< "Python", "Perl", … ; empty: not known
  std::vector<std::string> symbols;  ///< the first few
  std::size_t count = 0;
};

struct ConflictReport {
  std::vector<SymbolConflict> conflicts;
  std::vector<HostSymbols> host;
  bool symbols_seen = false;  ///< symbols were compared at all
  bool fits() const;          ///< no conflict but notes
};

/// `symbols` has one entry an object of the forecast, or none at all: then only versions and copies are compared.
/// O(symbols + references × (definitions of the same name + objects)).
ConflictReport find_conflicts(const Forecast& forecast, const ProcessPlan& plan, LoaderRules::Kind loader,
                              const std::vector<ObjectSymbols>& symbols);

/// Would this copy satisfy what a conflict's symbols or version want?
bool would_satisfy(const SymbolConflict& conflict, const LibraryFile& copy, const ObjectSymbols& symbols);

/// Does a definition of the same name answer a reference, as glibc binds?
bool binds(const SymbolRecord& reference, const SymbolRecord& definition);

}  // namespace gpuvet
