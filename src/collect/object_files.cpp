#include "collect/object_files.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>

#include "elf/elf.h"
#include "elf/ldso_cache.h"
#include "elf/window_reader.h"

namespace gpuvet {

namespace {

/// A file and what was read of it. Only ELF files are mapped: reading a few bytes is harmless also for a "file" of /sys that is
/// a device's memory.
struct KeptFile final : FileReader {
  explicit KeptFile(std::unique_ptr<FileReader> opened) : file(std::move(opened)), windows(*file) {
    std::array<char, 4> magic{};
    const auto count = file->read_into(0, magic.data(), magic.size());
    is_elf = count && std::string_view(magic.data(), *count) ==
                          "\x7f"
                          "ELF";
  }
  std::uint64_t size() const override { return windows.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override { return windows.read_at(offset, length); }
  Result<std::size_t> read_into(std::uint64_t offset, char* to, std::size_t length) override {
    return file->read_into(offset, to, length);
  }
  std::uint64_t next_data(std::uint64_t offset) override { return file->next_data(offset); }
  bool keeps_bytes() const override { return true; }
  std::string_view bytes() override { return is_elf ? file->bytes() : std::string_view(); }

  std::unique_ptr<FileReader> file;
  WindowReader windows;
  bool is_elf = false;
};

constexpr std::size_t max_cache_file = std::size_t{16} << 20;
constexpr std::size_t max_kept = 64;  ///< open at once; who comes back later opens again

std::string inode_of(const FileStatus& status) { return std::to_string(status.device) + ":" + std::to_string(status.inode); }

}  // namespace

struct SystemObjects::State {
  System& system;
  std::deque<LibraryFile> files;
  std::unordered_map<std::string, const LibraryFile*> by_path;
  std::unordered_map<std::string, const LibraryFile*> by_inode;
  std::unordered_map<std::string, bool> folders;
  std::unordered_map<std::string, std::string> real_folders;
  std::unordered_map<std::string, std::shared_ptr<FileReader>> kept;  ///< by inode
  std::deque<std::string> kept_order;
  std::map<const LibraryFile*, LoaderRules> rules;
  bool cache_read = false;
  std::optional<LoaderCache> cache;
  std::map<std::string, std::vector<LoaderCacheEntry>, std::less<>> asked;  ///< sonames that the cache was asked for

