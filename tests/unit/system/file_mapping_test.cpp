#include "system/file_mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "system/fd.h"

namespace gpuvet {
namespace {

/// A file without a name.
Fd file_of(const std::string& text) {
  Fd fd(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_EQ(::pwrite(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return fd;
}

TEST(FileMapping, HasTheBytes) {
  const Fd fd = file_of("some text");
  FileMapping first(fd.get(), 9);
  EXPECT_EQ(first.bytes(), "some text");
  const FileMapping second(std::move(first));
  EXPECT_EQ(second.bytes(), "some text");
}

TEST(FileMapping, EmptyFilesAndWhatCannotBeMappedHaveNone) {
  const Fd fd = file_of("");
  EXPECT_TRUE(FileMapping(fd.get(), 0).bytes().empty());
  const Fd folder(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(FileMapping(folder.get(), 100).bytes().empty());
}

TEST(FileMapping, WhatIsCutOffMeanwhileBecomesZeros) {
  const std::size_t size = 64 << 10;
  const Fd fd = file_of(std::string(size, 'x'));
  const FileMapping file(fd.get(), size);
  ASSERT_EQ(file.bytes().size(), size);
  EXPECT_EQ(file.bytes()[0], 'x');
  ASSERT_EQ(::ftruncate(fd.get(), 100), 0);
  EXPECT_EQ(file.bytes()[size - 1], '\0');
  EXPECT_EQ(file.bytes()[size / 2], '\0');
  EXPECT_EQ(file.bytes()[99], 'x');
  // And once more, in another place of the table.
  const Fd other = file_of(std::string(size, 'y'));
  const FileMapping again(other.get(), size);
  ASSERT_EQ(::ftruncate(other.get(), 0), 0);
  EXPECT_EQ(again.bytes()[0], '\0');
}

}  // namespace
}  // namespace gpuvet
