#include "system/recorded.h"

#include <algorithm>
#include <deque>

#include "system/path.h"

namespace gpuvet {
namespace {

using Node = RecordedTree::Node;
using Nodes = std::map<std::string, Node, std::less<>>;

Node typed(FileType type, std::string content = {}) {
  Node node;
  node.type = type;
  node.content = std::move(content);
  return node;
}

bool has_children(const Nodes& nodes, const std::string& path) {
  const std::string prefix = path == "/" ? path : path + "/";
  const auto it = nodes.lower_bound(prefix);
  return it != nodes.end() && it->first.starts_with(prefix);
}

bool is_directory(const Nodes& nodes, const std::string& path) {
  const auto it = nodes.find(path);
  if (it != nodes.end()) return it->second.type == FileType::Directory;
  return path == "/" || has_children(nodes, path);
}

enum class Missing { Refuse, Create };

/// Resolves links one by one. With Missing::Create what is not there counts as a directory to be made.
Result<std::string> resolve(const Nodes& nodes, std::string_view path, bool follow_last, Missing missing = Missing::Refuse) {
  if (const char* why = bad_path(path)) return tl::unexpected(path_error(ErrorCode::NotFound, path, why));
  const auto fail = [&](ErrorCode code, const char* why) { return tl::unexpected(path_error(code, path, why)); };
  const auto first = split_path(path);
  std::deque<std::string> pending(first.begin(), first.end());
  std::vector<std::string> at;
  int links = 0;
  for (int steps = 0; !pending.empty(); ++steps) {
    if (steps > max_steps) return fail(ErrorCode::Loop, "too many components");
    const std::string name = std::move(pending.front());
    pending.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      if (!at.empty()) at.pop_back();  // ".." of the root is the root
      continue;
    }
    if (name.size() > max_name_length) return fail(ErrorCode::NotFound, "file name too long");
    at.push_back(name);
    const std::string here = join_path(at);
    const auto it = nodes.find(here);
    if (it != nodes.end() && it->second.type == FileType::Link && (follow_last || !pending.empty())) {
      if (++links > max_links) return fail(ErrorCode::Loop, "too many levels of symbolic links");
      const std::string& target = it->second.content;
      if (target.empty()) return fail(ErrorCode::NotFound, "no such file or directory");
      const auto parts = split_path(target);
      pending.insert(pending.begin(), parts.begin(), parts.end());
      if (target.front() == '/') {
        at.clear();
      } else {
        at.pop_back();
      }
      continue;
    }
    const bool directory = is_directory(nodes, here);
    if (it == nodes.end() && !directory) {
      if (missing == Missing::Refuse) return fail(ErrorCode::NotFound, "no such file or directory");
    } else if (!pending.empty() && !directory) {
      return fail(ErrorCode::NotFound, "not a directory");
    }
  }
  return join_path(at);
}

/// Where a path that is being added really lies: its parents' links followed, missing ones implied.
std::string place(const Nodes& nodes, const std::string& path) {
  return resolve(nodes, path, false, Missing::Create).value_or(path);
}

class RecordedReader final : public FileReader {
 public:
  explicit RecordedReader(const std::string& content) : content_(content) {}
  std::uint64_t size() const override { return content_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return offset >= content_.size() ? std::string() : content_.substr(offset, length);
  }

 private:
  std::string content_;
};

std::uint32_t permissions(const Node& node) {
  const bool device = node.type == FileType::CharDevice || node.type == FileType::BlockDevice;
  if (node.mode != 0 || device) return node.mode & 07777;
  if (node.type == FileType::Directory) return 0755;
  return node.type == FileType::Link ? 0777 : 0644;
}

class RecordedSystem final : public System {
 public:
  explicit RecordedSystem(RecordedTree tree) : nodes_(std::move(tree.nodes)), answers_(std::move(tree.answers)) {}

  bool is_live() const override { return false; }

