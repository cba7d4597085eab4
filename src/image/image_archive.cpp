#include "image/image_archive.h"

#include <algorithm>
#include <optional>
#include <set>

#include "config/config_value.h"
#include "image/keep_rule.h"
#include "image/sha256.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_document = std::size_t{4} << 20;  ///< OCI registries refuse manifests above 4 MiB
constexpr std::size_t most_layers = 1024;
constexpr std::size_t most_files = 20'000;  ///< of the archive itself
constexpr int most_nesting = 4;             ///< an index that names an index
constexpr std::size_t most_documents_kept = std::size_t{64} << 20;

template <class T>
using Or = tl::expected<T, std::string>;

tl::unexpected<std::string> broken(std::string text) { return tl::unexpected(std::move(text)); }

/// A layer's entry that had to be remembered, because its archive came before the list of layers.
struct KeptEntry {
  std::string name, link;
  TarEntry entry;
  std::optional<std::string_view> content;
};

/// One file of the archive.
struct Blob {
  std::optional<std::string_view> bytes;  ///< where it lies, or a document's text
  std::string link;                       ///< it is another one: `docker save` of old wrote a layer once
  bool is_layer = false;                  ///< read already
  std::vector<KeptEntry> layer;
  std::string error;
};

/// "./a//b" and "/a/b" → "a/b"; empty: a name that climbs.
std::string plain_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(part.size() + 1, name.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") return {};
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

/// "b/layer.tar" linked to "../a/layer.tar" → "a/layer.tar"; empty: it leads out.
std::string beside(const std::string& name, std::string_view target) {
  std::vector<std::string_view> parts;
  const auto add = [&](std::string_view path) {
    while (!path.empty()) {
      const std::string_view part = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(part.size() + 1, path.size()));
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (parts.empty()) {
        return false;
      } else {
        parts.pop_back();
      }
    }
    return true;
  };
  const std::size_t slash = name.rfind('/');
  if (target.starts_with('/') || !add(std::string_view(name).substr(0, slash == std::string::npos ? 0 : slash)) || !add(target))
    return {};
  std::string out;
  for (const std::string_view part : parts) out += (out.empty() ? "" : "/") + std::string(part);
  return out;
}

bool looks_like_document(std::string_view start) {
  const std::size_t at = start.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && (start[at] == '{' || start[at] == '[');
}

class ImageReaderRun {
 public:
  ImageReaderRun(Image& image, std::string_view architecture) : image_(image), architecture_(architecture) {}

  Or<void> read_archive(std::string_view bytes) {
    const auto read = read_tar({bytes, {}, 0}, [&](const TarEntry& entry, TarBody& body) { return take(entry, body); });
    // An archive that breaks off may still have told everything before; what is missing then is said by name.
    if (!read && blobs_.empty()) return broken(read.error() == "Unrecognized archive format" ? "no image archive" : read.error());
    if (too_many_) return broken("more than " + std::to_string(most_files) + " files: no image archive");
    if (!read) cut_off_ = read.error();
    auto done = choose();
    if (!done && !cut_off_.empty()) return broken(done.error() + " (" + cut_off_ + ")");
    return done;
  }

  /// A folder's files are asked for by name.
  Or<void> read_folder(std::string folder) {
    folder_ = std::move(folder);
    return choose();
  }

 private:
  bool take(const TarEntry& entry, TarBody& body) {
    if (blobs_.size() >= most_files) {
      too_many_ = true;
      return false;
    }
    const std::string name = plain_name(entry.name);
    if (name.empty()) return true;
    if (entry.hard_link || entry.type == FileType::Link) {
      blobs_[name].link = entry.hard_link ? plain_name(entry.link) : beside(name, entry.link);
      return true;
    }
    if (entry.type != FileType::Regular) return true;
    Blob& blob = blobs_[name];
    blob = {};
    std::string_view bytes;
    if (body.in_place(bytes)) {
      blob.bytes = bytes;
      return true;
    }
    take_passing(entry, body, blob);
    return true;
  }

