#include "image/image_archive.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "archive_builder.h"
#include "image/image_system.h"
#include "image/sha256.h"

namespace gpuvet {
namespace {

using namespace test;

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// A merged image of these layers.
struct Merged {
  explicit Merged(const std::vector<std::string>& layers) : archive(docker_archive(layers)) {
    auto read = read_image_bytes(archive, "amd64");
    EXPECT_TRUE(read) << read.error().text;
    if (!read) return;
    image = *read;
    system = make_image_system(image);
  }
  std::string text(const char* path) const {
    const auto read = system->read_file(path);
    return read ? *read : "error: " + read.error().message;
  }
  std::string archive;
  std::shared_ptr<const Image> image;
  std::unique_ptr<System> system;
};

std::string error_of(const std::string& archive) {
  const auto read = read_image_bytes(archive, "amd64");
  return read ? "" : read.error().text;
}

std::string blob(const std::string& content) { return "blobs/sha256/" + sha256_hex(content); }
std::string descriptor(const std::string& content, const std::string& more = {}) {
  return R"({"digest":"sha256:)" + sha256_hex(content) + "\"" + more + "}";
}
std::string index_of(const std::string& manifests) { return R"({"manifests":[)" + manifests + "]}"; }
std::string manifest_of(const std::string& config, const std::string& layer) {
  return R"({"config":)" + descriptor(config) + R"(,"layers":[)" + descriptor(layer) + "]}";
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(ImageArchive, LaterLayersReplaceAndHide) {
  const Merged m({folder("etc") + file("etc/a", "1") + file("etc/b", "1") + folder("opt/x") + file("opt/x/old", "1"),
                  file("etc/a", "2") + file("etc/.wh.b", "") + folder("opt/x") + file("opt/x/.wh..wh..opq", "") +
                      file("opt/x/new", "2")});
  EXPECT_EQ(m.text("/etc/a"), "2");
  EXPECT_FALSE(m.system->exists("/etc/b"));
  EXPECT_FALSE(m.system->exists("/opt/x/old"));
  EXPECT_EQ(m.text("/opt/x/new"), "2");
  EXPECT_EQ(m.image->name, "app:1");
  EXPECT_EQ(m.system->list("/opt/x")->size(), 1U);
}

TEST(ImageArchive, AnOpaqueFolderHidesOnlyWhatIsBelow) {
  // The marker may come behind the layer's own files.
  const Merged m({file("d/sub/old", "1"), file("d/sub/new", "2") + file("d/.wh..wh..opq", "")});
  EXPECT_FALSE(m.system->exists("/d/sub/old"));
  EXPECT_EQ(m.text("/d/sub/new"), "2");
}

TEST(ImageArchive, AWhiteoutThenAnotherKind) {
  const Merged m({file("a/x", "1") + file("f", "1"), file(".wh.a", "") + folder("f")});
  EXPECT_FALSE(m.system->exists("/a/x"));
  EXPECT_TRUE(m.system->is_directory("/f"));
  const Merged again({file("a/x", "1"), file(".wh.a", ""), file("a/y", "3")});
  EXPECT_FALSE(again.system->exists("/a/x"));
  EXPECT_EQ(again.text("/a/y"), "3");
}

TEST(ImageArchive, LinksStayInside) {
  const Merged m({file("usr/lib/real", "lib") + symlink("lib", "usr/lib") + symlink("abs", "/usr/lib/real") +
                      symlink("out", "../../../etc/passwd") + symlink("loop1", "loop2") + symlink("loop2", "loop1") +
                      hardlink("hard", "usr/lib/real"),
                  file("lib/more", "through")});
  EXPECT_EQ(m.text("/lib/real"), "lib");
  EXPECT_EQ(m.text("/abs"), "lib");
  EXPECT_EQ(m.text("/hard"), "lib");
  EXPECT_EQ(m.text("/usr/lib/more"), "through");
  EXPECT_EQ(m.system->status("/lib", false)->type, FileType::Link);
  EXPECT_EQ(m.system->status("/hard")->inode, m.system->status("/usr/lib/real")->inode);
  EXPECT_FALSE(m.system->exists("/out"));
  const auto loop = m.system->read_file("/loop1");
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().code, ErrorCode::Loop);
  EXPECT_EQ(*m.system->real_path("/lib/real"), "/usr/lib/real");
}

TEST(ImageArchive, HostileNames) {
  const Merged m({file("../up", "x") + file("/abs", "ok") + file("a/../../b", "x") + hardlink("h", "../../etc/passwd") +
                  hardlink("h2", "nothing") + file(".wh...", "") + file(".wh.", "") + file("twice", "1") + file("twice", "2") +
                  tar_entry("dev", '3') + symlink("ring", "ring") + file("ring/below", "x")});
  EXPECT_EQ(m.text("/abs"), "ok");
  EXPECT_EQ(m.text("/twice"), "2");
  EXPECT_FALSE(m.system->exists("/up"));
  EXPECT_FALSE(m.system->exists("/h"));
  EXPECT_EQ(m.image->tree.left_out(), 7U);
  const auto device = m.system->read_file("/dev");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::NotRegular);
}

