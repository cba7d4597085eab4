#pragma once
// Readers of sysfs' PCI files: text and bytes in, facts out.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/machine.h"

namespace gpuvet {

/// "0000:01:00.0", domains of more than four digits (VMD) too.
bool is_pci_address(std::string_view text);

/// The addresses in a real sysfs path, outermost first: "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0" has two.
std::vector<std::string> addresses_in_path(std::string_view path);

/// sysfs `resource`: the BARs 0–5 and the ROM (6) that the device asks for. An error names the bad line.
tl::expected<std::vector<PciBar>, std::string> parse_pci_resource(std::string_view text);

/// The total of one aer_dev_* file: its TOTAL_… line, or the sum of the others.
std::optional<std::int64_t> parse_aer_total(std::string_view text);

/// Four bytes of configuration space, little endian; nothing where it cannot be read.
using ReadConfig = std::function<std::optional<std::uint32_t>(std::uint32_t offset)>;
/// The ACS control register: walks the list of extended capabilities (PCI Express Base Specification, 7.6.3 and 7.7.7) to the
/// one of id 0x000d. Absent when the list ends without it. Bounded, whatever the list says.
Fact<std::int64_t> find_acs_control(const ReadConfig& read);

}  // namespace gpuvet
