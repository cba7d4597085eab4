#pragma once
// From what a scanner found to the record of the file; shared by the readers of files and of streams.

#include <string_view>

#include "elf/fatbin_scanner.h"
#include "elf/file_places.h"
#include "elf/gpu_code_tally.h"
#include "model/machine.h"

namespace gpuvet {

/// How much of a file's beginning the kinds without sections are told by: PTX texts may begin with long comments.
inline constexpr std::size_t code_head_size = std::size_t{64} << 10;

/// Where the CUDA runtime takes registered GPU code from. PE names end after eight characters.
bool is_listed_section(std::string_view name);

/// Fills targets, containers, places and state. `head`: the first bytes of the file.
void put_gpu_code(const FatbinScanner& scanner, const GpuCodeTally& tally, const FileParts& parts, std::string_view head,
                  GpuCodeFile& into);

/// Keeps the first problem: what comes later often follows from it.
void set_problem(std::string_view state, std::string problem, GpuCodeFile& into);

}  // namespace gpuvet
