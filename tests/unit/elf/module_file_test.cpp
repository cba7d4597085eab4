#include <gtest/gtest.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "elf/bytes.h"
#include "elf/decompress.h"
#include "elf/elf.h"
#include "elf/modinfo.h"
#include "elf/module_file.h"

#include "../../support/module_signature.h"

namespace gpuvet {
namespace {

std::string zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string xz(const std::string& bytes) {
  std::string out(lzma_stream_buffer_bound(bytes.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                    reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

std::string gzip(std::string bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void number(std::string& out, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out.push_back(static_cast<char>(value >> 8 * i));
}

using namespace std::string_literals;

const std::string modinfo =
    "version=550.120\0license=Dual MIT/GPL\0alias=pci:v000010DEd*\0\0\0\0srcversion=ABC\0depends=\0name=nvidia\0"
    "vermagic=6.8.0-49-generic SMP preempt mod_unload modversions \0parm=NVreg_X:int\0"s;

/// ELF relocatable: padding as big as a real module's code, .modinfo, data behind it, section headers at the end.
std::string module(std::size_t code = 100, const std::string& before = "", std::size_t data = 100) {
  std::string names("\0.text\0.modinfo\0.shstrtab\0", 26), out(64, '\0');
  const auto text_at = out.size();
  for (std::size_t i = 0; i < code; ++i) out.push_back(static_cast<char>(i * i % 251));
  out += before;
  const auto info_at = out.size();
  out += modinfo;
  out.resize(out.size() + data, '\0');
  const auto names_at = out.size();
  out += names;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  const auto sections_at = out.size();
  const auto section = [&](std::uint32_t name, std::uint32_t type, std::uint64_t at, std::uint64_t size) {
    number(out, name, 4), number(out, type, 4), number(out, 0, 8), number(out, 0, 8), number(out, at, 8), number(out, size, 8);
    number(out, 0, 4), number(out, 0, 4), number(out, 1, 8), number(out, 0, 8);
  };
  section(0, 0, 0, 0), section(1, 1, text_at, code), section(7, 1, info_at, modinfo.size()), section(16, 3, names_at, names.size());
  std::string head("\x7f" "ELF\2\1\1", 7);
  head.resize(16, '\0');
  number(head, 1, 2), number(head, 62, 2), number(head, 1, 4), number(head, 0, 8), number(head, 0, 8), number(head, sections_at, 8);
  number(head, 0, 4), number(head, 64, 2), number(head, 0, 2), number(head, 0, 2), number(head, 64, 2), number(head, 4, 2), number(head, 3, 2);
  std::ranges::copy(head, out.begin());
  return out;
}

using test::pkcs7;

std::string trailer(const std::string& signature, int type = 2, int signer = 0, int key = 0) {
  return test::signature_trailer(signature, type, signer, key);
}

tl::expected<ModuleFileContent, std::string> read(const std::string& bytes, const ModuleFileLimits& limits = {}) {
  MemoryReader reader(bytes);
  return read_module_file(reader, limits);
}

void expect_info(const tl::expected<ModuleFileContent, std::string>& content) {
  ASSERT_TRUE(content) << content.error();
  EXPECT_EQ(content->info, parse_modinfo(modinfo));
  ASSERT_NE(content->value("vermagic"), nullptr);
  EXPECT_EQ(*content->value("vermagic"), "6.8.0-49-generic SMP preempt mod_unload modversions ");
  EXPECT_EQ(content->value("nothing"), nullptr);
}

TEST(ModuleFile, PlainAndCompressedSayTheSame) {
  const auto plain = module();
  for (const auto& [bytes, name] : {std::pair{plain, ""}, {zstd(plain), "zst"}, {xz(plain), "xz"}, {gzip(plain), "gz"}}) {
    const auto content = read(bytes);
    expect_info(content);
    EXPECT_EQ(content->compression, name);
    EXPECT_TRUE(content->has_signature.is(false)) << name;
    EXPECT_TRUE(content->signer.is_absent()) << name;
  }
}

TEST(ModuleFile, SignatureTrailer) {
  const auto plain = module() + trailer(pkcs7("Debian Secure Boot CA"));
  for (const auto& bytes : {plain, zstd(plain), xz(plain), gzip(plain)}) {
    const auto content = read(bytes);
    expect_info(content);
    EXPECT_TRUE(content->has_signature.is(true));
    EXPECT_TRUE(content->signer.is("Debian Secure Boot CA"));
  }
}

TEST(ModuleFile, PlainFileCostsAFewReads) {
  const auto content = read(module(std::size_t{20} << 20));
  expect_info(content);
  EXPECT_LT(content->bytes_read, 70000u);
}

TEST(ModuleFile, StreamStopsWhenModinfoIsComplete) {
  std::string noise(std::size_t{3} << 19, '\0');
  std::uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const auto plain = module(1000, noise, std::size_t{3} << 20) + trailer(pkcs7("Somebody"));
  ModuleFileLimits limits;
  limits.to_the_end = std::size_t{1} << 20;
  for (const auto& bytes : {zstd(plain), xz(plain), gzip(plain)}) {
    const auto content = read(bytes, limits);
    expect_info(content);
    EXPECT_TRUE(content->has_signature.is_not_seen());
    EXPECT_LT(content->bytes_decompressed, std::size_t{2} << 20);
  }
  EXPECT_TRUE(read(zstd(plain), {std::uint64_t{1} << 30, std::uint64_t{1} << 30})->has_signature.is(true));
}

TEST(ModuleFile, FoundWhateverStandsBefore) {
  ModuleFileLimits limits;
  limits.to_the_end = 0;
  // Text of another section, with and without its NUL, and binary data that sticks to the first key.
  for (const auto& before : {std::string("other text\0", 11), std::string("some format %s=%d\0", 18), std::string("\0a name=%s\0", 11), std::string("\xff\xff\xff", 3),
                                   std::string(200, '\0')})
    expect_info(read(zstd(module(3000, before, std::size_t{1} << 20)), limits));
}

TEST(ModuleFile, DamageIsAnError) {
  const auto plain = module(5000);
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("no module at all"));
  EXPECT_FALSE(read(zstd("no module at all")));
  for (const auto& bytes : {zstd(plain), xz(plain), gzip(plain)}) {
    EXPECT_FALSE(read(bytes.substr(0, bytes.size() / 2)));
    EXPECT_FALSE(read(bytes.substr(0, 6) + std::string(100, '\xff')));
  }
  for (std::size_t size = 0; size < plain.size(); size += 7) (void)read(plain.substr(0, size));
}

TEST(ModuleFile, BombIsRefused) {
  const auto bomb = zstd(std::string(std::size_t{64} << 20, '\0'));
  ASSERT_LT(bomb.size(), 100000u);
  EXPECT_FALSE(read(bomb));
  ModuleFileLimits limits;
  limits.decompressed = std::size_t{1} << 20;
  EXPECT_FALSE(read(zstd(module(std::size_t{2} << 20)), limits));
}

TEST(ModuleSignature, FormsOfTheTrailer) {
  EXPECT_FALSE(read_module_signature("").present);
  EXPECT_FALSE(read_module_signature("Module signature appended").present);
  EXPECT_TRUE(read_module_signature(trailer("garbage")).present);
  EXPECT_EQ(read_module_signature(trailer("garbage")).signer, "");
  EXPECT_EQ(read_module_signature("code" + trailer(pkcs7("A B"))).signer, "A B");
  // Before Linux 4.3: names in front of the bare signature.
  EXPECT_EQ(read_module_signature(trailer("Magrathea keyKEYIDsignature", 1, 13, 5)).signer, "Magrathea key");
  // A length beyond the file names nobody.
  auto wrong = trailer(pkcs7("A B"));
  wrong[wrong.size() - 32] = '\x7f';
  EXPECT_TRUE(read_module_signature(wrong).present);
  EXPECT_EQ(read_module_signature(wrong).signer, "");
}

TEST(ModuleInfo, FromTheFirstPartOfAnImage) {
  const auto plain = module(5000, "", std::size_t{1} << 20);
  const auto info = read_module_info(std::string_view(plain).substr(0, 200000));
  ASSERT_TRUE(info) << info.error();
  EXPECT_EQ(*info, parse_modinfo(modinfo));
  EXPECT_FALSE(read_module_info("x"));
}

}  // namespace
}  // namespace gpuvet
