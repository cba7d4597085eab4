// kb driver V

#include <algorithm>
#include <map>
#include <set>

#include "commands/kb_topics.h"
#include "knowledge/table.h"

namespace gpuvet::kb {
namespace {

constexpr std::string_view compatibility_source =
    "docs.nvidia.com/deploy/cuda-compatibility (minor-version compatibility); facts/cuda_releases.tsv";

/// The version that is judged: the given one, or for a bare branch its last known release (else its first).
std::optional<DriverVersion> judged_version(std::string_view text, const DriverBranch& branch) {
  if (text.find('.') != std::string_view::npos) return DriverVersion::parse(text);
  const auto last = DriverVersion::parse(branch.last_known_release);
  return last ? last : DriverVersion::parse(branch.first_release);
}

struct Runtimes {
  std::vector<std::string> native, compatible;
  std::map<std::string, std::vector<std::string>> refused;  ///< by the driver that they need
};

Runtimes runtimes_of(const Knowledge& knowledge, const DriverVersion& driver, const CudaVersion& native) {
  Runtimes runtimes;
  for (const std::string& release : cuda_minor_releases(knowledge)) {
    const auto version = CudaVersion::parse(release);
    const auto least = version ? knowledge.least_driver_for_runtime(*version) : std::nullopt;
    if (!least) continue;
    if (driver < *least) {
      runtimes.refused[least->text].push_back(release);
    } else if (*version <= native) {
      runtimes.native.push_back(release);
    } else if (version->major == native.major) {
      runtimes.compatible.push_back(release);
    } else {
      runtimes.refused[least->text].push_back(release);
    }
  }
  return runtimes;
}

void add_runtimes(Answer& answer, const Knowledge& knowledge, const DriverVersion& driver, const CudaVersion& native,
                  Language language) {
  const Runtimes runtimes = runtimes_of(knowledge, driver, native);
  const auto order = cuda_minor_releases(knowledge);
  const std::string source(compatibility_source);
  answer.add("runtimes_native", say(language, "CUDA runtimes that it runs natively", "原生支持的 CUDA 运行时"),
             ranges(runtimes.native, order), source);
  std::string compatible = ranges(runtimes.compatible, order);
  if (!compatible.empty()) {
    compatible += say(language, "; not what needs a newer driver's features, nor PTX of a newer compiler (error 222)",
                      "；需要新驱动功能的除外，更新编译器生成的 PTX 也不行（错误 222）");
  }
  answer.add("runtimes_minor_compatibility", say(language, "runs through minor-version compatibility", "靠次版本兼容可运行"),
             compatible, source);
  std::string refused;
  for (const auto& [least, releases] : runtimes.refused) {
    refused += (refused.empty() ? "" : "; ") + ranges(releases, order) + say(language, " (needs ", "（需要 ") + least +
               say(language, ")", "）");
  }
  answer.add("runtimes_refused", say(language, "runtimes that need a newer driver", "需要更新驱动的运行时"), refused, source);
}

/// One id of each chip, so that a question about chips does not read 1,500 rows again and again.
std::vector<std::uint16_t> one_id_per_chip(const Knowledge& knowledge) {
  const Knowledge::Table& devices = knowledge.table("pci_devices");
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::uint16_t> ids;
  for (const auto& row : devices.rows) {
    const std::string chip(devices.cell(row, "chip"));
    if (chip.empty() || devices.cell(row, "compute_capability").empty()) continue;
    // Boards of one chip may end at different branches (GRID K1 and K2).
    if (!seen.emplace(chip, std::string(devices.cell(row, "legacy_branch"))).second) continue;
    ids.push_back(static_cast<std::uint16_t>(std::stoul(std::string(devices.cell(row, "device_id")), nullptr, 16)));
  }
  return ids;
}

void add_architectures(Answer& answer, const Knowledge& knowledge, const DriverVersion& driver, Language language) {
  struct Architecture {
    ComputeCapability least;
    std::string name;
    bool served = false, dropped = false;
  };
  std::map<std::string, Architecture> architectures;
  for (const std::uint16_t id : one_id_per_chip(knowledge)) {
    const GpuIdentity gpu = knowledge.gpu(id);
    Architecture& entry =
        architectures.try_emplace(gpu.architecture, Architecture{*gpu.compute_capability, gpu.architecture, false, false})
            .first->second;
    entry.least = std::min(entry.least, *gpu.compute_capability);
    const Served served = driver_serves(driver, gpu);
    entry.served |= served == Served::Yes;
    entry.dropped |= served == Served::DroppedByDriver;
  }
  std::vector<Architecture> sorted;
  for (const auto& [name, entry] : architectures) sorted.push_back(entry);
  std::sort(sorted.begin(), sorted.end(), [](const Architecture& a, const Architecture& b) { return a.least < b.least; });
  std::string served, dropped;
  for (const Architecture& entry : sorted) {
    std::string& list = entry.served ? served : dropped;
    if (entry.served || entry.dropped) list += (list.empty() ? "" : ", ") + entry.name;
  }
  const std::string source = "facts/gpu_architectures.tsv, facts/first_driver_by_branch.tsv, facts/pci_devices.tsv (by chip)";
  answer.add("architectures",
             say(language, "GPU architectures that it serves (CUDA-capable ones)", "支持的 GPU 架构（具备 CUDA 能力的）"), served,
             source);
  answer.add("architectures_dropped", say(language, "no longer served", "已不再支持"), dropped, source);
}

void add_branch(Answer& answer, const DriverBranch& branch, Language language) {
  answer.add("branch", say(language, "branch", "分支"), "R" + std::to_string(branch.branch), branch.source);
  answer.add("cuda", say(language, "CUDA version that it reports", "报告的 CUDA 版本"), branch.cuda ? branch.cuda->text() : "",
             branch.source);
  answer.add("type", say(language, "type", "类型"), branch.type, branch.source);
  answer.add("end_of_life", say(language, "end of life", "停止维护"), branch.end_of_life, branch.source);
  answer.add("releases", say(language, "known releases", "已知版本"),
             branch.first_release + (branch.last_known_release.empty() ? "" : " – " + branch.last_known_release), branch.source);
  answer.add("notes", say(language, "notes", "备注"), branch.notes, branch.source);
  answer.add("open_modules", say(language, "open kernel modules", "开源内核模块"),
             branch.branch >= 515 ? say(language, "yes, for Turing and later", "有，用于 Turing 及更新架构")
                                  : say(language, "no, they begin with R515", "没有，从 R515 开始才有"),
             "NVIDIA/open-gpu-kernel-modules tags; facts/driver_branches.tsv");
}

void add_forward_compatibility(Answer& answer, const Knowledge& knowledge, const DriverBranch& branch, Language language) {
  const Knowledge::Table& packages = knowledge.table("compat_packages");
  std::string list, source;
  for (const auto& row : packages.rows) {
    if (packages.cell(row, "base_driver_branch") != std::to_string(branch.branch) || packages.cell(row, "status") != "supported")
      continue;
    list += (list.empty() ? "" : ", ") + std::string(packages.cell(row, "package"));
    source = packages.cell(row, "source");
  }
  answer.add("forward_compatibility",
             say(language, "forward compatibility (data-centre GPUs, selected RTX boards, Jetson)",
                 "前向兼容（数据中心 GPU、部分 RTX 板卡和 Jetson）"),
             list, source);
}

void add_defects(Answer& answer, const Knowledge& knowledge, const DriverVersion& driver, Language language) {
  for (const DriverDefect& defect : knowledge.driver_defects()) {
    if (driver < defect.first || defect.last < driver) continue;
    std::string text = language == Language::Chinese ? defect.defect_zh : defect.defect_en;
    if (defect.flavor == "open") text += say(language, " Open modules only.", "仅限开源模块。");
    if (!defect.fixed_in.empty()) text += say(language, " Fixed in ", "修复于 ") + defect.fixed_in + say(language, ".", "。");
    answer.add("known_defect", say(language, "known defect", "已知缺陷"), text, defect.source);
  }
}

}  // namespace

std::vector<Answer> driver(const Knowledge& knowledge, std::string_view version, Language language) {
  if (!version.empty() && (version[0] == 'R' || version[0] == 'r')) version.remove_prefix(1);
  const auto branch_number = number(version.substr(0, version.find('.')));
  const auto branch =
      branch_number && *branch_number > 0 ? knowledge.driver_branch(static_cast<std::uint32_t>(*branch_number)) : std::nullopt;
  if (!branch) return {};
  const auto judged = judged_version(version, *branch);
  if (!judged) return {};
  Answer answer;
  const bool given = version.find('.') != std::string_view::npos;
  answer.subject =
      say(language, "NVIDIA Linux driver ", "NVIDIA Linux 驱动 ") + (given ? judged->text : "R" + std::to_string(branch->branch));
  if (!given) answer.subject += say(language, " (judged by ", "（按 ") + judged->text + say(language, ")", " 判断）");
  add_branch(answer, *branch, language);
  const auto last = DriverVersion::parse(branch->last_known_release);
  if (given && last && *last < *judged) {
    answer.add(
        "beyond_tables", say(language, "note", "注意"),
        say(language, "newer than the last release of this branch that the tables know", "比知识表所知的该分支最新版本还要新"),
        branch->source);
  }
  if (branch->cuda) add_runtimes(answer, knowledge, *judged, *branch->cuda, language);
  add_forward_compatibility(answer, knowledge, *branch, language);
  add_architectures(answer, knowledge, *judged, language);
  add_defects(answer, knowledge, *judged, language);
  return {answer};
}

}  // namespace gpuvet::kb
