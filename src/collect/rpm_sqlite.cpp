// rpm's sqlite database, through SQLite itself on a read-only "file system" of one file: our FileReader. So only the pages that
// a query needs are read, nothing is locked or written, and a database inside a --root never leads outside.
#include <sqlite3.h>

#include <cstring>
#include <memory>

#include "collect/packages_parts.h"
#include "collect/rpm_header.h"

namespace gpuvet {
namespace {

struct ReaderFile {
  sqlite3_file base;
  FileReader* reader;
};

int close_file(sqlite3_file*) { return SQLITE_OK; }

int read_bytes(sqlite3_file* file, void* buffer, int amount, sqlite3_int64 offset) {
  const auto bytes =
      reinterpret_cast<ReaderFile*>(file)->reader->read_at(static_cast<std::uint64_t>(offset), static_cast<std::size_t>(amount));
  if (!bytes) return SQLITE_IOERR_READ;
  std::memset(buffer, 0, static_cast<std::size_t>(amount));
  std::memcpy(buffer, bytes->data(), bytes->size());
  // Bytes 18 and 19 say "write-ahead log": without the log's shared memory SQLite would refuse. The main file is whole without it
  // (rpm checkpoints when it closes), so it is read as a plain database.
  for (const sqlite3_int64 at : {18, 19}) {
    if (offset <= at && at < offset + amount && static_cast<char*>(buffer)[at - offset] == 2)
      static_cast<char*>(buffer)[at - offset] = 1;
  }
  return bytes->size() < static_cast<std::size_t>(amount) ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(reinterpret_cast<ReaderFile*>(file)->reader->size());
  return SQLITE_OK;
}

int refuse_write(sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; }
int refuse_truncate(sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; }
int no_sync(sqlite3_file*, int) { return SQLITE_OK; }
int no_lock(sqlite3_file*, int) { return SQLITE_OK; }
int no_reserved_lock(sqlite3_file*, int* result) { return *result = 0, SQLITE_OK; }
int no_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; }

const sqlite3_io_methods methods = {1,          close_file,  read_bytes,      refuse_write, refuse_truncate,
                                    no_sync,    file_size,   no_lock,         no_lock,      no_reserved_lock,
                                    no_control, sector_size, characteristics, nullptr,      nullptr,
                                    nullptr,    nullptr,     nullptr,         nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* opened = reinterpret_cast<ReaderFile*>(file);
  opened->base.pMethods = nullptr;
  if (name == nullptr || (flags & SQLITE_OPEN_MAIN_DB) == 0) return SQLITE_CANTOPEN;  // no journal, no temporary file
  opened->base.pMethods = &methods;
  opened->reader = static_cast<FileReader*>(vfs->pAppData);
  if (out_flags != nullptr) *out_flags = SQLITE_OPEN_READONLY;
  return SQLITE_OK;
}

int refuse_delete(sqlite3_vfs*, const char*, int) { return SQLITE_READONLY; }
int nothing_else_exists(sqlite3_vfs*, const char*, int, int* result) { return *result = 0, SQLITE_OK; }
int same_name(sqlite3_vfs*, const char* name, int size, char* out) { return sqlite3_snprintf(size, out, "%s", name), SQLITE_OK; }
int no_randomness(sqlite3_vfs*, int size, char* out) { return std::memset(out, 0, static_cast<std::size_t>(size)), size; }
int no_sleep(sqlite3_vfs*, int) { return 0; }
int no_time(sqlite3_vfs*, double* now) { return *now = 2440587.5, SQLITE_OK; }

sqlite3_vfs make_vfs(FileReader& reader) {
  sqlite3_vfs vfs{};
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(ReaderFile);
  vfs.mxPathname = 64;
  vfs.zName = "gpuvet-reader";
  vfs.pAppData = &reader;
  vfs.xOpen = open_file;
  vfs.xDelete = refuse_delete;
  vfs.xAccess = nothing_else_exists;
  vfs.xFullPathname = same_name;
  vfs.xRandomness = no_randomness;
  vfs.xSleep = no_sleep;
  vfs.xCurrentTime = no_time;
  return vfs;
}

/// A hostile database may send a query round in circles. A real one of 5000 packages takes under 200,000 of SQLite's
/// instructions.
constexpr int max_blob = 64 << 20;
int too_many_steps(void* steps) { return ++*static_cast<int*>(steps) > 500 ? 1 : 0; }

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

Statement prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(db, sql, -1, &raw, nullptr);
  return {raw, sqlite3_finalize};
}

void read_blob(sqlite3_stmt* blob, sqlite3_int64 number, const RpmFound& found) {
  sqlite3_reset(blob);
  sqlite3_bind_int64(blob, 1, number);
  if (sqlite3_step(blob) != SQLITE_ROW) return;
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(blob, 0));
  const int size = sqlite3_column_bytes(blob, 0);
  if (bytes == nullptr || size <= 0) return;
  if (const auto package = parse_rpm_header({bytes, static_cast<std::size_t>(size)}); package && relevant_package(package->name))
    found(*package);
}

tl::expected<void, std::string> read_packages(sqlite3* db, const RpmFound& found) {
  // The Name index tells which headers are worth reading: names are a hundredth of the database.
  const Statement names = prepare(db, "SELECT key, hnum FROM Name");
  const Statement blob = prepare(db, "SELECT blob FROM Packages WHERE hnum = ?");
  if (!names || !blob) return failure(std::string("rpm database: ") + sqlite3_errmsg(db));
  int rc = SQLITE_ROW;
  while ((rc = sqlite3_step(names.get())) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(names.get(), 0));
    if (name != nullptr && relevant_package(name)) read_blob(blob.get(), sqlite3_column_int64(names.get(), 1), found);
  }
  if (rc != SQLITE_DONE) return failure(std::string("rpm database: ") + sqlite3_errmsg(db));
  return {};
}

}  // namespace

tl::expected<void, std::string> read_rpm_sqlite(FileReader& file, const RpmFound& found) {
  const auto magic = file.read_at(0, 16);
  if (!magic || *magic != std::string("SQLite format 3\0", 16)) return failure("no SQLite database");
  sqlite3_initialize();
  sqlite3_vfs vfs = make_vfs(file);
  if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) return failure("SQLite refuses to start");
  sqlite3* raw = nullptr;
  int steps = 0;
  const int rc = sqlite3_open_v2("rpmdb.sqlite", &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs.zName);
  if (rc == SQLITE_OK) {
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, max_blob);
    sqlite3_progress_handler(raw, 10000, too_many_steps, &steps);
  }
  tl::expected<void, std::string> result =
      rc == SQLITE_OK ? read_packages(raw, found) : failure("the rpm database cannot be opened");
  sqlite3_close(raw);
  sqlite3_vfs_unregister(&vfs);
  return result;
}

}  // namespace gpuvet
