#include <gtest/gtest.h>

#include "elf/bytes.h"
#include "elf/driver_version.h"
#include "elf/elf.h"
#include "small_elf.h"

namespace gpuvet {
namespace {

using test::SmallElf;

LibraryFile read(const std::string& bytes) {
  MemoryReader reader(bytes);
  return read_library_file(reader);
}

const std::string returns_34("\xb8\x22\0\0\0\xc3\x90\x90", 8);
const std::string real_code("\x55\x48\x89\xe5\x41\x57\x41\x56", 8);

SmallElf libcuda() {
  SmallElf elf;
  elf.soname = "libcuda.so.1";
  elf.needed = {"libm.so.6", "libc.so.6"};
  elf.symbols = {"cuGetErrorName", "cuInit", "cuDriverGetVersion"};
  elf.code = real_code;
  return elf;
}

std::string rodata(std::initializer_list<const char*> texts) {
  std::string data(1, '\0');
  for (const auto* text : texts) data += std::string(text) + '\0';
  return data;
}

struct Shape {
  bool wide, big, gnu_hash;
};
class EveryShape : public testing::TestWithParam<Shape> {};

TEST_P(EveryShape, ReadsWhatALoaderNeeds) {
  SmallElf elf = libcuda();
  elf.wide = GetParam().wide;
  elf.big = GetParam().big;
  elf.gnu_hash = GetParam().gnu_hash;
  elf.machine = elf.big ? 21 : elf.wide ? 183 : 40;
  elf.rpath = "$ORIGIN/../x";
  elf.runpath = "/opt/y";
  elf.versions = {{"libc.so.6", "GLIBC_2.27"}, {"libm.so.6", "GLIBC_2.29 (weak)"}};
  elf.defines = {"CUDA_1.0", "CUDA_2.0"};
  elf.data = rodata({"535.309.01"});
  elf.flags = 8;
  elf.flags_1 = 0x801;
  const auto library = read(elf.build());
  EXPECT_EQ(library.state, "elf");
  EXPECT_EQ(library.type, "shared");
  EXPECT_TRUE(library.dynamic);
  EXPECT_EQ(library.flags, 8);
  EXPECT_EQ(library.flags_1, 0x801);
  EXPECT_EQ(library.loader_error, elf.big ? "ELF file data encoding not little-endian" : "");
  EXPECT_EQ(library.elf_class, elf.wide ? "64" : "32");
  EXPECT_EQ(library.machine, elf.big ? "ppc64" : elf.wide ? "aarch64" : "arm");
  EXPECT_EQ(library.soname, "libcuda.so.1");
  EXPECT_EQ(library.needed, (std::vector<std::string>{"libm.so.6", "libc.so.6"}));
  EXPECT_EQ(library.rpath, "$ORIGIN/../x");
  EXPECT_EQ(library.runpath, "/opt/y");
  EXPECT_EQ(library.version_needs, (std::vector<std::string>{"libc.so.6:GLIBC_2.27", "libm.so.6:GLIBC_2.29 (weak)"}));
  EXPECT_EQ(library.version_definitions, (std::vector<std::string>{"CUDA_1.0", "CUDA_2.0"}));
  EXPECT_EQ(library.symbols, (std::vector<std::string>{"cuInit", "cuDriverGetVersion"}));
  EXPECT_TRUE(library.driver_version.is("535.309.01"));
  EXPECT_FALSE(library.stub);
}

INSTANTIATE_TEST_SUITE_P(Elf, EveryShape,
                         testing::Values(Shape{true, false, false}, Shape{true, false, true}, Shape{true, true, false},
                                         Shape{true, true, true}, Shape{false, false, false}, Shape{false, false, true},
                                         Shape{false, true, false}, Shape{false, true, true}));

TEST(LibraryFile, SaysWhyThereIsNothing) {
  EXPECT_EQ(read("").state, "empty");
  EXPECT_EQ(read("INPUT(libfoo.so.1)\n").state, "not-elf");
  EXPECT_EQ(read(libcuda().build().substr(0, 40)).state, "not-elf");
  EXPECT_EQ(read(libcuda().build().substr(0, 64)).soname, "");
}

TEST(LibraryFile, EveryTruncationIsSurvived) {
  auto elf = libcuda();
  elf.versions = {{"libc.so.6", "GLIBC_2.27"}};
  elf.data = rodata({"535.309.01"});
  const auto whole = elf.build();
  for (std::size_t size = 0; size < whole.size(); ++size) read(whole.substr(0, size));
}

TEST(LibraryFile, SaysWhatAFileThatIsCutOffNeeds) {
  auto elf = libcuda();
  elf.data = rodata({"535.309.01"});
  for (const bool wide : {true, false}) {
    elf.wide = wide;
    const auto whole = elf.build();
    EXPECT_EQ(read(whole).whole_size, 0);
    EXPECT_EQ(read(whole + "what an installer appended").whole_size, 0);
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{250}}) {
      const auto cut = read(whole.substr(0, size));
      EXPECT_EQ(cut.whole_size, static_cast<std::int64_t>(whole.size())) << size;
      EXPECT_EQ(cut.size, static_cast<std::int64_t>(size));
      EXPECT_FALSE(cut.stub) << size;
    }
  }
  EXPECT_GT(read(elf.build().substr(0, 80)).whole_size, 80) << "the program headers themselves";
  EXPECT_EQ(read(elf.build().substr(0, 200)).loader_error, "") << "no loader looks at that";
}

