// Pieces of the scan report that text, Markdown and JSON share.

#include <algorithm>
#include <map>

#include "render/messages.h"
#include "render/own_words.h"
#include "render/scan.h"

namespace gpuvet {
namespace {

std::string number_text(std::int64_t value) { return std::to_string(value); }

/// "sm_90a" → "90a".
std::string_view short_arch(std::string_view arch) {
  const std::size_t bar = arch.find('_');
  return bar == std::string_view::npos ? arch : arch.substr(bar + 1);
}

std::string isa_text(const GpuCodeTarget& target) {
  if (target.ptx_isa.empty()) return "";
  const bool range = !target.ptx_isa_oldest.empty() && target.ptx_isa_oldest != target.ptx_isa;
  return " (ISA " + (range ? target.ptx_isa_oldest + "-" : "") + target.ptx_isa + ")";
}

/// "sm_80 86", "ptx 80 90 (ISA 8.0) 120 (ISA 9.0)": an ISA version stands behind the last of those that have it.
std::string kind_text(const std::vector<GpuCodeTarget>& targets, std::string_view kind) {
  std::string text, isa;
  for (const GpuCodeTarget& target : targets) {
    if (target.kind != kind) continue;
    if (text.empty()) {
      text = kind == "sass" ? target.arch : std::string(kind) + " " + std::string(short_arch(target.arch));
    } else {
      if (isa_text(target) != isa) text += isa;
      text += " " + std::string(short_arch(target.arch));
    }
    isa = isa_text(target);
  }
  return text + isa;
}

std::string driver_text(const CodeJudgement& verdict) { return std::to_string(verdict.min_driver); }

std::string stub_names(const GpuCodeFile& file) {
  std::string names;
  for (const CodeCount& stub : file.stub_targets) names += (names.empty() ? "" : ", ") + printable(stub.name);
  return names.empty() ? "sm_?" : names;
}

Message message_of(const CodeJudgement& verdict) {
  switch (verdict.reason) {
    case CodeReason::MachineCode:
      return Message::ScanRuns;
    case CodeReason::Ptx:
      return verdict.min_driver != 0 ? Message::ScanJit : Message::ScanJitAnyDriver;
    case CodeReason::OnlyLto:
      return Message::ScanLto;
    case CodeReason::NoImage:
      return Message::ScanNoImage;
    case CodeReason::PtxTooNew:
      return Message::ScanPtxTooNew;
    case CodeReason::JitDisabled:
      return Message::ScanJitDisabled;
    case CodeReason::NoPtxForced:
      return Message::ScanNoPtxForced;
    case CodeReason::NoCode:
      return Message::ScanNoCode;
    case CodeReason::OnlyStubs:
      return Message::ScanOnlyStubs;
    case CodeReason::NotAllRead:
      return Message::ScanNotAllRead;
    case CodeReason::TargetNotKnown:
      return Message::ScanTargetNotKnown;
    case CodeReason::PartOfPtxTooNew:
      return Message::ScanPartOfPtxTooNew;
    case CodeReason::PtxIsaNotKnown:
      return Message::ScanPtxIsaNotKnown;
  }
  return Message::ScanNotAllRead;
}

std::string why_not_read(const GpuCodeFile& file, Language language) {
  if (!file.problem.empty()) return in_own_words(file.problem, language);
  return file.state.empty() ? "?" : printable(file.state);
}

void add_containers(std::string& text, const CodeJudgement& verdict, const RenderOptions& options) {
  const bool runs = verdict.verdict == CodeVerdict::Native || verdict.verdict == CodeVerdict::Jit;
  if (!runs || verdict.judged == 0) return;
  const auto say = [&](Message id, std::int64_t count) {
    text += options.language == Language::Chinese ? "；" : "; ";
    text += message(id, options.language, {{"n", number_text(count)}, {"all", number_text(verdict.judged)}});
  };
  if (verdict.holes > 0) say(Message::ScanHoles, verdict.holes);
  if (verdict.by_ptx > 0 && verdict.verdict == CodeVerdict::Native) say(Message::ScanByPtx, verdict.by_ptx);
  if (verdict.special > 0 && options.verbosity > 0) say(Message::ScanSpecial, verdict.special);
}

// ---- groups ----

std::string_view first_component(std::string_view path) { return path.substr(0, path.find('/')); }

/// "nvidia/cublas/lib/x.so" → "nvidia-cublas"; "torch/lib/x.so" → "torch"; a file alone has no package.
std::string package_of(std::string_view below_site_packages) {
  const std::string_view first = first_component(below_site_packages);
  if (first.size() == below_site_packages.size()) return "";
  if (first != "nvidia") return std::string(first);
  const std::string_view second = first_component(below_site_packages.substr(first.size() + 1));
  return "nvidia-" + std::string(second);
}

/// "libcublasLt.so.13.1" → "libcublasLt"; "x.o" → "x.o".
std::string family_of(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of("/:") + 1);
  if (const std::size_t so = name.find(".so"); so != std::string_view::npos && so > 0) name = name.substr(0, so);
  for (const std::string_view ending : {"_static.a", ".a"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.remove_suffix(ending.size());
      break;
    }
  }
  return std::string(name);
}

/// The place behind the archive's own name in "DIR/x.whl:torch/lib/y.so"; npos: no member of an archive.
std::size_t member_start(std::string_view path) {
  std::size_t start = std::string_view::npos;
  for (const std::string_view ending :
       {".whl:", ".zip:", ".conda:", ".egg:", ".gz:", ".xz:", ".zst:", ".bz2:", ".tar:", ".deb:"}) {
    const std::size_t at = path.rfind(ending);
    if (at == std::string_view::npos) continue;
    if (start == std::string_view::npos || at + ending.size() > start) start = at + ending.size();
  }
  return start;
}

int badness(CodeVerdict verdict) {
  constexpr int order[] = {1, 2, 3, 5, 0, 4};  // native, jit, lto, fails, none, unknown
  return order[static_cast<std::size_t>(verdict)];
}

/// "sm_90a" → 90 and the letter, for sorting.
std::pair<long, char> arch_order(std::string_view arch) {
  std::string_view text = short_arch(arch);
  long number = 0;
  std::size_t i = 0;
  for (; i < text.size() && i < 6 && text[i] >= '0' && text[i] <= '9'; ++i) number = number * 10 + (text[i] - '0');
  return {number, i < text.size() ? text[i] : '\0'};
}

/// Versions "8.7" and "10.0" by number.
bool older_isa(std::string_view a, std::string_view b) {
  const auto first = CudaVersion::parse(a), second = CudaVersion::parse(b);
  return first && second && *first < *second;
}

void add_targets(std::vector<GpuCodeTarget>& all, const std::vector<GpuCodeTarget>& more) {
  for (const GpuCodeTarget& target : more) {
    const auto same = std::ranges::find_if(
        all, [&](const GpuCodeTarget& known) { return known.kind == target.kind && known.arch == target.arch; });
    if (same == all.end()) {
      all.push_back(target);
      continue;
    }
    same->count += target.count;
    same->listed += target.listed;
    if (older_isa(same->ptx_isa, target.ptx_isa)) same->ptx_isa = target.ptx_isa;
    if (older_isa(target.ptx_isa_oldest, same->ptx_isa_oldest)) same->ptx_isa_oldest = target.ptx_isa_oldest;
  }
}

}  // namespace