TEST(ImageArchive, CompressedLayersAndArchives) {
  const std::string layer = file("etc/os-release", "ID=debian\n") + file("data.bin", std::string(3 << 20, 'x')) + end_of_tar();
  for (const std::string& packed : {gzip(layer), zstd(layer)}) {
    std::string archive = file("c.json", R"({"architecture":"amd64"})") + file("l.tar", packed) +
                          file("manifest.json", R"([{"Config":"c.json","Layers":["l.tar"]}])") + end_of_tar();
    for (const std::string& whole : {archive, gzip(archive), zstd(archive)}) {
      const auto read = read_image_bytes(whole, "amd64");
      ASSERT_TRUE(read) << read.error().text;
      const auto system = make_image_system(*read);
      EXPECT_EQ(*system->read_file("/etc/os-release"), "ID=debian\n");
      EXPECT_EQ(system->status("/data.bin")->size, std::uint64_t{3} << 20);
      EXPECT_EQ(system->read_file("/data.bin").error().code, ErrorCode::Denied);
      EXPECT_EQ((*read)->contents_not_kept, 1U);
    }
  }
}

TEST(ImageArchive, ContentsOfPlainLayersStayWhereTheyAre) {
  const Merged m({file("big", std::string(3 << 20, 'x'))});
  const auto reader = m.system->open("/big");
  ASSERT_TRUE(reader);
  EXPECT_GE((*reader)->bytes().data(), m.archive.data());
  EXPECT_LT((*reader)->bytes().data(), m.archive.data() + m.archive.size());
  EXPECT_TRUE(m.image->contents.empty());
}

TEST(ImageArchive, OciIndexChoosesThePlatform) {
  const std::string layer_a = file("arch", "amd64") + end_of_tar(), layer_b = file("arch", "arm64") + end_of_tar();
  const std::string config_a = R"({"architecture":"amd64","os":"linux"})", config_b = R"({"architecture":"arm64","os":"linux"})";
  const std::string manifest_a = manifest_of(config_a, layer_a), manifest_b = manifest_of(config_b, layer_b);
  const std::string attestation = R"({"digest":"sha256:00","platform":{"architecture":"unknown","os":"unknown"}})";
  const std::string inner =
      index_of(attestation + "," + descriptor(manifest_a, R"(,"platform":{"architecture":"amd64","os":"linux"})") + "," +
               descriptor(manifest_b, R"(,"platform":{"architecture":"arm64","os":"linux"})"));
  std::string archive = file("oci-layout", "{}") +
                        file("index.json", index_of(descriptor(inner, R"(,"annotations":{"org.opencontainers.image.ref.name":"v1"})")));
  for (const std::string& part : {inner, manifest_a, manifest_b, config_a, config_b, layer_a, layer_b})
    archive += file(blob(part), part);
  archive += end_of_tar();
  for (const char* wanted : {"amd64", "arm64"}) {
    const auto read = read_image_bytes(archive, wanted);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*make_image_system(*read)->read_file("/arch"), wanted);
    EXPECT_EQ((*read)->architecture, wanted);
    EXPECT_EQ((*read)->name, "v1");
    ASSERT_EQ((*read)->other_platforms.size(), 1U);
  }
  EXPECT_EQ((*read_image_bytes(archive, "riscv64"))->architecture, "amd64");
}

