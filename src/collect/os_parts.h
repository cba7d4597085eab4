#pragma once
// The parts of collect_os, one file each.

#include "collect/collect.h"
#include "collect/mounts.h"

namespace gpuvet {

void collect_release(System& system, OperatingSystem& os);   // os_release.cpp: os-release, architecture, C library
void collect_security(System& system, OperatingSystem& os);  // os_security.cpp: Secure Boot, lockdown, SELinux (after the worlds)
void collect_virtualization(System& system,
                            OperatingSystem& os);  // os_virtualization.cpp: DMI, hypervisor, cloud (after the kernel)
void collect_shared_memory(const MountTable& mounts, OperatingSystem& os);  // os_shared_memory.cpp: the size of /dev/shm
void collect_container(System& system, const std::map<std::string, std::string>& environment, const MountTable& mounts,
                       OperatingSystem& os);  // os_container.cpp: which container or sandbox this is, and every sign of it
void collect_confinement(System& system,
                         OperatingSystem& os);  // os_confinement.cpp: control groups, user namespace, limits, labels
void collect_worlds(System& system, const std::map<std::string, std::string>& environment,
                    OperatingSystem& os);  // os_worlds.cpp: WSL, Jetson

/// One variable of an os-release file: "Ubuntu" of `NAME="Ubuntu"`; quoting as in os-release(5).
std::string unquote_os_release(std::string_view value);
/// All variables of an os-release file.
std::map<std::string, std::string> parse_os_release(std::string_view text);

/// "2.35" out of the bytes of libc.so.6; empty when it is no glibc.
std::string glibc_version_in(std::string_view libc);
/// The same from the banner alone.
std::string glibc_banner_version(std::string_view bytes);

}  // namespace gpuvet
