#include "loader/symbol_conflicts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "loader/copy_conflicts.h"
#include "loader/library_family.h"
#include "loader/name_table.h"

namespace gpuvet {
namespace {

constexpr std::size_t shown_symbols = 8;
constexpr std::int64_t df_bind_now = 0x8, df_1_now = 0x1;

const LibraryFile* file_of(const Forecast& forecast, int object) {
  return object < 0 || static_cast<std::size_t>(object) >= forecast.objects.size()
             ? nullptr
             : forecast.objects[static_cast<std::size_t>(object)].file;
}

/// The object that a loader would call by this name: by its soname, the name it was asked for, or its path.
int object_named(const Forecast& forecast, std::string_view name) {
  for (std::size_t i = 0; i < forecast.objects.size(); ++i) {
    const LoadedObject& object = forecast.objects[i];
    if (object.name == name || object.path == name || (object.file != nullptr && object.file->soname == name))
      return static_cast<int>(i);
  }
  return -1;
}

int object_of_stem(const Forecast& forecast, std::string_view stem) {
  for (std::size_t i = 0; i < forecast.objects.size(); ++i) {
    const LoadedObject& object = forecast.objects[i];
    const bool same_file_name = library_stem(object.path) == stem;
    if (same_file_name || (object.file != nullptr && library_stem(object.file->soname) == stem)) return static_cast<int>(i);
  }
  return -1;
}

/// "libc.so.6:GLIBC_2.27 (weak)"
struct VersionNeed {
  std::string_view file, version;
  bool weak = false;
};
VersionNeed parse_need(std::string_view text) {
  VersionNeed need;
  constexpr std::string_view weak = " (weak)";
  if (text.ends_with(weak)) need.weak = true, text.remove_suffix(weak.size());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return need;
  need.file = text.substr(0, colon);
  need.version = text.substr(colon + 1);
  return need;
}

std::string_view version_family(std::string_view version) { return version.substr(0, version.rfind('_')); }

/// Numbers of "GLIBCXX_3.4.30" behind the underscore, for comparing.
std::vector<unsigned> version_numbers(std::string_view version) {
  std::vector<unsigned> numbers(1, 0);
  for (const char c : version.substr(std::min(version.size(), version.rfind('_') + 1))) {
    if (c == '.')
      numbers.push_back(0);
    else if (c >= '0' && c <= '9')
      numbers.back() = std::min(numbers.back(), 100'000'000U) * 10 + static_cast<unsigned>(c - '0');
    else
      return {};
  }
  return numbers;
}

std::string newest_of_family(const LibraryFile& file, std::string_view wanted) {
  std::string best;
  for (const std::string& version : file.version_definitions) {
    if (version_family(version) != version_family(wanted) || version_numbers(version).empty()) continue;
    if (best.empty() || version_numbers(version) > version_numbers(best)) best = version;
  }
  return best;
}

bool binds_now(const Forecast& forecast, int object) {
  const auto now = [](const LibraryFile* file) {
    return file != nullptr && ((file->flags & df_bind_now) != 0 || (file->flags_1 & df_1_now) != 0);
  };
  return now(file_of(forecast, object)) || now(file_of(forecast, 0));
}

/// _dl_check_map_versions: each version that a file wants of another must be defined there, if that file has versions at all.
void check_versions(const Forecast& forecast, std::vector<SymbolConflict>& conflicts) {
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < forecast.objects.size(); ++i) {
    const LibraryFile* file = forecast.objects[i].file;
    if (file == nullptr) continue;
    for (const std::string& text : file->version_needs) {
      const VersionNeed need = parse_need(text);
      if (need.weak || need.file.empty()) continue;
      const auto known = names.find(need.file);
      const int at = known != names.end() ? known->second : (names[need.file] = object_named(forecast, need.file));
      const LibraryFile* owner = file_of(forecast, at);
      if (owner == nullptr || owner->state != "elf" || owner->version_definitions.empty()) continue;
      if (std::ranges::find(owner->version_definitions, need.version) != owner->version_definitions.end()) continue;
      SymbolConflict conflict;
      conflict.kind = SymbolConflict::Kind::VersionMissing;
      conflict.version = need.version;
      conflict.wanted_by = static_cast<int>(i);
      conflict.expected_in = at;
      conflict.expected_name = need.file;
      conflict.at_load = true;
      conflict.newest = newest_of_family(*owner, need.version);
      conflicts.push_back(std::move(conflict));
    }
  }
}

/// Where a reference may be answered: the global scope as it is when the object's step is done, and the step's own group.
class Scopes {
 public:
  explicit Scopes(const Forecast& forecast) : forecast_(forecast) {}

