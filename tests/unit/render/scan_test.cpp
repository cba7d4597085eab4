// The report of gpuvet scan: targets in short, groups, widths, languages, foreign names.

#include "render/scan.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

GpuCodeTarget target(const char* kind, const char* arch, const char* isa = "", const char* oldest = "") {
  GpuCodeTarget out;
  out.kind = kind, out.arch = arch, out.count = 1, out.listed = 1, out.ptx_isa = isa;
  out.ptx_isa_oldest = *oldest == '\0' ? isa : oldest;
  return out;
}

ScanReport sample() {
  static const Knowledge knowledge;
  ScanReport report;
  report.roots = {"/opt"};
  report.gpus = {{"RTX 4090", "RTX 4090 (8.9)", {8, 9}}, {"12.0", "sm_120 (12.0)", {12, 0}}};
  GpuCodeFile torch;
  torch.path = "/opt/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so";
  torch.targets = {target("sass", "sm_80"), target("sass", "sm_90a"), target("ptx", "compute_80", "8.0"),
                   target("ptx", "compute_90", "8.0"), target("lto", "lto_75")};
  GpuCodeFile old = torch;
  old.path = "/opt/x\x1b[31m\n/libold.so";
  old.targets = {target("sass", "sm_80")};
  GpuCodeFile stub;
  stub.path = "/opt/app";
  stub.stub_containers = 1;
  stub.stub_targets = {{"sm_75", 1}};
  for (const GpuCodeFile& code : {torch, old, stub}) {
    ScanReport::File file{code, {}};
    for (const ScanGpu& gpu : report.gpus) file.verdicts.push_back(judge_gpu_code(code, gpu.capability, {}, knowledge));
    report.files.push_back(file);
  }
  report.files_seen = 12345;
  report.problems = {{"/opt/secret", "/opt/secret: permission denied"}};
  return report;
}

std::string text_of(const ScanReport& report, RenderOptions options = {}) {
  return render_scan_text(report, Knowledge(), options);
}

TEST(ScanText, TargetsInShort) {
  EXPECT_EQ(scan_targets_text(sample().files[0].code.targets, true), "sm_80 90a | ptx 80 90 (ISA 8.0) | lto 75");
  EXPECT_EQ(scan_targets_text({target("ptx", "compute_50", "8.4", "7.0"), target("ptx", "compute_90", "8.4")}, true),
            "ptx 50 (ISA 7.0-8.4) 90 (ISA 8.4)");
}

TEST(ScanText, SaysWhatRunsAndWhatFails) {
  const std::string text = text_of(sample());
  EXPECT_NE(text.find("lib/python3.11/site-packages/torch/lib/libtorch_cuda.so"), std::string::npos);
  EXPECT_EQ(text.find("/opt/lib"), std::string::npos) << "paths are relative to the folder that was named";
  EXPECT_NE(text.find("RTX 4090 (8.9): runs: machine code sm_80"), std::string::npos);
  EXPECT_NE(text.find("PTX compute_90 (ISA 8.0)"), std::string::npos);
  EXPECT_NE(text.find("error 209"), std::string::npos);
  EXPECT_NE(text.find("empty frame for sm_75"), std::string::npos);
  EXPECT_NE(text.find("2 files have GPU code (12,345 files looked at)."), std::string::npos);
  EXPECT_NE(text.find("sm_120 (12.0): 1 of 2 files with GPU code will fail."), std::string::npos);
  EXPECT_NE(text.find("permission denied"), std::string::npos);
}

TEST(ScanText, ForeignNamesAreMadeSafeInAllForms) {
  const ScanReport report = sample();
  for (const std::string& text :
       {text_of(report), render_scan_markdown(report, Knowledge(), {}), render_scan_json(report, Knowledge(), {})})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ScanText, NarrowTerminalsAndOtherLanguages) {
  RenderOptions narrow;
  narrow.width = 30;
  for (const Language language : {Language::English, Language::Chinese}) {
    narrow.language = language;
    EXPECT_FALSE(text_of(sample(), narrow).empty());
  }
  EXPECT_NE(text_of(sample(), narrow).find("209"), std::string::npos);
  RenderOptions ascii;
  ascii.ascii = true;
  for (const char c : text_of(sample(), ascii)) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(ScanGroups, PackagesAndLibraries) {
  EXPECT_EQ(scan_group("/v/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so"), "torch");
  EXPECT_EQ(scan_group("/v/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12"), "nvidia-cublas");
  EXPECT_EQ(scan_group("torch-2.9.whl:torch/lib/libtorch_cuda.so"), "torch");
  EXPECT_EQ(scan_group("x.conda:pkg-x.tar.zst:lib/libcufft.so.11"), "libcufft");
  EXPECT_EQ(scan_group("/usr/local/cuda/lib64/libcublasLt.so.13.1.0"), "libcublasLt");
  EXPECT_EQ(scan_group("/usr/local/cuda/lib64/libcufft_static.a"), "libcufft");
  EXPECT_EQ(scan_group("/home/x/app"), "app");
  EXPECT_EQ(scan_group("/v/site-packages/single.so"), "single");
}

TEST(ScanExitCode, FollowsTheVerdicts) {
  ScanReport report = sample();
  EXPECT_EQ(exit_code(report), 1);
  report.files.erase(report.files.begin() + 1);
  EXPECT_EQ(exit_code(report), 0);
  report.files.erase(report.files.begin());
  EXPECT_EQ(exit_code(report), 3);
  report = sample();
  report.gpus.clear();
  for (ScanReport::File& file : report.files) file.verdicts.clear();
  EXPECT_EQ(exit_code(report), 0);
  EXPECT_EQ(exit_code(ScanReport{}), 3);
}

}  // namespace
}  // namespace gpuvet
