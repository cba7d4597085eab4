#pragma once
// A process while its loading is being forecast: what the loaders of glibc and musl remember of each object, and the searches
// that they do. Internal to loader/.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loader/forecast.h"
#include "loader/library_family.h"

namespace gpuvet {

inline constexpr std::size_t max_objects = 4096;

/// A folder that is searched, with those of its hwcaps sub-folders that exist.
struct SearchedFolder {
  std::string prefix;    ///< as it stands in front of a name: "/a/", "lib/", "" (the current folder)
  std::string absolute;  ///< where that is; empty: the current folder is not known
  bool probed = false;
  std::vector<std::string> below;  ///< "glibc-hwcaps/x86-64-v3/", …, last "" for the folder itself
};

struct SearchPlace {
  SearchedFolder* folder = nullptr;
  std::string written;  ///< the element: "$ORIGIN/../lib"
};

/// What a loader remembers of an object beside LoadedObject.
struct ObjectMemory {
  int chain = -1;      ///< the object whose RPATH counts next (l_loader, needed_by); -1: none
  std::string origin;  ///< value of $ORIGIN
  std::optional<std::vector<SearchPlace>> rpath, runpath;
};

/// Where a search ended.
struct Found {
  const LibraryFile* file = nullptr;
  std::string path, rule, detail;
  std::string error;         ///< not empty: the loader ends with it at `path`
  bool leaves_list = false;  ///< an error of open() other than "not there": the rest of this list of folders is left out
  std::vector<TriedPlace> tried;
  std::vector<ShadowedCopy> shadows;
};

/// How an object is asked for.
struct Request {
  std::string name;
  int by = -1;            ///< index of the object that asks
  std::string_view rule;  ///< to be told instead of the search's own: "LD_PRELOAD"
  int step = -1;
  bool dlopen = false;  ///< the object itself, not one of its needed
  bool optional = false;
  bool only_search = false;  ///< `by` lends its RPATH or RUNPATH only; it is not remembered as the loader (dlopen)
};

struct LoadState {
  LoadState(ObjectSource& from, const LoaderRules& by, const std::map<std::string, std::string>& variables)
      : source(from), rules(by), environment(variables) {}

  ObjectSource& source;
  const LoaderRules& rules;
  const std::map<std::string, std::string>& environment;
  std::string elf_class, machine;
  Forecast result;
  std::vector<ObjectMemory> memory;  ///< of each of result.objects
  std::unordered_map<std::string, int> by_name, by_inode;
  std::map<std::string, SearchedFolder> folders;
  std::vector<SearchPlace> library_path, defaults;
  std::vector<std::string> hwcaps_folders;  ///< below every folder, best first
  std::string interpreter;                  ///< path of the loader that runs the program
  int interpreter_object = -1;              ///< its index once something needed it
  std::vector<int> order;                   ///< of the link map; differs from that of loading where there are filters

  bool musl() const { return rules.kind == LoaderRules::Kind::Musl; }
  void note(std::string text);
};

/// by_name: the interpreter that nothing needed so far.
inline constexpr int interpreter_index = -2;

// ---- start_up.cpp -----
/// Fills library_path, defaults and the hwcaps sub-folders.
void prepare_folders(LoadState& state);
/// The program, or a library in its place. False: there is none.
bool load_main(LoadState& state, const std::string& path, bool is_library);
void load_preloads(LoadState& state);

// ---- objects.cpp ----
/// Index of the object that the request leads to; -1: missing (and told in result.missing).
int load(LoadState& state, const Request& request);
/// Loads what the objects from `first` on need, breadth first.
void load_needed(LoadState& state, std::size_t first, int step, bool optional);
/// Puts the objects of the result into the order of the link map.
void sort_objects(LoadState& state);
/// DT_RUNPATH, also an empty one, makes glibc forget every RPATH.
bool has_runpath(const LibraryFile& file);
int add_object(LoadState& state, LoadedObject object, ObjectMemory memory);

// ---- folders.cpp ----
/// Places of a list of folders; `object`: whose $ORIGIN it is (-1: none).
std::vector<SearchPlace> places_of(LoadState& state, std::string_view list, std::string_view separators, int object,
                                   std::string_view what);
std::vector<SearchPlace> places_of(LoadState& state, const std::vector<std::string>& paths);
/// The path as the source knows it: relative ones from the working directory on; empty where that is not known.
std::string absolute_path(const LoadState& state, std::string_view path);
/// Sub-folders that a glibc of this release and CPU tries below every folder.
std::vector<std::string> hwcaps_folders(const LoaderRules& rules);
const std::vector<std::string>& existing_below(LoadState& state, SearchedFolder& folder);

// ---- glibc_search.cpp, musl_search.cpp ----
Found search_glibc(LoadState& state, std::string_view name, int requester);
Found search_musl(LoadState& state, std::string_view name, int requester);
/// A name with a slash.
Found open_path(LoadState& state, const std::string& path);
/// "libc.so", "libpthread.so.0", …: names that musl answers with itself.
bool is_musl_itself(std::string_view name);

// ---- steps.cpp ----
void run_steps(LoadState& state, const ProcessPlan& plan, std::size_t first_step);

}  // namespace gpuvet
