#pragma once
// Notes of an ELF file that a loader or a person asks for. Formats: the gABI (chapter 5, "Note Section"), the x86-64 psABI
// (".note.gnu.property") and binutils' include/elf/common.h.

#include <cstdint>
#include <string>

#include "elf/dynamic.h"

namespace gpuvet {

struct ElfNotes {
  std::string build_id;         ///< hexadecimal; empty: none
  std::int64_t isa_needed = 0;  ///< x86-64 level, 1 baseline … 4, more: unknown to us and to CPUs of today; 0: none told
};

/// From PT_NOTE and PT_GNU_PROPERTY, at most 16 segments of 64 KiB.
ElfNotes read_notes(const ElfFile& elf);

}  // namespace gpuvet
