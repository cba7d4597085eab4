#pragma once
// What `gpuvet scan` found, for people and for programs.

#include <string>
#include <utility>
#include <vector>

#include "knowledge/gpu_code_verdict.h"
#include "render/render.h"

namespace gpuvet {

struct ScanGpu {
  std::string asked;  ///< as the user wrote it; "this" for this machine's
  std::string label;  ///< "RTX 4090 (8.9)"
  ComputeCapability capability;
};

struct ScanReport {
  struct File {
    GpuCodeFile code;
    std::vector<CodeJudgement> verdicts;  ///< one a GPU, in the order of `gpus`
  };
  std::vector<std::string> roots;  ///< what the user named: paths are shown relative to a single one
  std::vector<ScanGpu> gpus;
  CodeContext context;
  std::vector<File> files;
  std::vector<std::pair<std::string, std::string>> problems;  ///< path, why
  std::uint64_t files_seen = 0, files_read = 0, bytes_read = 0;
  bool stopped = false;
  bool misnamed = false;  ///< some path that the user named is not there, or is a FIFO, socket or device
};

/// 0: all run (or no GPU was asked for and there is code), 1: one fails, 2: a path was named that is not there or no file, 3:
/// nothing could be judged.
int exit_code(const ScanReport& report);

std::string render_scan_text(const ScanReport& report, const Knowledge& knowledge, const RenderOptions& options);
std::string render_scan_json(const ScanReport& report, const Knowledge& knowledge, const RenderOptions& options);
std::string render_scan_markdown(const ScanReport& report, const Knowledge& knowledge, const RenderOptions& options);

// ---- parts that the three share (scan_text.cpp) ----

/// "sm_75 80 86 90a · ptx 90 (ISA 8.0) 120 (ISA 9.0) · lto 75".
std::string scan_targets_text(const std::vector<GpuCodeTarget>& targets, bool ascii);
/// The verdict in words, with what else is to be known about the containers.
std::string scan_verdict_text(const GpuCodeFile& file, const CodeJudgement& verdict, const ScanGpu& gpu,
                              const RenderOptions& options);
/// What a file belongs to: a package of site-packages or of a wheel ("torch", "nvidia-cublas"), else the library's family.
std::string scan_group(std::string_view path);

struct ScanGroup {
  std::string name;
  std::size_t files = 0;
  std::vector<GpuCodeTarget> targets;  ///< of all its files
  std::vector<CodeVerdict> worst;      ///< one a GPU
};
std::vector<ScanGroup> scan_groups(const ScanReport& report);

}  // namespace gpuvet