  Result<FileStatus> status(std::string_view path, bool follow) override {
    const auto at = resolve(nodes_, path, follow);
    if (!at) return tl::unexpected(at.error());
    FileStatus status;
    const auto it = nodes_.find(*at);
    const Node implied = typed(FileType::Directory);
    const Node& node = it == nodes_.end() ? implied : it->second;
    status.type = node.type;
    status.mode = permissions(node);
    status.uid = node.uid;
    status.gid = node.gid;
    status.device_major = node.device_major;
    status.device_minor = node.device_minor;
    if (node.type == FileType::Regular || node.type == FileType::Link) status.size = node.content.size();
    status.device = 1;
    status.inode = inode_of(*at);
    return status;
  }

  Result<std::string> read_file(std::string_view path, std::size_t limit) override {
    const auto node = regular(path);
    if (!node) return tl::unexpected(node.error());
    if ((*node)->content.size() > limit) return tl::unexpected(path_error(ErrorCode::TooBig, path, "file too large"));
    return (*node)->content;
  }

  Result<std::string> read_head(std::string_view path, std::size_t limit) override {
    const auto node = regular(path);
    if (!node) return tl::unexpected(node.error());
    return (*node)->content.substr(0, limit);
  }

  Result<Tail> read_tail(std::string_view path, std::size_t limit) override {
    const auto node = regular(path);
    if (!node) return tl::unexpected(node.error());
    const std::string& content = (*node)->content;
    const std::size_t skipped = content.size() > limit ? content.size() - limit : 0;
    return Tail{content.substr(skipped), skipped > 0};
  }

  Result<std::unique_ptr<FileReader>> open(std::string_view path) override {
    const auto node = regular(path);
    if (!node) return tl::unexpected(node.error());
    return std::make_unique<RecordedReader>((*node)->content);
  }

  Result<std::vector<DirectoryEntry>> list(std::string_view path, std::size_t limit) override {
    const auto at = resolve(nodes_, path, true);
    if (!at) return tl::unexpected(at.error());
    if (!gpuvet::is_directory(nodes_, *at)) return tl::unexpected(path_error(ErrorCode::NotFound, path, "not a directory"));
    const auto it = nodes_.find(*at);
    if (it != nodes_.end() && it->second.unreadable)
      return tl::unexpected(path_error(ErrorCode::Denied, path, "permission denied"));
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, type] : children(*at)) {
      if (entries.size() == limit) break;
      entries.push_back({name, type});
    }
    return entries;
  }

  Result<std::string> read_link(std::string_view path) override {
    const auto at = resolve(nodes_, path, false);
    if (!at) return tl::unexpected(at.error());
    const auto it = nodes_.find(*at);
    if (it == nodes_.end() || it->second.type != FileType::Link)
      return tl::unexpected(path_error(ErrorCode::Other, path, "not a symbolic link"));
    return it->second.content;
  }

  Result<std::string> real_path(std::string_view path) override { return resolve(nodes_, path, true); }

  Result<ProcessIdentity> identity() override { return not_available("identity"); }
  Result<bool> may_open(std::string_view path) override {
    const auto it = nodes_.find(std::string(path));
    if (it != nodes_.end() && it->second.cgroup_denied)
      return tl::unexpected(path_error(ErrorCode::Denied, path, "Operation not permitted"));
    return not_available("access check");
  }
  Result<CommandOutput> run(const std::vector<std::string>& command, int, std::size_t limit) override {
    const auto answer = command.empty() ? answers_.end() : answers_.find(command.front());
    if (answer == answers_.end()) return not_available("command");
    return CommandOutput{0, answer->second.substr(0, limit), answer->second.size() > limit};
  }
  Result<std::string> kernel_ring_buffer(std::size_t) override { return not_available("kernel ring buffer"); }
  Result<std::vector<std::string>> environment() override { return not_available("environment"); }

 private:
  static tl::unexpected<SystemError> not_available(const char* what) {
    return tl::unexpected(SystemError{ErrorCode::NotAvailable, std::string(what) + ": not the running host"});
  }

  Result<const Node*> regular(std::string_view path) {
    const auto at = resolve(nodes_, path, true);
    if (!at) return tl::unexpected(at.error());
    const auto it = nodes_.find(*at);
    if (it == nodes_.end() || it->second.type == FileType::Directory)
      return tl::unexpected(path_error(ErrorCode::NotRegular, path, "is a directory"));
    if (it->second.type != FileType::Regular)
      return tl::unexpected(path_error(ErrorCode::NotRegular, path, "not a regular file"));
    if (it->second.unreadable) return tl::unexpected(path_error(ErrorCode::Denied, path, "permission denied"));
    return &it->second;
  }

  std::map<std::string, FileType> children(const std::string& directory) const {
    std::map<std::string, FileType> found;
    const std::string prefix = directory == "/" ? directory : directory + "/";
    auto it = nodes_.upper_bound(prefix);
    while (it != nodes_.end() && it->first.starts_with(prefix)) {
      const std::size_t slash = it->first.find('/', prefix.size());
      std::string name = it->first.substr(prefix.size(), slash - prefix.size());
      if (slash == std::string::npos) {
        found.insert_or_assign(std::move(name), it->second.type);
        ++it;
      } else {
        found.try_emplace(name, FileType::Directory);
        it = nodes_.lower_bound(prefix + name + "0");  // '0' follows '/': past everything below `name`
      }
    }
    return found;
  }

  std::uint64_t inode_of(const std::string& path) { return inodes_.try_emplace(path, inodes_.size() + 1).first->second; }

  Nodes nodes_;
  std::map<std::string, std::string, std::less<>> answers_;
  std::map<std::string, std::uint64_t> inodes_;
};

}  // namespace

