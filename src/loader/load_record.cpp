#include "loader/load_record.h"

#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>

namespace gpuvet {
namespace {

constexpr std::size_t most_processes = 20000, most_entries = 20000;

// rtld-audit(7): LA_SER_* and LA_ACT_*.
constexpr std::uint64_t search_original = 0x01, search_library_path = 0x02, search_run_path = 0x04, search_cache = 0x08,
                        search_default = 0x40;
constexpr std::uint64_t activity_add = 1;

/// Fields of one record by their one-letter key. Views into the input.
class Fields {
 public:
  explicit Fields(std::string_view record) {
    while (!record.empty()) {
      const std::size_t end = record.find('\0');
      const std::string_view field = record.substr(0, end);
      record.remove_prefix(end == std::string_view::npos ? record.size() : end + 1);
      if (field.size() < 2 || field[1] != '=' || field[0] < 'a' || field[0] > 'z') continue;
      values_[static_cast<std::size_t>(field[0] - 'a')] = field.substr(2);
    }
  }

  std::string_view text(char key) const { return values_[static_cast<std::size_t>(key - 'a')].value_or(""); }
  bool has(char key) const { return values_[static_cast<std::size_t>(key - 'a')].has_value(); }
  std::uint64_t number(char key) const {
    const std::string_view digits = text(key);
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
  }
  FileIdentity file() const { return {number('d'), number('f')}; }

