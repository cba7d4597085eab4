// A machine made of the input: files that need each other in circles, paths that lead anywhere, steps of all kinds. The forecast
// must end, and its numbers must fit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "loader/forecast.h"

namespace {

using namespace gpuvet;

struct Bytes {
  const std::uint8_t* at;
  std::size_t left;
  unsigned next() {
    if (left == 0) return 0;
    --left;
    return *at++;
  }
};

constexpr const char* folders[] = {
    "/a",         "/b",   "/lib64",  "/a/tls",  "/a/glibc-hwcaps/x86-64-v2", "$ORIGIN", "${ORIGIN}/../b", "", ".", "/usr/$LIB",
    "/$PLATFORM", "/a//", "$ORIGIN", "/c:/d;/e"};
constexpr const char* states[] = {"elf", "elf", "elf", "elf", "elf", "empty", "not-elf", "unreadable"};

std::string folder(Bytes& bytes) { return folders[bytes.next() % std::size(folders)]; }
std::string name(Bytes& bytes) {
  const auto kind = bytes.next();
  const auto number = std::to_string(kind % 12);
  if (kind < 180) return "lib" + number + ".so";
  if (kind < 200) return "/a/lib" + number + ".so";
  if (kind < 215) return "$ORIGIN/lib" + number + ".so";
  if (kind < 230) return "ld-linux-x86-64.so.2";
  return kind < 245 ? "libc.so" : "";
}

LibraryFile file(Bytes& bytes, std::size_t number) {
  LibraryFile made;
  made.path = (bytes.next() % 2 ? "/a/lib" : bytes.next() % 2 ? "/b/lib" : "/lib64/lib") + std::to_string(number % 12) + ".so";
  made.inode = "1:" + std::to_string(bytes.next() % 40);
  made.state = states[bytes.next() % std::size(states)];
  made.elf_class = bytes.next() % 16 ? "64" : "32";
  made.machine = "x86_64";
  made.flags_1 = bytes.next() % 8 ? 0 : 0x840;
  if (bytes.next() % 3 == 0) made.soname = name(bytes);
  for (unsigned i = bytes.next() % 6; i > 0; --i) made.needed.push_back(name(bytes));
  if (bytes.next() % 3 == 0) made.rpath = folder(bytes) + ":" + folder(bytes);
  if (bytes.next() % 4 == 0) made.runpath = folder(bytes);
  if (bytes.next() % 5 == 0) made.filters.push_back(name(bytes) + (bytes.next() % 2 ? " (optional)" : ""));
  return made;
}

void check(const Forecast& forecast, const ProcessPlan& plan) {
  const auto count = static_cast<int>(forecast.objects.size());
  const auto fits = [&](int index) {
    if (index < -1 || index >= count) std::abort();
  };
  for (const auto& object : forecast.objects) {
    if (object.file == nullptr) std::abort();
    fits(object.loader);
    for (const int needed : object.needed) fits(needed);
  }
  for (const auto& missing : forecast.missing) fits(missing.needed_by);
  for (const auto& step : forecast.steps) fits(step.object);
  if (forecast.steps.size() != plan.steps.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes{data, size};
  LoaderRules rules;
  rules.kind = bytes.next() % 3 ? LoaderRules::Kind::Glibc : LoaderRules::Kind::Musl;
  rules.glibc_minor = bytes.next() % 2 ? 36 : 39;
  rules.secure = bytes.next() % 8 == 0;
  rules.want_shadows = bytes.next() % 2;
  rules.platform = "x86_64";
  rules.lib = bytes.next() % 2 ? "lib64" : "";
  rules.defaults = {"/lib64"};
  rules.hwcaps = {"x86-64-v2"};
  rules.loader_path = "/lib64/lib0.so";
  if (bytes.next() % 2) rules.working_directory = "/a";
  std::map<std::string, std::string> environment{{"LD_LIBRARY_PATH", folder(bytes) + ":" + folder(bytes)}};
  if (bytes.next() % 2) environment["LD_PRELOAD"] = name(bytes) + " " + name(bytes);
  ProcessPlan plan;
  plan.kind = bytes.next() % 2 ? "program" : "library";
  plan.program = "/a/lib1.so";
  for (unsigned i = bytes.next() % 4; i > 0; --i) {
    LoadStep step;
    step.names = {name(bytes), name(bytes)};
    step.global = bytes.next() % 2;
    step.caller = bytes.next() % 3 ? "" : "/a/lib2.so";
    if (bytes.next() % 2) step.after_failure = {name(bytes)};
    plan.steps.push_back(std::move(step));
  }
  LoaderView view;
  for (std::size_t i = 0; bytes.left > 0 && i < 64; ++i) view.files.push_back(file(bytes, i));
  ViewSource source(view);
  check(forecast(source, rules, plan, environment), plan);
  return 0;
}
