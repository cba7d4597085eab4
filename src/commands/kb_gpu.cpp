// kb gpu NAME|ID and kb sm NN

#include <algorithm>

#include "commands/kb_topics.h"
#include "knowledge/table.h"

namespace gpuvet::kb {
namespace {

using Row = std::vector<std::string_view>;

constexpr std::size_t most_in_full = 8;
constexpr std::size_t most_listed = 60;

std::string hex(std::uint16_t id) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {digits[id >> 12], digits[(id >> 8) & 15], digits[(id >> 4) & 15], digits[id & 15]};
}

const Row* architecture_row(const Knowledge::Table& table, const GpuIdentity& gpu) {
  for (const Row& row : table.rows) {
    if (!gpu.chip.empty() && has_word(table.cell(row, "chips"), gpu.chip)) return &row;
  }
  for (const Row& row : table.rows) {
    if (gpu.compute_capability && has_word(table.cell(row, "compute_capability"), gpu.compute_capability->text())) return &row;
  }
  return nullptr;
}

std::string cuda_range(std::string_view first, std::string_view last, Language language) {
  if (first.empty() && last.empty()) return "";
  if (last.empty()) return std::string(first) + say(language, " and later", " 及更新版本");
  if (first.empty()) return say(language, "up to ", "最高 ") + std::string(last);
  return std::string(first) + " – " + std::string(last);
}

std::string open_module_text(OpenModule open, Language language) {
  switch (open) {
    case OpenModule::Impossible:
      return say(language, "impossible: the chip has no GSP", "不可用：芯片没有 GSP");
    case OpenModule::Possible:
      return say(language, "supported, as the proprietary one is", "支持，专有模块也支持");
    case OpenModule::Required:
      return say(language, "required: the proprietary one refuses it", "必须使用，专有模块不支持这块 GPU");
    case OpenModule::Unknown:
      break;
  }
  return "";
}

/// The row of a chip in first_driver_by_branch.tsv, for its source.
std::string floor_source(const Knowledge& knowledge, const GpuIdentity& gpu, const std::string& otherwise) {
  const Knowledge::Table& table = knowledge.table("first_driver_by_branch");
  for (const Row& row : table.rows) {
    if (table.cell(row, "kind") == "chip" && table.cell(row, "id") == gpu.chip && table.cell(row, "name").empty())
      return std::string(table.cell(row, "source"));
  }
  return otherwise;
}

/// Releases that name this very device: the first one of each branch where it differs from the first of all.
void add_naming_drivers(Answer& answer, const Knowledge& knowledge, const GpuIdentity& gpu, Language language) {
  const Knowledge::Table& devices = knowledge.table("pci_devices");
  const Row* device = devices.find("device_id", hex(gpu.device_id));
  // Older names are older than the public record of the open module, where this column comes from.
  if (!device || gpu.open_module == OpenModule::Impossible || !gpu.first_driver || gpu.first_driver->branch < 520) return;
  std::string text(devices.cell(*device, "first_open_module_driver"));
  const Knowledge::Table& branches = knowledge.table("first_driver_by_branch");
  for (const Row& row : branches.rows) {
    if (branches.cell(row, "kind") != "device" || branches.cell(row, "id") != hex(gpu.device_id) ||
        branches.cell(row, "first_driver").empty())
      continue;
    text += (text.empty() ? "" : ", ") + std::string(branches.cell(row, "first_driver"));
  }
  if (text.empty()) return;
  text += say(language, "; before, the card works under a generic name (inferred)", "；在此之前显卡以通用名称工作（推断）");
  answer.add("named_by", say(language, "named by driver", "驱动认得其名称，起于"), text, gpu.source);
}

Answer gpu_answer(const Knowledge& knowledge, const GpuIdentity& gpu, Language language) {
  Answer answer;
  answer.subject =
      (gpu.name.empty() ? say(language, "unnamed GPU", "未命名的 GPU") : gpu.name) + " [10de:" + folded(hex(gpu.device_id)) + "]";
  answer.add("chip", say(language, "chip", "芯片"), gpu.chip, gpu.source);
  answer.add("architecture", say(language, "architecture", "架构"), gpu.architecture, gpu.source);
  answer.add("compute_capability", say(language, "compute capability", "计算能力"),
             gpu.compute_capability ? gpu.compute_capability->text() : "", gpu.source);
  answer.add("class", say(language, "class", "类别"), gpu.gpu_class, gpu.source);
  const Knowledge::Table& architectures = knowledge.table("gpu_architectures");
  const Row* row = architecture_row(architectures, gpu);
  const std::string architecture_source = row ? std::string(architectures.cell(*row, "source")) : gpu.source;
  if (gpu.first_driver) {
    answer.add("first_driver", say(language, "first driver branch that accepts the chip", "最早接受该芯片的驱动分支"),
               "R" + std::to_string(gpu.first_driver->branch), floor_source(knowledge, gpu, architecture_source));
  }
  add_naming_drivers(answer, knowledge, gpu, language);
  answer.add("last_driver", say(language, "last driver branch", "最后支持的驱动分支"),
             gpu.last_driver_branch
                 ? "R" + std::to_string(*gpu.last_driver_branch)
                 : say(language, "still served in R", "在已知最新的 R") + std::to_string(gpu.known_up_to_branch) +
                       say(language, ", the newest branch of the tables", " 分支中仍受支持"),
             gpu.last_driver_branch ? gpu.source : architecture_source);
  answer.add("open_module", say(language, "open kernel module", "开源内核模块"), open_module_text(gpu.open_module, language),
             gpu.source);
  if (row) {
    answer.add("cuda_toolkits", say(language, "CUDA toolkits that compile for it", "能为其编译的 CUDA 工具包"),
               cuda_range(architectures.cell(*row, "first_cuda"), architectures.cell(*row, "last_cuda"), language),
               architecture_source);
    answer.add("notes", say(language, "notes on the architecture", "架构备注"), std::string(architectures.cell(*row, "notes")),
               architecture_source);
  }
  return answer;
}

std::string listed(const GpuIdentity& gpu) {
  std::string text = gpu.chip;
  if (!gpu.architecture.empty()) text += ", " + gpu.architecture;
  if (gpu.compute_capability) text += ", " + gpu.compute_capability->text();
  return text;
}

/// Ids whose names only contain what was asked, or too many of one name: a line each.
Answer list_answer(const std::vector<GpuIdentity>& gpus, std::string subject, Language language) {
  Answer answer;
  answer.subject = std::move(subject);
  for (std::size_t i = 0; i < gpus.size() && i < most_listed; ++i) {
    answer.add("10de:" + hex(gpus[i].device_id), gpus[i].name + " [10de:" + folded(hex(gpus[i].device_id)) + "]", listed(gpus[i]),
               gpus[i].source);
  }
  if (gpus.size() > most_listed) {
    answer.add("more", say(language, "and more", "另外还有"), std::to_string(gpus.size() - most_listed), "facts/pci_devices.tsv");
  }
  return answer;
}

/// The oldest driver that names the device, from the tables; nothing: no such record.
std::optional<DriverVersion> named_since(const Knowledge& knowledge, const GpuIdentity& gpu) {
  const Knowledge::Table& devices = knowledge.table("pci_devices");
  const Row* row = devices.find("device_id", hex(gpu.device_id));
  return row ? DriverVersion::parse(devices.cell(*row, "first_open_module_driver")) : std::nullopt;
}

/// Ids of one name: the one that was sold first (the usual card) leads, and the answer says how many there are.
void order_by_age(std::vector<GpuIdentity>& gpus, const Knowledge& knowledge) {
  std::stable_sort(gpus.begin(), gpus.end(), [&](const GpuIdentity& a, const GpuIdentity& b) {
    const auto first = named_since(knowledge, a), second = named_since(knowledge, b);
    return first && second ? *first < *second : first.has_value() && !second.has_value();
  });
}

void add_count_of_ids(Answer& first, const std::vector<GpuIdentity>& gpus, Language language) {
  std::string ids = std::to_string(gpus.size()) + say(language, ", the longest known first: ", " 个，按驱动认得的先后排列：");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ids += (i == 0 ? "" : ", ") + ("10de:" + folded(hex(gpus[i].device_id))) + " (" + gpus[i].chip + ")";
  }
  first.add("ids_of_this_name", say(language, "ids of this name", "同名的 ID"), ids, "facts/pci_devices.tsv");
}

