// What a file's GPU code means for a GPU: machine code, PTX, LTO-IR, and when nothing fits.

#include "knowledge/gpu_code_verdict.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

/// "sm_80 compute_90:8.0 compute_120:7.0-8.7 lto_90" as a file.
GpuCodeFile file_of(const std::string& words, const std::string& path = "libx.so") {
  GpuCodeFile file;
  file.path = path;
  std::string rest = words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string word = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    GpuCodeTarget target;
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      const std::string isa = word.substr(colon + 1);
      const std::size_t dash = isa.find('-');
      target.ptx_isa_oldest = isa.substr(0, dash);
      target.ptx_isa = dash == std::string::npos ? isa : isa.substr(dash + 1);
      word.erase(colon);
    }
    target.kind = word.starts_with("sm_")        ? "sass"
                  : word.starts_with("lto_")     ? "lto"
                  : word.starts_with("compute_") ? "ptx"
                                                 : "other";
    target.arch = word;
    target.count = 1;
    file.targets.push_back(target);
  }
  return file;
}

const Knowledge& knowledge() {
  static const Knowledge tables;
  return tables;
}

CodeJudgement judge(const GpuCodeFile& file, const char* gpu, const char* driver = "", bool force = false, bool disable = false) {
  CodeContext context;
  context.driver = DriverVersion::parse(driver);
  context.force_ptx_jit = force, context.disable_ptx_jit = disable;
  return judge_gpu_code(file, *ComputeCapability::parse(gpu), context, knowledge());
}

std::string verdict(const std::string& words, const char* gpu, const char* driver = "") {
  return std::string(code_verdict_name(judge(file_of(words), gpu, driver).verdict));
}

TEST(GpuCodeVerdict, MachineCodeServesItsMajorFromItsMinorOn) {
  EXPECT_EQ(verdict("sm_80", "8.0"), "native");
  EXPECT_EQ(verdict("sm_80", "8.9"), "native");
  EXPECT_EQ(verdict("sm_86", "8.0"), "fails");
  EXPECT_EQ(verdict("sm_80", "9.0"), "fails");
  EXPECT_EQ(verdict("sm_120", "12.1"), "native");
  EXPECT_EQ(judge(file_of("sm_80 sm_86 sm_75"), "8.9").arch, "sm_86");
}

TEST(GpuCodeVerdict, ArchitectureSpecificCodeServesOneCapability) {
  EXPECT_EQ(verdict("sm_90a", "9.0"), "native");
  EXPECT_EQ(verdict("sm_90a", "10.0"), "fails");
  EXPECT_EQ(verdict("sm_100a", "10.3"), "fails");
  EXPECT_EQ(verdict("compute_90a:8.0", "12.0"), "fails");
  EXPECT_EQ(verdict("compute_90a:8.0", "9.0"), "jit");
}

TEST(GpuCodeVerdict, FamilyCodeServesItsFamily) {
  EXPECT_EQ(verdict("sm_100f", "10.3"), "native");
  EXPECT_EQ(verdict("sm_103f", "10.0"), "fails");
  EXPECT_EQ(verdict("sm_120f", "12.1"), "native");
  EXPECT_EQ(verdict("sm_100f", "12.0"), "fails");
  EXPECT_EQ(verdict("compute_100f:8.8", "11.0"), "fails");
  EXPECT_EQ(verdict("compute_120f:8.8", "12.1"), "jit");
  // Whether a later chip joins a family is not known.
  EXPECT_EQ(verdict("sm_100f", "10.7"), "unknown");
}

TEST(GpuCodeVerdict, TegraAndDesktopDoNotShareMachineCode) {
  EXPECT_EQ(verdict("sm_80 sm_86", "8.7"), "fails");
  EXPECT_EQ(verdict("sm_87", "8.7"), "native");
  EXPECT_EQ(verdict("sm_87", "8.9"), "fails");
  EXPECT_EQ(verdict("sm_70", "7.2"), "fails");
  EXPECT_EQ(verdict("sm_72", "7.5"), "fails");
  EXPECT_EQ(verdict("sm_80 compute_80:7.0", "8.7"), "jit");
  // sm_101 of CUDA 12.8 and sm_110 of 13.0 name the same chip.
  EXPECT_EQ(verdict("sm_101", "11.0"), "unknown");
}

TEST(GpuCodeVerdict, OldWheelOnNewGpu) {
  const GpuCodeFile wheel = file_of("sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90");
  const CodeJudgement answer = judge(wheel, "12.0");
  EXPECT_EQ(answer.verdict, CodeVerdict::Fails);
  EXPECT_EQ(answer.reason, CodeReason::NoImage);
  EXPECT_EQ(answer.arch, "");
}

TEST(GpuCodeVerdict, NewWheelOnPascal) {
  EXPECT_EQ(verdict("sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120:9.0", "6.1"), "fails");
  EXPECT_EQ(verdict("sm_60 sm_75", "6.1"), "native");
}

