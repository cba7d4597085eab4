#pragma once
// An image as a file: what `docker save` and `podman save` write (manifest.json), and OCI image layouts as an archive or a
// folder (OCI image specification, "image-layout.md"). Read once; layers may be compressed, and so may the whole archive.
// Contents of uncompressed layers stay in the mapped file; of compressed ones only what is judged is kept (keep_rule.h).

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "image/merged_tree.h"
#include "system/user_file.h"

namespace gpuvet {

struct ImageConfig {
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> labels;
  std::string user, working_folder;
  std::vector<std::string> entrypoint, command;
};

struct Image {
  std::string name;          ///< "app:1.2", as its tag or annotation says; empty: none
  std::string architecture;  ///< "amd64", "arm64"; empty: not told
  std::string operating_system;
  std::vector<std::string> other_platforms;  ///< further platforms in the archive, which are not judged
  std::size_t other_images = 0;              ///< further images in the archive, which are not judged
  ImageConfig config;
  MergedTree tree;
  std::size_t layers = 0;
  std::size_t contents_not_kept = 0;  ///< files whose content was not kept
  std::vector<std::string> problems;  ///< what was left out, and why
  std::vector<FileMapping> files;     ///< what contents lie in
  std::deque<std::string> contents;   ///< those that do not lie in a file
};

struct ImageError {
  bool missing = false;  ///< the path itself is not there or cannot be opened; else the archive is broken or is none
  std::string text;      ///< why, without the path
};

/// `architecture` is the wanted one of several ("amd64"; empty: the first).
tl::expected<std::shared_ptr<const Image>, ImageError> read_image(const std::string& path, std::string_view architecture);
/// The same from bytes in memory, which must outlive the image.
tl::expected<std::shared_ptr<const Image>, ImageError> read_image_bytes(std::string_view bytes, std::string_view architecture);

}  // namespace gpuvet