bool same_name(const std::vector<GpuIdentity>& gpus) {
  return std::all_of(gpus.begin(), gpus.end(), [&](const GpuIdentity& gpu) { return gpu.name == gpus.front().name; });
}

}  // namespace

std::vector<Answer> gpu(const Knowledge& knowledge, std::string_view name_or_id, Language language) {
  std::vector<Answer> answers;
  if (const auto id = parse_device_id(name_or_id)) {
    const GpuIdentity gpu = knowledge.gpu(*id);
    if (gpu.in_table) return {gpu_answer(knowledge, gpu, language)};
  }
  std::vector<GpuIdentity> whole, part;
  for (GpuIdentity& gpu : knowledge.gpus_named(name_or_id)) {
    (bare_name(gpu.name) == bare_name(name_or_id) ? whole : part).push_back(std::move(gpu));
  }
  if (whole.empty() && part.size() <= most_in_full) whole.swap(part);
  if (!whole.empty() && same_name(whole)) order_by_age(whole, knowledge);
  if (whole.size() > most_in_full) {
    answers.push_back(list_answer(
        whole, say(language, "Several devices have this name; ask for one by its id:", "多个设备同名，请按 ID 查询："),
        language));
  } else {
    for (const GpuIdentity& gpu : whole) answers.push_back(gpu_answer(knowledge, gpu, language));
    if (whole.size() > 1 && same_name(whole)) add_count_of_ids(answers.front(), whole, language);
  }
  if (!part.empty())
    answers.push_back(list_answer(part, say(language, "Names that contain it:", "名称中包含它的还有："), language));
  return answers;
}

