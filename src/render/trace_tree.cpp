#include "render/trace_tree.h"

#include <algorithm>

#include "loader/library_family.h"

namespace gpuvet {
namespace {

constexpr std::size_t deepest = 10;  ///< deeper levels are drawn at this one

/// Parts of the C library, which nearly every file needs: drawn once, not told again.
bool is_everywhere(std::string_view name) {
  static constexpr std::string_view parts[] = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0"};
  return std::ranges::find(parts, name) != std::end(parts) || name.starts_with("ld-linux") || name.starts_with("libc.musl-");
}

class Tree {
 public:
  explicit Tree(const Forecast& forecast) : forecast_(forecast), drawn_(forecast.objects.size(), false) {}

  std::vector<TraceNode> take() {
    for (std::size_t i = 0; i < forecast_.objects.size(); ++i) {
      if (drawn_[i] || is_child(i)) continue;
      TraceNode root;
      root.object = static_cast<int>(i);
      open_.push_back(std::move(root));
      while (!open_.empty()) draw();
    }
    return std::move(nodes_);
  }

 private:
  const LoadedObject& object(int index) const { return forecast_.objects[static_cast<std::size_t>(index)]; }
  bool valid(int index) const { return index >= 0 && static_cast<std::size_t>(index) < forecast_.objects.size(); }

  /// Is it drawn below the object that first asked for it?
  bool is_child(std::size_t index) const {
    const int loader = forecast_.objects[index].loader;
    if (!valid(loader) || static_cast<std::size_t>(loader) >= index) return false;
    const std::vector<int>& needed = object(loader).needed;
    return std::ranges::find(needed, static_cast<int>(index)) != needed.end();
  }

  void draw() {
    TraceNode node = std::move(open_.back());
    open_.pop_back();
    if (node.kind == TraceNode::Kind::Object) {
      drawn_[static_cast<std::size_t>(node.object)] = true;
      open_children(node);
    }
    nodes_.push_back(std::move(node));
  }

  void open_children(const TraceNode& parent) {
    std::vector<TraceNode> children = children_of(parent.object);
    for (std::size_t i = children.size(); i-- > 0;) {
      TraceNode& child = children[i];
      child.parent = parent.object;
      child.last = parent.last;
      if (child.last.size() >= deepest) child.last.pop_back();
      child.last.push_back(i + 1 == children.size());
      open_.push_back(std::move(child));
    }
  }

  std::vector<TraceNode> children_of(int parent) {
    std::vector<TraceNode> children;
    std::vector<std::string> above, below;
    const LoadedObject& asking = object(parent);
    for (std::size_t i = 0; i < asking.needed.size(); ++i) {
      const int child = asking.needed[i];
      const std::string asked = asking.file != nullptr && i < asking.file->needed.size() ? asking.file->needed[i] : std::string();
      if (!valid(child)) {
        if (is_missing(asked)) add(children, TraceNode::Kind::Missing, -1, {asked});
      } else if (object(child).loader == parent && child > parent && !drawn_[static_cast<std::size_t>(child)]) {
        if (std::ranges::none_of(children, [&](const TraceNode& n) { return n.object == child; }))
          add(children, TraceNode::Kind::Object, child, {});
      } else {
        const std::string_view name = base_name(object(child).path);
        if (!is_everywhere(name)) (drawn_[static_cast<std::size_t>(child)] ? above : below).emplace_back(name);
      }
    }
    if (!above.empty()) add(children, TraceNode::Kind::Above, -1, std::move(above));
    if (!below.empty()) add(children, TraceNode::Kind::Below, -1, std::move(below));
    return children;
  }

  bool is_missing(const std::string& name) const {
    return std::ranges::any_of(forecast_.missing, [&](const MissingLibrary& m) { return m.name == name; });
  }

  static void add(std::vector<TraceNode>& children, TraceNode::Kind kind, int index, std::vector<std::string> names) {
    TraceNode node;
    node.kind = kind;
    node.object = index;
    node.names = std::move(names);
    children.push_back(std::move(node));
  }

  const Forecast& forecast_;
  std::vector<bool> drawn_;
  std::vector<TraceNode> open_, nodes_;
};

}  // namespace

std::vector<TraceNode> trace_tree(const Forecast& forecast) { return Tree(forecast).take(); }

}  // namespace gpuvet