/// Appends a section table of one section.
std::string with_section(std::string bytes, char type, std::uint64_t size) {
  const auto put = [&](std::size_t at, std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
  };
  const std::size_t table = bytes.size();
  bytes.resize(table + 64, '\0');
  put(40, table, 8), put(58, 64, 2), put(60, 1, 2);
  put(table + 4, static_cast<std::uint64_t>(type), 4), put(table + 24, 64, 8), put(table + 32, size, 8);
  return bytes;
}

TEST(LibraryFile, DebugInformationAloneIsNotCutOff) {
  const auto part = libcuda().build().substr(0, 200);
  constexpr char no_bits = 8, bits = 1;
  EXPECT_EQ(read(with_section(part, no_bits, 100000)).whole_size, 0) << "eu-strip leaves the program headers as they were";
  EXPECT_NE(read(with_section(part, bits, 100000)).whole_size, 0);
}

TEST(LibraryFile, ProgramsAndLibrariesAreToldApart) {
  SmallElf elf;
  elf.interpreter = "/lib64/ld-linux-x86-64.so.2";
  auto library = read(elf.build());
  EXPECT_EQ(library.type, "program");
  EXPECT_EQ(library.interpreter, "/lib64/ld-linux-x86-64.so.2");
  elf.soname = "libc.so.6";
  EXPECT_EQ(read(elf.build()).type, "shared");
  elf.flags_1 = 0x08000000;
  library = read(elf.build());
  EXPECT_EQ(library.type, "program");
  EXPECT_EQ(library.loader_error, "cannot dynamically load position-independent executable");
  elf.type = 2;
  library = read(elf.build());
  EXPECT_EQ(library.type, "program");
  EXPECT_EQ(library.loader_error, "cannot dynamically load executable");
  elf.type = 1;
  library = read(elf.build());
  EXPECT_EQ(library.type, "object");
  EXPECT_EQ(library.loader_error, "only ET_DYN and ET_EXEC can be loaded");
}

TEST(LibraryFile, NotesTellBuildAndCpuLevel) {
  using namespace std::string_literals;
  SmallElf elf;
  elf.notes = "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef"s;
  EXPECT_EQ(read(elf.build()).build_id, "deadbeef");
  // A property note: x86 features that are used, then the levels that are needed (baseline, v2 and v3).
  elf.notes = "\4\0\0\0\x20\0\0\0\5\0\0\0GNU\0"
              "\2\0\0\xc0\4\0\0\0\3\0\0\0\0\0\0\0"
              "\2\x80\0\xc0\4\0\0\0\7\0\0\0\0\0\0\0"s;
  EXPECT_EQ(read(elf.build()).isa_needed, 0) << "of the wrong alignment, glibc passes it over";
  elf.note_align = 8;
  EXPECT_EQ(read(elf.build()).isa_needed, 3);
  elf.machine = 183;
  EXPECT_EQ(read(elf.build()).isa_needed, 0);
}

TEST(LoaderError, IsGlibcsOwn) {
  const auto whole = libcuda().build();
  const auto with = [&](std::size_t at, char value) {
    auto bytes = whole;
    bytes[at] = value;
    return read(bytes).loader_error;
  };
  EXPECT_EQ(read(whole).loader_error, "");
  EXPECT_EQ(read("").loader_error, "file too short");
  EXPECT_EQ(read("INPUT(libfoo.so.1)\n").loader_error, "file too short");
  EXPECT_EQ(read(std::string(100, ' ')).loader_error, "invalid ELF header");
  EXPECT_EQ(with(4, 3), "") << "another class is passed over";
  EXPECT_EQ(with(6, 2), "ELF file version ident does not match current one");
  EXPECT_EQ(with(7, 9), "ELF file OS ABI invalid");
  EXPECT_EQ(with(7, 3), "");
  EXPECT_EQ(with(8, 1), "ELF file ABI version invalid");
  EXPECT_EQ(with(12, 1), "nonzero padding in e_ident");
  EXPECT_EQ(with(20, 2), "ELF file version does not match current one");
  EXPECT_EQ(with(54, 32), "ELF file's phentsize not the expected size");
  EXPECT_EQ(with(56, 0), "object file has no loadable segments");
  EXPECT_EQ(with(57, 127), "cannot read file data");
  EXPECT_EQ(with(64 + 8, 1), "ELF load command address/offset not page-aligned");
  EXPECT_EQ(with(64 + 56, 0), "object file has no dynamic section");
}

