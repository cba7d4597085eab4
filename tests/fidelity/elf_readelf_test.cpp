// What we read of real ELF files against what binutils' readelf says of them. A sample in the normal run; every ELF file of the
// machine with GPUVET_FULL=1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cache.h"
#include "elf/bytes.h"
#include "elf/elf.h"
#include "elf/symbol_table.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

bool full_run() { return std::getenv("GPUVET_FULL") != nullptr; }

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 65536> buffer;
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
  pclose(pipe);
  return out;
}

bool has_readelf() { return output_of("readelf --version 2>/dev/null").find("Binutils") != std::string::npos; }

/// A program or a library; object files and kernel modules have no program headers to go by.
bool is_loadable(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, 18> first{};
  in.read(first.data(), first.size());
  return in && std::string_view(first.data(), 4) == "\x7f" "ELF" && (first[16] == 2 || first[16] == 3);
}

/// Every program and library below the usual places.
std::vector<fs::path> elf_files() {
  std::vector<fs::path> found;
  Strings tops{"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/opt"};
  tops.push_back(test::cache_folder().string());
  for (const auto& top : tops) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(top, fs::directory_options::skip_permission_denied, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code ignored;
      if (it->is_symlink(ignored) || !it->is_regular_file(ignored) || it->path().string().find('\'') != std::string::npos) continue;
      if (is_loadable(it->path())) found.push_back(it->path());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Evenly spread, small ones only: readelf itself needs long for a table of 100,000 symbols.
std::vector<fs::path> sample_of(const std::vector<fs::path>& all) {
  if (full_run()) return all;
  constexpr std::size_t wanted = 200;
  std::vector<fs::path> sample;
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(1, all.size() / wanted))
    if (fs::file_size(all[i]) < (std::uintmax_t{64} << 20)) sample.push_back(all[i]);
  return sample;
}

/// One file as text lines, from either side.
struct Report {
  Strings header, dynamic, versions, symbols;
  bool go = false;
};

std::string symbol_text(bool defined, std::string_view name, std::string_view mark_and_version) {
  return (defined ? "+" : "-") + std::string(name) + std::string(mark_and_version);
}

std::string between(const std::string& line, std::string_view from, std::string_view to) {
  const auto start = line.find(from);
  if (start == std::string::npos) return "";
  const auto at = start + from.size();
  return line.substr(at, to.empty() ? std::string::npos : line.find(to, at) - at);
}

std::string machine_of(const std::string& text) {
  static const std::map<std::string, std::string> names{{"Advanced Micro Devices X86-64", "x86_64"}, {"Intel 80386", "i386"},
                                                        {"AArch64", "aarch64"},                       {"ARM", "arm"}};
  const auto it = names.find(text);
  return it == names.end() ? "?" : it->second;
}

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// "    12: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND free@GLIBC_2.2.5 (3)"
void read_symbol_line(const std::string& line, Report& report) {
  std::istringstream in(line);
  std::string number, value, size, bind, type, section, name, note;
  in >> number >> value >> size >> type;
  // A type or binding that readelf does not know for this system has several words: go by the visibility behind them.
  const auto is_visibility = [](const std::string& word) {
    return word == "DEFAULT" || word == "HIDDEN" || word == "PROTECTED" || word == "INTERNAL";
  };
  for (std::string word; in >> word && !is_visibility(word);) bind = word;
  in >> section;
  while (section.starts_with('[') || section.ends_with(']')) in >> section;
  in >> name >> note;
  if (bind == "LOCAL" || number == "0:") return;
  const bool defined = section != "UND";
  const auto at = name.find('@');
  auto version = at == std::string::npos ? "" : name.substr(at);
  // A version that the file wants, of a symbol that it defines itself: a copy of a library's variable.
  if (defined && !note.empty() && version.starts_with('@')) version = "@@" + version.substr(version.find_first_not_of('@'));
  report.symbols.push_back(symbol_text(defined, name.substr(0, at), version));
}

void read_dynamic_line(const std::string& line, Report& report) {
  const auto value = between(line, "[", "");
  const auto text = value.empty() ? "" : value.substr(0, value.rfind(']'));
  for (const char* tag : {"NEEDED", "SONAME", "RPATH", "RUNPATH"})
    if (line.find("(" + std::string(tag) + ")") != std::string::npos && !value.empty())
      report.dynamic.push_back(tag + (" " + text));
}

/// Lines of "Version needs" and "Version definition".
void read_version_line(const std::string& line, std::string& file, Report& report) {
  if (line.find("File: ") != std::string::npos && line.find("Cnt: ") != std::string::npos) {
    file = between(line, "File: ", "  Cnt");
  } else if (line.find("Name: ") == std::string::npos) {
    return;
  } else if (line.find("Rev: ") != std::string::npos) {
    if (line.find("Flags: BASE") == std::string::npos) report.versions.push_back("defines " + between(line, "Name: ", ""));
  } else if (line.find("Version: ") != std::string::npos) {
    const bool weak = between(line, "Flags: ", " Version").find("WEAK") != std::string::npos;
    report.versions.push_back(file + ":" + between(line, "Name: ", "  Flags") + (weak ? " (weak)" : ""));
  }
}

void read_header_line(const std::string& line, Report& report) {
  const auto value = [&](const char* key) { return trimmed(between(line, key, "")); };
  if (line.starts_with("  Class:")) report.header.push_back("class " + value("Class:").substr(3));
  if (line.starts_with("  Machine:")) report.header.push_back("machine " + machine_of(value("Machine:")));
  if (line.find("Requesting program interpreter: ") != std::string::npos)
    report.header.push_back("interpreter " + between(line, "interpreter: ", "]"));
  // Go's linker keeps the GNU build ID in a section that no program header names.
  if (line.find("GO BUILDID") != std::string::npos) report.go = true;
  if (line.find("Build ID: ") != std::string::npos) report.header.push_back("build " + value("Build ID: "));
}

Report report_of_readelf(const fs::path& path) {
  Report report;
  std::istringstream lines(output_of("LC_ALL=C readelf -W -h -l -n -d -V --dyn-syms '" + path.string() + "' 2>/dev/null"));
  enum class Part { Header, Dynamic, Versions, Symbols } part = Part::Header;
  std::string file;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Dynamic section")) part = Part::Dynamic;
    else if (line.starts_with("Symbol table")) part = Part::Symbols;
    else if (line.starts_with("Version ")) part = Part::Versions;
    else if (line.starts_with("Displaying notes") || line.starts_with("ELF Header") || line.starts_with("Program Headers")) part = Part::Header;
    if (part == Part::Header) read_header_line(line, report);
    if (part == Part::Dynamic) read_dynamic_line(line, report);
    if (part == Part::Versions) read_version_line(line, file, report);
    if (part == Part::Symbols && line.find(':') != std::string::npos && line.find("Num:") == std::string::npos &&
        !line.starts_with("Symbol table"))
      read_symbol_line(line, report);
  }
  return report;
}

