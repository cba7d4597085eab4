#include "image/merged_tree.h"

#include <algorithm>
#include <functional>

#include "system/path.h"

namespace gpuvet {
namespace {

constexpr std::string_view whiteout_prefix = ".wh.";
constexpr std::string_view opaque_name = ".wh..wh..opq";
constexpr std::size_t most_depth = 512;
constexpr std::size_t text_block = std::size_t{1} << 16;

/// "./usr//lib/" → {"usr", "lib"}; an absolute name counts from the root, as every unpacker takes it.
std::vector<std::string> components_of(std::string_view name) {
  std::vector<std::string> parts = split_path(name);
  std::erase(parts, ".");
  return parts;
}

const char* unusable(std::string_view name, const std::vector<std::string>& parts) {
  if (const char* why = bad_path(name)) return why;
  if (parts.size() > most_depth) return "too many folders deep";
  if (std::ranges::find(parts, "..") != parts.end()) return "climbs out with \"..\"";
  if (std::ranges::any_of(parts, [](const std::string& part) { return part.size() > max_name_length; })) return "name too long";
  return nullptr;
}

}  // namespace

std::size_t MergedTree::Hash::operator()(const Key& key) const {
  return std::hash<std::string_view>{}(key.name) ^ (std::size_t{key.parent} * 0x9e3779b97f4a7c15U);
}

MergedTree::MergedTree() {
  inodes_.emplace_back();
  nodes_.emplace_back();
}

void MergedTree::begin_layer(std::string name) {
  ++layer_;
  layer_name_ = std::move(name);
}

void MergedTree::refuse(std::string_view name, std::string_view why) {
  ++left_out_;
  if (problems_.size() < most_problems)
    problems_.push_back(layer_name_ + ": " + std::string(name.substr(0, 200)) + ": " + std::string(why));
}

std::string_view MergedTree::keep(std::string_view text) {
  if (text_.empty() || text_.back().capacity() - text_.back().size() < text.size()) {
    text_.emplace_back();
    text_.back().reserve(std::max(text_block, text.size()));
  }
  std::string& block = text_.back();
  const std::size_t at = block.size();
  block.append(text);
  return std::string_view(block).substr(at);
}

MergedTree::Id MergedTree::child(Id folder, std::string_view name) const {
  const auto found = children_.find(Key{folder, name});
  return found == children_.end() || nodes_[found->second].erased ? none : found->second;
}

MergedTree::Id MergedTree::make(Id folder, std::string_view name, std::uint32_t inode) {
  const auto id = static_cast<Id>(nodes_.size());
  const std::string_view kept = keep(name);
  Node node;
  node.name = kept;
  node.parent = folder;
  node.next = nodes_[folder].first_child;
  node.inode = inode;
  node.layer = layer_;
  nodes_.push_back(node);
  nodes_[folder].first_child = id;
  children_.insert_or_assign(Key{folder, kept}, id);
  return id;
}

void MergedTree::erase(Id id) { nodes_[id].erased = true; }

MergedTree::Id MergedTree::folder_of(const std::vector<std::string>& components) {
  Id at = root;
  int links = 0;
  std::deque<std::string> pending(components.begin(), components.end() - 1);
  for (int steps = 0; !pending.empty(); ++steps) {
    if (steps > max_steps) return none;
    const std::string name = std::move(pending.front());
    pending.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      if (at != root) at = nodes_[at].parent;
      continue;
    }
    if (name.size() > max_name_length) return none;
    Id next = child(at, name);
    if (next == none) {
      if (nodes_.size() > 2 * most_entries) return none;
      inodes_.emplace_back();
      next = make(at, name, static_cast<std::uint32_t>(inodes_.size() - 1));
    }
    const ImageInode& what = inode(next);
    if (what.type == FileType::Link) {
      if (++links > max_links) return none;
      const auto parts = split_path(what.bytes);
      pending.insert(pending.begin(), parts.begin(), parts.end());
      if (what.bytes.starts_with('/')) at = root;
      continue;
    }
    if (what.type != FileType::Directory) return none;
    nodes_[next].layer = layer_;
    at = next;
  }
  return at;
}

void MergedTree::clear_older(Id folder) {
  std::vector<Id> pending{folder};
  while (!pending.empty()) {
    const Id at = pending.back();
    pending.pop_back();
    for (Id id = nodes_[at].first_child; id != none; id = nodes_[id].next) {
      if (nodes_[id].erased) continue;
      if (nodes_[id].layer < layer_) {
        erase(id);
      } else if (inode(id).type == FileType::Directory) {
        pending.push_back(id);
      }
    }
  }
}

void MergedTree::whiteout(Id folder, std::string_view name) {
  if (name.starts_with(whiteout_prefix)) return;  // AUFS's own files
  const Id id = child(folder, name);
  if (id == none) return;
  if (nodes_[id].layer < layer_) return erase(id);
  if (inode(id).type == FileType::Directory) clear_older(id);
}