  /// The archive is compressed as a whole: what passes by has to be understood at once.
  void take_passing(const TarEntry& entry, TarBody& body, Blob& blob) {
    const std::string_view first = body.next();
    const bool document = entry.size <= most_document && looks_like_document(first);
    if (document) {
      documents_ += entry.size;
      if (documents_ > most_documents_kept) {
        blob.error = "too many documents";
        return;
      }
      std::string text(first);
      for (std::string_view more = body.next(); !more.empty(); more = body.next()) text += more;
      blob.bytes = image_.contents.emplace_back(std::move(text));
      return;
    }
    if (first.empty()) return;
    bool begun = false;
    const auto next = [&]() -> std::string_view {
      if (begun) return body.next();
      begun = true;
      return first;
    };
    blob.is_layer = true;
    const auto read = read_tar({{}, next, entry.size}, [&](const TarEntry& inner, TarBody& inner_body) {
      KeptEntry& kept = blob.layer.emplace_back();
      kept.name = inner.name;
      kept.link = inner.link;
      kept.entry = inner;
      kept.entry.name = kept.entry.link = {};
      kept.content = content_of(inner, inner_body);
      return ++entries_ <= MergedTree::most_entries;
    });
    if (!read) blob.error = read.error();
  }

  std::optional<std::string_view> content_of(const TarEntry& entry, TarBody& body) {
    if (entry.type != FileType::Regular || entry.hard_link) return std::nullopt;
    std::string_view bytes;
    if (body.in_place(bytes)) return bytes;
    const std::string name = plain_name(entry.name);
    if (!keeps_content(name, entry.size) || kept_ + entry.size > most_kept_bytes) {
      ++image_.contents_not_kept;
      return std::nullopt;
    }
    auto text = body.content(entry.size);
    if (!text) return std::nullopt;
    kept_ += text->size();
    return image_.contents.emplace_back(std::move(*text));
  }

  /// The file of that name; null: not there.
  Blob* find(const std::string& name) {
    std::string at = name;
    for (int links = 0; links < 8; ++links) {
      auto found = blobs_.find(at);
      if (found == blobs_.end() && !folder_.empty() && !at.empty()) found = map_file(at);
      if (found == blobs_.end()) return nullptr;
      if (found->second.link.empty()) return &found->second;
      at = found->second.link;
    }
    return nullptr;
  }

  std::map<std::string, Blob>::iterator map_file(const std::string& name) {
    auto mapped = map_user_file(folder_ + "/" + name);
    if (!mapped) return blobs_.end();
    Blob blob;
    blob.bytes = mapped->bytes();
    image_.files.push_back(std::move(*mapped));
    return blobs_.insert_or_assign(name, std::move(blob)).first;
  }

  Or<ConfigValue> document(const std::string& name, std::string_view what) {
    const Blob* blob = find(name);
    if (blob == nullptr) return broken(std::string(what) + " " + name + " is not in it");
    if (!blob->bytes || blob->bytes->size() > most_document) return broken(std::string(what) + " " + name + " is no document");
    // "blobs/sha256/<digest>" says what has to be in it.
    constexpr std::string_view by_digest = "blobs/sha256/";
    if (name.starts_with(by_digest) && sha256_hex(*blob->bytes) != name.substr(by_digest.size()))
      return broken(std::string(what) + " " + name +
                    " does not have the digest that its name says: the archive is damaged or was changed");
    auto parsed = parse_json_config(*blob->bytes);
    if (!parsed) return broken(std::string(what) + " " + name + ": " + parsed.error().message);
    return std::move(*parsed);
  }

  Or<std::string> blob_name(const ConfigValue& descriptor, std::string_view what) {
    const std::string digest = descriptor.text_of("digest");
    const std::size_t colon = digest.find(':');
    const bool usable = colon != std::string::npos && colon > 0 && colon + 1 < digest.size() &&
                        digest.find_first_of("/\\") == std::string::npos && digest.find("..") == std::string::npos;
    if (!usable) return broken(std::string(what) + " has no digest");
    return "blobs/" + digest.substr(0, colon) + "/" + digest.substr(colon + 1);
  }

  Or<void> choose() {
    // Docker writes both lists; manifest.json names only what is really in the archive.
    if (find("manifest.json") != nullptr) return choose_docker();
    if (find("index.json") != nullptr) return choose_oci();
    return broken("no image archive: neither manifest.json (docker save) nor index.json (OCI) is in it");
  }

