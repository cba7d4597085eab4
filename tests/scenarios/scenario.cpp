#include "scenario.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "machine_builder.h"
#include "software_builder.h"

namespace gpuvet::test {
namespace {

using Words = std::vector<std::string>;

struct Block {  // lines behind "file" and "append"
  std::string path;
  bool append = false;
};

struct Loader {
  Scenario scenario;
  MachineBuilder builder;
  std::map<std::string, std::string> variables;
  int depth = 0;
};

/// Words of a line; "double quotes" keep blanks, and may stand behind key=.
Words split_words(const std::string& line) {
  Words words;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted, any = true;
    } else if (c == ' ' && !quoted) {
      if (any) words.push_back(word);
      word.clear(), any = false;
    } else {
      word += c, any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

std::string substitute(const Loader& loader, std::string line) {
  for (std::size_t at = line.find("${"); at != std::string::npos; at = line.find("${", at)) {
    const std::size_t end = line.find('}', at);
    if (end == std::string::npos) break;
    const std::string name = line.substr(at + 2, end - at - 2);
    const auto value = loader.variables.find(name);
    if (value == loader.variables.end()) throw std::runtime_error("unknown variable " + name);
    line.replace(at, end - at + 1, value->second);
    at += value->second.size();
  }
  return line;
}

Options options_from(const Words& words, std::size_t first) {
  Options options;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos) options[words[i]] = "";
    else options[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return options;
}

std::string rest_of(const std::string& line, std::size_t words) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < words; ++i) at = line.find_first_not_of(' ', line.find(' ', at));
  return at == std::string::npos ? "" : line.substr(at);
}

void read_expectation(Expectations& expect, const Words& words, const std::string& line) {
  const std::string& what = words.at(1);
  if (what == "healthy") expect.healthy = true;
  else if (what == "root") expect.root = words.at(2);
  else if (what == "finding") expect.findings.push_back(words.at(2));
  else if (what == "note") expect.notes.push_back(words.at(2));
  else if (what == "no") expect.absent.push_back(words.at(2));
  else if (what == "evidence") expect.evidence.push_back(rest_of(line, 2));
  else if (what == "no-consequence") expect.no_consequences.push_back(rest_of(line, 2));
  else if (what == "no-step") expect.no_steps.push_back(rest_of(line, 2));
  else if (what == "step") expect.steps.push_back(rest_of(line, 2));
  else if (what == "variant") expect.variant = words.at(2);
  else if (what == "verdict") expect.verdict = words.at(2);
  else throw std::runtime_error("unknown expectation " + what);
}

/// A genuine vendor file out of the package cache: deb:PACKAGE:path/inside.
void add_real_file(Loader& loader, const std::string& path, const std::string& origin) {
  const char* home = std::getenv("HOME");
  const char* cache = std::getenv("GPUVET_CACHE");
  const std::filesystem::path base = cache != nullptr ? cache : std::string(home != nullptr ? home : "/root") + "/.cache/gpuvet";
  const std::size_t second = origin.find(':', 4);
  const auto file = base / "unpacked" / origin.substr(4, second - 4) / origin.substr(second + 1);
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    loader.scenario.skip = "the package cache has no " + file.string();
    return;
  }
  loader.builder.tree.add_file(path, std::string((std::istreambuf_iterator<char>(in)), {}));
}

void read_file(Loader& loader, const std::string& path);

void include_base(Loader& loader, const Words& words, const std::string& from) {
  if (++loader.depth > 8) throw std::runtime_error("includes nest too deep");
  for (const auto& [key, value] : options_from(words, 2)) loader.variables[key] = value;
  auto folder = std::filesystem::path(from).parent_path();
  while (!std::filesystem::exists(folder / "bases") && folder.has_relative_path()) folder = folder.parent_path();
  read_file(loader, (folder / "bases" / (words.at(1) + ".scenario")).string());
  --loader.depth;
}

void read_node(Loader& loader, const Words& w) {
  const FileType type = w.at(2) == "b" ? FileType::BlockDevice : w.at(2) == "p" ? FileType::Fifo : FileType::CharDevice;
  const auto number = [](const std::string& text, int base = 10) { return static_cast<std::uint32_t>(std::stoul(text, nullptr, base)); };
  loader.builder.tree.add_device(w.at(1), type, number(w.at(3)), number(w.at(4)), number(w.at(5), 8), w.size() > 6 ? number(w[6]) : 0, w.size() > 7 ? number(w[7]) : 0);
}

