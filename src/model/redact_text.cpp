#include "model/redact_text.h"

#include <algorithm>
#include <array>

namespace gpuvet {
namespace {

constexpr std::string_view removed = "(removed)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

char before(std::string_view text, std::size_t at) { return at == 0 ? '\0' : text[at - 1]; }
char after(std::string_view text, std::size_t end) { return end < text.size() ? text[end] : '\0'; }

bool starts_with_nocase(std::string_view text, std::size_t at, std::string_view lower_word) {
  if (text.size() - at < lower_word.size()) return false;
  for (std::size_t i = 0; i < lower_word.size(); ++i) {
    if (lower(text[at + i]) != lower_word[i]) return false;
  }
  return true;
}

std::size_t run_of(std::string_view text, std::size_t at, bool (*accept)(char)) {
  std::size_t end = at;
  while (end < text.size() && accept(text[end])) ++end;
  return end - at;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// Length of a "8-4-4-4-12" group of hex digits at `at`, or 0.
std::size_t uuid_length(std::string_view text, std::size_t at) {
  static constexpr std::array<std::size_t, 5> groups{8, 4, 4, 4, 12};
  std::size_t end = at;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g > 0 && after(text, end++) != '-') return 0;
    if (end > text.size() || run_of(text, end, is_hex) != groups[g]) return 0;
    end += groups[g];
  }
  return end - at;
}

std::string hex_number(unsigned value, int digits) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += hex[(value >> shift) & 15U];
  return out;
}

std::string pseudonym(Pseudonyms::Kind kind, unsigned n) {
  using Kind = Pseudonyms::Kind;
  switch (kind) {
    case Kind::User:
      return "user" + std::to_string(n);
    case Kind::Host:
      return "host" + std::to_string(n);
    case Kind::Group:
      return "group" + std::to_string(n);
    case Kind::Uuid:
      return hex_number(n, 8) + "-0000-0000-0000-000000000000";
    case Kind::Mac:
      return "02:00:00:00:" + hex_number(n >> 8, 2) + ":" + hex_number(n & 255U, 2);
    // Ranges for documentation: RFC 5737, RFC 3849; beyond 254 addresses 198.18.0.0/15 (RFC 2544).
    case Kind::Ipv4:
      if (n < 255) return "192.0.2." + std::to_string(n);
      return "198.18." + std::to_string((n >> 8) & 255U) + "." + std::to_string(n & 255U);
    case Kind::Ipv6:
      return "2001:db8::" + hex_number(n, 4);
    case Kind::Serial:
      return "serial" + std::to_string(n);
    case Kind::Disk:
      return "disk" + std::to_string(n);
  }
  return {};
}

}  // namespace

const std::string& Pseudonyms::of(Kind kind, std::string_view original) {
  const auto issued = issued_.find(original);
  if (issued != issued_.end()) return *issued;
  auto [entry, is_new] = given_.try_emplace({kind, std::string(original)});
  while (is_new && (entry->second.empty() || taken_.contains(entry->second))) entry->second = pseudonym(kind, ++count_[kind]);
  if (is_new) issued_.insert(entry->second);
  return entry->second;
}

std::string Pseudonyms::of_uuid_prefix(std::string_view prefix) const {
  std::string found;
  for (const auto& [original, name] : given_) {
    if (original.first != Kind::Uuid || !original.second.starts_with(prefix)) continue;
    if (!found.empty()) return {};
    found = name.substr(0, 8);
  }
  return found;
}

bool is_generic_name(std::string_view name) {
  static constexpr std::array<std::string_view, 34> generic{
      "admin",      "administrator", "all users", "arch",      "centos",
      "cloud-user", "core",          "debian",    "default",   "developer",
      "ec2-user",   "fedora",        "guest",     "jetson",    "jovyan",
      "kernel",     "linux",         "linuxbrew", "localhost", "localhost.localdomain",
      "mambauser",  "nobody",        "nvidia",    "opc",       "oracle",
      "pi",         "public",        "rocky",     "root",      "shared",
      "ubuntu",     "user",          "vagrant",   "(removed)"};
  if (std::find(generic.begin(), generic.end(), lowered(name)) != generic.end()) return true;
  for (const std::string_view own : {"user", "host", "group"}) {
    if (name.size() > own.size() && name.starts_with(own) && run_of(name, own.size(), is_digit) == name.size() - own.size())
      return true;
  }
  return name.empty() || name == "." || name == "..";
}