  const std::vector<char>& of(int step) {
    const auto known = by_step_.find(step);
    if (known != by_step_.end()) return known->second;
    std::vector<char> scope(forecast_.objects.size(), 0);
    for (std::size_t i = 0; i < forecast_.objects.size(); ++i)
      scope[i] = forecast_.objects[i].global && forecast_.objects[i].step <= step;
    if (step >= 0 && static_cast<std::size_t>(step) < forecast_.steps.size())
      add_group(forecast_.steps[static_cast<std::size_t>(step)].object, scope);
    // Objects that an after_failure file brought have no group that we know: all of their step.
    for (std::size_t i = 0; i < forecast_.objects.size(); ++i) scope[i] |= forecast_.objects[i].step == step;
    return by_step_[step] = std::move(scope);
  }

 private:
  void add_group(int root, std::vector<char>& scope) const {
    std::vector<int> open{root};
    std::vector<char> seen(forecast_.objects.size(), 0);
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at < 0 || static_cast<std::size_t>(at) >= seen.size() || seen[static_cast<std::size_t>(at)] != 0) continue;
      seen[static_cast<std::size_t>(at)] = scope[static_cast<std::size_t>(at)] = 1;
      for (const int next : forecast_.objects[static_cast<std::size_t>(at)].needed) open.push_back(next);
    }
  }

  const Forecast& forecast_;
  std::map<int, std::vector<char>> by_step_;
};

struct Definition {
  int object = 0;
  const SymbolRecord* symbol = nullptr;
  std::uint32_t next = 0;  ///< of the same name, 1-based; 0: none
};

/// All definitions of those names that something wants, of objects whose symbols were all read.
class Definitions {
 public:
  Definitions(const std::vector<ObjectSymbols>& symbols) {
    if (std::ranges::all_of(symbols, [](const ObjectSymbols& o) { return o.definitions != nullptr || o.symbols.empty(); }))
      return;
    std::size_t wanted = 0;
    for (const ObjectSymbols& object : symbols)
      for (const SymbolRecord& symbol : object.symbols) wanted += !symbol.defined && !symbol.weak;
    names_.reserve(wanted);
    for (const ObjectSymbols& object : symbols)
      for (const SymbolRecord& symbol : object.symbols)
        if (!symbol.defined && !symbol.weak) names_.insert(symbol.name);
    first_.assign(names_.size(), 0);
    for (std::size_t i = 0; i < symbols.size(); ++i)
      for (const SymbolRecord& symbol : symbols[i].symbols)
        if (symbol.defined) add(static_cast<int>(i), symbol);
  }

  bool answer(const SymbolRecord& reference, const std::vector<char>& scope, bool any_version) const {
    const std::uint32_t id = names_.find(reference.name);
    if (id == NameTable::none) return false;
    for (std::uint32_t at = first_[id]; at != 0; at = all_[at - 1].next) {
      const Definition& definition = all_[at - 1];
      if (scope[static_cast<std::size_t>(definition.object)] == 0) continue;
      if (any_version || binds(reference, *definition.symbol)) return true;
    }
    return false;
  }

 private:
  void add(int object, const SymbolRecord& symbol) {
    const std::uint32_t id = names_.find(symbol.name);
    if (id == NameTable::none) return;
    all_.push_back({object, &symbol, first_[id]});
    first_[id] = static_cast<std::uint32_t>(all_.size());
  }

  NameTable names_;
  std::vector<std::uint32_t> first_;
  std::vector<Definition> all_;
};

constexpr std::string_view new_string = "NSt7__cxx1112basic_string", old_string = "Ss";

/// Does the owner of a C++ function define one whose name is the same up to its first std::string, which is of the other C++ ABI?
bool other_string_abi(std::string_view name, const std::vector<SymbolRecord>& owner) {
  for (const auto& [own, other] : {std::pair{new_string, old_string}, std::pair{old_string, new_string}}) {
    const std::size_t at = name.find(own, 2);
    if (at == std::string_view::npos) continue;
    const std::string wanted = std::string(name.substr(0, at)) + std::string(other);
    const auto fits = [&](const SymbolRecord& s) { return s.defined && s.name.starts_with(wanted); };
    if (std::ranges::any_of(owner, fits)) return true;
  }
  return false;
}