void RecordedTree::add_file(std::string path, std::string content, std::uint32_t mode) {
  Node node = typed(FileType::Regular, std::move(content));
  node.mode = mode;
  nodes.insert_or_assign(place(nodes, path), std::move(node));
}

void RecordedTree::add_link(std::string path, std::string target) {
  const std::string at = place(nodes, path);
  // A folder that becomes a link ("/lib" → "usr/lib") takes what was already put below it to the new place.
  Nodes moved;
  const std::string prefix = at + "/";
  for (auto it = nodes.lower_bound(prefix); it != nodes.end() && it->first.starts_with(prefix);) {
    moved.insert(nodes.extract(it++));
  }
  nodes.insert_or_assign(at, typed(FileType::Link, std::move(target)));
  for (auto& [old_path, node] : moved) nodes.insert_or_assign(place(nodes, old_path), std::move(node));
}

void RecordedTree::add_directory(std::string path) {
  const auto at = resolve(nodes, path, true, Missing::Create);
  const auto it = nodes.find(at ? *at : path);
  if (it != nodes.end() && it->second.type == FileType::Directory) return;
  nodes.insert_or_assign(at ? *at : path, typed(FileType::Directory));
}

void RecordedTree::add_device(std::string path, FileType type, std::uint32_t major, std::uint32_t minor, std::uint32_t mode,
                              std::uint32_t uid, std::uint32_t gid) {
  Node node = typed(type);
  node.mode = mode;
  node.uid = uid;
  node.gid = gid;
  node.device_major = major;
  node.device_minor = minor;
  nodes.insert_or_assign(place(nodes, path), std::move(node));
}

void RecordedTree::remove(std::string_view path) {
  const std::string at = place(nodes, std::string(path));
  nodes.erase(at);
  const std::string prefix = at == "/" ? at : at + "/";
  auto it = nodes.lower_bound(prefix);
  while (it != nodes.end() && it->first.starts_with(prefix)) it = nodes.erase(it);
}

std::unique_ptr<System> make_recorded_system(RecordedTree tree) { return std::make_unique<RecordedSystem>(std::move(tree)); }

}  // namespace gpuvet
