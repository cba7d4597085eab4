#pragma once
// What the audit library (src/audit/audit.c) wrote down, as plain data: which files the dynamic loader of each process searched,
// mapped and closed, in order, and who asked.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// Which file a path led to at that time; {0, 0}: none.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  bool known() const { return inode != 0; }
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct RecordedTry {
  std::string path;
  std::string rule;  ///< "LD_LIBRARY_PATH", "RPATH/RUNPATH", "ld.so.cache", "default"
  FileIdentity file;
};

struct RecordedObject {
  std::string name;  ///< as it was asked for; of the program and the loader empty
  std::string path;  ///< as the loader opened it
  /// "program", "loader", "path", "LD_PRELOAD" or one of RecordedTry's. The loader does not tell RPATH from RUNPATH.
  std::string rule;
  FileIdentity file;
  int requester = -1;            ///< index of the object that asked; -1: nobody (the program, the loader), or not recorded
  bool dlopen = false;           ///< after start-up
  bool root = false;             ///< what dlopen itself was called with; false: it was brought along
  bool other_namespace = false;  ///< by dlmopen
  bool closed = false;           ///< unmapped again while the process went on, or when its dlopen failed
};

/// A search that mapped nothing.
struct RecordedFailure {
  std::string name;
  int requester = -1;
  bool dlopen = false, root = false;
  int after_objects = 0;  ///< so many objects had been mapped before
  std::vector<RecordedTry> tried;
  /// The loader stood at this file and did not map it: it is no usable library, or the caller only asked whether it is loaded
  /// (RTLD_NOLOAD). Empty: it was found nowhere.
  std::string stopped_at;
};

/// One program image. A process that calls exec has several; a forked child that loads something of its own has one, too.
struct RecordedProcess {
  std::int64_t pid = 0, parent = 0;
  std::string program;    ///< /proc/self/exe at start
  std::string argument0;  ///< how it was called
  std::string working_directory;
  std::map<std::string, std::string> environment;  ///< LD_LIBRARY_PATH and LD_PRELOAD at start, where they were set
  bool started = false;                            ///< start-up was finished: the program's own code ran
  bool forked = false;                             ///< a copy of `parent`: start-up was that one's
  std::vector<RecordedObject> objects;             ///< in the order of mapping, the program first
  std::vector<RecordedFailure> failures;
};

struct LoadRecord {
  std::vector<RecordedProcess> processes;  ///< in the order of their first record
  std::int64_t unreadable = 0;             ///< records that made no sense
  bool cut = false;                        ///< more processes or objects than are kept
};

/// Any bytes are taken; what is no record is counted. O(bytes × log objects).
LoadRecord parse_load_record(std::string_view bytes);

}  // namespace gpuvet