bool is_vocabulary(std::string_view word) {
  static constexpr std::array<std::string_view, 148> words{
      "ada",     "adapter", "address", "ampere",   "apt",     "aarch64", "bar",    "bash",    "bin",    "blackwell", "boot",
      "bridge",  "bus",     "cache",   "card",     "cluster", "code",    "compat", "compute", "conda",  "conf",      "config",
      "control", "core",    "cuda",    "data",     "dbx",     "default", "deny",   "dev",     "device", "devices",   "disk",
      "dkms",    "docker",  "driver",  "drivers",  "dxg",     "env",     "envs",   "error",   "etc",    "extra",     "failed",
      "fatal",   "fermi",   "file",    "firmware", "flash",   "free",    "full",   "gpu",     "gpus",   "grace",     "group",
      "guest",   "gsp",     "headers", "home",     "hopper",  "host",    "init",   "intel",   "kepler", "key",       "lab",
      "lib",     "lib32",   "lib64",   "libcuda",  "libexec", "library", "link",   "live",    "local",  "lock",      "log",
      "lost",    "mark",    "max",     "maxwell",  "may",     "media",   "mem",    "memory",  "min",    "ml",        "mnt",
      "mode",    "modules", "node",    "nova",     "nouveau", "null",    "nvme",   "off",     "online", "open",      "opt",
      "page",    "pascal",  "pci",     "port",     "power",   "proc",    "prod",   "python",  "read",   "render",    "reset",
      "rom",     "rubin",   "run",     "sbin",     "scratch", "secure",  "server", "share",   "signed", "site",      "slurm",
      "src",     "srv",     "state",   "stubs",    "super",   "sys",     "system", "targets", "tesla",  "test",      "tmp",
      "turing",  "unknown", "updates", "usr",      "uvm",     "var",     "venv",   "video",   "volta",  "wayland",   "will",
      "work",    "write",   "wsl",     "xe",       "xorg"};
  return std::find(words.begin(), words.end(), lowered(word)) != words.end();
}

std::string_view home_owner(std::string_view text) {
  for (const std::string_view folder : {"/home/", "/Users/", "\\Users\\", "/run/media/"}) {
    if (!text.starts_with(folder)) continue;
    // A Windows account may have blanks in its name; a Linux one ends at anything that ends a word in a text.
    const bool windows = folder.find("Users") != std::string_view::npos;
    std::size_t end = folder.size();
    const auto ends_name = [&](char c) {
      if (static_cast<unsigned char>(c) < 0x20) return true;
      return std::string_view(windows ? "/\\:;\"'<>|" : "/\\:;\"'<>| ,()[]{}=&*?!").find(c) != std::string_view::npos;
    };
    while (end < text.size() && !ends_name(text[end])) ++end;
    return text.substr(folder.size(), end - folder.size());
  }
  return {};
}

void TextRedactor::set_names(std::vector<RedactedName> names) {
  names_ = std::move(names);
  std::sort(names_.begin(), names_.end(), [](const auto& a, const auto& b) { return a.name.size() > b.name.size(); });
}

std::size_t TextRedactor::match_name(std::string_view text, std::size_t at, std::string& out) const {
  if (is_word(before(text, at))) return 0;
  for (const RedactedName& entry : names_) {
    if (entry.name[0] != text[at] || !text.substr(at).starts_with(entry.name)) continue;
    if (is_word(after(text, at + entry.name.size()))) continue;
    out += entry.pseudonym;
    return entry.name.size();
  }
  return 0;
}

std::size_t TextRedactor::match_home(std::string_view text, std::size_t at, std::string& out) {
  const std::string_view owner = home_owner(text.substr(at));
  if (owner.empty() || is_generic_name(owner)) return 0;
  const auto start = static_cast<std::size_t>(owner.data() - text.data());
  out.append(text, at, start - at);
  out += pseudonyms_.of(Pseudonyms::Kind::User, owner);
  return start + owner.size() - at;
}

/// "UUID=1234-ABCD" of a FAT disk, "PARTUUID=…-02", "LABEL=…": whole UUIDs are another matter.
std::size_t TextRedactor::match_disk(std::string_view text, std::size_t at, std::string& out) {
  for (const std::string_view key : {"UUID=", "PARTUUID=", "LABEL=", "PARTLABEL="}) {
    if (is_word(before(text, at)) || !text.substr(at).starts_with(key)) continue;
    const std::size_t start = at + key.size();
    const std::size_t length = run_of(text, start, [](char c) { return is_word(c) || c == '-' || c == '_' || c == '.'; });
    const std::string_view value = text.substr(start, length);
    if (length == 0 || uuid_length(text, start) != 0 || value.starts_with("disk")) return 0;
    out.append(key).append(pseudonyms_.of(Pseudonyms::Kind::Disk, value));
    return key.size() + length;
  }
  return 0;
}

