// The signature behind a kernel module: "… signature, struct module_signature, marker". Format: include/linux/module_signature.h
// of Linux; the signature itself is PKCS#7 (RFC 2315, CMS RFC 5652) in DER.

#include <algorithm>

#include "elf/bytes.h"
#include "elf/module_file.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr auto marker = "~Module signature appended~\n"sv;
constexpr std::size_t trailer_size = 12;
constexpr std::uint8_t id_pkcs7 = 2;

constexpr std::uint8_t der_integer = 0x02, der_oid = 0x06, der_sequence = 0x30, der_set = 0x31, der_context_0 = 0xa0,
                       der_context_1 = 0xa1;

struct DerValue {
  std::uint8_t tag = 0;
  std::string_view content;
};

/// Takes the next value off the front of `der`; tag 0 when there is no whole one. Definite lengths up to four bytes.
DerValue take(std::string_view& der) {
  const ByteView v{der, true};
  if (der.size() < 2) return {};
  std::uint64_t length = v.u8(1), head = 2;
  if (length & 0x80) {
    const auto width = static_cast<unsigned>(length & 0x7f);
    if (width == 0 || width > 4 || !v.has(2, width)) return {};
    length = v.number(2, width);
    head += width;
  }
  if (!v.has(head, length)) return {};
  const DerValue value{v.u8(0), der.substr(head, length)};
  der.remove_prefix(head + length);
  return value;
}

/// Takes the next value if it has this tag.
DerValue take(std::string_view& der, std::uint8_t tag) {
  auto rest = der;
  const auto value = take(rest);
  if (value.tag != tag) return {};
  der = rest;
  return value;
}

/// commonName (2.5.4.3) of an X.501 Name: SEQUENCE of SET of SEQUENCE { OID, string }.
std::string common_name(std::string_view name) {
  std::string found;
  while (!name.empty()) {
    auto set = take(name, der_set);
    if (set.tag == 0) break;
    auto attribute = take(set.content, der_sequence);
    const auto oid = take(attribute.content, der_oid);
    const auto text = take(attribute.content);
    if (oid.content == "\x55\x04\x03"sv && found.empty()) found = text.content;
  }
  found.resize(std::min<std::size_t>(found.size(), 256));
  for (char& c : found)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return found;
}

/// Issuer's common name in the first SignerInfo; empty where the signer is told by key id only.
std::string pkcs7_signer(std::string_view der) {
  auto content_info = take(der, der_sequence);
  take(content_info.content, der_oid);
  auto wrapped = take(content_info.content, der_context_0);
  auto signed_data = take(wrapped.content, der_sequence);
  auto& parts = signed_data.content;
  take(parts, der_integer);    // version
  take(parts, der_set);        // digest algorithms
  take(parts, der_sequence);   // the (detached) content
  take(parts, der_context_0);  // certificates
  take(parts, der_context_1);  // revocation lists
  auto infos = take(parts, der_set);
  auto info = take(infos.content, der_sequence);
  take(info.content, der_integer);
  auto issuer_and_serial = take(info.content, der_sequence);
  const auto issuer = take(issuer_and_serial.content, der_sequence);
  return common_name(issuer.content);
}

}  // namespace

ModuleSignature read_module_signature(std::string_view tail) {
  ModuleSignature signature;
  if (!tail.ends_with(marker)) return signature;
  tail.remove_suffix(marker.size());
  if (tail.size() < trailer_size) return signature;
  const ByteView trailer{tail.substr(tail.size() - trailer_size), true};
  tail.remove_suffix(trailer_size);
  signature.present = true;
  const std::uint64_t length = trailer.u32(8), signer_length = trailer.u8(3), key_length = trailer.u8(4);
  if (trailer.u8(2) == id_pkcs7) {
    if (length <= tail.size()) signature.signer = pkcs7_signer(tail.substr(tail.size() - length));
    return signature;
  }
  // Kernels before 4.3 wrote the signer's name and key id in front of a bare signature.
  const auto whole = length + signer_length + key_length;
  if (whole <= tail.size()) signature.signer = tail.substr(tail.size() - whole, signer_length);
  return signature;
}

}  // namespace gpuvet