TEST(Stub, IsToldByItsCode) {
  auto elf = libcuda();
  elf.code = returns_34;
  auto library = read(elf.build());
  EXPECT_TRUE(library.stub);
  EXPECT_TRUE(library.driver_version.is_absent());
  // With frame keeping, as an unoptimised build has it.
  elf.code = std::string("\x55\x48\x89\xe5\xb8\x22\0\0\0\x5d\xc3", 11);
  EXPECT_TRUE(read(elf.build()).stub);
  elf.machine = 183;
  elf.code = std::string("\x40\x04\x80\x52\xc0\x03\x5f\xd6", 8);
  EXPECT_TRUE(read(elf.build()).stub);
}

TEST(Stub, NeedsNothingAndHasNoVersion) {
  auto elf = libcuda();
  elf.needed.clear();
  EXPECT_TRUE(read(elf.build()).stub);
  elf.data = rodata({"535.309.01"});
  EXPECT_FALSE(read(elf.build()).stub);
}

TEST(Stub, RealLibraryWithoutReadableVersionIsNone) {
  const auto library = read(libcuda().build());
  EXPECT_FALSE(library.stub);
  EXPECT_TRUE(library.driver_version.is_not_seen());
}

TEST(Stub, OfNvml) {
  SmallElf elf;
  elf.soname = "libnvidia-ml.so.1";
  elf.needed = {"libc.so.6"};
  elf.symbols = {"nvmlInit_v2"};
  elf.code = std::string("\xb8\x09\0\0\0\xc3", 6);
  EXPECT_TRUE(read(elf.build()).stub);
  elf.data = rodata({"12.535.309.01", "535.309.01"});
  EXPECT_FALSE(read(elf.build()).stub);
}

TEST(DriverVersion, ProfileNameDecidesAmongMany) {
  auto elf = libcuda();
  elf.data = rodata({"450.36.05", "535.86.06", "535.309.01", "525.65"}) + "/usr/share/nvidia/nvidia-application-profiles-535.309.01-rc:/usr";
  EXPECT_TRUE(read(elf.build()).driver_version.is("535.309.01"));
}

TEST(DriverVersion, SeveralWithoutAMarkAreNotGuessed) {
  auto elf = libcuda();
  elf.data = rodata({"450.36.05", "535.309.01"});
  EXPECT_TRUE(read(elf.build()).driver_version.is_not_seen());
}

TEST(DriverVersion, ContradictingMarksAreNotGuessed) {
  auto elf = libcuda();
  elf.data = rodata({"x", "libnvidia-pkcs11.so.535.309.01", "libnvidia-pkcs11.so.550.120"});
  EXPECT_TRUE(read(elf.build()).driver_version.is_not_seen());
}

TEST(DriverVersion, FormsThatAreNone) {
  VersionStrings found;
  collect_version_strings(rodata({"802.1a", "1.2.3", "12.4", "1535.30", "535.3", "535.309.01.2", "libfoo.so.535.309.01", "235.10", "v535.30"}), found);
  EXPECT_TRUE(found.anchored.empty());
  EXPECT_TRUE(found.bare.empty());
}

TEST(DriverVersion, FormsThatAreSome) {
  VersionStrings found;
  collect_version_strings(rodata({"550.120", "540.4.0", "470.76", "11.470.256.02", "libnvidia-tls.so.580.65.06"}), found);
  EXPECT_EQ(found.bare, (std::set<std::string>{"550.120", "540.4.0", "470.76"}));
  EXPECT_EQ(found.anchored, (std::set<std::string>{"470.256.02", "580.65.06"}));
}

TEST(DriverVersion, IsFoundInTheMiddleOfALargeLibrary) {
  auto elf = libcuda();
  for (const std::size_t before : {1u << 20, (2u << 20) - 40u, (3u << 20) - 30u}) {
    elf.data = std::string(before, '\x7f') + "nvidia-application-profiles-535.309.01-rc" + std::string(2u << 20, '\x7f');
    EXPECT_TRUE(read(elf.build()).driver_version.is("535.309.01")) << before;
  }
}

TEST(DriverVersion, OnlyDriverLibrariesAreSearched) {
  auto elf = libcuda();
  elf.soname = "libcudart.so.12";
  elf.data = rodata({"535.309.01"});
  EXPECT_TRUE(read(elf.build()).driver_version.is_not_seen());
}

}  // namespace
}  // namespace gpuvet