/// The account, its groups and the environment's USER of the judged process.
void read_user(Loader& loader, const Words& w) {
  std::string groups = "root:x:0:\nvideo:x:44:";
  const std::string list = w.size() > 3 ? "," + w[3] + "," : ",";
  const auto in = [&](const char* group) { return list.find("," + std::string(group) + ",") != std::string::npos; };
  groups += (in("video") ? w[1] : "") + "\nrender:x:109:" + (in("render") ? w[1] : "") + "\n";
  if (in("docker")) groups += "docker:x:998:" + w[1] + "\n";
  if (w[1] != "root") groups += w[1] + ":x:" + w.at(2) + ":\n";
  loader.builder.tree.add_file("/etc/group", groups);
  loader.builder.tree.add_file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n" + (w[1] == "root" ? "" : w[1] + ":x:" + w.at(2) + ":" + w.at(2) + "::/home/" + w[1] + ":/bin/bash\n"));
  loader.scenario.options.environment["USER"] = w[1];
  loader.scenario.options.environment["HOME"] = w[1] == "root" ? "/root" : "/home/" + w[1];
}

void read_environ(Loader& loader, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) loader.scenario.options.environment.erase(assignment);
  else loader.scenario.options.environment[assignment.substr(0, equals)] = assignment.substr(equals + 1);
}

/// As `source bin/activate` or `conda activate` leave the judged process.
void use_python(Loader& loader, const std::string& prefix) {
  auto& environment = loader.scenario.options.environment;
  const bool conda = loader.builder.tree.nodes.contains(prefix + "/conda-meta/history");
  environment[conda ? "CONDA_PREFIX" : "VIRTUAL_ENV"] = prefix;
  if (conda) environment["CONDA_DEFAULT_ENV"] = prefix.substr(prefix.rfind('/') + 1);
  const std::string path = environment.contains("PATH") ? environment["PATH"] : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  environment["PATH"] = prefix + "/bin:" + path;
}

bool is_open(const Options& options) {
  const auto flavor = options.find("flavor");
  return options.contains("open") || (flavor != options.end() && flavor->second == "open");
}

std::string option(const Options& options, const std::string& key, const std::string& fallback) {
  const auto it = options.find(key);
  return it == options.end() ? fallback : it->second;
}

using Handler = std::function<void(Loader&, const Words&, const std::string& line, const std::string& file)>;

const std::map<std::string, Handler>& handlers() {
  static const std::map<std::string, Handler> table = {
      {"expect", [](Loader& l, const Words& w, const std::string& line, const std::string&) { read_expectation(l.scenario.expect, w, line); }},
      {"include", [](Loader& l, const Words& w, const std::string&, const std::string& file) { include_base(l, w, file); }},
      {"set", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.variables.emplace(w.at(1), w.size() > 2 ? w[2] : ""); }},
      {"for", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.scenario.purpose = w.at(1); }},
      {"environ", [](Loader& l, const Words&, const std::string& line, const std::string&) { read_environ(l, rest_of(line, 1)); }},
      {"no-environ", [](Loader& l, const Words&, const std::string&, const std::string&) { l.scenario.options.has_environment = false; }},
      {"user", [](Loader& l, const Words& w, const std::string&, const std::string&) { read_user(l, w); }},
      {"link", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.tree.remove(w.at(1)); l.builder.tree.add_link(w.at(1), w.at(2)); }},
      {"dir", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.tree.add_directory(w.at(1)); }},
      {"node", [](Loader& l, const Words& w, const std::string&, const std::string&) { read_node(l, w); }},
      {"mode", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.tree.nodes.at(w.at(1)).mode = static_cast<std::uint32_t>(std::stoul(w.at(2), nullptr, 8)); }},
      {"cgroup-denies", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.tree.nodes[w.at(1)].cgroup_denied = true; }},
      {"unreadable", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.tree.nodes[w.at(1)].unreadable = true; }},
      {"remove", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.remove(w.at(1)); }},
      {"elf", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.tree.remove(w.at(1)); l.builder.library(w[1], options_from(w, 2)); }},
      {"module", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.module_file(w.at(1), options_from(w, 2)); }},
      {"real", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_real_file(l, w.at(1), w.at(2)); }},
      {"pci", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.remove("/sys/bus/pci/devices/" + w.at(1)); l.builder.pci(w[1], w.at(2), options_from(w, 3)); }},
      {"loaded", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.loaded(w.at(1), options_from(w, 2)); }},
      {"unload", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.unload(w.at(1)); }},
      {"unload-driver",
       [](Loader& l, const Words&, const std::string&, const std::string&) {
         for (const char* name : {"nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia"}) l.builder.unload(name);
         l.builder.remove("/proc/driver/nvidia");
         for (auto it = l.builder.tree.nodes.begin(); it != l.builder.tree.nodes.end();) {
           const bool node = it->first.starts_with("/dev/nvidia");
           const bool bound = it->first.ends_with("/driver") && it->second.type == FileType::Link && it->second.content == "/sys/bus/pci/drivers/nvidia";
           it = node || bound ? l.builder.tree.nodes.erase(it) : std::next(it);
         }
         l.builder.clear_log();
       }},
      {"loaded-driver",
       [](Loader& l, const Words& w, const std::string&, const std::string&) {
         const Options options = options_from(w, 2);
         l.builder.loaded_driver(w.at(1), is_open(options), option(options, "uvm", "508"));
       }},
      {"driver-libraries",
       [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.driver_libraries(w.at(1), w.at(2), option(options_from(w, 3), "machine", "x86_64")); }},
      {"driver-modules",
       [](Loader& l, const Words& w, const std::string&, const std::string&) {
         const Options options = options_from(w, 5);
         l.builder.driver_modules(w.at(1), w.at(2), w.at(3), w.at(4), is_open(options), option(options, "signer", ""));
       }},
      {"packages", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.use_packages(w.at(1)); }},
      {"package",
       [](Loader& l, const Words& w, const std::string&, const std::string&) {
         const Options options = options_from(w, 3);
         l.builder.package({w.at(1), w.at(2), option(options, "status", "install ok installed"), option(options, "arch", "")});
       }},
      {"remove-package", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.remove_package(w.at(1)); }},
      {"log-file", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.use_log(w.at(1), w.at(2)); }},
      {"kernel-log",
       [](Loader& l, const Words& w, const std::string& line, const std::string&) {
         // "kernel-log @123.4 text" sets the time since boot.
         const bool timed = w.size() > 1 && w[1].starts_with('@');
         l.builder.log(rest_of(line, timed ? 2 : 1), timed ? std::stod(w[1].substr(1)) : -1);
       }},
      {"forget-gpus", [](Loader& l, const Words&, const std::string&, const std::string&) { l.builder.forget_gpus(); }},
      {"clear-log", [](Loader& l, const Words&, const std::string&, const std::string&) { l.builder.clear_log(); }},
      {"python", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_python(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"use-python", [](Loader& l, const Words& w, const std::string&, const std::string&) { use_python(l, w.at(1)); }},
      {"wheel", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_wheel(l.builder, w.at(1), w.at(2), w.at(3), options_from(w, 4)); }},
      {"torch", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_torch(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"tensorflow", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_tensorflow(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"nvidia-wheels", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_nvidia_wheels(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"conda-package",
       [](Loader& l, const Words& w, const std::string&, const std::string&) { add_conda_package(l.builder, w.at(1), w.at(2), w.at(3), w.at(4), options_from(w, 5)); }},
      {"toolkit", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_toolkit(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"cuda-libraries", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_cuda_libraries(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"cudnn", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_cudnn(l.builder, w.at(1), w.at(2)); }},
      {"libc", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_libc(l.builder, w.at(1), w.at(2), w.size() > 3 ? w[3] : "3.4.30"); }},
      {"compiler", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_compiler(l.builder, w.at(1), w.at(2), options_from(w, 3)); }},
      {"libc-headers", [](Loader& l, const Words& w, const std::string&, const std::string&) { add_libc_headers(l.builder, w.at(1)); }},
      {"device-major", [](Loader& l, const Words& w, const std::string&, const std::string&) { l.builder.device_majors(w.at(1), w.size() > 2 ? w[2] : ""); }},
  };
  return table;
}