  Or<void> choose_docker() {
    const auto list = document("manifest.json", "the list of images");
    if (!list) return broken(list.error());
    if (!list->is_list() || list->items.empty()) return broken("manifest.json lists no image");
    struct Candidate {
      const ConfigValue* item;
      ConfigValue config;
      std::string architecture;
    };
    std::vector<Candidate> candidates;
    std::string why;
    for (const ConfigValue& item : list->items) {
      if (candidates.size() == 64) break;
      auto config = document(plain_name(item.text_of("Config")), "the configuration");
      if (!config) {
        why = config.error();
        continue;
      }
      std::string architecture = config->text_of("architecture");
      candidates.push_back({&item, std::move(*config), std::move(architecture)});
    }
    if (candidates.empty()) return broken(why);
    const auto wanted = std::ranges::find_if(
        candidates, [&](const Candidate& c) { return !architecture_.empty() && c.architecture == architecture_; });
    const Candidate& chosen = wanted != candidates.end() ? *wanted : candidates.front();
    const ConfigValue* tags = chosen.item->find("RepoTags");
    if (tags != nullptr && tags->is_list() && !tags->items.empty()) image_.name = tags->items.front().text;
    for (const Candidate& other : candidates)
      if (&other != &chosen) ++image_.other_images;
    read_config(chosen.config);
    const ConfigValue* layers = chosen.item->find("Layers");
    if (layers == nullptr || !layers->is_list()) return broken("manifest.json lists no layers");
    std::vector<std::string> names;
    for (const ConfigValue& layer : layers->items) {
      names.push_back(plain_name(layer.text));
      if (names.back().empty()) return broken("manifest.json names a layer outside of the archive");
    }
    return add_layers(names);
  }

  Or<void> choose_oci() {
    auto index = document("index.json", "the index");
    if (!index) return broken(index.error());
    for (int depth = 0; depth < most_nesting; ++depth) {
      const ConfigValue* manifests = index->find("manifests");
      if (manifests == nullptr) return read_manifest(*index);
      if (!manifests->is_list() || manifests->items.empty()) return broken("its index lists no image");
      const ConfigValue* chosen = choose_manifest(*manifests, depth);
      if (chosen == nullptr) return broken("its index lists no image, only attestations");
      note_descriptor(*chosen);
      const auto name = blob_name(*chosen, "an image of the index");
      if (!name) return broken(name.error());
      auto next = document(*name, "the manifest");
      if (!next) return broken(next.error());
      index = std::move(next);
    }
    return broken("its index names indexes without end");
  }

  /// The wanted platform; else the first that is no attestation.
  const ConfigValue* choose_manifest(const ConfigValue& manifests, int depth) {
    std::vector<const ConfigValue*> usable;
    for (const ConfigValue& item : manifests.items) {
      const ConfigValue* platform = item.find("platform");
      if (platform != nullptr && platform->text_of("architecture") == "unknown") continue;
      usable.push_back(&item);
    }
    if (usable.empty()) return nullptr;
    const auto architecture = [](const ConfigValue& item) {
      const ConfigValue* platform = item.find("platform");
      return platform == nullptr ? std::string() : platform->text_of("architecture");
    };
    const ConfigValue* chosen = usable.front();
    for (const ConfigValue* item : usable) {
      const auto name = blob_name(*item, "");
      const bool here = name && find(*name) != nullptr;  // a save may name platforms whose files it leaves out
      if (here && !architecture_.empty() && architecture(*item) == architecture_) {
        chosen = item;
        break;
      }
      const auto of_chosen = blob_name(*chosen, "");
      if (here && (!of_chosen || find(*of_chosen) == nullptr)) chosen = item;
    }
    for (const ConfigValue* item : usable) {
      if (item == chosen) continue;
      if (!architecture(*item).empty()) {
        if (image_.other_platforms.size() < 16)
          image_.other_platforms.push_back(item->at({"platform"})->text_of("os") + "/" + architecture(*item));
      } else if (depth == 0) {
        ++image_.other_images;
      }
    }
    return chosen;
  }

  void note_descriptor(const ConfigValue& descriptor) {
    const ConfigValue* annotations = descriptor.find("annotations");
    if (annotations == nullptr || !image_.name.empty()) return;
    image_.name = annotations->text_of("io.containerd.image.name");
    if (image_.name.empty()) image_.name = annotations->text_of("org.opencontainers.image.ref.name");
  }

