#pragma once
// What the kernel's sign-file appends to a module: PKCS#7 SignedData with one SignerInfo, a trailer, a marker. The signature's own
// bytes are filler: readers show who signed, only a kernel verifies. Form: include/linux/module_signature.h of Linux; RFC 2315.

#include <cstddef>
#include <string>

namespace gpuvet::test {

/// A DER value: tag, definite length, content.
inline std::string der(char tag, const std::string& content) {
  std::string out(1, tag);
  if (content.size() < 128) {
    out += static_cast<char>(content.size());
  } else {
    out += '\x82';
    out += static_cast<char>(content.size() >> 8);
    out += static_cast<char>(content.size());
  }
  return out + content;
}

/// SignedData without certificates, as sign-file makes it; the signer is told by issuer and serial number.
inline std::string pkcs7(const std::string& common_name) {
  const auto attribute = [](const std::string& oid, const std::string& text) {
    return der(0x31, der(0x30, der(6, oid) + der(12, text)));
  };
  const std::string sha256("\x60\x86\x48\x01\x65\x03\x04\x02\x01"), rsa("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01");
  const std::string data("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"), signed_data("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02");
  const auto name = der(0x30, attribute("\x55\x04\x0a", "Some organisation") + attribute("\x55\x04\x03", common_name));
  const auto signer = der(0x30, der(2, "\1") + der(0x30, name + der(2, "\x12\x34")) + der(0x30, der(6, sha256)) +
                                    der(0x30, der(6, rsa) + der(5, "")) + der(4, std::string(256, 'x')));
  const auto content =
      der(0x30, der(2, "\1") + der(0x31, der(0x30, der(6, sha256))) + der(0x30, der(6, data)) + der(0x31, signer));
  return der(0x30, der(6, signed_data) + der('\xa0', content));
}

/// struct module_signature and the marker behind `signature`; `signer` and `key` are lengths of names that stand before it.
inline std::string signature_trailer(const std::string& signature, int type = 2, int signer = 0, int key = 0) {
  std::string out = signature;
  for (const int byte : {0, type == 2 ? 0 : 4, type, signer, key, 0, 0, 0}) out.push_back(static_cast<char>(byte));
  const auto length = signature.size() - static_cast<std::size_t>(signer + key);
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(length >> shift));
  return out + "~Module signature appended~\n";
}

}  // namespace gpuvet::test
