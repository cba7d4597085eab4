#pragma once
// The parts of read_driver, one file each.

#include "text/text_readers.h"

namespace gpuvet {

// bus_text.cpp: lspci in its forms. After the switches of laptops were read: they tell whether a partial list counts.
void read_bus(const PastedText& text, const Knowledge& knowledge, Machine& machine);
// module_text.cpp: lsmod, modinfo, NVRM banners, modprobe.d, DKMS, /lib/modules.
void read_modules(const PastedText& text, Machine& machine);
// package_text.cpp: lists of dpkg, apt, rpm, dnf, zypper and pacman, and what they say while they install.
void read_packages(const PastedText& text, Machine& machine);

/// Is the output of this command whole: is it followed by another prompt?
bool output_is_whole(const PastedText& text, const PasteSegment& segment);
/// The text behind the program's name: "-k -nn | grep VGA" of "/usr/bin/lspci -k -nn | grep VGA".
std::string_view arguments_of(const PasteSegment& segment);

}  // namespace gpuvet
