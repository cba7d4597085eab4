#include "elf/decompress.h"

#include <algorithm>
#include <memory>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "elf/bytes.h"

namespace gpuvet {
namespace {

constexpr std::size_t input_piece = std::size_t{64} << 10;
constexpr std::size_t output_piece = std::size_t{128} << 10;
// `xz -9` needs 65 MiB to decompress; modules are packed with dictionaries of 1 or 2 MiB.
constexpr std::uint64_t xz_memory = std::uint64_t{80} << 20;
constexpr int zstd_window_log = 27;  // 128 MiB, the library's own limit for streams
// Real modules shrink three- to tenfold. Small outputs may expand as they like.
constexpr std::uint64_t largest_ratio = 200;
constexpr std::uint64_t ratio_free = std::uint64_t{16} << 20;

enum class Step : std::uint8_t { More, End, Damaged };

/// What one call of a decoder consumed and made.
struct Progress {
  Step step = Step::More;
  std::size_t consumed = 0;
  std::size_t produced = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Progress advance(std::string_view input, bool last, char* output, std::size_t room) = 0;
};

class XzDecoder final : public Decoder {
 public:
  XzDecoder() { ready_ = lzma_stream_decoder(&stream_, xz_memory, LZMA_CONCATENATED) == LZMA_OK; }
  ~XzDecoder() override { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  Progress advance(std::string_view input, bool last, char* output, std::size_t room) override {
    if (!ready_) return {Step::Damaged};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    stream_.avail_in = input.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(output);
    stream_.avail_out = room;
    const auto result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    const Progress done{Step::More, input.size() - stream_.avail_in, room - stream_.avail_out};
    if (result == LZMA_STREAM_END) return {Step::End, done.consumed, done.produced};
    if (result != LZMA_OK && result != LZMA_BUF_ERROR) return {Step::Damaged};
    return done;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (stream_) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, zstd_window_log);
  }

  Progress advance(std::string_view input, bool last, char* output, std::size_t room) override {
    if (!stream_) return {Step::Damaged};
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output, room, 0};
    const auto hint = ZSTD_decompressStream(stream_.get(), &out, &in);
    if (ZSTD_isError(hint)) return {Step::Damaged};
    // hint 0: a frame is complete. Another may follow, but only if there is input for it.
    const bool end = hint == 0 && last && in.pos == input.size();
    return {end ? Step::End : Step::More, in.pos, out.pos};
  }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }
  ~GzipDecoder() override {
    if (ready_) inflateEnd(&stream_);
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Progress advance(std::string_view input, bool /*last*/, char* output, std::size_t room) override {
    if (!ready_) return {Step::Damaged};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const Progress done{Step::More, input.size() - stream_.avail_in, room - stream_.avail_out};
    if (result == Z_STREAM_END) return {Step::End, done.consumed, done.produced};
    if (result != Z_OK && result != Z_BUF_ERROR) return {Step::Damaged};
    return done;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::Xz:
      return std::make_unique<XzDecoder>();
    case Compression::Zstd:
      return std::make_unique<ZstdDecoder>();
    case Compression::Gzip:
      return std::make_unique<GzipDecoder>();
    case Compression::None:
      break;
  }
  return nullptr;
}

/// The next piece of the file while `input` is empty.
tl::expected<void, std::string> refill(FileReader& file, std::string& buffer, std::string_view& input, DecompressResult& result) {
  if (!input.empty() || result.bytes_read >= file.size()) return {};
  auto piece = file.read_at(result.bytes_read, input_piece);
  if (!piece) return tl::unexpected(piece.error().message);
  buffer = std::move(*piece);
  input = buffer;
  // A file that shrank meanwhile gives nothing; the decoder then reports a truncated stream.
  result.bytes_read = input.empty() ? file.size() : result.bytes_read + input.size();
  return {};
}

}  // namespace

Compression compression_of(std::string_view first_bytes) {
  using namespace std::string_view_literals;
  if (first_bytes.starts_with("\xfd"
                              "7zXZ\0"sv))
    return Compression::Xz;
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd"sv)) return Compression::Zstd;
  if (first_bytes.starts_with("\x1f\x8b"sv)) return Compression::Gzip;
  return Compression::None;
}

std::string compression_name(Compression compression) {
  switch (compression) {
    case Compression::Xz:
      return "xz";
    case Compression::Zstd:
      return "zst";
    case Compression::Gzip:
      return "gz";
    case Compression::None:
      break;
  }
  return "";
}

tl::expected<DecompressResult, std::string> decompress(FileReader& file, Compression compression, std::uint64_t limit,
                                                       const std::function<bool(std::string_view)>& receive) {
  const auto decoder = make_decoder(compression);
  if (!decoder) return failure("not compressed");
  const std::string name = compression_name(compression);
  DecompressResult result;
  std::string buffer, output(output_piece, '\0');
  std::string_view input;
  while (true) {
    if (auto filled = refill(file, buffer, input, result); !filled) return tl::unexpected(filled.error());
    const bool last = result.bytes_read >= file.size();
    const auto progress = decoder->advance(input, last, output.data(), output.size());
    if (progress.step == Step::Damaged) return failure("damaged " + name + " stream");
    input.remove_prefix(progress.consumed);
    result.bytes_out += progress.produced;
    if (result.bytes_out > limit) return failure("decompresses to more than " + std::to_string(limit) + " bytes");
    if (result.bytes_out > ratio_free && result.bytes_out / largest_ratio > result.bytes_read)
      return failure("expands more than any real file");
    const std::string_view made(output.data(), progress.produced);
    if (!made.empty() && !receive(made)) return result;
    if (progress.step == Step::End) {
      result.finished = true;
      return result;
    }
    // Neither input nor output moved and there is nothing left to feed: the stream ends too early.
    if (progress.consumed == 0 && progress.produced == 0 && input.empty() && last)
      return failure("truncated " + name + " stream");
    if (progress.consumed == 0 && progress.produced == 0 && !input.empty()) return failure("damaged " + name + " stream");
  }
}

}  // namespace gpuvet