TEST(GpuCodeVerdict, PtxNeedsADriverThatKnowsItsIsa) {
  const CodeJudgement any = judge(file_of("sm_75 compute_90:8.7"), "12.0");
  EXPECT_EQ(any.verdict, CodeVerdict::Jit);
  EXPECT_EQ(any.min_driver, 570U);
  EXPECT_EQ(any.arch, "compute_90");
  EXPECT_EQ(verdict("compute_90:8.7", "12.0", "570.86.15"), "jit");
  const CodeJudgement old = judge(file_of("compute_80:8.7"), "8.9", "550.54.14");
  EXPECT_EQ(old.verdict, CodeVerdict::Fails);
  EXPECT_EQ(old.reason, CodeReason::PtxTooNew);
  EXPECT_EQ(judge(file_of("compute_80:7.0-8.7"), "8.9", "550.54.14").reason, CodeReason::PartOfPtxTooNew);
  EXPECT_EQ(judge(file_of("compute_50:6.0 compute_80:8.7"), "8.9", "550.54.14").reason, CodeReason::PartOfPtxTooNew);
  EXPECT_EQ(judge(file_of("compute_80:19.3"), "8.9", "550.54.14").reason, CodeReason::PtxIsaNotKnown);
  EXPECT_EQ(judge(file_of("compute_80:19.3"), "8.9").verdict, CodeVerdict::Jit);
  EXPECT_EQ(judge(file_of("compute_80:19.3"), "8.9").min_driver, 0U);
  // Machine code does not ask for the compiler.
  EXPECT_EQ(verdict("sm_80 compute_80:8.7", "8.9", "470.42.01"), "native");
}

TEST(GpuCodeVerdict, EnvironmentMayForbidEither) {
  EXPECT_EQ(judge(file_of("sm_80"), "8.0", "", true).reason, CodeReason::NoPtxForced);
  EXPECT_EQ(judge(file_of("sm_80 compute_80:7.0"), "8.0", "", true).verdict, CodeVerdict::Jit);
  EXPECT_EQ(judge(file_of("compute_80:7.0"), "8.0", "", false, true).reason, CodeReason::JitDisabled);
  EXPECT_EQ(judge(file_of("sm_80 compute_80:7.0"), "8.0", "", false, true).verdict, CodeVerdict::Native);
}

TEST(GpuCodeVerdict, LtoNeedsALinkAtRunTime) {
  EXPECT_EQ(verdict("lto_75", "12.0"), "lto");
  EXPECT_EQ(verdict("lto_90", "8.0"), "fails");
  EXPECT_EQ(verdict("sm_80 lto_75", "8.6"), "native");
  EXPECT_EQ(verdict("sm_80 lto_75", "9.0"), "lto");
  // Beside machine code that the CUDA runtime takes from .nv_fatbin, LTO-IR does not replace it.
  GpuCodeFile cusparse = file_of("sm_80 lto_60");
  cusparse.targets[0].listed = 1;
  EXPECT_EQ(judge(cusparse, "6.1").verdict, CodeVerdict::Fails);
}

TEST(GpuCodeVerdict, NothingIsNotTheSameAsNotSeen) {
  EXPECT_EQ(verdict("", "8.0"), "none");
  GpuCodeFile stubs;
  stubs.stub_containers = 1;
  stubs.stub_targets = {{"sm_75", 1}};
  EXPECT_EQ(judge(stubs, "8.0").reason, CodeReason::OnlyStubs);
  GpuCodeFile part = file_of("sm_80");
  part.state = "damaged";
  EXPECT_EQ(judge(part, "9.0").verdict, CodeVerdict::Unknown);
  EXPECT_EQ(judge(part, "8.0").verdict, CodeVerdict::Native);
  EXPECT_EQ(verdict("weird_4", "8.0"), "unknown");
}

TEST(GpuCodeVerdict, ContainersOfAFrameworkMayHaveHoles) {
  GpuCodeFile torch = file_of("sm_80 sm_90 sm_90a compute_90:8.0", "torch/lib/libtorch_cuda.so");
  torch.container_sets = {{"sm_80 sm_90 compute_90", 500}, {"sm_90a", 3}, {"sm_80", 7}, {"lto_80", 2}, {"other sets", 1}};
  const CodeJudgement hopper = judge(torch, "9.0");
  EXPECT_EQ(hopper.verdict, CodeVerdict::Native);
  EXPECT_EQ(hopper.judged, 510);
  EXPECT_EQ(hopper.holes, 7);
  const CodeJudgement ampere = judge(torch, "8.6");
  EXPECT_EQ(ampere.holes, 0);
  EXPECT_EQ(ampere.special, 3);
  EXPECT_EQ(judge(torch, "12.0").by_ptx, 500);
  // Nor do the containers of relocatable code stand alone.
  torch.places = {{"__nv_relfatbin", 509}, {".nv_fatbin", 1}};
  EXPECT_EQ(judge(torch, "9.0").judged, 0);
  torch.places.clear();
  // A library that chooses at run time is judged by the union.
  torch.path = "nvidia/cublas/lib/libcublasLt.so.12";
  EXPECT_EQ(judge(torch, "9.0").judged, 0);
}

TEST(GpuCodeVerdict, PtxIsaTable) {
  EXPECT_EQ(ptx_isa(knowledge(), "9.0")->driver_branch, 580U);
  EXPECT_EQ(ptx_isa(knowledge(), "8.5")->cuda->text(), "12.5");
  EXPECT_EQ(ptx_isa(knowledge(), "9.5")->driver_branch, 620U);
  EXPECT_FALSE(ptx_isa(knowledge(), "99.9"));
  // Where a branch of that number exists, it is the one that reports this CUDA version.
  for (const DriverBranch& branch : knowledge().driver_branches()) {
    for (const auto& row : {"7.1", "7.4", "8.0", "8.4", "8.7", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5"}) {
      const auto isa = ptx_isa(knowledge(), row);
      if (isa->driver_branch == branch.branch) {
        EXPECT_EQ(isa->cuda->text(), branch.cuda->text()) << row;
      }
    }
  }
}

}  // namespace
}  // namespace gpuvet