  const LibraryFile* find(const std::string& path);
  LibraryFile unusable(const std::string& path, const SystemError& error);
  LibraryFile read(const std::string& path, const FileStatus& status);
  void keep(const std::string& inode, std::shared_ptr<FileReader> reader);
  std::string real_path(std::string path);
  void read_cache();
};

/// A file that open() refuses: none at all for the loader where its name is not there.
LibraryFile SystemObjects::State::unusable(const std::string& path, const SystemError& error) {
  LibraryFile file;
  file.path = path;
  file.state = error.code == ErrorCode::NotRegular ? "not-elf" : "unreadable";
  if (error.code == ErrorCode::Loop) file.loader_error = "too many levels of symbolic links";
  return file;
}

/// System::real_path with a memory for folders: most libraries lie in a few of them.
std::string SystemObjects::State::real_path(std::string path) {
  for (int links = 0; links < 40; ++links) {
    const auto slash = path.rfind('/');
    const auto name = path.substr(slash + 1);
    if (slash == std::string::npos || name.empty() || name == "." || name == "..") break;
    auto [it, added] = real_folders.try_emplace(path.substr(0, std::max<std::size_t>(slash, 1)));
    if (added) it->second = system.real_path(it->first).value_or("");
    if (it->second.empty()) break;
    const auto prefix = it->second == "/" ? it->second : it->second + "/";
    const auto target = system.read_link(prefix + name);
    if (!target) return prefix + name;
    path = target->starts_with('/') ? *target : prefix + *target;
  }
  return system.real_path(path).value_or(path);
}

LibraryFile SystemObjects::State::read(const std::string& path, const FileStatus& status) {
  if (status.type != FileType::Regular) {
    LibraryFile file;
    file.path = path;
    file.state = "not-elf";
    if (status.type == FileType::Directory) file.loader_error = "cannot read file data";
    return file;
  }
  auto opened = system.open(path);
  if (!opened) return unusable(path, opened.error());
  const auto reader = std::make_shared<KeptFile>(std::move(*opened));
  LibraryFile file = read_library_file(*reader);
  file.path = path;
  file.inode = inode_of(status);
  if (file.state == "elf") keep(file.inode, reader);
  file.size = static_cast<std::int64_t>(status.size);
  file.real_path = real_path(path);
  return file;
}

void SystemObjects::State::keep(const std::string& inode, std::shared_ptr<FileReader> reader) {
  if (!kept.try_emplace(inode, std::move(reader)).second) return;
  kept_order.push_back(inode);
  if (kept_order.size() <= max_kept) return;
  kept.erase(kept_order.front());
  kept_order.pop_front();
}

const LibraryFile* SystemObjects::State::find(const std::string& path) {
  const auto status = system.status(path);
  if (!status) {
    if (status.error().code == ErrorCode::NotFound) return nullptr;
    return &files.emplace_back(unusable(path, status.error()));
  }
  // Many names may lead to one file: it is read once.
  const auto known = by_inode.find(inode_of(*status));
  if (known != by_inode.end()) {
    LibraryFile copy = *known->second;
    copy.path = path;
    return &files.emplace_back(std::move(copy));
  }
  const auto& file = files.emplace_back(read(path, *status));
  if (!file.inode.empty()) by_inode.emplace(file.inode, &file);
  return &file;
}

void SystemObjects::State::read_cache() {
  cache_read = true;
  auto bytes = system.read_file("/etc/ld.so.cache", max_cache_file);
  if (!bytes) return;
  if (auto parsed = LoaderCache::parse(std::move(*bytes))) cache = std::move(*parsed);
}

SystemObjects::SystemObjects(System& system) : state_(new State{system, {}, {}, {}, {}, {}, {}, {}, {}, false, {}, {}}) {}
SystemObjects::~SystemObjects() = default;

const LibraryFile* SystemObjects::open(std::string_view path) {
  auto [it, added] = state_->by_path.try_emplace(std::string(path), nullptr);
  if (added) it->second = state_->find(it->first);
  return it->second;
}

std::shared_ptr<FileReader> SystemObjects::reader(const LibraryFile& file) {
  if (const auto known = state_->kept.find(file.inode); known != state_->kept.end()) return known->second;
  auto opened = state_->system.open(file.path);
  if (!opened) return nullptr;
  auto reader = std::make_shared<KeptFile>(std::move(*opened));
  if (!file.inode.empty()) state_->keep(file.inode, reader);
  return reader;
}

const LoaderRules& SystemObjects::rules(const Machine& machine, const LibraryFile* program) {
  const auto known = state_->rules.find(program);
  if (known != state_->rules.end()) return known->second;
  return state_->rules[program] = loader_rules(state_->system, machine, program);
}

bool SystemObjects::is_folder(std::string_view path) {
  auto [it, added] = state_->folders.try_emplace(std::string(path), false);
  if (added) it->second = state_->system.is_directory(path);
  return it->second;
}

const std::vector<LoaderCacheEntry>* SystemObjects::cache_entries(std::string_view soname) {
  if (!state_->cache_read) state_->read_cache();
  if (!state_->cache) return nullptr;
  auto found = state_->asked.find(soname);
  if (found == state_->asked.end()) found = state_->asked.emplace(soname, state_->cache->find(soname)).first;
  return &found->second;
}

void SystemObjects::store(LoaderView& view) const {
  std::set<std::string_view> there;
  for (const auto& file : view.files) there.insert(file.path);
  std::vector<LibraryFile> more;
  for (const auto& file : state_->files)
    if (!there.contains(file.path)) more.push_back(file);
  std::ranges::sort(more, {}, &LibraryFile::path);
  view.files.insert(view.files.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  if (!state_->cache) return;
  auto entries = view.cache.value_or({});
  for (const auto& [soname, found] : state_->asked)
    for (const auto& entry : found)
      if (std::ranges::find(entries, entry) == entries.end()) entries.push_back(entry);
  view.cache = Fact<std::vector<LoaderCacheEntry>>::known(std::move(entries), {"/etc/ld.so.cache", 0, ""});
}

}  // namespace gpuvet