std::vector<Answer> compute_capability(const Knowledge& knowledge, std::string_view text, Language language) {
  while (!text.empty() && (text.back() == 'a' || text.back() == 'f')) text.remove_suffix(1);  // sm_90a, sm_120f
  const auto wanted = ComputeCapability::parse(text);
  if (!wanted) return {};
  std::vector<Answer> answers;
  const Knowledge::Table& table = knowledge.table("gpu_architectures");
  for (const Row& row : table.rows) {
    if (!has_word(table.cell(row, "compute_capability"), wanted->text())) continue;
    const auto cell = [&](std::string_view column) { return std::string(table.cell(row, column)); };
    Answer answer;
    answer.subject = say(language, "Compute capability ", "计算能力 ") + wanted->text() + " (sm_" +
                     std::to_string(wanted->major) + std::to_string(wanted->minor) + ")";
    answer.add("architecture", say(language, "architecture", "架构"), cell("architecture"), cell("source"));
    answer.add("chips", say(language, "chips", "芯片"), cell("chips"), cell("source"));
    answer.add("products", say(language, "products", "产品"), cell("products"), cell("source"));
    answer.add("cuda_toolkits", say(language, "CUDA toolkits that compile for it", "能为其编译的 CUDA 工具包"),
               cuda_range(cell("first_cuda"), cell("last_cuda"), language), cell("source"));
    answer.add("first_driver", say(language, "first driver that names one of them", "最早列出其产品名的驱动"),
               cell("first_driver_linux"), cell("source"));
    answer.add("last_driver", say(language, "last driver branch", "最后支持的驱动分支"),
               cell("last_driver_branch").empty() ? "" : "R" + cell("last_driver_branch"), cell("source"));
    answer.add("open_module", say(language, "open kernel module", "开源内核模块"), cell("open_kernel_module"), cell("source"));
    answer.add("notes", say(language, "notes", "备注"), cell("notes"), cell("source"));
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace gpuvet::kb
