#include "loader_cases.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gpuvet::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// Opens what its arguments say and prints what is mapped then.
constexpr const char* program_source = R"(
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
static int print_map(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size, (void)data;
  if (info->dlpi_name && info->dlpi_name[0]) printf("map %s\n", info->dlpi_name);
  return 0;
}
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    char text[4096];
    void* result = 0;
    snprintf(text, sizeof text, "%s", words[i]);
    if (!strncmp(text, "open:", 5)) result = dlopen(text + 5, RTLD_LAZY);
    if (!strncmp(text, "global:", 7)) result = dlopen(text + 7, RTLD_LAZY | RTLD_GLOBAL);
    if (!strncmp(text, "from:", 5)) {
      char* name = strchr(text + 5, ':');
      *name++ = 0;
      void* library = dlopen(text + 5, RTLD_LAZY | RTLD_NOLOAD);
      void* (*call)(const char*) = library ? (void* (*)(const char*))dlsym(library, "open_for_others") : 0;
      result = call ? call(name) : 0;
    }
    printf("step %s\n", result ? "ok" : "failed");
  }
  dl_iterate_phdr(print_map, 0);
  return 0;
}
)";
constexpr const char* caller_source = R"(
#include <dlfcn.h>
void* open_for_others(const char* name) { void* volatile result = dlopen(name, RTLD_LAZY); return result; }
)";

const Variables tools{{"PATH", "/usr/local/bin:/usr/bin:/bin"}};

void shell(const std::string& command) {
  const auto result = run({"/bin/sh", "-c", command}, tools, "");
  if (result.exit_code != 0) throw std::runtime_error(command + ": " + result.errors);
}

bool has_tool(const std::string& name) { return run({"/bin/sh", "-c", "command -v " + name}, tools, "").exit_code == 0; }

std::string quoted(const std::string& text) { return "'" + text + "'"; }

Words split(const std::string& text, char separator) {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);)
    if (!word.empty()) words.push_back(word);
  return words;
}

Words reversed(Words words) {
  std::reverse(words.begin(), words.end());
  return words;
}

/// Compiled once each; copies are patched.
class Templates {
 public:
  explicit Templates(fs::path folder) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "main.c") << program_source;
    std::ofstream(folder_ / "caller.c") << caller_source;
    std::ofstream(folder_ / "empty.c") << "int nothing_but_this;\n";
  }
  fs::path program(bool musl) { return made("main", "-fPIE -pie", "-ldl", musl); }
  fs::path library(bool musl) { return made("empty", "-shared -fPIC -nostdlib", "", musl); }
  fs::path caller(bool musl) { return made("caller", "-shared -fPIC", musl ? "" : "-ldl", musl); }
  void link(const std::string& flags, const fs::path& to) {
    shell("gcc -shared -fPIC -nostdlib -o " + quoted(to) + " -Wl," + flags + " " + quoted(folder_ / "empty.c"));
  }

 private:
  fs::path made(const std::string& name, const std::string& flags, const std::string& libraries, bool musl) {
    const auto to = folder_ / (name + (musl ? ".musl" : ".glibc"));
    if (!fs::exists(to))
      shell(std::string(musl ? "musl-gcc " : "gcc ") + flags + " -o " + quoted(to) + " " + quoted(folder_ / (name + ".c")) + " " +
            libraries);
    return to;
  }
  fs::path folder_;
};

/// Reads the words of one description and does what they say.
class Builder {
 public:
  Builder(fs::path root, Templates& templates) : root_(std::move(root)), templates_(templates) {}

  std::vector<LoaderCase> cases;

