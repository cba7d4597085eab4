#pragma once
// What is known of a program that was asked for by its path (`--for ./PROGRAM`): its own GPU code, the libraries that it lacks,
// whether it uses CUDA at all. Nothing here judges.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/gpu_code_verdict.h"
#include "rules/rule.h"

namespace gpuvet {

/// An entry of a plan's problems: a "#!" line, or a library with CUDA in the folder that a program has for itself.
inline bool is_script_line(const Origin& problem) { return problem.text.starts_with("#!"); }
inline bool is_part_with_cuda(const Origin& problem) { return problem.text == "part with CUDA"; }

/// Plans of programs and of single libraries; the others are Python's.
inline bool is_program(const ProcessView& view) { return view.plan->kind != "python"; }

/// The files of a program that carry GPU code of their own.
std::vector<const GpuCodeFile*> code_files_of(const RuleContext& context, const ProcessView& view);

struct ProgramCode {
  const GpuCodeFile* file = nullptr;
  const MachineGpu* gpu = nullptr;
  CodeJudgement judgement;
};
/// One entry for each file with code and each usable GPU.
std::vector<ProgramCode> program_code(const RuleContext& context, const ProcessView& view);
/// Without its folder.
std::string file_name_of(const GpuCodeFile& file);
/// "sm_80 sm_90 compute_90".
std::string target_text(const GpuCodeFile& file);

/// Some file that it loads, or asks for, belongs to CUDA or to the driver, or carries GPU code. False says little: a program may
/// start another one, or open a library by a name that is made at run time.
bool uses_cuda(const RuleContext& context, const ProcessView& view);

/// Programs were asked for, none of them uses CUDA, and none is a script, which may start anything: then neither GPU nor driver
/// is needed.
bool nothing_uses_cuda(const RuleContext& context);

/// A file that fails on every usable GPU for this reason (the first of its entries).
struct UnservedFile {
  ProgramCode code;
  bool another_serves = false;  ///< another file of the program has code that does not fail
};
std::optional<UnservedFile> unserved_file(const RuleContext& context, const ProcessView& view, CodeReason reason);

/// CUDA's libraries that a process loads and that have code for none of the usable GPUs; one entry each, with the first GPU. Only
/// what was read to its end.
std::vector<ProgramCode> unserved_libraries(const RuleContext& context, const ProcessView& view);
/// "libcublas.so.12, libcublasLt.so.12": CUDA's libraries with kernels that it loads, cut behind some hundred characters.
std::string libraries_with_code(const ProcessView& view);

/// "libcudart.so.12 12.4, libcublas.so.12 12.4.5": what it loads of CUDA, cut behind some hundred characters.
std::string cuda_libraries_of(const ProcessView& view);

/// CUDA libraries that its files have the names of, to open them while it runs, and of which the loader finds none, under
/// whatever number. A program may go on without them. None where the process' environment was not seen.
std::vector<const MissingLibrary*> names_not_found(const RuleContext& context, const ProcessView& view);
/// "app: cuNewThing (libcuda.so.1)": symbols and versions that nothing in the process gives, the first three files' first ones.
std::string missing_symbols(const ProcessView& view);
/// It has GPU code, or a CUDA runtime or another CUDA library, or the driver's: the libraries that it opens by name are not all
/// that it could reach the GPU by.
bool has_way_to_cuda(const RuleContext& context, const ProcessView& view);

struct LackedLibrary {
  std::string soname;
  std::string needed_by;   ///< path of the file that needs it
  bool at_start = true;    ///< the program does not start without it; else a part that it opens later cannot be loaded
  std::string copy;        ///< a copy where the loader does not look; empty: none was found
  std::string other;       ///< the same library under another number: "/usr/local/cuda-12.6/lib64/libcudart.so.12"; empty: none
  std::string blocked_by;  ///< the loader ended at this damaged file instead of going on
  std::string error;       ///< with these words
  const MissingLibrary* missing = nullptr;
};
/// Libraries that some file of the program cannot do without. Those that are opened by name and may be absent are not among
/// them, nor is the driver's libcuda, which has rules of its own. Without the process' environment none is.
std::vector<LackedLibrary> lacked_libraries(const RuleContext& context, const ProcessView& view);

/// The program's own file (of a library: that one), or null.
const LibraryFile* main_file_of(const ProcessView& view);

/// It is made for another architecture than this machine's (32-bit x86 apart, which may run on x86-64).
bool is_for_other_architecture(const RuleContext& context, const ProcessView& view);

/// CUDA's major that a program was built with: the one of which all the CUDA libraries are that it asks for; 0: not told.
std::uint32_t cuda_major_of(const RuleContext& context, const ProcessView& view);

}  // namespace gpuvet
