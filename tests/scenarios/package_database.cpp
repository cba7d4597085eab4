#include "package_database.h"

#include <sqlite3.h>

#include <memory>
#include <stdexcept>

namespace gpuvet::test {
namespace {

std::string dpkg_status(const std::vector<TestPackage>& packages) {
  std::string text;
  for (const auto& p : packages) {
    text += "Package: " + p.name + "\nStatus: " + p.status + "\nPriority: optional\nSection: misc\nMaintainer: Nobody <nobody@example.org>\nArchitecture: " +
            (p.architecture.empty() ? "amd64" : p.architecture) + "\nVersion: " + p.version + "\nDescription: " + p.name + "\n\n";
  }
  return text;
}

void big_endian(std::string& out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(v >> shift));
}

/// An rpm header blob: counts, index entries (tag, type, offset, count), data. Strings only, and the epoch.
std::string rpm_header(const TestPackage& package) {
  std::string version = package.version, release = "1", epoch;
  if (const auto colon = version.find(':'); colon != std::string::npos) epoch = version.substr(0, colon), version.erase(0, colon + 1);
  if (const auto dash = version.rfind('-'); dash != std::string::npos) release = version.substr(dash + 1), version.erase(dash);
  std::string index, data;
  std::uint32_t entries = 0;
  const auto add = [&](std::uint32_t tag, std::uint32_t type, const std::string& bytes) {
    big_endian(index, tag), big_endian(index, type), big_endian(index, static_cast<std::uint32_t>(data.size())), big_endian(index, 1);
    data += bytes;
    ++entries;
  };
  if (!epoch.empty()) {
    std::string number;
    big_endian(number, static_cast<std::uint32_t>(std::stoul(epoch)));
    add(1003, 4, number);
  }
  add(1000, 6, package.name + '\0');
  add(1001, 6, version + '\0');
  add(1002, 6, release + '\0');
  add(1022, 6, (package.architecture.empty() ? "x86_64" : package.architecture) + '\0');
  std::string blob;
  big_endian(blob, entries), big_endian(blob, static_cast<std::uint32_t>(data.size()));
  return blob + index + data;
}

void check(int rc, sqlite3* db) {
  if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW) throw std::runtime_error(sqlite3_errmsg(db));
}

std::string rpm_sqlite(const std::vector<TestPackage>& packages) {
  sqlite3* raw = nullptr;
  sqlite3_open(":memory:", &raw);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(raw, sqlite3_close);
  check(sqlite3_exec(raw,
                     "CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL);"
                     "CREATE TABLE 'Name' (key 'TEXT' NOT NULL, hnum INTEGER NOT NULL, idx INTEGER NOT NULL);"
                     "CREATE INDEX 'Name_key_idx' ON 'Name'(key ASC);",
                     nullptr, nullptr, nullptr),
        raw);
  for (const auto& package : packages) {
    const std::string blob = rpm_header(package);
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(raw, "INSERT INTO Packages(blob) VALUES(?)", -1, &statement, nullptr), raw);
    sqlite3_bind_blob(statement, 1, blob.data(), static_cast<int>(blob.size()), SQLITE_STATIC);
    check(sqlite3_step(statement), raw);
    sqlite3_finalize(statement);
    const auto number = sqlite3_last_insert_rowid(raw);
    check(sqlite3_prepare_v2(raw, "INSERT INTO Name VALUES(?,?,0)", -1, &statement, nullptr), raw);
    sqlite3_bind_text(statement, 1, package.name.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, number);
    check(sqlite3_step(statement), raw);
    sqlite3_finalize(statement);
  }
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(raw, "main", &size, 0);
  std::string image(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

}  // namespace

void write_package_database(RecordedTree& tree, const std::string& manager, const std::vector<TestPackage>& packages) {
  if (manager == "dpkg") tree.add_file("/var/lib/dpkg/status", dpkg_status(packages));
  if (manager == "rpm") tree.add_file("/var/lib/rpm/rpmdb.sqlite", rpm_sqlite(packages));
  if (manager == "pacman") {
    tree.remove("/var/lib/pacman/local");
    tree.add_file("/var/lib/pacman/local/ALPM_DB_VERSION", "9\n");
    for (const auto& p : packages) {
      tree.add_file("/var/lib/pacman/local/" + p.name + "-" + p.version + "/desc",
                    "%NAME%\n" + p.name + "\n\n%VERSION%\n" + p.version + "\n\n%BASE%\n" + p.name + "\n\n%ARCH%\nx86_64\n\n");
    }
  }
}

}  // namespace gpuvet::test