class Binder {
 public:
  Binder(const Forecast& forecast, const ProcessPlan& plan, LoaderRules::Kind loader, const std::vector<ObjectSymbols>& symbols,
         ConflictReport& report)
      : forecast_(forecast),
        symbols_(symbols),
        report_(report),
        definitions_(symbols),
        scopes_(forecast),
        by_name_only_(loader == LoaderRules::Kind::Musl),
        host_unknown_(plan.kind == "library") {}

  void run() {
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      const std::vector<char>& scope = scopes_.of(forecast_.objects[i].step);
      for (const SymbolRecord& symbol : symbols_[i].symbols) {
        if (symbol.defined || symbol.weak || symbol.name.empty()) continue;
        if (!answered(symbol, scope)) unanswered(static_cast<int>(i), symbol, scope);
      }
    }
  }

 private:
  /// Mostly the file that the version is wanted of has it; which one does is all the same here.
  bool answered(const SymbolRecord& symbol, const std::vector<char>& scope) {
    const auto answers = [&](std::size_t object) {
      const SymbolDefinitions* own = scope[object] != 0 ? symbols_[object].definitions : nullptr;
      return own != nullptr && own->answers(symbol, by_name_only_);
    };
    const int owner = symbol.file.empty() ? -1 : named(symbol.file);
    if (owner >= 0 && answers(static_cast<std::size_t>(owner))) return true;
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      if (static_cast<int>(i) != owner && answers(i)) return true;
    return definitions_.answer(symbol, scope, by_name_only_);
  }

  void unanswered(int object, const SymbolRecord& symbol, const std::vector<char>& scope) {
    if (!symbol.version.empty() && !symbol.file.empty() && !by_name_only_)
      versioned(object, symbol);
    else
      unversioned(object, symbol, scope);
  }

  /// The verneed entry says which file has to have it.
  void versioned(int object, const SymbolRecord& symbol) {
    const int owner = named(symbol.file);
    if (owner < 0 || !symbols_[static_cast<std::size_t>(owner)].seen) return;  // missing: told as such
    for (SymbolConflict& known : report_.conflicts) {
      if (known.kind == SymbolConflict::Kind::VersionMissing && known.wanted_by == object && known.version == symbol.version &&
          known.expected_in == owner)
        return count(known, symbol);
    }
    add(object, owner, symbol.file, symbol);
  }

  void unversioned(int object, const SymbolRecord& symbol, const std::vector<char>& scope) {
    int owner = -1;
    std::string_view usual;
    for (const std::string_view stem : owners_of_symbol(symbol.name)) {
      if (usual.empty()) usual = stem;
      const int loaded = of_stem(stem);
      if (loaded < 0 || loaded == object || scope[static_cast<std::size_t>(loaded)] == 0) continue;
      if (!symbols_[static_cast<std::size_t>(loaded)].seen) return;
      if (owner < 0) owner = loaded;
    }
    if (owner < 0) {
      if (cannot_tell(scope)) return;
      if (host_unknown_) return add_host(object, symbol);
    }
    const std::string name = owner < 0 ? std::string(usual) + (usual.empty() ? "" : ".so") : soname(owner);
    add(object, owner, name, symbol);
  }

  /// Something that may define it is missing, or could not be read.
  bool cannot_tell(const std::vector<char>& scope) {
    if (std::ranges::any_of(forecast_.missing, [](const MissingLibrary& m) { return !m.optional; })) return true;
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      if (scope[i] != 0 && !symbols_[i].seen) return true;
    return false;
  }

  void add(int object, int owner, std::string_view expected_name, const SymbolRecord& symbol) {
    const bool abi = owner >= 0 && symbol.name.starts_with("_Z") && other_string_abi(symbol.name, defined_by(owner));
    for (SymbolConflict& known : report_.conflicts) {
      if (known.kind == SymbolConflict::Kind::SymbolMissing && known.wanted_by == object && known.expected_in == owner &&
          known.expected_name == expected_name && known.version == symbol.version && known.cxx11_abi == abi)
        return count(known, symbol);
    }
    SymbolConflict conflict;
    conflict.version = symbol.version;
    conflict.wanted_by = object;
    conflict.expected_in = owner;
    conflict.expected_name = expected_name;
    conflict.cxx11_abi = abi;
    conflict.at_load = binds_now(forecast_, object);
    count(conflict, symbol);
    report_.conflicts.push_back(std::move(conflict));
  }

  const std::vector<SymbolRecord>& defined_by(int object) {
    const auto known = defined_.find(object);
    if (known != defined_.end()) return known->second;
    return defined_[object] = symbols_[static_cast<std::size_t>(object)].defined();
  }

  static void count(SymbolConflict& conflict, const SymbolRecord& symbol) {
    ++conflict.count;
    conflict.at_load |= !symbol.function;
    if (conflict.symbols.size() < shown_symbols) conflict.symbols.emplace_back(symbol.name);
  }

  void add_host(int object, const SymbolRecord& symbol) {
    const std::string_view host = host_of_symbol(symbol.name);
    auto known = std::ranges::find_if(report_.host, [&](const HostSymbols& h) { return h.wanted_by == object; });
    if (known == report_.host.end()) {
      report_.host.push_back({object, std::string(host), {}, 0});
      known = report_.host.end() - 1;
    }
    if (known->host.empty()) known->host = host;
    ++known->count;
    if (known->symbols.size() < shown_symbols) known->symbols.emplace_back(symbol.name);
  }

  std::string soname(int object) const {
    const LibraryFile* file = file_of(forecast_, object);
    if (file != nullptr && !file->soname.empty()) return file->soname;
    return std::string(base_name(forecast_.objects[static_cast<std::size_t>(object)].path));
  }
  int named(std::string_view name) {
    const auto known = named_.find(name);
    return known != named_.end() ? known->second : (named_[name] = object_named(forecast_, name));
  }
  int of_stem(std::string_view stem) {
    const auto known = stems_.find(stem);
    return known != stems_.end() ? known->second : (stems_[stem] = object_of_stem(forecast_, stem));
  }

  const Forecast& forecast_;
  const std::vector<ObjectSymbols>& symbols_;
  ConflictReport& report_;
  Definitions definitions_;
  Scopes scopes_;
  bool by_name_only_, host_unknown_;
  std::map<std::string_view, int> named_, stems_;
  std::map<int, std::vector<SymbolRecord>> defined_;
};

}  // namespace