void MergedTree::add(const TarEntry& entry, const std::string_view* content) {
  if (++seen_ > most_entries) return refuse(entry.name, "more entries than an image may have");
  const auto parts = components_of(entry.name);
  if (const char* why = unusable(entry.name, parts)) return refuse(entry.name, why);
  if (parts.empty()) return;  // the root itself
  const std::string& name = parts.back();
  const bool is_whiteout = name.starts_with(whiteout_prefix);
  const std::string_view hidden = is_whiteout ? std::string_view(name).substr(whiteout_prefix.size()) : std::string_view();
  if (is_whiteout && (hidden.empty() || hidden == "." || hidden == "..")) return refuse(entry.name, "hides no name");

  // A target that is not there is known before anything is changed.
  std::uint32_t linked = UINT32_MAX;
  if (entry.hard_link && !is_whiteout) {
    const auto target_parts = components_of(entry.link);
    if (const char* why = unusable(entry.link, target_parts)) return refuse(entry.name, std::string("hard link that ") + why);
    const auto target = find(join_path(target_parts), false);
    if (!target || inode(*target).type == FileType::Directory) return refuse(entry.name, "hard link to nothing");
    linked = nodes_[*target].inode;
  }
  const Id folder = folder_of(parts);
  if (folder == none) return refuse(entry.name, "its folder is none, or a link without end");
  if (name == opaque_name) return clear_older(folder);
  if (is_whiteout) return whiteout(folder, hidden);

  const Id there = child(folder, name);
  if (there != none) {
    const bool both_folders = inode(there).type == FileType::Directory && entry.type == FileType::Directory && !entry.hard_link;
    if (both_folders) {
      ImageInode& what = inodes_[nodes_[there].inode];
      what.mode = entry.mode, what.uid = entry.uid, what.gid = entry.gid, what.modified = entry.modified;
      nodes_[there].layer = layer_;
      return;
    }
    erase(there);
  }
  if (linked != UINT32_MAX) {
    make(folder, name, linked);
    return;
  }
  ImageInode what;
  what.type = entry.type;
  what.mode = entry.mode, what.uid = entry.uid, what.gid = entry.gid;
  what.device_major = entry.device_major, what.device_minor = entry.device_minor;
  what.modified = entry.modified;
  if (entry.type == FileType::Link) {
    if (entry.link.empty() || entry.link.size() > max_path_length)
      return refuse(entry.name, "symbolic link without a usable target");
    what.bytes = keep(entry.link);
    what.size = what.bytes.size();
  } else if (entry.type == FileType::Regular) {
    what.size = entry.size;
    what.has_content = content != nullptr;
    if (content != nullptr) what.bytes = *content;
  }
  inodes_.push_back(what);
  make(folder, name, static_cast<std::uint32_t>(inodes_.size() - 1));
}

Result<MergedTree::Id> MergedTree::find(std::string_view path, bool follow) const {
  if (const char* why = bad_path(path)) return tl::unexpected(path_error(ErrorCode::NotFound, path, why));
  return walk(path, follow);
}

Result<MergedTree::Id> MergedTree::walk(std::string_view path, bool follow) const {
  const auto fail = [&](ErrorCode code, const char* why) { return tl::unexpected(path_error(code, path, why)); };
  const auto first = split_path(path);
  std::deque<std::string> pending(first.begin(), first.end());
  Id at = root;
  int links = 0;
  for (int steps = 0; !pending.empty(); ++steps) {
    if (steps > max_steps) return fail(ErrorCode::Loop, "too many components");
    const std::string name = std::move(pending.front());
    pending.pop_front();
    if (inode(at).type != FileType::Directory) return fail(ErrorCode::NotFound, "not a directory");
    if (name == ".") continue;
    if (name == "..") {
      if (at != root) at = nodes_[at].parent;
      continue;
    }
    const Id next = child(at, name);
    if (next == none) return fail(ErrorCode::NotFound, "no such file or directory");
    const ImageInode& what = inode(next);
    if (what.type != FileType::Link || (pending.empty() && !follow)) {
      at = next;
      continue;
    }
    if (++links > max_links) return fail(ErrorCode::Loop, "too many levels of symbolic links");
    const auto parts = split_path(what.bytes);
    pending.insert(pending.begin(), parts.begin(), parts.end());
    if (what.bytes.starts_with('/')) at = root;
  }
  return at;
}

std::string MergedTree::path(Id id) const {
  std::vector<std::string> parts;
  for (; id != root; id = nodes_[id].parent) parts.emplace_back(nodes_[id].name);
  std::ranges::reverse(parts);
  return join_path(parts);
}

std::vector<DirectoryEntry> MergedTree::list(Id folder, std::size_t limit) const {
  std::vector<DirectoryEntry> found;
  for (Id id = nodes_[folder].first_child; id != none; id = nodes_[id].next)
    if (!nodes_[id].erased) found.push_back({std::string(nodes_[id].name), inode(id).type});
  std::ranges::sort(found, {}, &DirectoryEntry::name);
  if (found.size() > limit) found.resize(limit);
  return found;
}

}  // namespace gpuvet
