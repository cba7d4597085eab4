// Compiled modules that packages of an environment link against torch's libraries: which they are (by RECORD and DT_NEEDED), for
// which Python, and which of torch's symbols they want that this torch does not have. Nothing is forecast: such a module takes
// the libraries of the torch that is imported before it.

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "collect/lines.h"
#include "collect/process_plan_names.h"
#include "collect/process_plan_parts.h"
#include "collect/python_files.h"
#include "elf/dynamic.h"
#include "elf/symbol_index.h"
#include "loader/library_family.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t most_entries = 20000;  ///< of site-packages
constexpr std::size_t longest_record = std::size_t{4} << 20;
constexpr std::size_t most_looked_at = 2000, most_modules = 64, most_of_package = 16, most_wanted = 8;
constexpr auto most_time = std::chrono::milliseconds(400);

/// Have rules of their own, or nothing of torch's.
bool is_no_extension(std::string_view name) {
  static constexpr std::array names{"torch"sv,  "torchvision"sv, "torchaudio"sv, "triton"sv, "numpy"sv, "scipy"sv,
                                    "pandas"sv, "pyarrow"sv,     "jaxlib"sv,     "cupy"sv,   "polars"sv};
  static constexpr std::array prefixes{"nvidia-"sv, "tensorflow"sv, "onnxruntime"sv, "opencv"sv, "jax-"sv, "cupy-"sv};
  return std::ranges::find(names, name) != names.end() ||
         std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_of_torch(std::string_view soname) {
  return soname.starts_with("libtorch"sv) || soname.starts_with("libc10.so"sv) || soname.starts_with("libc10_cuda"sv);
}

/// What compilers make of names in torch's own namespaces, and its C interface.
bool is_torch_symbol(std::string_view name) {
  if (name.starts_with("aoti_torch_"sv)) return true;
  for (const std::string_view start : {"_ZN"sv, "_ZNK"sv, "_ZTIN"sv, "_ZTVN"sv}) {
    if (!name.starts_with(start)) continue;
    const std::string_view rest = name.substr(start.size());
    for (const std::string_view space : {"3c10"sv, "2at"sv, "5torch"sv, "6caffe2"sv})
      if (rest.starts_with(space)) return true;
  }
  return false;
}

/// Libraries that bring none of torch's symbols, or all of them.
bool is_accounted_for(std::string_view soname) {
  static constexpr std::array stems{"libstdc++"sv,  "libm"sv,  "libmvec"sv, "libc"sv,    "libgcc_s"sv,
                                    "libpthread"sv, "libdl"sv, "librt"sv,   "libgomp"sv, "libomp"sv,
                                    "libiomp5"sv,   "libz"sv,  "libshm"sv,  "libnccl"sv, "libcupti"sv};
  if (is_of_torch(soname) || soname.starts_with("libcu"sv) || soname.starts_with("libnv"sv) || soname.starts_with("ld-linux"sv) ||
      soname.starts_with("libpython"sv))
    return true;
  return std::ranges::find(stems, library_stem(soname)) != stems.end();
}

/// DT_NEEDED, and no more of the file.
std::vector<std::string> needed_of(System& system, const std::string& path) {
  std::vector<std::string> needed;
  const auto file = system.open(path);
  if (!file) return needed;
  const auto header = read_elf_header(**file);
  if (!header || header->type != elf_type_shared) return needed;
  const ElfFile elf{**file, *header, read_segments(**file, *header)};
  const auto dynamic = read_dynamic_section(elf);
  if (!dynamic) return needed;
  for (const std::uint64_t offset : dynamic->needed) needed.push_back(dynamic_string(elf, *dynamic, offset));
  return needed;
}

struct Module {
  std::string path;
  bool for_this_python = true;
  std::string made_for;  ///< "3.10" of ".cpython-310-"; empty: its name does not say
};

/// One distribution with compiled files.
struct Distribution {
  std::string name, version;
  std::vector<Module> modules;      ///< that need torch, or beside such ones CUDA's runtime
  std::vector<std::string> others;  ///< its other libraries
};

/// "3.10" of "_C.cpython-310-x86_64-linux-gnu.so".
std::string python_in_name(std::string_view file) {
  const auto at = file.find(".cpython-3"sv);
  if (at == std::string_view::npos) return {};
  std::string_view digits = file.substr(at + 10);
  digits = digits.substr(0, std::min(digits.find_first_not_of("0123456789"sv), digits.size()));
  return digits.empty() ? std::string() : "3." + std::string(digits);
}

class Extensions {
 public:
  Extensions(const PlanSource& source, const PythonEnvironment& environment)
      : source_(source),
        environment_(environment),
        suffixes_(python_folders(source.system, source.machine, environment).suffixes),
        end_(std::chrono::steady_clock::now() + most_time) {}

  std::vector<Distribution> all() {
    std::vector<Distribution> found;
    for (const std::string& site : environment_.site_packages) {
      const auto entries = source_.system.list(site, most_entries);
      if (!entries) continue;
      for (const DirectoryEntry& entry : *entries) {
        if (std::chrono::steady_clock::now() > end_ || modules_ >= most_modules) return found;
        if (auto one = distribution(site, entry); one && !one->modules.empty()) found.push_back(std::move(*one));
      }
    }
    return found;
  }

 private:
  std::optional<Distribution> distribution(const std::string& site, const DirectoryEntry& entry) {
    const auto parsed = parse_distribution_folder(entry.name);
    if (!parsed || parsed->egg) return std::nullopt;
    Distribution one{normalised_distribution_name(parsed->name), parsed->version, {}, {}};
    if (is_no_extension(one.name)) return std::nullopt;
    const auto record = source_.system.read_file(site + "/" + entry.name + "/RECORD", longest_record);
    if (!record || record->find(".so"sv) == std::string::npos) return std::nullopt;
    sort_files(site, *record, one);
    return one;
  }

  void sort_files(const std::string& site, std::string_view record, Distribution& one) {
    std::vector<Module> with_cuda;
    for_each_line(record, [&](std::string_view line, std::uint32_t) {
      const std::string_view file = line.substr(0, line.find(','));
      const bool compiled = file.ends_with(".so"sv) || file.find(".so."sv) != std::string_view::npos;
      if (!compiled || file.starts_with('/') || file.find(".."sv) != std::string_view::npos) return true;
      if (++looked_at_ > most_looked_at || one.modules.size() >= most_of_package) return false;
      Module module = module_of(site + "/" + std::string(file));
      const auto needed = needed_of(source_.system, module.path);
      const bool cuda = std::ranges::any_of(needed, [](const std::string& n) { return n.starts_with("libcudart.so"sv); });
      if (std::ranges::any_of(needed, is_of_torch)) {
        one.modules.push_back(std::move(module));
      } else if (cuda) {
        with_cuda.push_back(std::move(module));
      } else {
        one.others.push_back(std::move(module.path));
      }
      return true;
    });
    // What has nothing of torch in it is no extension of torch.
    if (one.modules.empty()) return;
    one.modules.insert(one.modules.end(), with_cuda.begin(), with_cuda.end());
    modules_ += one.modules.size();
  }

  Module module_of(std::string path) const {
    Module module{std::move(path), true, {}};
    module.made_for = python_in_name(base_name(module.path));
    if (module.made_for.empty()) return module;
    module.for_this_python = std::ranges::any_of(suffixes_, [&](const std::string& suffix) {
      return suffix.ends_with('-') && module.path.find(suffix) != std::string::npos;
    });
    return module;
  }

  const PlanSource& source_;
  const PythonEnvironment& environment_;
  std::vector<std::string> suffixes_;
  std::chrono::steady_clock::time_point end_;
  std::size_t looked_at_ = 0, modules_ = 0;
};

/// Symbol tables of files, each read once.
class Definitions {
 public:
  explicit Definitions(SystemObjects& objects) : objects_(objects) {}
  /// False: there is no such file, or its symbols cannot be read.
  bool add(const std::string& path) {
    const LibraryFile* file = objects_.open(path);
    if (file == nullptr || file->state != "elf" || file->whole_size != 0) return false;
    auto reader = objects_.reader(*file);
    auto index = reader ? SymbolIndex::read(*reader) : tl::unexpected<std::string>("");
    if (!index) return false;
    indices_.push_back({std::move(reader), std::move(*index)});
    return true;
  }
  bool defines(std::string_view name) const {
    return std::ranges::any_of(indices_, [&](const Entry& entry) { return entry.index.defines(name, {}); });
  }

 private:
  struct Entry {
    std::shared_ptr<FileReader> reader;  ///< the index looks into its bytes
    SymbolIndex index;
  };
  SystemObjects& objects_;
  std::vector<Entry> indices_;
};

/// All libraries of the environment's torch. False: not all of them can be read, so nothing can be said to be lacking.
bool add_torch(const PlanSource& source, const PythonEnvironment& environment, Definitions& definitions) {
  for (const std::string& site : environment.site_packages) {
    const std::string folder = site + "/torch/lib";
    const auto entries = source.system.list(folder, 1024);
    if (!entries) continue;
    bool main = false;
    for (const DirectoryEntry& entry : *entries) {
      if (!is_of_torch(entry.name)) continue;
      if (!definitions.add(folder + "/" + entry.name)) return false;
      main = main || entry.name == "libtorch_cpu.so";
    }
    return main;
  }
  return false;
}

/// Torch's symbols that a module wants and nobody has. Empty too where somebody else may have them.
std::vector<std::string> lacking_symbols(SystemObjects& objects, const LibraryFile& file, const Distribution& package,
                                         const Definitions& torch) {
  std::vector<std::string> lacking;
  const auto is_own = [&](const std::string& needed) {
    const auto same = [&](const std::string& path) { return base_name(path) == needed; };
    return std::ranges::any_of(package.others, same) ||
           std::ranges::any_of(package.modules, [&](const Module& m) { return same(m.path); });
  };
  if (!std::ranges::all_of(file.needed, [&](const std::string& n) { return is_accounted_for(n) || is_own(n); })) return lacking;
  const auto reader = objects.reader(file);
  const auto index = reader ? SymbolIndex::read(*reader) : tl::unexpected<std::string>("");
  if (!index) return lacking;
  std::optional<Definitions> own;
  for (const DynamicSymbol& symbol : index->undefined()) {
    if (symbol.weak || !is_torch_symbol(symbol.name) || torch.defines(symbol.name)) continue;
    if (!own) {
      own.emplace(objects);
      for (const std::string& path : package.others) (void)own->add(path);
      for (const Module& module : package.modules)
        if (module.path != file.path) (void)own->add(module.path);
    }
    if (!own->defines(symbol.name)) lacking.emplace_back(symbol.name);
    if (lacking.size() >= most_wanted) break;
  }
  return lacking;
}

}  // namespace