bool ConflictReport::fits() const {
  return std::ranges::all_of(conflicts, [](const SymbolConflict& c) { return c.note; });
}

bool binds(const SymbolRecord& reference, const SymbolRecord& definition) {
  // A reference without a version takes the default one. (That it also takes the file's first version, hidden or not, cannot be
  // told from here: a miss at worst.)
  if (reference.version.empty() || definition.version.empty()) return true;
  return reference.version == definition.version;
}

std::vector<SymbolRecord> ObjectSymbols::defined() const {
  if (definitions != nullptr) return definitions->all();
  std::vector<SymbolRecord> found;
  std::ranges::copy_if(symbols, std::back_inserter(found), &SymbolRecord::defined);
  return found;
}

bool would_satisfy(const SymbolConflict& conflict, const LibraryFile& copy, const ObjectSymbols& symbols) {
  if (!conflict.version.empty() && !copy.version_definitions.empty() &&
      std::ranges::find(copy.version_definitions, conflict.version) == copy.version_definitions.end())
    return false;
  if (conflict.kind == SymbolConflict::Kind::VersionMissing && conflict.symbols.empty()) return true;
  return std::ranges::all_of(conflict.symbols, [&](const std::string& name) {
    const SymbolRecord wanted{name, conflict.version, {}, false, false, false, true};
    if (symbols.definitions != nullptr) return symbols.definitions->answers(wanted, false);
    const auto fits = [&](const SymbolRecord& s) { return s.defined && s.name == name && binds(wanted, s); };
    return std::ranges::any_of(symbols.symbols, fits);
  });
}

ConflictReport find_conflicts(const Forecast& forecast, const ProcessPlan& plan, LoaderRules::Kind loader,
                              const std::vector<ObjectSymbols>& symbols) {
  ConflictReport report;
  if (loader == LoaderRules::Kind::Glibc) check_versions(forecast, report.conflicts);
  if (!symbols.empty() && symbols.size() == forecast.objects.size()) {
    report.symbols_seen = true;
    Binder(forecast, plan, loader, symbols, report).run();
  }
  find_copy_conflicts(forecast, report.conflicts);
  return report;
}

}  // namespace gpuvet
