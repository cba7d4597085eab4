#pragma once
// The files of an image as a container sees them: layers put one above the other (OCI image specification, "layer.md": changes,
// whiteouts ".wh.NAME", opaque folders ".wh..wh..opq"). Nothing leaves the tree: names and links are resolved inside it.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "image/tar_reader.h"
#include "system/system.h"

namespace gpuvet {

/// What an entry is, apart from its name: shared by hard links.
struct ImageInode {
  FileType type = FileType::Directory;
  std::uint32_t mode = 0755, uid = 0, gid = 0, device_major = 0, device_minor = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::string_view bytes;    ///< a file's content, a link's target
  bool has_content = false;  ///< false: a file whose content was not kept
};

class MergedTree {
 public:
  using Id = std::uint32_t;
  static constexpr Id root = 0;
  static constexpr std::size_t most_entries = 4'000'000;
  static constexpr std::size_t most_problems = 16;

  MergedTree();
  /// Later entries belong to a new layer, which this names in problems.
  void begin_layer(std::string name);
  /// One entry of the layer. `content` is the file's, where it is known; it must live as long as the tree. What cannot be placed
  /// (names that climb out, hard links to nothing, more entries than `most_entries`) is left out and told in problems().
  void add(const TarEntry& entry, const std::string_view* content);

  /// The entry that a path leads to; links are followed, the last one where `follow`. Errors as a kernel's.
  Result<Id> find(std::string_view path, bool follow) const;
  const ImageInode& inode(Id id) const { return inodes_[nodes_[id].inode]; }
  std::uint32_t inode_number(Id id) const { return nodes_[id].inode + 1; }
  std::string path(Id id) const;
  /// Sorted by name; at most `limit`.
  std::vector<DirectoryEntry> list(Id folder, std::size_t limit) const;
  std::size_t entries() const { return seen_; }
  const std::vector<std::string>& problems() const { return problems_; }
  std::size_t left_out() const { return left_out_; }  ///< entries, also those that problems() has no room for

 private:
  static constexpr Id none = UINT32_MAX;
  struct Node {
    std::string_view name;
    Id parent = none, first_child = none, next = none;
    std::uint32_t inode = 0, layer = 0;
    bool erased = false;
  };
  struct Key {
    Id parent;
    std::string_view name;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  std::string_view keep(std::string_view text);
  Id child(Id folder, std::string_view name) const;
  Id make(Id folder, std::string_view name, std::uint32_t inode);
  void erase(Id id);
  /// The folder that holds the last component; missing ones are made. `none`: it cannot be.
  Id folder_of(const std::vector<std::string>& components);
  void whiteout(Id folder, std::string_view name);
  void clear_older(Id folder);
  void refuse(std::string_view name, std::string_view why);
  Result<Id> walk(std::string_view path, bool follow) const;

  std::vector<Node> nodes_;
  std::vector<ImageInode> inodes_;
  std::unordered_map<Key, Id, Hash> children_;
  std::deque<std::string> text_;
  std::string layer_name_;
  std::uint32_t layer_ = 0;
  std::size_t seen_ = 0, left_out_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace gpuvet