std::string scan_targets_text(const std::vector<GpuCodeTarget>& targets, bool ascii) {
  std::string text;
  for (const std::string_view kind : {"sass", "ptx", "lto", "other"}) {
    const std::string part = kind_text(targets, kind);
    if (!part.empty()) text += (text.empty() ? "" : ascii ? " | " : " · ") + part;
  }
  return printable(text);
}

std::string scan_verdict_text(const GpuCodeFile& file, const CodeJudgement& verdict, const ScanGpu& gpu,
                              const RenderOptions& options) {
  std::string text = message(message_of(verdict), options.language,
                             {{"arch", printable(verdict.arch)},
                              {"isa", verdict.ptx_isa.empty() ? "?" : printable(verdict.ptx_isa)},
                              {"driver", driver_text(verdict)},
                              {"capability", gpu.capability.text()},
                              {"archs", stub_names(file)},
                              {"why", why_not_read(file, options.language)}});
  add_containers(text, verdict, options);
  return text;
}

std::string scan_group(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(folder);
    if (at == std::string_view::npos) continue;
    const std::string package = package_of(path.substr(at + folder.size()));
    if (!package.empty()) return package;
  }
  if (const std::size_t at = member_start(path); at != std::string_view::npos) {
    std::string_view member = path.substr(at);
    // A wheel's own tree, or a conda package's lib/ and targets/ folders, which say nothing.
    const std::string package = package_of(member);
    for (const std::string_view plain : {"lib", "lib64", "bin", "targets", "usr", "opt", "", "."}) {
      if (package == plain) return family_of(member);
    }
    return package;
  }
  return family_of(path);
}

std::vector<ScanGroup> scan_groups(const ScanReport& report) {
  std::map<std::string, ScanGroup> groups;
  for (const ScanReport::File& file : report.files) {
    if (file.code.targets.empty()) continue;
    const std::string name = scan_group(file.code.path);
    ScanGroup& group = groups[name];
    group.name = name;
    ++group.files;
    add_targets(group.targets, file.code.targets);
    group.worst.resize(report.gpus.size(), CodeVerdict::None);
    for (std::size_t i = 0; i < file.verdicts.size() && i < group.worst.size(); ++i) {
      if (badness(file.verdicts[i].verdict) > badness(group.worst[i])) group.worst[i] = file.verdicts[i].verdict;
    }
  }
  std::vector<ScanGroup> list;
  for (auto& [name, group] : groups) {
    std::ranges::stable_sort(group.targets, {}, [](const GpuCodeTarget& target) { return arch_order(target.arch); });
    list.push_back(std::move(group));
  }
  return list;
}

int exit_code(const ScanReport& report) {
  bool code = false, judged = false;
  for (const ScanReport::File& file : report.files) {
    code |= !file.code.targets.empty();
    for (const CodeJudgement& verdict : file.verdicts) {
      if (verdict.verdict == CodeVerdict::Fails) return 1;
      judged |=
          verdict.verdict == CodeVerdict::Native || verdict.verdict == CodeVerdict::Jit || verdict.verdict == CodeVerdict::Lto;
    }
  }
  if (report.misnamed) return 2;
  return (report.gpus.empty() ? code : judged) ? 0 : 3;
}

}  // namespace gpuvet