 private:
  std::optional<std::string_view> values_[26];
};

std::string_view rule_of(std::uint64_t flag) {
  switch (flag) {
    case search_library_path:
      return "LD_LIBRARY_PATH";
    case search_run_path:
      return "RPATH/RUNPATH";
    case search_cache:
      return "ld.so.cache";
    case search_default:
      return "default";
    default:
      return "other";
  }
}

/// Is `name` an element of LD_PRELOAD? Separators are blanks and colons (ld.so(8)).
bool is_preloaded(const RecordedProcess& process, std::string_view name) {
  const auto found = process.environment.find("LD_PRELOAD");
  if (found == process.environment.end() || name.empty()) return false;
  std::string_view rest = found->second;
  for (;;) {
    const std::size_t end = rest.find_first_of(" :");
    if (rest.substr(0, end) == name) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

/// A search that goes on: its first record gave the name, each further one a place.
struct Search {
  std::string name;
  std::uint64_t requester = 0;
  FileIdentity file;  ///< that a name with a slash leads to
  bool dlopen = false, root = false;
  std::vector<RecordedTry> tried;
};

/// A process under construction.
struct Builder {
  std::size_t index = 0;  ///< in LoadRecord::processes
  std::string image;      ///< key of the image that a forked child copies
  bool adding = false;    ///< between ADD and CONSISTENT: what is searched is brought along
  std::optional<Search> search;
  bool exiting = false;      ///< the program itself was closed: so is everything else
  std::vector<int> closing;  ///< closed since the last activity
  std::unordered_map<std::uint64_t, int> by_cookie;
  std::set<std::pair<std::uint64_t, std::uint64_t>> mapped;  ///< files, by device and inode
};

class Parser {
 public:
  LoadRecord result;

  void take(std::string_view record) {
    const Fields fields(record);
    const std::string_view type = fields.text('t');
    if (type.empty() || !fields.has('i') || !fields.has('p')) {
      ++result.unreadable;
      return;
    }
    Builder* builder = builder_for(fields);
    if (builder == nullptr) return;
    if (type == "start")
      start(*builder, fields);
    else if (type == "variable")
      variable(*builder, fields);
    else if (type == "search")
      search(*builder, fields);
    else if (type == "open")
      open(*builder, fields);
    else if (type == "activity")
      activity(*builder, fields.number('r'));
    else if (type == "preinit")
      preinit(*builder);
    else if (type == "close")
      close(*builder, fields);
    else
      ++result.unreadable;
  }

  void finish() {
    for (auto& [key, builder] : builders_) {
      end_search(builder);
      end_closing(builder);
    }
    // A forked child that loaded nothing only ended.
    std::erase_if(result.processes, [](const RecordedProcess& process) {
      return process.forked && process.objects.empty() && process.failures.empty();
    });
  }

 private:
  std::unordered_map<std::string, Builder> builders_;  ///< by image and process

  RecordedProcess& process_of(const Builder& builder) { return result.processes[builder.index]; }

  Builder* builder_for(const Fields& fields) {
    const std::string image = std::string(fields.text('i')) + "/" + std::string(fields.text('o'));
    const std::string key = image + "/" + std::string(fields.text('p'));
    if (const auto found = builders_.find(key); found != builders_.end()) return &found->second;
    if (result.processes.size() == most_processes) {
      result.cut = true;
      return nullptr;
    }
    RecordedProcess process;
    process.pid = static_cast<std::int64_t>(fields.number('p'));
    process.forked = fields.text('p') != fields.text('o');
    if (process.forked) process.parent = static_cast<std::int64_t>(fields.number('o'));
    process.started = process.forked;
    const auto original = builders_.find(image + "/" + std::string(fields.text('o')));
    if (process.forked && original != builders_.end()) {
      const RecordedProcess& copied = process_of(original->second);
      process.program = copied.program;
      process.argument0 = copied.argument0;
      process.working_directory = copied.working_directory;
      process.environment = copied.environment;
    }
    result.processes.push_back(std::move(process));
    Builder& builder = builders_[key];
    builder.index = result.processes.size() - 1;
    if (result.processes.back().forked) builder.image = image + "/" + std::string(fields.text('o'));
    return &builder;
  }

  void start(Builder& builder, const Fields& fields) {
    RecordedProcess& process = process_of(builder);
    process.parent = static_cast<std::int64_t>(fields.number('q'));
    process.program = fields.text('x');
    process.working_directory = fields.text('w');
    process.argument0 = fields.text('a');
  }

  void variable(Builder& builder, const Fields& fields) {
    std::string_view name = fields.text('k');
    if (name.ends_with('=')) name.remove_suffix(1);
    auto& environment = process_of(builder).environment;
    if (environment.size() < 16) environment[std::string(name)] = fields.text('n');
  }

  void search(Builder& builder, const Fields& fields) {
    const std::uint64_t flag = fields.number('r');
    if (flag == search_original) {
      end_search(builder);
      const bool dlopen = process_of(builder).started;
      builder.search =
          Search{std::string(fields.text('n')), fields.number('c'), fields.file(), dlopen, dlopen && !builder.adding, {}};
    } else if (builder.search && builder.search->tried.size() < most_entries) {
      builder.search->tried.push_back({std::string(fields.text('n')), std::string(rule_of(flag)), fields.file()});
    }
  }

  void open(Builder& builder, const Fields& fields) {
    RecordedProcess& process = process_of(builder);
    const std::string_view path = fields.text('n');
    // The kernel's own object is no file.
    if (path.starts_with("linux-vdso") || path.starts_with("linux-gate")) return;
    if (process.objects.size() == most_entries) {
      result.cut = true;
      return;
    }
    RecordedObject object;
    object.path = path;
    object.file = fields.file();
    object.other_namespace = fields.number('m') != 0;
    object.dlopen = process.started;
    if (builder.search) {
      object.name = builder.search->name;
      object.requester = object_of(builder, builder.search->requester);
      object.root = builder.search->root;
      object.rule = builder.search->tried.empty() ? "path" : builder.search->tried.back().rule;
      if (!object.dlopen && object.requester == 0 && is_preloaded(process, object.name)) object.rule = "LD_PRELOAD";
      builder.search.reset();
    } else {
      object.rule = process.objects.empty() && !process.forked ? "program" : "loader";
      if (object.path.empty()) object.path = process.program;
    }
    if (object.file.known()) builder.mapped.insert({object.file.device, object.file.inode});
    process.objects.push_back(std::move(object));
    builder.by_cookie[fields.number('c')] = static_cast<int>(process.objects.size()) - 1;
  }

  void activity(Builder& builder, std::uint64_t flag) {
    // ADD comes when the first file of a dlopen was found; whatever else comes ends a search that found none.
    end_closing(builder);
    builder.adding = flag == activity_add;
    if (!builder.adding) end_search(builder);
  }

  void preinit(Builder& builder) {
    end_search(builder);
    builder.adding = false;
    process_of(builder).started = true;
  }

  void close(Builder& builder, const Fields& fields) {
    end_search(builder);
    const auto found = builder.by_cookie.find(fields.number('c'));
    if (found == builder.by_cookie.end()) return;
    if (found->second == 0 && !process_of(builder).forked) builder.exiting = true;
    builder.closing.push_back(found->second);
    builder.by_cookie.erase(found);
  }

  /// At the end of a program everything is closed, in an order that differs between releases of glibc: that is no dlclose.
  void end_closing(Builder& builder) {
    for (const int index : builder.closing) {
      if (!builder.exiting) process_of(builder).objects[static_cast<std::size_t>(index)].closed = true;
    }
    builder.closing.clear();
  }

  /// Index of the object behind a cookie; of a forked child's inherited objects -1.
  int object_of(const Builder& builder, std::uint64_t cookie) const {
    const auto found = builder.by_cookie.find(cookie);
    return found != builder.by_cookie.end() ? found->second : -1;
  }

  bool is_mapped(const Builder& builder, const FileIdentity& file) {
    const std::pair key{file.device, file.inode};
    if (builder.mapped.contains(key)) return true;
    const auto original = builders_.find(builder.image);
    return !builder.image.empty() && original != builders_.end() && original->second.mapped.contains(key);
  }

  /// The search that went on has mapped nothing. It is no failure when it ended at a file that is mapped already.
  void end_search(Builder& builder) {
    if (!builder.search) return;
    Search search = std::move(*builder.search);
    builder.search.reset();
    const FileIdentity last = search.tried.empty() ? search.file : search.tried.back().file;
    if (last.known() && is_mapped(builder, last)) return;
    RecordedProcess& process = process_of(builder);
    if (process.failures.size() == most_entries) {
      result.cut = true;
      return;
    }
    RecordedFailure failure;
    failure.requester = object_of(builder, search.requester);
    failure.dlopen = search.dlopen;
    failure.root = search.root;
    failure.after_objects = static_cast<int>(process.objects.size());
    if (last.known()) failure.stopped_at = search.tried.empty() ? search.name : search.tried.back().path;
    failure.name = std::move(search.name);
    failure.tried = std::move(search.tried);
    process.failures.push_back(std::move(failure));
  }
};

}  // namespace

LoadRecord parse_load_record(std::string_view bytes) {
  constexpr std::string_view end_of_record("\0\0", 2);
  Parser parser;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find(end_of_record);
    if (end == std::string_view::npos) {
      ++parser.result.unreadable;  // torn at the limit
      break;
    }
    parser.take(bytes.substr(0, end));
    bytes.remove_prefix(end + 2);
  }
  parser.finish();
  return std::move(parser.result);
}

}  // namespace gpuvet
