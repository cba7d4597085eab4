// The verdict over the GPU code of one file: machine code first, then PTX, then LTO-IR, as the driver chooses.

#include "knowledge/gpu_code_verdict.h"

#include <algorithm>

#include "knowledge/impl.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

/// What the code of one kind offers to a GPU: the best answer, and the target closest to the GPU that gives it.
struct Offer {
  Serves answer = Serves::No;
  ComputeCapability capability;
  const GpuCodeTarget* target = nullptr;

  void take(Serves other, const ComputeCapability& made_for, const GpuCodeTarget& of) {
    if (other < answer || other == Serves::No) return;
    if (other == answer && made_for <= capability) return;  // of equals the first: plain before "a"
    answer = other, capability = made_for, target = &of;
  }
};

struct Offers {
  Offer sass, ptx, lto;
  bool any = false, not_known = false;
  bool listed = false;  ///< machine code or PTX where the CUDA runtime looks for it
};

/// LTO-IR is linked for the GPU at hand, from its architecture on.
Serves serves_lto(std::string_view arch, const ComputeCapability& gpu, ComputeCapability& made_for) {
  if (!arch.starts_with("lto_")) return Serves::Unknown;
  const auto target = parse_gpu_arch("compute_" + std::string(arch.substr(4)));
  if (!target) return Serves::Unknown;
  made_for = target->capability;
  return serves(*target, gpu);
}

Offers offers_of(const GpuCodeFile& file, const ComputeCapability& gpu) {
  Offers offers;
  for (const GpuCodeTarget& target : file.targets) {
    offers.any = true;
    ComputeCapability made_for;
    if (target.kind == "lto") {
      const Serves answer = serves_lto(target.arch, gpu, made_for);
      offers.lto.take(answer, made_for, target);
      continue;
    }
    const auto parsed = parse_gpu_arch(target.arch);
    if (!parsed || (target.kind != "sass" && target.kind != "ptx")) {
      offers.not_known = true;
      continue;
    }
    offers.listed |= target.listed > 0;
    (parsed->ptx ? offers.ptx : offers.sass).take(serves(*parsed, gpu), parsed->capability, target);
  }
  return offers;
}

CodeJudgement judgement(CodeVerdict verdict, CodeReason reason, const GpuCodeTarget* target = nullptr) {
  CodeJudgement out;
  out.verdict = verdict, out.reason = reason;
  if (target != nullptr) out.arch = target->arch, out.ptx_isa = target->ptx_isa;
  return out;
}

/// Nothing that is sure to run was found: is that the whole truth?
CodeJudgement judge_nothing(const GpuCodeFile& file, const Offers& offers, CodeReason failure) {
  if (!file.state.empty()) return judgement(CodeVerdict::Unknown, CodeReason::NotAllRead);
  if (offers.not_known || offers.sass.answer == Serves::Unknown || offers.ptx.answer == Serves::Unknown)
    return judgement(CodeVerdict::Unknown, CodeReason::TargetNotKnown);
  // LTO-IR beside listed machine code is for some functions (cuSPARSE's own operators), not in place of it.
  if (offers.lto.answer != Serves::No && !offers.listed)
    return judgement(CodeVerdict::Lto, CodeReason::OnlyLto, offers.lto.target);
  return judgement(CodeVerdict::Fails, failure);
}

/// Does the driver's compiler read at least some of the PTX that fits? Which of several the driver takes, nobody documents.
bool reads_some(const GpuCodeFile& file, const ComputeCapability& gpu, std::uint32_t driver_branch, const Knowledge& knowledge) {
  return std::ranges::any_of(file.targets, [&](const GpuCodeTarget& target) {
    const auto parsed = parse_gpu_arch(target.arch);
    if (!parsed || !parsed->ptx || serves(*parsed, gpu) != Serves::Yes) return false;
    const auto oldest = ptx_isa(knowledge, target.ptx_isa_oldest.empty() ? target.ptx_isa : target.ptx_isa_oldest);
    return !oldest || driver_branch >= oldest->driver_branch;
  });
}

/// May this driver compile the PTX that fits best?
CodeJudgement judge_jit(const GpuCodeFile& file, const GpuCodeTarget& target, const ComputeCapability& gpu,
                        const CodeContext& context, const Knowledge& knowledge) {
  CodeJudgement out = judgement(CodeVerdict::Jit, CodeReason::Ptx, &target);
  const auto newest = ptx_isa(knowledge, target.ptx_isa);
  if (newest) out.min_driver = newest->driver_branch;
  if (!context.driver) return out;
  const std::uint32_t branch = context.driver->branch;
  if (newest && branch >= newest->driver_branch) return out;
  out.verdict = CodeVerdict::Unknown;
  if (!newest) {
    out.reason = CodeReason::PtxIsaNotKnown;
  } else if (reads_some(file, gpu, branch, knowledge)) {
    out.reason = CodeReason::PartOfPtxTooNew;
  } else {
    out.verdict = CodeVerdict::Fails, out.reason = CodeReason::PtxTooNew;
  }
  return out;
}