  void line(const std::string& text) {
    if (text.empty() || text[0] == '#') return;
    auto words = split(text, ' ');
    if (words[0] == "case") return begin(words);
    if (skip_) return;
    for (auto& word : words) word = filled(word, here_);
    const auto& verb = words[0];
    if (verb == "env") {
      const auto equals = words[1].find('=');
      cases.back().environment[words[1].substr(0, equals)] = words[1].substr(equals + 1);
    } else if (verb == "level") {
      cases.back().level = std::stoi(words[1]);
      cases.back().environment["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2";
    } else if (verb == "loads") {
      cases.back().loads.assign(words.begin() + 1, words.end());
      cases.back().tells_loads = true;
    } else if (verb == "cwd") {
      cases.back().folder = words[1];
    } else if (verb == "list" || verb == "run") {
      cases.back().run = verb == "run";
      cases.back().file = words[1];
      cases.back().steps.assign(words.begin() + 2, words.end());
    } else {
      make(words);
    }
  }

 private:
  void begin(const Words& words) {
    const bool musl = words.size() > 2 && words[2] == "musl";
    skip_ = !cannot_build(musl).empty();
    if (skip_) return;
    here_ = (root_ / words[1]).string();
    fs::create_directories(here_);
    LoaderCase& made = cases.emplace_back();
    made.name = words[1];
    made.musl = musl;
    made.folder = here_;
  }

  void make(const Words& words) {
    const fs::path target = words[0] == "copy" || words[0] == "hard" || words[0] == "link" ? words[2] : words[1];
    fs::create_directories(target.parent_path());
    if (words[0] == "copy") fs::copy_file(words[1], target);
    if (words[0] == "hard") fs::create_hard_link(words[1], target);
    if (words[0] == "link") fs::create_symlink(words[1], target);
    if (words[0] == "text")
      std::ofstream(target) << "This is a text, and it is longer than the header of an ELF file would have to be.\n";
    if (words[0] == "empty") std::ofstream(target).flush();
    if (words[0] == "short")
      std::ofstream(target) << "\x7f"
                               "ELF and no more\n";
    if (words[0] == "folder") fs::create_directories(target);
    if (words[0] == "bytes") overwrite(target, std::stoul(words[2]), words[3]);
    if (words[0] == "isa") set_isa(target, words[2]);
    if (words[0] == "lib" || words[0] == "program") elf(words, target);
  }

  void elf(const Words& words, const fs::path& target) {
    const bool musl = cases.back().musl;
    Words patches;  // one run each: of several changes in one run patchelf 0.14 loses some
    fs::path from = words[0] == "program" ? templates_.program(musl) : templates_.library(musl);
    bool linked = false;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto equals = std::min(words[i].find('='), words[i].size());
      const auto key = words[i].substr(0, equals), value = words[i].substr(std::min(equals + 1, words[i].size()));
      if (key == "caller") from = templates_.caller(musl);
      if (key == "link") templates_.link(value, target), linked = true;
      if (key == "soname") patches.push_back("--set-soname " + quoted(value));
      if (key == "rpath") patches.push_back("--force-rpath --set-rpath " + quoted(value));
      if (key == "runpath") patches.push_back("--set-rpath " + quoted(value));
      if (key == "nodeflib") patches.emplace_back("--no-default-lib");
      if (key == "needs")
        for (const auto& name : reversed(split(value, ',')))  // patchelf puts each one in front
          if (words[0] != "program" || name != "libc.so.6") patches.push_back("--add-needed " + quoted(name));
      if (key == "noopen") templates_.link("-z,nodlopen", target), linked = true;
    }
    if (!linked) fs::copy_file(from, target);
    for (const auto& patch : patches) shell("patchelf " + patch + " " + quoted(target));
  }

  static void overwrite(const fs::path& file, std::size_t offset, const std::string& hex) {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(offset));
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out.put(static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }

  /// GNU_PROPERTY_X86_ISA_1_NEEDED, with four bytes of data.
  static void set_isa(const fs::path& file, const std::string& hex) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const auto at = bytes.find(std::string("\x02\x80\x00\xc0\x04\x00\x00\x00", 8));
    if (at == std::string::npos) throw std::runtime_error(file.string() + ": no ISA property");
    overwrite(file, at + 8, hex);
  }

  fs::path root_;
  Templates& templates_;
  std::string here_;
  bool skip_ = false;
};

}  // namespace

std::string cannot_build(bool musl) {
  static const bool glibc_tools = has_tool("gcc") && has_tool("patchelf") && fs::exists("/lib64/ld-linux-x86-64.so.2");
  static const bool musl_tools = has_tool("musl-gcc") && fs::exists("/lib/ld-musl-x86_64.so.1");
  if (!glibc_tools) return "gcc, patchelf or glibc's x86-64 loader is not there";
  return musl && !musl_tools ? "musl-gcc or musl's loader is not there" : "";
}

std::string filled(std::string text, const std::string& folder) {
  for (auto at = text.find('@'); at != std::string::npos; at = text.find('@', at + folder.size())) text.replace(at, 1, folder);
  for (auto at = text.find("%20"); at != std::string::npos; at = text.find("%20", at)) text.replace(at, 3, " ");
  return text;
}

std::vector<LoaderCase> build_cases(const fs::path& data, const fs::path& root) {
  Templates templates(root / "templates");
  Builder builder(root, templates);
  std::ifstream in(data);
  for (std::string line; std::getline(in, line);) builder.line(line);
  return builder.cases;
}

std::vector<LoadStep> steps_of(const LoaderCase& made) {
  std::vector<LoadStep> steps;
  for (const auto& text : made.steps) {
    const auto parts = split(text, ':');
    LoadStep step;
    step.names = {parts.back()};
    step.global = parts[0] == "global";
    if (parts[0] == "from") step.caller = parts[1];
    steps.push_back(step);
  }
  return steps;
}

}  // namespace gpuvet::test
