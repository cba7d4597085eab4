#pragma once
// What a line of the kernel log, or of a program around the driver, is about.

#include <cstdint>
#include <string>
#include <string_view>

#include "text/log_line.h"

namespace gpuvet {

/// `kind` as LogEvent::kind lists them; null: the line does not matter.
struct LogKind {
  const char* kind = nullptr;
  std::string pci;         ///< "0000:01:00"; empty
  std::int64_t code = -1;  ///< Xid or SXid number
};

LogKind log_kind(const LogLine& line);

/// The first (or last) PCI address in a text as "0000:01:00": domain, bus, device, lower case, no function. Empty: none.
std::string pci_address_in(std::string_view text, bool last = false);

}  // namespace gpuvet
