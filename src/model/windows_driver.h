#pragma once
// The two numbers of NVIDIA's driver in Windows.

#include <optional>
#include <string_view>

#include "model/version.h"

namespace gpuvet {

/// The driver behind the version that Windows gives a device's driver (DriverVer of its .inf, DriverVersion of WMI): the last
/// five digits, "32.0.15.6094" is 560.94 and "30.0.14.7212" is 472.12. Nothing for what has not four numbers of that form.
std::optional<DriverVersion> driver_of_windows_version(std::string_view device_version);

}  // namespace gpuvet