Strings symbols_of(const SymbolTable& table) {
  Strings symbols;
  for (const auto& s : table.symbols) {
    // readelf does not repeat it behind the symbol that stands for a version.
    std::string version(s.version == s.name ? "" : s.version);
    if (!version.empty()) version = (s.defined && !s.hidden_version ? "@@" : "@") + version;
    symbols.push_back(symbol_text(s.defined, s.name, version));
  }
  return symbols;
}

Report report_of_ours(FileReader& file, const LibraryFile& library) {
  Report report;
  report.header = {"class " + library.elf_class, "machine " + library.machine};
  if (!library.interpreter.empty()) report.header.push_back("interpreter " + library.interpreter);
  if (!library.build_id.empty()) report.header.push_back("build " + library.build_id);
  for (const auto& name : library.needed) report.dynamic.push_back("NEEDED " + name);
  if (!library.soname.empty()) report.dynamic.push_back("SONAME " + library.soname);
  if (!library.rpath.empty()) report.dynamic.push_back("RPATH " + library.rpath);
  if (!library.runpath.empty()) report.dynamic.push_back("RUNPATH " + library.runpath);
  for (const auto& version : library.version_definitions) report.versions.push_back("defines " + version);
  for (const auto& version : library.version_needs) report.versions.push_back(version);
  if (const auto table = read_symbol_table(file)) report.symbols = symbols_of(*table);
  return report;
}

