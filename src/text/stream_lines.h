#pragma once
// Two streams of one command as one text: whole lines, in the order in which they ended.

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace gpuvet {

class StreamLines {
 public:
  /// `take` gets whole lines, one or many at a time. A line that is longer than `longest` is cut there.
  explicit StreamLines(std::function<void(std::string_view)> take, std::size_t longest = 64 << 10)
      : take_(std::move(take)), longest_(longest) {}

  /// `stream` is 0 or 1.
  void feed(int stream, std::string_view bytes);
  /// What has no line end yet. Call once.
  void finish();

 private:
  void cut(std::string& rest);

  std::function<void(std::string_view)> take_;
  std::size_t longest_;
  std::array<std::string, 2> rest_;
};

}  // namespace gpuvet
