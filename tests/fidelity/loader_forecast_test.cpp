// The forecast of the loader against the loader: the same files, path by path and in order. By default a sample of the machine's
// files, every environment of loader_environments.txt and every case of loader_cases.txt; with GPUVET_FULL=1 every ELF file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "collect/object_files.h"
#include "loader_cases.h"
#include "loader_truth.h"
#include "system/system.h"

namespace gpuvet::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* glibc_loader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* musl_loader = "/lib/ld-musl-x86_64.so.1";

bool full() { return std::getenv("GPUVET_FULL") != nullptr; }

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "gpuvet-forecast-XXXXXX").string();
    path = fs::canonical(mkdtemp(pattern.data()));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

/// How many forecasts were equal, and what the others were about.
struct Score {
  std::size_t equal = 0, all = 0;
  std::vector<std::string> deviations;

  void add(const std::string& what, const std::string& difference) {
    ++all;
    if (difference.empty())
      ++equal;
    else
      deviations.push_back(what + "\n" + difference);
  }
  void print(const char* what) const {
    constexpr std::size_t most = 60;
    for (std::size_t i = 0; i < std::min(deviations.size(), most); ++i) std::cout << "deviation: " << deviations[i];
    if (deviations.size() > most) std::cout << "… and " << deviations.size() - most << " more\n";
    std::cout << "loader fidelity, " << what << ": " << equal << " of " << all << " equal\n";
  }
};

Forecast forecast_of(System& system, ObjectSource& source, const ProcessPlan& plan, const Variables& environment,
                     const std::string& folder) {
  static const Machine machine;
  auto rules = loader_rules(system, machine, source.open(plan.program));
  rules.working_directory = folder;
  rules.secure = false;
  return forecast(source, rules, plan, environment);
}

/// A file with the way to ask its loader.
struct Subject {
  std::string path;
  bool program = false;
};

/// Files that the loader can be asked about: of this machine's kind, with a dynamic section, and nothing of another C library.
std::optional<Subject> subject_at(ObjectSource& source, const std::string& path) {
  const auto* file = source.open(path);
  if (file == nullptr || file->state != "elf" || file->elf_class != "64" || file->machine != "x86_64" || !file->dynamic)
    return {};
  if (file->type == "object" || file->type == "core") return {};
  if (!file->interpreter.empty() && file->interpreter != glibc_loader) return {};
  const bool musl = std::ranges::any_of(file->needed, [](const auto& n) { return n == "libc.so" || n.starts_with("libc.musl"); });
  if (musl) return {};
  // A program that changes its user would have its loader in secure mode; it is listed like a library.
  std::error_code error;
  const auto mode = fs::status(path, error).permissions();
  const bool plain = (mode & (fs::perms::set_uid | fs::perms::set_gid)) == fs::perms::none && ::access(path.c_str(), X_OK) == 0;
  return Subject{path, !file->interpreter.empty() && plain};
}

std::vector<Subject> subjects_of_this_machine(ObjectSource& source) {
  std::vector<Subject> subjects;
  const std::vector<std::string> folders{
      "/usr/bin",     "/usr/sbin",
      "/usr/lib",     "/usr/lib64",
      "/usr/libexec", "/usr/local",
      "/opt",         std::string(std::getenv("HOME") ? std::getenv("HOME") : "/nonexistent") + "/.pyenv/versions"};
  for (const auto& folder : folders) {
    std::error_code error;
    fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && it != end; it.increment(error)) {
      if (!it->is_regular_file(error) || it->is_symlink(error) || it->file_size(error) < 64) continue;
      char magic[4]{};
      std::ifstream(it->path(), std::ios::binary).read(magic, 4);
      if (std::string_view(magic, 4) != "\177ELF") continue;
      if (auto subject = subject_at(source, it->path().string())) subjects.push_back(*subject);
    }
  }
  std::ranges::sort(subjects, {}, &Subject::path);
  return subjects;
}

Outcome truth_of(const Subject& subject, const Variables& environment, const std::string& folder) {
  return subject.program ? traced(subject.path, environment, folder) : listed(glibc_loader, subject.path, environment, folder);
}

struct Environment {
  std::string name;
  Variables variables;
};

std::vector<Environment> read_environments(const fs::path& data, const std::string& folder) {
  std::vector<Environment> environments;
  std::ifstream in(data);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Environment environment;
    words >> environment.name;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      environment.variables[word.substr(0, equals)] = filled(word.substr(equals + 1), folder);
    }
    environments.push_back(std::move(environment));
  }
  return environments;
}