/// The first difference; empty: none. Only needed libraries and symbols have an order that means something.
std::string difference(const char* what, Strings ours, Strings theirs, bool sorted) {
  if (sorted) {
    for (auto* list : {&ours, &theirs}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }
  const auto [a, b] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  if (a == ours.end() && b == theirs.end()) return "";
  return std::string(what) + ": ours \"" + (a == ours.end() ? "(end)" : *a) + "\", readelf \"" + (b == theirs.end() ? "(end)" : *b) + "\" ";
}

Strings needed_only(const Strings& lines) {
  Strings needed;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(needed), [](const auto& s) { return s.starts_with("NEEDED"); });
  return needed;
}

std::string differences(Report ours, Report theirs) {
  if (theirs.go)
    for (auto* report : {&ours, &theirs}) std::erase_if(report->header, [](const auto& line) { return line.starts_with("build"); });
  return difference("header", ours.header, theirs.header, true) + difference("dynamic", ours.dynamic, theirs.dynamic, true) +
         difference("needed", needed_only(ours.dynamic), needed_only(theirs.dynamic), false) +
         difference("versions", ours.versions, theirs.versions, true) + difference("symbols", ours.symbols, theirs.symbols, false);
}

TEST(Readelf, SaysTheSameOfRealFiles) {
  if (!has_readelf()) GTEST_SKIP() << "no readelf";
  const auto system = make_live_system();
  const auto all = elf_files();
  const auto files = sample_of(all);
  std::size_t different = 0, symbols = 0;
  for (const auto& path : files) {
    const auto file = system->open(path.string());
    ASSERT_TRUE(file) << path;
    const auto ours = report_of_ours(**file, read_library_file(**file));
    const auto what = differences(ours, report_of_readelf(path));
    symbols += ours.symbols.size();
    if (!what.empty() && ++different <= 20) ADD_FAILURE() << path << ": " << what;
  }
  std::printf("readelf: %zu of %zu ELF files, %zu symbols, %zu files differ\n", files.size(), all.size(), symbols, different);
  EXPECT_EQ(different, 0u);
}

/// The same file without section headers.
std::string without_sections(std::string bytes) {
  const bool wide = bytes[4] == 2;
  bytes.replace(wide ? 40 : 32, wide ? 8 : 4, wide ? 8 : 4, '\0');
  bytes.replace(wide ? 60 : 48, 4, 4, '\0');
  return bytes;
}

TEST(Stripped, SymbolsAreTheSameWithoutSectionHeaders) {
  const auto files = sample_of(elf_files());
  std::size_t compared = 0;
  for (const auto& path : files) {
    if (fs::file_size(path) > (std::uintmax_t{4} << 20)) continue;
    std::ifstream in(path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(in), {});
    const auto cut = without_sections(whole);
    MemoryReader with(whole), without(cut);
    const auto a = read_symbol_table(with), b = read_symbol_table(without);
    ASSERT_EQ(a.has_value(), b.has_value()) << path;
    if (!a) continue;
    EXPECT_EQ(difference("symbols", symbols_of(*a), symbols_of(*b), false), "") << path;
    ++compared;
  }
  std::printf("stripped: %zu files\n", compared);
}

}  // namespace
}  // namespace gpuvet