CodeJudgement judge_union(const GpuCodeFile& file, const ComputeCapability& gpu, const CodeContext& context,
                          const Knowledge& knowledge) {
  Offers offers = offers_of(file, gpu);
  if (!offers.any) {
    if (!file.state.empty()) return judgement(CodeVerdict::Unknown, CodeReason::NotAllRead);
    return judgement(CodeVerdict::None, !file.stub_targets.empty() ? CodeReason::OnlyStubs : CodeReason::NoCode);
  }
  if (context.force_ptx_jit) {
    if (offers.ptx.answer != Serves::Yes) return judge_nothing(file, offers, CodeReason::NoPtxForced);
    return judge_jit(file, *offers.ptx.target, gpu, context, knowledge);
  }
  if (offers.sass.answer == Serves::Yes) return judgement(CodeVerdict::Native, CodeReason::MachineCode, offers.sass.target);
  if (offers.ptx.answer != Serves::Yes) return judge_nothing(file, offers, CodeReason::NoImage);
  if (context.disable_ptx_jit) return judge_nothing(file, offers, CodeReason::JitDisabled);
  CodeJudgement jit = judge_jit(file, *offers.ptx.target, gpu, context, knowledge);
  // Machine code of which nobody can say whether it fits, or a part that was not read, may still save what PTX does not.
  if (jit.verdict == CodeVerdict::Fails) {
    const CodeJudgement other = judge_nothing(file, offers, CodeReason::PtxTooNew);
    if (other.verdict != CodeVerdict::Fails) return other;
  }
  return jit;
}

/// What one container offers, of its set of targets "sm_80 sm_90a compute_90".
enum class Container : std::uint8_t { Native, Ptx, Special, Hole, NotJudged };

Container judge_container(std::string_view set, const ComputeCapability& gpu) {
  bool ptx = false, unknown = false, plain = false, any = false;
  while (!set.empty()) {
    const std::size_t end = std::min(set.find(' '), set.size());
    const auto target = parse_gpu_arch(set.substr(0, end));
    set.remove_prefix(std::min(end + 1, set.size()));
    if (!target) {
      unknown = true;  // LTO-IR, or a kind that is not known
      continue;
    }
    any = true;
    plain |= target->variant == 0;
    const Serves answer = serves(*target, gpu);
    if (answer == Serves::Yes && !target->ptx) return Container::Native;
    ptx |= answer == Serves::Yes;
    unknown |= answer == Serves::Unknown;
  }
  if (ptx) return Container::Ptx;
  if (unknown || !any) return Container::NotJudged;
  return plain ? Container::Hole : Container::Special;
}

void count_containers(const GpuCodeFile& file, const ComputeCapability& gpu, CodeJudgement& out) {
  for (const CodeCount& set : file.container_sets) {
    const Container answer = judge_container(set.name, gpu);
    if (answer == Container::NotJudged || set.count <= 0) continue;
    out.judged += set.count;
    if (answer == Container::Hole) out.holes += set.count;
    if (answer == Container::Ptx) out.by_ptx += set.count;
    if (answer == Container::Special) out.special += set.count;
  }
}

/// Relocatable device code: where the result of the device link has nothing for a GPU, the driver links the PTX of the single
/// units anew (bitsandbytes is built so), and a container alone tells nothing.
bool is_device_linked(const GpuCodeFile& file) {
  return std::ranges::any_of(file.places, [](const CodeCount& place) { return place.name == "__nv_relfatbin"; });
}

}  // namespace

std::string_view code_verdict_name(CodeVerdict verdict) {
  constexpr std::string_view names[] = {"native", "jit", "lto", "fails", "none", "unknown"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string_view code_reason_name(CodeReason reason) {
  constexpr std::string_view names[] = {"machine-code",     "ptx",          "only-lto",         "no-image",
                                        "ptx-too-new",      "jit-disabled", "no-ptx-forced",    "no-code",
                                        "only-stubs",       "not-all-read", "target-not-known", "part-of-ptx-too-new",
                                        "ptx-isa-not-known"};
  return names[static_cast<std::size_t>(reason)];
}

void read_jit_variables(const std::map<std::string, std::string>& environment, CodeContext& context) {
  const auto is_set = [&](const char* name) {
    const auto found = environment.find(name);
    return found != environment.end() && !found->second.empty() && found->second != "0";
  };
  context.force_ptx_jit = is_set("CUDA_FORCE_PTX_JIT");
  context.disable_ptx_jit = is_set("CUDA_DISABLE_PTX_JIT");
}

std::optional<PtxIsa> ptx_isa(const Knowledge& knowledge, std::string_view version) {
  if (version.empty()) return std::nullopt;
  const Knowledge::Table& table = knowledge.table("ptx_isa");
  const auto* row = table.find("ptx_isa", version);
  if (row == nullptr) return std::nullopt;
  const auto branch = parse_number(without_marker(table.cell(*row, "driver_branch")));
  if (!branch) return std::nullopt;
  return PtxIsa{std::string(version), CudaVersion::parse(table.cell(*row, "cuda_release")), *branch,
                std::string(table.cell(*row, "source"))};
}

std::uint32_t min_driver_of(const GpuCodeTarget& target, const Knowledge& knowledge) {
  if (target.kind != "ptx") return 0;
  const auto isa = ptx_isa(knowledge, target.ptx_isa);
  return isa ? isa->driver_branch : 0;
}

bool chooses_among_containers(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of("/:") + 1);
  // As prefixes: libcublasLt, libcudnn_ops, libcufftw, libnvjpeg2k … are among them.
  constexpr std::string_view families[] = {"libcublas", "libcudnn",      "libcufft",   "libcusparse", "libcusolver", "libcurand",
                                           "libnpp",    "libnccl",       "libnvjpeg",  "libcutensor", "libcudss",    "libcupti",
                                           "libnvblas", "libcustatevec", "libnvinfer", "libnvshmem",  "libnvtiff"};
  return std::ranges::any_of(families, [&](std::string_view family) { return name.starts_with(family); });
}

CodeJudgement judge_gpu_code(const GpuCodeFile& file, const ComputeCapability& gpu, const CodeContext& context,
                             const Knowledge& knowledge) {
  CodeJudgement out = judge_union(file, gpu, context, knowledge);
  if (!chooses_among_containers(file.path) && !is_device_linked(file)) count_containers(file, gpu, out);
  return out;
}

}  // namespace gpuvet