TEST(ImageArchive, DamagedManifestIsTold) {
  const std::string config = R"({"architecture":"amd64"})", layer = end_of_tar(), manifest = manifest_of(config, layer);
  const std::string archive = file("index.json", index_of(descriptor(manifest))) + file(blob(manifest), manifest + " ") +
                              file(blob(config), config) + end_of_tar();
  EXPECT_NE(error_of(archive).find("digest"), std::string::npos) << error_of(archive);
}

TEST(ImageArchive, WhatIsMissingIsToldByName) {
  EXPECT_NE(error_of(file("hello", "x") + end_of_tar()).find("no image archive"), std::string::npos);
  EXPECT_EQ(error_of("this is no archive at all"), "no image archive");
  EXPECT_FALSE(error_of("").empty());
  const std::string no_layer = file("c.json", "{}") +
                               file("manifest.json", R"([{"Config":"c.json","Layers":["gone.tar"]}])") + end_of_tar();
  EXPECT_NE(error_of(no_layer).find("layer 1 (gone.tar) is listed but not in it"), std::string::npos);
  const std::string outside = file("c.json", "{}") +
                              file("manifest.json", R"([{"Config":"c.json","Layers":["../../etc/x"]}])") + end_of_tar();
  EXPECT_NE(error_of(outside).find("outside"), std::string::npos);
  EXPECT_FALSE(error_of(file("manifest.json", "[[[") + end_of_tar()).empty());
  EXPECT_FALSE(error_of(file("manifest.json", "[]") + end_of_tar()).empty());
}

TEST(ImageArchive, TruncatedArchives) {
  const std::string whole = docker_archive({file("a", std::string(5000, 'a')), file("b", "b")});
  for (std::size_t length = 0; length + 1536 < whole.size(); length += 256) {
    const std::string error = error_of(whole.substr(0, length));
    EXPECT_FALSE(error.empty()) << length;
  }
}

TEST(ImageArchive, AnEarlierLayerMayBeALink) {
  const std::string archive = file("a/layer.tar", file("x", "1") + end_of_tar()) + symlink("b/layer.tar", "../a/layer.tar") +
                              file("c.json", "{}") +
                              file("manifest.json", R"([{"Config":"c.json","Layers":["a/layer.tar","b/layer.tar"]}])") +
                              end_of_tar();
  const auto read = read_image_bytes(archive, "");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*make_image_system(*read)->read_file("/x"), "1");
}

TEST(ImageArchive, ABombIsRefused) {
  // 3 GiB of zeros say that they are a file of a layer of a few kilobytes.
  std::string header = tar_entry("zeros", '0');
  std::string size = "30000000000";  // octal: 3 GiB
  std::copy(size.begin(), size.end(), header.begin() + 124);
  std::fill(header.begin() + 148, header.begin() + 156, ' ');
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(header[i]);
  std::snprintf(header.data() + 148, 8, "%06o", sum);
  const std::string archive = file("c.json", "{}") + file("l.tar", gzip(header + std::string(1 << 20, '\0'))) +
                              file("manifest.json", R"([{"Config":"c.json","Layers":["l.tar"]}])") + end_of_tar();
  EXPECT_NE(error_of(archive).find("bomb"), std::string::npos) << error_of(archive);
}

TEST(ImageArchive, ConfigurationIsTheEnvironment) {
  const std::string archive = docker_archive(
      {file("x", "")}, R"({"architecture":"arm64","os":"linux","config":{"Env":["PATH=/bin","NVIDIA_REQUIRE_CUDA=cuda>=12.4"],
      "Labels":{"com.nvidia.volumes.needed":"nvidia_driver"},"User":"1000","Entrypoint":["/entry"],"Cmd":["python"]}})");
  const auto read = read_image_bytes(archive, "amd64");
  ASSERT_TRUE(read) << read.error().text;
  const ImageConfig& config = (*read)->config;
  EXPECT_EQ(config.environment.at("NVIDIA_REQUIRE_CUDA"), "cuda>=12.4");
  EXPECT_EQ(config.labels.at("com.nvidia.volumes.needed"), "nvidia_driver");
  EXPECT_EQ(config.user, "1000");
  EXPECT_EQ(config.entrypoint.front(), "/entry");
  EXPECT_EQ((*read)->architecture, "arm64");
}

}  // namespace
}  // namespace gpuvet
