#include "elf/module_file.h"

#include <algorithm>

#include "elf/bytes.h"
#include "elf/decompress.h"
#include "elf/modinfo.h"

namespace gpuvet {
namespace {

constexpr std::size_t tail_size = std::size_t{64} << 10;

void set_signature(ModuleFileContent& content, std::string_view tail) {
  const auto signature = read_module_signature(tail);
  content.has_signature = Fact<bool>::known(signature.present);
  if (!signature.present)
    content.signer = Fact<std::string>::absent();
  else if (signature.signer.empty())
    content.signer = Fact<std::string>::not_seen("the signature names no signer");
  else
    content.signer = Fact<std::string>::known(signature.signer);
}

tl::expected<ModuleFileContent, std::string> read_plain(FileReader& file) {
  auto info = read_modinfo_section(file);
  if (!info) return tl::unexpected(info.error());
  ModuleFileContent content;
  content.info = std::move(*info);
  const auto from = file.size() - std::min<std::uint64_t>(file.size(), tail_size);
  const auto tail = file.read_at(from, tail_size);
  if (!tail) return tl::unexpected(tail.error().message);
  set_signature(content, *tail);
  return content;
}

/// Receives the decompressed module: keeps the whole image while it is small, and looks for .modinfo on the way.
struct ModuleStream {
  const ModuleFileLimits& limits;
  std::string image;  ///< everything so far, until `limits.to_the_end` is passed
  std::uint64_t total = 0;
  bool whole = true;  ///< image still has everything
  bool found = false;
  ModinfoScanner scanner;

  bool receive(std::string_view piece) {
    total += piece.size();
    if (!found) found = scanner.feed(piece);
    if (total > limits.to_the_end) {
      whole = false;
      image = {};
    }
    if (whole) image.append(piece);
    return !found || whole;
  }
};

tl::expected<ModuleFileContent, std::string> read_compressed(FileReader& file, Compression compression,
                                                             const ModuleFileLimits& limits) {
  ModuleStream stream{limits, {}, 0, true, false, {}};
  const auto result =
      decompress(file, compression, limits.decompressed, [&](std::string_view piece) { return stream.receive(piece); });
  // A damaged end does not take back a .modinfo that was complete before it, but such a file does not load.
  if (!result) return tl::unexpected(result.error());
  ModuleFileContent content;
  content.bytes_read = result->bytes_read;
  content.bytes_decompressed = result->bytes_out;
  if (result->finished && stream.whole) {
    MemoryReader image(stream.image);
    auto info = read_modinfo_section(image);
    if (!info) return tl::unexpected(info.error());
    content.info = std::move(*info);
    set_signature(content, std::string_view(stream.image).substr(stream.image.size() - std::min(stream.image.size(), tail_size)));
    return content;
  }
  if (!stream.found && !(result->finished && stream.scanner.finish())) return failure("no .modinfo found");
  content.info = std::move(stream.scanner.info);
  content.has_signature = Fact<bool>::not_seen("the compressed module was not read to its end");
  content.signer = Fact<std::string>::not_seen("the compressed module was not read to its end");
  return content;
}

/// Counts what is read of a file.
class CountingReader final : public FileReader {
 public:
  explicit CountingReader(FileReader& file) : file_(file) {}
  std::uint64_t size() const override { return file_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    auto bytes = file_.read_at(offset, length);
    if (bytes) count += bytes->size();
    return bytes;
  }
  std::uint64_t count = 0;

 private:
  FileReader& file_;
};

}  // namespace

const std::string* ModuleFileContent::value(std::string_view key) const {
  const auto found = std::ranges::find_if(info, [&](const auto& pair) { return pair.first == key; });
  return found == info.end() ? nullptr : &found->second;
}

tl::expected<ModuleFileContent, std::string> read_module_file(FileReader& file, const ModuleFileLimits& limits) {
  const auto first = file.read_at(0, 8);
  if (!first) return tl::unexpected(first.error().message);
  if (first->empty()) return failure("empty file");
  const auto compression = compression_of(*first);
  CountingReader counted(file);
  auto content = compression == Compression::None ? read_plain(counted) : read_compressed(counted, compression, limits);
  if (!content) return content;
  content->compression = compression_name(compression);
  content->bytes_read = counted.count;
  return content;
}

}  // namespace gpuvet
