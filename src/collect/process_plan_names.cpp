#include "collect/process_plan_names.h"

#include <algorithm>

#include "collect/ldconf.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_entries = 16384;
constexpr std::size_t max_alternatives = 16;

/// "3.12" of "3.12.8"; of "cp312" where no release is told; empty: neither.
std::string minor_release(const PythonEnvironment& environment) {
  const std::string text = environment.python.value_or("");
  const auto first = text.find('.');
  if (first != std::string::npos) return text.substr(0, text.find('.', first + 1));
  const std::string_view abi = environment.abi;
  if (abi.starts_with("cp") && abi.size() >= 4 && abi[2] == '3') {
    std::string digits;
    for (const char c : abi.substr(3))
      if (c >= '0' && c <= '9') digits += c;
    return "3." + digits;
  }
  return "";
}

/// importlib.machinery.EXTENSION_SUFFIXES: the interpreter's own tag, the stable ABI, none.
std::vector<std::string> extension_suffixes(const PythonEnvironment& environment, const std::string& minor) {
  std::vector<std::string> out;
  std::string tag = minor;
  std::erase(tag, '.');
  const bool pypy = environment.abi.starts_with("pp");
  const bool threaded = environment.abi.ends_with('t') && !pypy;
  if (!tag.empty()) out.push_back(pypy ? ".pypy" + tag + "-" : ".cpython-" + tag + (threaded ? "t-" : "-"));
  out.insert(out.end(), {".abi3.so", ".so"});
  return out;
}

bool has_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string join(std::string_view folder, std::string_view name) {
  std::string out(folder);
  if (!out.ends_with('/')) out += '/';
  return out.append(name);
}

}  // namespace

PythonFolders python_folders(System& system, const Machine& /*machine*/, const PythonEnvironment& environment) {
  PythonFolders out;
  out.prefix = environment.prefix;
  out.sys_path = environment.site_packages;
  const std::string minor = minor_release(environment);
  out.suffixes = extension_suffixes(environment, minor);
  if (minor.empty()) return out;
  for (const std::string& prefix : {environment.base, environment.prefix}) {
    for (const char* library : {"/lib/python", "/lib64/python"}) {
      const std::string folder = prefix + library + minor + "/lib-dynload";
      if (!prefix.empty() && system.is_directory(folder) && std::ranges::find(out.dynload, folder) == out.dynload.end())
        out.dynload.push_back(folder);
    }
  }
  return out;
}

std::string fill_in(std::string_view name, std::string_view cuda) {
  std::string out(name);
  if (out.find('{') == std::string::npos) return out;
  std::string digits(cuda);
  std::erase(digits, '.');
  out = replaced(std::move(out), "{cuda}", cuda);
  out = replaced(std::move(out), "{cuda_major}", cuda.substr(0, cuda.find('.')));
  return replaced(std::move(out), "{cuda_digits}", digits);
}

const std::vector<DirectoryEntry>& PythonNames::list(const std::string& folder) {
  for (const auto& [name, entries] : listed_)
    if (name == folder) return entries;
  auto entries = system_.list(folder, max_entries);
  listed_.emplace_back(folder, entries ? std::move(*entries) : std::vector<DirectoryEntry>());
  return listed_.back().second;
}

std::string PythonNames::module(std::string_view dotted) {
  std::string relative(dotted);
  std::ranges::replace(relative, '.', '/');
  const auto slash = relative.rfind('/');
  const std::string inside = slash == std::string::npos ? "" : relative.substr(0, slash);
  const std::string name = relative.substr(slash == std::string::npos ? 0 : slash + 1);
  // The standard library comes before site-packages on sys.path.
  std::vector<std::string> folders = inside.empty() ? folders_.dynload : std::vector<std::string>();
  for (const std::string& path : folders_.sys_path) folders.push_back(inside.empty() ? path : join(path, inside));
  for (const std::string& folder : folders) {
    const auto& entries = list(folder);
    for (const std::string& suffix : folders_.suffixes) {
      const std::string start = name + suffix;
      const auto found = std::ranges::find_if(entries, [&](const DirectoryEntry& entry) {
        return suffix.ends_with('-') ? entry.name.starts_with(start) && entry.name.ends_with(".so") : entry.name == start;
      });
      if (found != entries.end()) return join(folder, found->name);
    }
  }
  return "";
}

/// The first of "A|B" that is below a folder: a file, or with a pattern in its last part the first match by name.
std::string PythonNames::below(const std::string& folder, std::string_view alternatives) {
  for (std::size_t count = 0; !alternatives.empty() && count < max_alternatives; ++count) {
    const auto bar = std::min(alternatives.find('|'), alternatives.size());
    std::string_view one = alternatives.substr(0, bar);
    alternatives.remove_prefix(std::min(bar + 1, alternatives.size()));
    if (one.starts_with('@')) one.remove_prefix(1);
    const auto slash = one.rfind('/');
    const std::string where = slash == std::string_view::npos ? folder : join(folder, one.substr(0, slash));
    const std::string_view name = slash == std::string_view::npos ? one : one.substr(slash + 1);
    // The folders of a package are few and short; those of site-packages are not: nothing is listed where a look is enough.
    if (!has_glob(name)) {
      if (system_.exists(join(where, name))) return join(where, name);
      continue;
    }
    for (const DirectoryEntry& entry : list(where))
      if (glob_match(name, entry.name)) return join(where, entry.name);
  }
  return "";
}

std::vector<std::string> PythonNames::resolve(std::string_view name) {
  std::string found;
  if (name.starts_with("module:")) {
    found = module(name.substr(7));
  } else if (name.starts_with('@')) {
    for (const std::string& folder : folders_.sys_path) {
      found = below(folder, name);
      if (!found.empty()) break;
    }
  } else if (name.starts_with("prefix:")) {
    found = below(folders_.prefix, name.substr(7));
  } else {
    found = name;
  }
  return found.empty() ? std::vector<std::string>() : std::vector<std::string>{found};
}

std::string PythonNames::package_folder(std::string_view package) {
  for (const std::string& folder : folders_.sys_path)
    if (const std::string path = join(folder, package); system_.is_directory(path)) return path;
  return "";
}

std::vector<std::string> PythonNames::extension_modules(const std::string& folder, std::size_t limit) {
  std::vector<std::string> out, open{folder};
  for (std::size_t at = 0; at < open.size() && at < 512 && out.size() < limit; ++at) {
    const std::string here = open[at];  // a copy: the list grows
    for (const DirectoryEntry& entry : list(here)) {
      if (entry.type == FileType::Directory && entry.name != "__pycache__") open.push_back(join(here, entry.name));
      const bool module = std::ranges::any_of(folders_.suffixes, [&](const std::string& suffix) {
        return suffix.ends_with('-') && entry.name.find(suffix) != std::string::npos && entry.name.ends_with(".so");
      });
      if ((module || entry.name.ends_with(".abi3.so")) && out.size() < limit) out.push_back(join(here, entry.name));
    }
  }
  return out;
}

}  // namespace gpuvet