std::optional<ProcessPlan> torch_extensions(const PlanSource& source, const PythonEnvironment& environment,
                                            std::map<std::string, std::vector<std::string>>& lacking) {
  const std::vector<Distribution> packages = Extensions(source, environment).all();
  if (packages.empty()) return std::nullopt;
  ProcessPlan plan;
  plan.name = "extensions@" + environment.prefix;
  plan.kind = extensions_kind;
  plan.prefix = environment.prefix;
  plan.program = environment.interpreter.value_or("");
  Definitions torch(source.objects);
  const bool comparable = add_torch(source, environment, torch);
  for (const Distribution& package : packages) {
    for (const Module& module : package.modules) {
      const LibraryFile* file = source.objects.open(module.path);
      if (file == nullptr || file->state != "elf") continue;
      plan.steps.push_back({{module.path}, "", false, true, extension_words(package.name, package.version), {}});
      if (!module.for_this_python) {
        plan.problems.push_back({module.path, 0, "made for Python " + module.made_for});
        continue;
      }
      if (!comparable || file->whole_size != 0) continue;
      if (auto symbols = lacking_symbols(source.objects, *file, package, torch); !symbols.empty())
        lacking[module.path] = std::move(symbols);
    }
  }
  return plan;
}

}  // namespace gpuvet