  Or<void> read_manifest(const ConfigValue& manifest) {
    const ConfigValue* config = manifest.find("config");
    if (config == nullptr) return broken("its manifest names no configuration");
    const auto config_name = blob_name(*config, "the configuration");
    if (!config_name) return broken(config_name.error());
    const auto read = document(*config_name, "the configuration");
    if (!read) return broken(read.error());
    read_config(*read);
    const ConfigValue* layers = manifest.find("layers");
    if (layers == nullptr || !layers->is_list()) return broken("its manifest lists no layers");
    std::vector<std::string> names;
    for (const ConfigValue& layer : layers->items) {
      const auto name = blob_name(layer, "a layer");
      if (!name) return broken(name.error());
      names.push_back(*name);
    }
    return add_layers(names);
  }

  static std::vector<std::string> texts(const ConfigValue* list) {
    std::vector<std::string> out;
    if (list == nullptr || !list->is_list()) return out;
    for (const ConfigValue& item : list->items) out.push_back(item.text);
    return out;
  }

  void read_config(const ConfigValue& document) {
    image_.architecture = document.text_of("architecture");
    image_.operating_system = document.text_of("os");
    const ConfigValue* config = document.find("config");
    if (config == nullptr) return;
    for (const std::string& entry : texts(config->find("Env"))) {
      const std::size_t equals = entry.find('=');
      if (equals != std::string::npos && equals > 0)
        image_.config.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    if (const ConfigValue* labels = config->find("Labels"); labels != nullptr && labels->is_map())
      for (const ConfigMember& label : labels->members) image_.config.labels[label.key] = label.value.text;
    image_.config.user = config->text_of("User");
    image_.config.working_folder = config->text_of("WorkingDir");
    image_.config.entrypoint = texts(config->find("Entrypoint"));
    image_.config.command = texts(config->find("Cmd"));
  }

  Or<void> add_layers(const std::vector<std::string>& names) {
    if (names.size() > most_layers) return broken("more than " + std::to_string(most_layers) + " layers");
    for (const std::string& name : names) {
      const std::string label = "layer " + std::to_string(++image_.layers) + " (" + name + ")";
      Blob* blob = find(name);
      if (blob == nullptr) return broken(label + " is listed but not in it");
      image_.tree.begin_layer("layer " + std::to_string(image_.layers));
      if (auto added = add_layer(*blob); !added) return broken(label + ": " + added.error());
    }
    image_.problems = image_.tree.problems();
    return {};
  }

  Or<void> add_layer(Blob& blob) {
    if (!blob.error.empty()) return broken(blob.error);
    if (blob.is_layer) {
      for (KeptEntry& kept : blob.layer) {
        kept.entry.name = kept.name;
        kept.entry.link = kept.link;
        image_.tree.add(kept.entry, kept.content ? &*kept.content : nullptr);
      }
      return {};
    }
    if (!blob.bytes || blob.bytes->empty()) return {};  // a layer that changes nothing
    const auto read = read_tar({*blob.bytes, {}, 0}, [&](const TarEntry& entry, TarBody& body) {
      const auto content = content_of(entry, body);
      image_.tree.add(entry, content ? &*content : nullptr);
      return ++entries_ <= MergedTree::most_entries;
    });
    if (!read) return broken(read.error());
    if (entries_ > MergedTree::most_entries) return broken("more entries than an image may have");
    return {};
  }

  Image& image_;
  std::string architecture_;
  std::string folder_;
  std::map<std::string, Blob> blobs_;
  std::string cut_off_;
  std::uint64_t kept_ = 0, documents_ = 0;
  std::size_t entries_ = 0;
  bool too_many_ = false;
};

}  // namespace

tl::expected<std::shared_ptr<const Image>, ImageError> read_image_bytes(std::string_view bytes, std::string_view architecture) {
  auto image = std::make_shared<Image>();
  if (auto read = ImageReaderRun(*image, architecture).read_archive(bytes); !read)
    return tl::unexpected(ImageError{false, read.error()});
  return image;
}

tl::expected<std::shared_ptr<const Image>, ImageError> read_image(const std::string& path, std::string_view architecture) {
  auto image = std::make_shared<Image>();
  if (is_user_folder(path)) {
    if (auto read = ImageReaderRun(*image, architecture).read_folder(path); !read)
      return tl::unexpected(ImageError{false, read.error()});
    return image;
  }
  auto mapped = map_user_file(path);
  if (!mapped) return tl::unexpected(ImageError{true, mapped.error().message});
  image->files.push_back(std::move(*mapped));
  if (auto read = ImageReaderRun(*image, architecture).read_archive(image->files.front().bytes()); !read)
    return tl::unexpected(ImageError{false, read.error()});
  return image;
}

}  // namespace gpuvet