std::size_t TextRedactor::match_uuid(std::string_view text, std::size_t at, std::string& out) {
  if (is_hex(before(text, at)) && is_word(before(text, at))) return 0;
  if (const std::size_t length = uuid_length(text, at); length != 0 && !is_word(after(text, at + length))) {
    const std::string uuid = lowered(text.substr(at, length));
    const bool means_nothing = uuid.find_first_not_of("0-") == std::string::npos;
    out += means_nothing ? uuid : pseudonyms_.of(Pseudonyms::Kind::Uuid, uuid);
    return length;
  }
  // CUDA_VISIBLE_DEVICES takes the beginning of a UUID, too.
  const bool prefixed = at >= 4 && (text.substr(at - 4, 4) == "GPU-" || text.substr(at - 4, 4) == "MIG-");
  const std::size_t length = run_of(text, at, [](char c) { return is_hex(c) || c == '-'; });
  if (!prefixed || length == 0 || is_word(after(text, at + length))) return 0;
  const std::string known = pseudonyms_.of_uuid_prefix(lowered(text.substr(at, length)));
  out += known.empty() ? "ffffffff" : known;
  return length;
}

std::size_t TextRedactor::match_mac(std::string_view text, std::size_t at, std::string& out) {
  constexpr std::size_t length = 17;
  if (text.size() - at < length || is_word(before(text, at)) || before(text, at) == ':') return 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (i % 3 == 2 ? text[at + i] != ':' : !is_hex(text[at + i])) return 0;
  }
  if (is_word(after(text, at + length)) || after(text, at + length) == ':') return 0;
  out += pseudonyms_.of(Pseudonyms::Kind::Mac, lowered(text.substr(at, length)));
  return length;
}

std::size_t TextRedactor::match_ipv4(std::string_view text, std::size_t at, std::string& out) {
  const char previous = before(text, at);
  if (is_word(previous) || previous == '.' || previous == '-') return 0;
  std::size_t end = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && after(text, end++) != '.') return 0;
    const std::size_t digits = end < text.size() ? run_of(text, end, is_digit) : 0;
    if (digits == 0 || digits > 3) return 0;
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = value * 10 + static_cast<unsigned>(text[end + i] - '0');
    if (value > 255) return 0;
    end += digits;
  }
  const char next = after(text, end);
  const bool goes_on =
      is_word(next) || next == '-' || next == '_' || next == '+' || next == '~' || (next == '.' && is_word(after(text, end + 1)));
  const std::string_view address = text.substr(at, end - at);
  if (goes_on || address.starts_with("127.") || address.starts_with("0.") || address.starts_with("255.")) return 0;
  out += pseudonyms_.of(Pseudonyms::Kind::Ipv4, address);
  return end - at;
}

std::size_t TextRedactor::match_ipv6(std::string_view text, std::size_t at, std::string& out) {
  if (is_word(before(text, at)) || before(text, at) == ':') return 0;
  const std::size_t length = run_of(text, at, [](char c) { return is_hex(c) || c == ':'; });
  const std::string_view address = text.substr(at, length);
  const auto colons = std::count(address.begin(), address.end(), ':');
  // "::" or seven colons: a PCI address or a time of day has neither.
  const std::size_t gap = address.find("::");
  if (length < 6 || colons > 7 || is_word(after(text, at + length)) || address.find(":::") != std::string_view::npos) return 0;
  if (gap == std::string_view::npos && colons != 7) return 0;
  if (colons < 2 || address.front() == ':' || address.back() == ':') return 0;
  out += pseudonyms_.of(Pseudonyms::Kind::Ipv6, lowered(address));
  return length;
}

/// "serial number: 0324718089123", "Serial=…"
std::size_t TextRedactor::match_serial(std::string_view text, std::size_t at, std::string& out) {
  if (!starts_with_nocase(text, at, "serial")) return 0;
  std::size_t end = at + 6;
  for (const std::string_view more : {" number", "number", " no.", " no"}) {
    if (!starts_with_nocase(text, end, more)) continue;
    end += more.size();
    break;
  }
  const std::size_t start = end + run_of(text, end, [](char c) { return c == ' ' || c == ':' || c == '=' || c == '#'; });
  const std::size_t length = run_of(text, start, [](char c) { return is_word(c) || c == '-'; });
  const std::string_view serial = text.substr(start, length);
  const bool has_digit = std::any_of(serial.begin(), serial.end(), is_digit);
  if (start == end || length < 6 || !has_digit || serial.starts_with("serial")) return 0;
  out.append(text, at, start - at).append(pseudonyms_.of(Pseudonyms::Kind::Serial, serial));
  return start + length - at;
}

