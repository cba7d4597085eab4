#include "elf/gpu_code_record.h"

#include <array>
#include <cstdio>
#include <utility>

#include "elf/cubin.h"
#include "elf/ptx_text.h"

namespace gpuvet {
namespace {

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(number));
  return text.data();
}

void put_ptx(std::string_view head, GpuCodeFile& into) {
  const auto ptx = parse_ptx_head(head.substr(0, code_head_size));
  if (!ptx) return;
  GpuCodeTarget target;
  target.kind = "ptx";
  target.arch = CodeTarget{CodeTarget::Kind::Ptx, ptx->arch, ptx->variant, 0, 0}.name();
  target.count = target.listed = 1;
  target.ptx_isa = target.ptx_isa_oldest = std::to_string(ptx->major) + '.' + std::to_string(ptx->minor);
  into.places.push_back({"file", 1});
  if (head.size() < code_head_size && is_empty_ptx(head))
    into.stub_targets.push_back({std::move(target.arch), 1});
  else
    into.targets.push_back(std::move(target));
}

void put_state(const FatbinScanner& scanner, const FileParts& parts, GpuCodeFile& into) {
  if (scanner.full()) set_problem("limit", "more GPU code than any real file has; the rest was not read", into);
  if (scanner.damaged() > 0) {
    set_problem("damaged",
                std::to_string(scanner.damaged()) + " fat binaries are damaged, the first one at byte " +
                    hexadecimal(scanner.first_damaged()),
                into);
  }
  // Elsewhere the magic number may be some program's constant.
  const auto* part = parts.find(scanner.first_rejected());
  if (scanner.rejected() > 0 && (parts.list.empty() || (part != nullptr && is_listed_section(part->name))))
    set_problem("damaged", "a fat binary at byte " + hexadecimal(scanner.first_rejected()) + " cannot be read", into);
  for (const auto& section : parts.list) {
    if (section.cut && is_listed_section(section.name)) {
      set_problem("damaged", "the file ends before its section " + section.name + " does", into);
      break;
    }
  }
}

}  // namespace

bool is_listed_section(std::string_view name) {
  return name == ".nv_fatbin" || name == "__nv_relfatbin" || name == ".nv_fatb" || name == "__nv_relf";
}

void set_problem(std::string_view state, std::string problem, GpuCodeFile& into) {
  if (!into.problem.empty()) return;
  into.state = state;
  into.problem = std::move(problem);
}

void put_gpu_code(const FatbinScanner& scanner, const GpuCodeTally& tally, const FileParts& parts, std::string_view head,
                  GpuCodeFile& into) {
  // A .fatbin or .cubin as a file of its own is given to the driver whole.
  const bool raw = parse_fatbin_container(head.substr(0, fatbin_container_header)) || parse_cubin_header(head.substr(0, 64));
  tally.summarize(
      [&](std::uint64_t offset) {
        const auto* part = raw ? nullptr : parts.find(offset);
        return part == nullptr ? CodePlace{"file", raw} : CodePlace{part->name, is_listed_section(part->name)};
      },
      into);
  if (tally.empty() && parts.list.empty()) put_ptx(head, into);
  put_state(scanner, parts, into);
}

}  // namespace gpuvet