void finish_block(Loader& loader, std::string& path, std::string& content, bool append) {
  if (constexpr std::string_view windows = "windows:"; path.starts_with(windows)) {
    loader.builder.tree.answers[path.substr(windows.size())] = content;
    path.clear(), content.clear();
    return;
  }
  if (path.empty()) return;
  if (append) {
    const auto old = loader.builder.tree.nodes.find(path);
    if (old != loader.builder.tree.nodes.end()) content = old->second.content + content;
  }
  loader.builder.tree.add_file(path, content);
  path.clear(), content.clear();
}

void read_file(Loader& loader, const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::string block, content, line;
  bool append = false;
  for (int number = 1; std::getline(in, line); ++number) {
    try {
      line = substitute(loader, line);
      if (!block.empty() && line.starts_with("|")) {
        content += (line.starts_with("| ") ? line.substr(2) : line.substr(1)) + "\n";
        continue;
      }
      finish_block(loader, block, content, append);
      if (line.empty() || line[0] == '#') continue;
      const Words words = split_words(line);
      if (words[0] == "windows-says") {
        loader.scenario.options.ask_windows = true;
        block = "windows:" + words.at(1), append = false;
        continue;
      }
      if (words[0] == "file" || words[0] == "append") {
        block = words.at(1), append = words[0] == "append";
        continue;
      }
      const auto handler = handlers().find(words[0]);
      if (handler == handlers().end()) throw std::runtime_error("unknown word " + words[0]);
      handler->second(loader, words, line, file);
    } catch (const std::exception& error) {
      const std::string what = error.what();
      throw std::runtime_error(what.find(".scenario:") != std::string::npos ? what : file + ":" + std::to_string(number) + ": " + what);
    }
  }
  finish_block(loader, block, content, append);
}

}  // namespace

tl::expected<Scenario, std::string> load_scenario(const std::string& path) {
  Loader loader;
  loader.scenario.path = path;
  loader.scenario.options.has_environment = true;
  try {
    read_file(loader, path);
    loader.builder.finish();
  } catch (const std::exception& error) {
    return tl::unexpected(std::string(error.what()));
  }
  loader.scenario.tree = std::move(loader.builder.tree);
  return std::move(loader.scenario);
}

}  // namespace gpuvet::test