/// The folders that loader_environments.txt speaks of: copies of libraries that most programs need.
void fill_environment_folder(const fs::path& folder) {
  const fs::path libraries = "/lib/x86_64-linux-gnu";
  const auto put = [&](const std::string& below, const std::string& name) {
    std::error_code error;
    fs::create_directories(folder / below);
    fs::copy_file(fs::canonical(libraries / name, error), folder / below / name, fs::copy_options::overwrite_existing, error);
  };
  for (const char* name : {"libz.so.1", "libm.so.6", "libtinfo.so.6", "libzstd.so.1"})
    for (const char* below : {"copies", "here/below", "by-platform/x86_64", "real-folder"}) put(below, name);
  put("here", "libz.so.1");
  for (const char* below : {"levels", "levels/glibc-hwcaps/x86-64-v2", "levels/glibc-hwcaps/x86-64-v3", "old-levels",
                            "old-levels/tls", "old-levels/x86_64", "old-levels/tls/x86_64"})
    put(below, std::string(below).ends_with("v3") || std::string(below).ends_with("tls") ? "libz.so.1" : "libm.so.6");
  fs::create_directory_symlink("real-folder", folder / "linked");
  for (const char* name : {"libz.so.1", "libm.so.6"}) {
    put("other-class", name);
    put("other-machine", name);
    std::fstream(folder / "other-class" / name, std::ios::in | std::ios::out).seekp(4).put(1);
    std::fstream(folder / "other-machine" / name, std::ios::in | std::ios::out).seekp(18).put('\xb7');
  }
  for (const char* below : {"text", "empty", "same"}) fs::create_directories(folder / below);
  std::ofstream(folder / "text/libz.so.1") << std::string(200, 't');
  std::ofstream(folder / "empty/libm.so.6").flush();
  std::error_code error;
  fs::create_symlink(fs::canonical(libraries / "libz.so.1", error), folder / "same/libz.so.1", error);
  fs::create_symlink(fs::canonical(libraries / "libm.so.6", error), folder / "same/libm.so.6", error);
}

TEST(LoaderForecast, FilesOfThisMachine) {
  if (const auto why = cannot_build(false); !why.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  fill_environment_folder(folder.path);
  const auto system = make_live_system();
  SystemObjects objects(*system);
  const auto subjects = subjects_of_this_machine(objects);
  const auto environments = read_environments(fs::path(LOADER_DATA) / "loader_environments.txt", folder.path);
  const auto here = (folder.path / "here").string();
  // Every file once without variables; then each environment over a sample, another one each time.
  const std::size_t step = full() ? 1 : std::max<std::size_t>(subjects.size() / 40, 1);
  Score score;
  for (std::size_t e = 0; e < environments.size(); ++e) {
    const auto& [name, variables] = environments[e];
    const auto own_step = e == 0 && !full() ? std::max<std::size_t>(subjects.size() / 400, 1) : step;
    for (std::size_t i = e % own_step; i < subjects.size(); i += own_step) {
      const auto& subject = subjects[i];
      // Of a file that needs nothing the loader prints "statically linked", whatever it preloads.
      if (variables.contains("LD_PRELOAD") && objects.open(subject.path)->needed.empty()) continue;
      const ProcessPlan plan{"", subject.program ? "program" : "library", subject.path, "", "", {}, {}};
      const auto expected = forecast_of(*system, objects, plan, variables, here);
      score.add(name + ": " + subject.path, difference(truth_of(subject, variables, here), expected));
    }
  }
  std::cout << subjects.size() << " ELF files, " << environments.size() << " environments\n";
  score.print("files of this machine");
  EXPECT_EQ(score.equal, score.all);
}

LoaderRules rules_of_case(System& system, const LoaderCase& made, const LibraryFile* file) {
  static const Machine machine;
  auto rules = loader_rules(system, machine, file);
  rules.working_directory = made.folder;
  rules.secure = false;
  if (made.level == 0) return rules;
  rules.isa_level = made.level;
  std::erase_if(rules.hwcaps, [&](const auto& level) { return level.back() - '0' > made.level; });
  return rules;
}

/// What of the case's own files was loaded.
std::vector<std::string> own_files(const Outcome& outcome) {
  std::vector<std::string> own;
  for (const auto& path : outcome.loaded)
    if (!path.starts_with("/lib") && !path.starts_with("/usr/lib")) own.push_back(path);
  return own;
}

Outcome truth_of(const LoaderCase& made) {
  auto command = made.steps;
  command.insert(command.begin(), made.file);
  if (made.run) return opened(command, made.environment, made.folder);
  return listed(made.musl ? musl_loader : glibc_loader, made.file, made.environment, made.folder);
}

TEST(LoaderForecast, HandBuiltCases) {
  if (const auto why = cannot_build(false); !why.empty()) GTEST_SKIP() << why;
  if (const auto why = cannot_build(true); !why.empty()) std::cout << "skipped: " << why << "\n";
  const TemporaryFolder folder;
  const auto system = make_live_system();
  Score score;
  for (const auto& made : build_cases(fs::path(LOADER_DATA) / "loader_cases.txt", folder.path)) {
    SystemObjects objects(*system);
    const ProcessPlan plan{made.name, made.run ? "program" : "library", made.file, "", "", steps_of(made), {}};
    const auto expected = forecast(objects, rules_of_case(*system, made, objects.open(made.file)), plan, made.environment);
    const auto truth = truth_of(made);
    if (std::getenv("GPUVET_VERBOSE") != nullptr)
      std::cout << made.name << "\n  loader:   " << words_of(truth) << "\n  forecast: " << words_of(outcome_of(expected)) << "\n";
    score.add(made.name, difference(truth, expected));
    if (made.tells_loads) {
      EXPECT_EQ(own_files(truth), made.loads) << made.name << " is not the case that it should be";
    }

    // The same from what was kept of it: a snapshot answers as the machine does.
    LoaderView view;
    objects.store(view);
    ViewSource kept(view);
    const auto again = forecast(kept, rules_of_case(*system, made, kept.open(made.file)), plan, made.environment);
    EXPECT_EQ(outcome_of(again), outcome_of(expected)) << made.name << ", from a snapshot";
  }
  score.print("hand-built cases");
  EXPECT_EQ(score.equal, score.all);
}

}  // namespace
}  // namespace gpuvet::test
