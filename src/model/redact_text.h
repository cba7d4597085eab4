#pragma once
// Redaction of one text: finds what identifies a person or a device by its shape, and names that were collected before.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// Hands out pseudonyms: the same for the same original, numbered in order of appearance.
class Pseudonyms {
 public:
  enum class Kind : std::uint8_t { User, Host, Group, Uuid, Mac, Ipv4, Ipv6, Serial, Disk };

  const std::string& of(Kind kind, std::string_view original);
  /// Texts that no pseudonym may equal: they are real names here.
  void avoid(std::string_view real_name) { taken_.insert(std::string(real_name)); }
  /// The pseudonym of the only UUID that starts with `prefix`, shortened to its first group; empty: none or several.
  std::string of_uuid_prefix(std::string_view prefix) const;

 private:
  std::map<std::pair<Kind, std::string>, std::string> given_;
  std::map<Kind, unsigned> count_;
  std::set<std::string> taken_;
  std::set<std::string, std::less<>> issued_;  ///< a pseudonym met again stays itself
};

/// A name to be replaced wherever it stands as a word.
struct RedactedName {
  std::string name;
  std::string pseudonym;
};

class TextRedactor {
 public:
  explicit TextRedactor(Pseudonyms& pseudonyms) : pseudonyms_(pseudonyms) {}

  void set_names(std::vector<RedactedName> names);
  /// `addresses`: IP addresses are replaced too (not in versions, which look the same).
  std::string redact(std::string_view text, bool addresses);

 private:
  std::size_t match(std::string_view text, std::size_t at, bool addresses, std::string& out);
  std::size_t match_name(std::string_view text, std::size_t at, std::string& out) const;
  std::size_t match_home(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_disk(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_uuid(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_mac(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_ipv4(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_ipv6(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_serial(std::string_view text, std::size_t at, std::string& out);
  static std::size_t match_secret(std::string_view text, std::size_t at, std::string& out);

  Pseudonyms& pseudonyms_;
  std::vector<RedactedName> names_;  ///< longest first
};

/// Names that say nothing about a person or a site: "root", "ubuntu", "localhost", and what gpuvet itself writes.
bool is_generic_name(std::string_view name);
/// Words of paths and driver messages: as a user's name they are replaced only where nothing else can be meant.
bool is_vocabulary(std::string_view word);

/// The account name after "/home/" or "/Users/" at the start of `text`; empty: none.
std::string_view home_owner(std::string_view text);

}  // namespace gpuvet