namespace {

bool is_secret_part(std::string_view part) {
  for (const std::string_view word :
       {"token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "pass", "pw", "pwd", "apikey", "credential",
        "credentials", "sig", "signature", "auth", "pgpassword", "mysql_pwd"}) {
    if (part.size() == word.size() && starts_with_nocase(part, 0, word)) return true;
  }
  return false;
}

/// "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "hf-token": does one of the parts of a name say that its value is a secret? Whole parts
/// only: "tokenizers" is a package.
bool is_secret_name(std::string_view name) {
  std::string_view before;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("_-"), name.size());
    const std::string_view part = name.substr(0, end);
    const bool key = part.size() == 3 && starts_with_nocase(part, 0, "key") && before.size() > 2;
    const bool named_key = key && (starts_with_nocase(before, 0, "api") || starts_with_nocase(before, 0, "access") ||
                                   starts_with_nocase(before, 0, "private") || starts_with_nocase(before, 0, "account"));
    if (is_secret_part(part) || named_key) return true;
    before = part;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

/// Where the value begins that a name before it calls a secret: NAME=value, NAME="value", --name value, "bearer value"; 0: none.
std::size_t secret_value_at(std::string_view text, std::size_t at) {
  if (starts_with_nocase(text, at, "bearer ")) return at + 7;
  const bool option = text.substr(at).starts_with("--");
  const std::size_t name = at + (option ? 2 : 0);
  const std::size_t length = run_of(text, name, [](char c) { return is_word(c) || c == '_' || c == '-'; });
  const char behind = after(text, name + length);
  if (length < 2 || (behind != '=' && !(option && behind == ' ')) || after(text, name + length + 1) == '=') return 0;
  return is_secret_name(text.substr(name, length)) ? name + length + 1 : 0;
}

}  // namespace

/// Credentials in a URL, tokens of well-known shapes, and key=value pairs whose key says it.
std::size_t TextRedactor::match_secret(std::string_view text, std::size_t at, std::string& out) {
  const auto ends_secret = [](char c) { return std::string_view(" \t\r\n\"',;&|<>()").find(c) == std::string_view::npos; };
  if (text.substr(at).starts_with("://")) {
    const std::size_t start = at + 3;
    const std::size_t length =
        run_of(text, start, [](char c) { return std::string_view(" \t\r\n\"'/@<>").find(c) == std::string_view::npos; });
    if (after(text, start + length) != '@' || text.substr(start, length) == removed) return 0;
    out.append("://").append(removed);
    return 3 + length;
  }
  if (is_word(before(text, at))) return 0;
  for (const std::string_view shape :
       {"hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "nvapi-", "xoxb-", "xoxp-", "AKIA", "eyJ", "pypi-"}) {
    if (!text.substr(at).starts_with(shape)) continue;
    const std::size_t length = run_of(text, at, [](char c) { return is_word(c) || c == '_' || c == '-' || c == '.'; });
    if (length < 20) return 0;
    out += removed;
    return length;
  }
  const std::size_t start = secret_value_at(text, at);
  if (start == 0) return 0;
  const char quote = after(text, start);
  const bool quoted = quote == '"' || quote == '\'';
  const std::size_t from = start + (quoted ? 1 : 0);
  const std::size_t length = quoted ? std::min(text.find(quote, from), text.size()) - from : run_of(text, from, ends_secret);
  if (length == 0 || text.substr(from, length) == removed) return 0;
  out.append(text, at, from - at).append(removed);
  return from - at + length;
}

std::size_t TextRedactor::match(std::string_view text, std::size_t at, bool addresses, std::string& out) {
  std::size_t taken = match_secret(text, at, out);
  if (taken == 0) taken = match_home(text, at, out);
  if (taken == 0) taken = match_disk(text, at, out);
  if (taken == 0) taken = match_uuid(text, at, out);
  if (taken == 0) taken = match_mac(text, at, out);
  if (taken == 0) taken = match_serial(text, at, out);
  if (taken == 0 && addresses) taken = match_ipv4(text, at, out);
  if (taken == 0 && addresses) taken = match_ipv6(text, at, out);
  if (taken == 0) taken = match_name(text, at, out);
  return taken;
}

std::string TextRedactor::redact(std::string_view text, bool addresses) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t taken = match(text, at, addresses, out);
    if (taken == 0) out += text[at];
    at += taken == 0 ? 1 : taken;
  }
  return out;
}

}  // namespace gpuvet
