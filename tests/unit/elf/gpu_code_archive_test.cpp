// GPU code in archives of every kind that packages use, and in those that are made to harm.

#include "elf/gpu_code_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include "elf/bytes.h"
#include "small_fatbin.h"

namespace gpuvet {
namespace {

struct Member {
  std::string name, bytes;
};

la_ssize_t append(archive*, void* to, const void* bytes, std::size_t size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

using Format = void (*)(archive*);

std::string make(Format format, const std::vector<Member>& members) {
  std::string out;
  archive* a = archive_write_new();
  format(a);
  archive_write_set_bytes_in_last_block(a, 1);
  archive_write_open(a, &out, nullptr, append, nullptr);
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    EXPECT_EQ(archive_write_header(a, entry), ARCHIVE_OK) << archive_error_string(a);
    archive_write_data(a, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(a);
  archive_write_free(a);
  return out;
}

void as_zip(archive* a) { archive_write_set_format_zip(a); }
void as_stored_zip(archive* a) { archive_write_set_format_zip(a), archive_write_zip_set_compression_store(a); }
void as_zip64(archive* a) { archive_write_set_format_zip(a), archive_write_set_options(a, "zip64"); }
void as_encrypted_zip(archive* a) {
  archive_write_set_format_zip(a);
  archive_write_set_options(a, "zip:encryption=zipcrypt");
  archive_write_set_passphrase(a, "secret");
}
void as_tar(archive* a) { archive_write_set_format_pax_restricted(a); }
void as_tar_gz(archive* a) { as_tar(a), archive_write_add_filter_gzip(a); }
void as_tar_bz2(archive* a) { as_tar(a), archive_write_add_filter_bzip2(a); }
void as_tar_xz(archive* a) { as_tar(a), archive_write_add_filter_xz(a); }
void as_tar_zst(archive* a) { as_tar(a), archive_write_add_filter_zstd(a); }

std::string library(unsigned arch) {
  return test::host_elf({{".nv_fatbin", test::container({{2, arch}})}, {".rodata", std::string(100000, 'r')}});
}

const std::vector<Member>& package() {
  static const std::vector<Member> members{{"pkg/__init__.py", "import os\n"},
                                           {"pkg/lib/libone.so", library(80)},
                                           {"pkg/empty.so", ""},
                                           {"pkg/data.bin", std::string(200000, 'd')},
                                           {"pkg/lib/two.fatbin", test::container({{2, 90}, {1, 90, 0x11, "//", 8, 7}})},
                                           {"pkg/plain.so", test::host_elf({{".text", "code"}})}};
  return members;
}

struct Found {
  ArchiveOutcome outcome;
  std::string text;  ///< "PATH=sm_80; PATH=sm_90 compute_90"
  std::vector<GpuCodeFile> files;
};

Found read(const std::string& bytes, const std::string& name, const ArchiveLimits& limits = {}) {
  Found found;
  MemoryReader reader(bytes);
  found.outcome = read_gpu_code_archive(reader, name, limits, [&](GpuCodeFile file) {
    found.text += (found.text.empty() ? "" : "; ") + file.path + "=";
    for (const GpuCodeTarget& target : file.targets) found.text += (target.arch == file.targets[0].arch ? "" : " ") + target.arch;
    if (!file.state.empty()) found.text += "(" + file.state + ")";
    found.files.push_back(std::move(file));
  });
  return found;
}

std::string expected(const std::string& name) {
  return name + ":pkg/lib/libone.so=sm_80; " + name + ":pkg/lib/two.fatbin=sm_90 compute_90";
}

TEST(GpuCodeArchive, EveryKindGivesTheSameMembers) {
  const struct {
    const char* name;
    Format format;
  } kinds[] = {{"x.whl", as_zip},       {"x.zip", as_stored_zip},  {"z64.zip", as_zip64},   {"x.tar", as_tar},
               {"x.tar.gz", as_tar_gz}, {"x.tar.bz2", as_tar_bz2}, {"x.tar.xz", as_tar_xz}, {"x.tar.zst", as_tar_zst}};
  for (const auto& kind : kinds) {
    const std::string bytes = make(kind.format, package());
    EXPECT_EQ(sort_of_file(std::string_view(bytes).substr(0, sniffed_bytes), kind.name), FileSort::Archive) << kind.name;
    const Found found = read(bytes, kind.name);
    EXPECT_EQ(found.text, expected(kind.name));
    EXPECT_EQ(found.outcome.state, "") << kind.name << ": " << found.outcome.problem;
    EXPECT_EQ(found.outcome.members, 6) << kind.name;
    ASSERT_EQ(found.files.size(), 2U);
    EXPECT_EQ(found.files[0].size, static_cast<std::int64_t>(package()[1].bytes.size()));
    EXPECT_EQ(found.files[0].places.at(0).name, ".nv_fatbin") << kind.name;
  }
}

TEST(GpuCodeArchive, SeveralReadersOfOneZipGiveTheSame) {
  std::vector<Member> members;
  for (int i = 0; i < 60; ++i) members.push_back({"pkg/lib" + std::to_string(i) + ".so", library(i % 2 == 0 ? 80 : 90)});
  members.push_back({"inner.tar.gz", make(as_tar_gz, package())});
  members.push_back({"bad.tar.gz", make(as_tar_gz, package()).substr(0, 300)});
  std::string bytes = make(as_zip, members);
  ArchiveLimits four;
  four.threads = 4;
  for (const bool whole : {true, false}) {
    if (!whole) bytes.resize(bytes.size() / 2);
    const Found one = read(bytes, "x.whl"), all = read(bytes, "x.whl", four);
    EXPECT_EQ(all.text, one.text);
    EXPECT_EQ(all.outcome.state, one.outcome.state);
    EXPECT_EQ(all.outcome.problem, one.outcome.problem);
    EXPECT_EQ(all.outcome.members, one.outcome.members);
    if (whole) {
      EXPECT_EQ(all.files.size(), 63U);  // the last one is cut off
    }
  }
  four.members = 20;
  EXPECT_EQ(read(make(as_zip, members), "x.whl", four).outcome.state, "limit");
}

TEST(GpuCodeArchive, CondaPackagesAreArchivesInAnArchive) {
  const std::string inner = make(as_tar_zst, package());
  const std::string conda =
      make(as_stored_zip, {{"metadata.json", "{}"}, {"pkg-x-1.tar.zst", inner}, {"info-x-1.tar.zst", "bad"}});
  const Found found = read(conda, "x.conda");
  EXPECT_EQ(found.text, expected("x.conda:pkg-x-1.tar.zst"));
  // One level only.
  const Found deeper = read(make(as_stored_zip, {{"outer.conda", conda}}), "y.zip");
  EXPECT_EQ(deeper.text, "");
}

TEST(GpuCodeArchive, DebianPackages) {
  const std::string bytes = "!<arch>\n" + test::ar_member("debian-binary", "2.0\n") +
                            test::ar_member("control.tar.xz", make(as_tar_xz, {{"control", "x"}})) +
                            test::ar_member("data.tar.xz", make(as_tar_xz, package()));
  EXPECT_EQ(sort_of_file(std::string_view(bytes).substr(0, sniffed_bytes), "x.deb"), FileSort::Archive);
  const Found found = read(bytes, "x.deb");
  EXPECT_EQ(found.text, expected("x.deb:data.tar.xz")) << found.outcome.problem;
}

TEST(GpuCodeArchive, EncryptedMembersAreTold) {
  const std::string bytes = make(as_encrypted_zip, {{"a.so", library(80)}, {"b.so", library(90)}});
  const Found found = read(bytes, "x.zip");
  EXPECT_EQ(found.text, "");
  EXPECT_EQ(found.outcome.state, "unreadable");
  EXPECT_EQ(found.outcome.problem, "2 encrypted members");
}

TEST(GpuCodeArchive, CutOffArchivesKeepWhatWasRead) {
  const std::string bytes = make(as_tar, package());
  const Found found = read(bytes.substr(0, bytes.find("two.fatbin") + 600), "x.tar");
  EXPECT_NE(found.text.find("libone.so=sm_80"), std::string::npos);
  EXPECT_EQ(found.outcome.state, "damaged");
  const std::string zip = make(as_zip, package());
  for (std::size_t length = 0; length < zip.size(); length += 97) (void)read(zip.substr(0, length), "x.whl");
}

TEST(GpuCodeArchive, BombsStop) {
  ArchiveLimits limits;
  limits.free_output = 1 << 20;
  limits.ratio = 50;
  // A member that looks like a library, and one that nobody wants but a stream has to pass through.
  for (const char* start : {"\x7f"
                            "ELF",
                            "none"}) {
    const std::string bomb = start + std::string(64 << 20, '\0');
    for (const Format format : {as_tar_gz, as_tar_zst, as_tar_xz, as_tar_bz2}) {
      const Found found = read(make(format, {{"bomb.so", bomb}}), "x.tar.gz", limits);
      EXPECT_EQ(found.outcome.state, "limit");
      EXPECT_NE(found.outcome.problem, "");
    }
  }
  const Found zip = read(make(as_zip, {{"bomb.so",
                                        "\x7f"
                                        "ELF" +
                                            std::string(64 << 20, '\0')}}),
                         "x.zip", limits);
  EXPECT_EQ(zip.outcome.state, "limit");
  limits.ratio = 1U << 30, limits.output = 2 << 20;
  EXPECT_EQ(read(make(as_tar_gz, {{"bomb.so", std::string(64 << 20, '\0')}}), "x.tar.gz", limits).outcome.state, "limit");
}

TEST(GpuCodeArchive, TooManyMembersAndTooLargeDirectories) {
  std::vector<Member> many;
  for (int i = 0; i < 2000; ++i) many.push_back({"m" + std::to_string(i), "x"});
  ArchiveLimits limits;
  limits.members = 100;
  EXPECT_EQ(read(make(as_tar, many), "x.tar", limits).outcome.state, "limit");
  EXPECT_EQ(read(make(as_zip, many), "x.zip", limits).outcome.state, "limit");
}

TEST(GpuCodeArchive, NamesAreKeptAsTheyAre) {
  const Found found = read(make(as_tar, {{"a\x1b[31m/b\n.so", library(75)}}), "x.tar");
  ASSERT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.files[0].path, "x.tar:a\x1b[31m/b\n.so");
}

TEST(SortOfFile, FirstBytesDecide) {
  EXPECT_EQ(sort_of_file("\x7f"
                         "ELF\2\1\1",
                         "x"),
            FileSort::Code);
  EXPECT_EQ(sort_of_file("!<arch>\nfoo.o/", "x.a"), FileSort::Code);
  EXPECT_EQ(sort_of_file(test::container({{2, 90}}), "x"), FileSort::Code);
  EXPECT_EQ(sort_of_file("MZ\x90", "x.dll"), FileSort::Code);
  EXPECT_EQ(sort_of_file("//\n// Generated by\n//\n\n.version 9.0\n.target sm_90\n", "kernel"), FileSort::Code);
  EXPECT_EQ(sort_of_file("see .version 9.0 of it", "README"), FileSort::Nothing);
  EXPECT_EQ(sort_of_file("#!/bin/sh\n", "x"), FileSort::Nothing);
  EXPECT_EQ(sort_of_file("", "x.so"), FileSort::Nothing);
  // Compressed streams are opened by name alone: most are no archives.
  EXPECT_EQ(sort_of_file("\x1f\x8b\x08", "x.gz"), FileSort::Nothing);
  EXPECT_EQ(sort_of_file("\x1f\x8b\x08", "x.tar.gz"), FileSort::Archive);
  EXPECT_EQ(sort_of_file("\x28\xb5\x2f\xfd", "pkg.tar.zst"), FileSort::Archive);
}

}  // namespace
}  // namespace gpuvet
