#pragma once
// Will the GPU code of a file run on a GPU? The rules: design §5 and docs/gpu-code.md.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/gpu_targets.h"
#include "knowledge/knowledge.h"

namespace gpuvet {

/// A row of NVIDIA's table of PTX releases: the driver branch from which on the driver's compiler reads this ISA version.
struct PtxIsa {
  std::string version;  ///< "8.7"
  std::optional<CudaVersion> cuda;
  std::uint32_t driver_branch = 0;
  std::string source;
};
std::optional<PtxIsa> ptx_isa(const Knowledge& knowledge, std::string_view version);

enum class CodeVerdict : std::uint8_t {
  Native,   ///< machine code for this GPU
  Jit,      ///< the driver compiles PTX at first use
  Lto,      ///< only LTO-IR fits: runs when the program links it at run time
  Fails,    ///< CUDA refuses to start a kernel
  None,     ///< the file has no GPU code
  Unknown,  ///< not enough was read, or not enough is known
};
/// "native", "jit", "lto", "fails", "none", "unknown".
std::string_view code_verdict_name(CodeVerdict verdict);

enum class CodeReason : std::uint8_t {
  MachineCode,      ///< Native
  Ptx,              ///< Jit
  OnlyLto,          ///< Lto
  NoImage,          ///< Fails: error 209, no code for this GPU
  PtxTooNew,        ///< Fails: error 222, only PTX fits and its ISA is newer than the driver
  JitDisabled,      ///< Fails: error 223, only PTX fits and CUDA_DISABLE_PTX_JIT is set
  NoPtxForced,      ///< Fails: CUDA_FORCE_PTX_JIT is set and no PTX fits
  NoCode,           ///< None
  OnlyStubs,        ///< None: only frames without kernels, which name an architecture
  NotAllRead,       ///< Unknown: the file was not read to its end
  TargetNotKnown,   ///< Unknown: there is code of which nobody can say whether this GPU runs it
  PartOfPtxTooNew,  ///< Unknown: some of the PTX is newer than the driver
  PtxIsaNotKnown,   ///< Unknown: the ISA version is not in the table, so this driver may not read it
};
/// "machine-code", "ptx", …: the words of JSON.
std::string_view code_reason_name(CodeReason reason);

struct CodeJudgement {
  CodeVerdict verdict = CodeVerdict::Unknown;
  CodeReason reason = CodeReason::NotAllRead;
  std::string arch;              ///< what fits best: "sm_86", "compute_80"; empty: nothing does
  std::string ptx_isa;           ///< newest ISA version of that PTX
  std::uint32_t min_driver = 0;  ///< oldest driver branch that compiles it; 0: no JIT, or not known
  /// Containers of a library whose containers are all needed (not one that chooses among them, as cuBLAS does): without code for
  /// this GPU; with PTX only; made for single architectures ("sm_90a") on purpose.
  std::int64_t holes = 0, by_ptx = 0, special = 0;
  std::int64_t judged = 0;  ///< how many containers were asked; 0: not asked
};

struct CodeContext {
  std::optional<DriverVersion> driver;  ///< the user-mode driver that would compile PTX; nothing: not known
  bool force_ptx_jit = false;           ///< CUDA_FORCE_PTX_JIT
  bool disable_ptx_jit = false;         ///< CUDA_DISABLE_PTX_JIT
};

/// CUDA_FORCE_PTX_JIT and CUDA_DISABLE_PTX_JIT: set to anything but 0 or nothing.
void read_jit_variables(const std::map<std::string, std::string>& environment, CodeContext& context);

CodeJudgement judge_gpu_code(const GpuCodeFile& file, const ComputeCapability& gpu, const CodeContext& context,
                             const Knowledge& knowledge);

/// Oldest driver branch whose compiler accepts all PTX of this target; 0: no PTX, or not known.
std::uint32_t min_driver_of(const GpuCodeTarget& target, const Knowledge& knowledge);

/// NVIDIA's libraries that keep each architecture's kernels in containers of their own and choose at run time: for them only the
/// union over all containers counts. `path` may have folders and a version: "nvidia/cublas/lib/libcublasLt.so.12".
bool chooses_among_containers(std::string_view path);

}  // namespace gpuvet
