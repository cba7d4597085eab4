// kb torch V · kb tensorflow V · kb jax V · kb cudnn V · kb NAME [V] for every other framework of the tables

#include <algorithm>

#include "commands/kb_topics.h"
#include "knowledge/frameworks.h"
#include "knowledge/wheel_choice.h"

namespace gpuvet::kb {
namespace {

std::string inferred_mark(bool inferred, Language language) { return inferred ? say(language, " (inferred)", "（推断）") : ""; }

std::string text_of(const GpuTargets& targets, Language language) {
  return targets.text() + (targets.known() ? inferred_mark(targets.inferred, language) : "");
}

std::string text_of(const std::optional<DriverVersion>& driver) { return driver ? driver->text : ""; }

std::string platforms_text(const TorchBuild& build) {
  std::string text;
  for (const Platform platform : build.platforms) text += (text.empty() ? "" : ", ") + std::string(platform_name(platform));
  return text;
}

std::string pypi_text(const TorchBuild& build) {
  std::string text;
  for (const Platform platform : {Platform::LinuxX86_64, Platform::LinuxAarch64, Platform::WindowsX86_64}) {
    if (build.is_pypi_default(platform)) text += (text.empty() ? "" : ", ") + std::string(platform_name(platform));
  }
  return text;
}

void add_targets(Answer& answer, const TorchBuild& build, Language language) {
  const std::string label = say(language, "compiled for compute capability", "编译的计算能力");
  const auto add = [&](std::string key, std::string_view platform, const GpuTargets& targets) {
    answer.add(std::move(key), label + " (" + std::string(platform) + ")", text_of(targets, language), build.source);
  };
  add("targets_linux_x86_64", "linux_x86_64", build.targets_linux_x86_64);
  add("targets_linux_aarch64", "linux_aarch64", build.targets_linux_aarch64);
  add("targets_windows", "windows_x86_64", build.targets_windows);
}

Answer torch_answer(const TorchBuild& build, Language language) {
  Answer answer;
  answer.subject = "torch " + build.release.public_text() + "+" + build.variant;
  answer.add("cuda", say(language, "CUDA toolkit that it was built with", "构建所用的 CUDA 工具包"),
             build.cuda ? build.cuda->text() + (build.cuda->update != 0 ? "." + std::to_string(build.cuda->update) : "") : "",
             build.source);
  answer.add("platforms", say(language, "platforms", "平台"), platforms_text(build), build.source);
  answer.add("pypi_default",
             say(language, "what `pip install` without an index gives on", "不指定软件源时 pip install 得到它的平台"),
             pypi_text(build), build.source);
  if (build.is_cuda()) answer.add("index", say(language, "index", "软件源"), torch_index(build.variant), build.source);
  answer.add("python", "Python", build.python.text, build.source);
  answer.add("min_driver_linux", say(language, "least driver, Linux", "最低驱动版本（Linux）"), text_of(build.min_driver_linux),
             build.source);
  answer.add("min_driver_windows", say(language, "least driver, Windows and WSL2", "最低驱动版本（Windows 与 WSL2）"),
             text_of(build.min_driver_windows), build.source);
  add_targets(answer, build, language);
  answer.add("cudnn", "cuDNN", build.cudnn, build.source);
  answer.add("nccl", "NCCL", build.nccl, build.source);
  answer.add("triton", "triton", build.triton, build.source);
  answer.add("status", say(language, "status", "状态"), build.status, build.source);
  answer.add("notes", say(language, "notes", "备注"), build.notes, build.source);
  return answer;
}

Answer companions_answer(const TorchCompanions& companions, Language language) {
  Answer answer;
  answer.subject = say(language, "Packages that belong to torch ", "与 torch 配套的软件包：torch ") + companions.torch;
  answer.add("torchvision", "torchvision", companions.torchvision, companions.source);
  answer.add("torchaudio", "torchaudio", companions.torchaudio, companions.source);
  answer.add("torchtext", "torchtext", companions.torchtext, companions.source);
  answer.add("xformers", "xformers", companions.xformers, companions.source);
  return answer;
}

/// "2.5" means the last patch release of it that the table has.
std::optional<ReleaseVersion> last_of_minor(const std::vector<ReleaseVersion>& releases, const ReleaseVersion& asked) {
  std::optional<ReleaseVersion> last;
  for (const ReleaseVersion& release : releases) {
    const bool inside = asked.release.size() == 2 ? release.minor_text() == asked.minor_text()
                                                  : asked.release.size() == 1 && release.release[0] == asked.release[0];
    if (inside && (!last || *last < release)) last = release;
  }
  return last;
}

std::vector<ReleaseVersion> torch_release_list(const Knowledge& knowledge) {
  std::vector<ReleaseVersion> releases;
  for (const TorchBuild& build : torch_builds(knowledge)) releases.push_back(build.release);
  std::sort(releases.begin(), releases.end());
  releases.erase(std::unique(releases.begin(), releases.end()), releases.end());
  return releases;
}

/// A release list as the answer to a question without a version.
template <typename Releases>
Answer list_answer(std::string_view name, const Releases& releases, std::string source, Language language) {
  Answer answer;
  answer.subject = std::string(name) + say(language, ": releases that the tables know", "：知识表收录的版本");
  std::string list;
  for (const std::string& release : releases) list += (list.empty() ? "" : ", ") + release;
  answer.add("releases", say(language, "releases", "版本"), list, std::move(source));
  return answer;
}

template <typename Releases>
std::vector<std::string> texts_of(const Releases& releases) {
  std::vector<std::string> texts;
  for (const auto& release : releases) texts.push_back(release.release.public_text());
  return texts;
}

Answer tensorflow_answer(const TensorFlowRelease& release, std::string_view asked, Language language) {
  Answer answer;
  answer.subject = "TensorFlow " + release.release.public_text();
  if (!release.exact)
    answer.subject += say(language, " (stands in for ", "（代替表中没有的 ") + std::string(asked) +
                      say(language, ", which the table does not list)", "）");
  const auto add = [&](std::string key, std::string_view en, std::string_view zh, std::string value) {
    answer.add(std::move(key), say(language, en, zh), std::move(value), release.source);
  };
  add("python", "Python", "Python", release.python.text);
  add("cuda", "CUDA", "CUDA", release.cuda ? release.cuda->text() : "");
  add("cudnn", "cuDNN", "cuDNN", release.cudnn);
  add("install", "install with GPU libraries", "连同 GPU 库一起安装",
      release.and_cuda_extra ? "pip install 'tensorflow[and-cuda]==" + release.release.public_text() + "'" : "");
  add("targets", "compiled for compute capability", "编译的计算能力", text_of(release.targets, language));
  add("min_driver_linux", "least driver, Linux", "最低驱动版本（Linux）", text_of(release.min_driver_linux));
  add("min_driver_windows", "least driver, Windows and WSL2", "最低驱动版本（Windows 与 WSL2）",
      text_of(release.min_driver_windows));
  add("windows_native_gpu", "GPU build for native Windows", "原生 Windows 的 GPU 版",
      release.windows_native_gpu ? say(language, "yes", "有") : say(language, "no (WSL2 is the way)", "没有（请用 WSL2）"));
  add("notes", "notes", "备注", release.notes);
  return answer;
}

std::vector<Answer> jax_answers(const JaxRelease& release, Language language) {
  Answer head;
  head.subject = "JAX " + release.release.public_text();
  head.add("date", say(language, "released", "发布日期"), release.date, release.source);
  head.add("python", "Python", release.python.text, release.source);
  head.add("notes", say(language, "notes", "备注"), release.notes, release.source);
  std::vector<Answer> answers = {head};
  for (const JaxCuda& cuda : release.cuda) {
    Answer answer;
    answer.subject = "JAX " + release.release.public_text() + ", CUDA " + std::to_string(cuda.major);
    const auto add = [&](std::string key, std::string_view en, std::string_view zh, std::string value) {
      answer.add(std::move(key), say(language, en, zh), std::move(value), release.source);
    };
    add("install", "install", "安装",
        cuda.extra.empty() ? "" : "pip install 'jax[" + cuda.extra + "]==" + release.release.public_text() + "'");
    add("built_with", "built with CUDA", "构建所用的 CUDA", cuda.built_with ? cuda.built_with->text() : "");
    add("min_runtime", "least CUDA libraries", "最低 CUDA 库版本", cuda.min_runtime);
    add("cudnn", "cuDNN", "cuDNN", cuda.min_cudnn);
    add("nccl", "NCCL", "NCCL", cuda.min_nccl);
    add("targets", "compiled for compute capability", "编译的计算能力", text_of(cuda.targets, language));
    add("min_capability", "least compute capability (documented)", "最低计算能力（文档）",
        cuda.min_capability ? cuda.min_capability->text() : "");
    add("min_driver_linux", "least driver, Linux", "最低驱动版本（Linux）", text_of(cuda.min_driver_linux));
    answers.push_back(std::move(answer));
  }
  return answers;
}

Answer cudnn_answer(const CudnnRelease& release, Language language) {
  Answer answer;
  answer.subject = "cuDNN " + release.cudnn + (release.cuda.empty() ? "" : say(language, " for CUDA ", "，CUDA ") + release.cuda);
  const auto add = [&](std::string key, std::string_view en, std::string_view zh, std::string value) {
    answer.add(std::move(key), say(language, en, zh), std::move(value), release.source);
  };
  add("min_capability", "least compute capability", "最低计算能力", release.min_capability_text);
  add("min_driver_linux", "least driver, Linux", "最低驱动版本（Linux）", release.min_driver_text);
  add("min_driver_windows", "least driver, Windows", "最低驱动版本（Windows）", release.min_driver_windows_text);
  add("notes", "notes", "备注", release.note);
  return answer;
}

Answer framework_answer(const FrameworkRow& row, Language language) {
  Answer answer;
  answer.subject = row.name + " " + row.version;
  const auto add = [&](std::string key, std::string_view en, std::string_view zh, std::string value) {
    answer.add(std::move(key), say(language, en, zh), std::move(value), row.source);
  };
  add("package", "package", "软件包", row.package);
  add("cuda", "CUDA", "CUDA", row.cuda_needed);
  add("cudnn", "cuDNN", "cuDNN", row.cudnn_needed);
  add("torch", "torch", "torch", row.torch_needed);
  add("python", "Python", "Python", row.python);
  add("min_capability", "least compute capability", "最低计算能力", row.min_capability_text);
  add("targets", "compiled for compute capability", "编译的计算能力", row.targets_text);
  add("min_driver_linux", "least driver, Linux", "最低驱动版本（Linux）", row.driver_min_linux);
  add("notes", "notes", "备注", row.notes);
  return answer;
}

}  // namespace

std::vector<Answer> torch(const Knowledge& knowledge, std::string_view version, Language language) {
  const auto releases = torch_release_list(knowledge);
  if (version.empty()) {
    std::vector<std::string> texts;
    for (const ReleaseVersion& release : releases) texts.push_back(release.public_text());
    return {list_answer("torch", texts, "facts/torch_releases.tsv", language)};
  }
  auto asked = ReleaseVersion::parse(version);
  if (!asked) return {};
  if (asked->release.size() < 3 && asked->phase == 0)
    if (const auto last = last_of_minor(releases, *asked)) {
      const std::string local = asked->local;
      asked = last;
      asked->local = local;
    }
  std::vector<Answer> answers;
  for (const TorchBuild& build : torch_builds_of(knowledge, *asked)) {
    const bool wanted = asked->local.empty() ? build.is_cuda() || build.variant == "cpu" : build.variant == asked->local;
    if (wanted) answers.push_back(torch_answer(build, language));
  }
  const auto companions = torch_companions(knowledge, *asked);
  if (!answers.empty() && companions) answers.push_back(companions_answer(*companions, language));
  return answers;
}

std::vector<Answer> tensorflow(const Knowledge& knowledge, std::string_view version, Language language) {
  if (version.empty()) {
    const auto texts = texts_of(tensorflow_releases(knowledge));
    return {list_answer("TensorFlow", texts, "facts/tensorflow_releases.tsv", language)};
  }
  const auto asked = ReleaseVersion::parse(version);
  const auto release = asked ? tensorflow_release(knowledge, *asked) : std::nullopt;
  if (!release) return {};
  return {tensorflow_answer(*release, version, language)};
}

std::vector<Answer> jax(const Knowledge& knowledge, std::string_view version, Language language) {
  if (version.empty()) {
    const auto texts = texts_of(jax_releases(knowledge));
    return {list_answer("JAX", texts, "facts/jax_releases.tsv", language)};
  }
  auto asked = ReleaseVersion::parse(version);
  if (!asked) return {};
  std::vector<ReleaseVersion> releases;
  for (const JaxRelease& release : jax_releases(knowledge)) releases.push_back(release.release);
  if (asked->release.size() < 3)
    if (const auto last = last_of_minor(releases, *asked)) asked = last;
  const auto release = jax_release(knowledge, *asked);
  return release ? jax_answers(*release, language) : std::vector<Answer>{};
}

std::vector<Answer> cudnn(const Knowledge& knowledge, std::string_view version, Language language) {
  std::vector<Answer> answers;
  if (version.empty()) {
    std::vector<std::string> texts;
    for (const CudnnRelease& release : cudnn_releases(knowledge))
      if (texts.empty() || texts.back() != release.cudnn) texts.push_back(release.cudnn);
    return {list_answer("cuDNN", texts, "facts/cudnn.tsv", language)};
  }
  const auto asked = ReleaseVersion::parse(version);
  if (!asked) return {};
  for (const CudnnRelease& release : cudnn_releases_of(knowledge, *asked)) answers.push_back(cudnn_answer(release, language));
  return answers;
}

std::vector<Answer> framework(const Knowledge& knowledge, std::string_view name_and_version, Language language) {
  const std::size_t blank = name_and_version.find(' ');
  const std::string_view name = name_and_version.substr(0, blank);
  const auto version = blank == std::string_view::npos ? std::nullopt : ReleaseVersion::parse(name_and_version.substr(blank + 1));
  std::vector<Answer> answers;
  const auto rows = version ? framework_rows(knowledge, name, *version) : framework_rows(knowledge, name);
  for (const FrameworkRow& row : rows) answers.push_back(framework_answer(row, language));
  return answers;
}

}  // namespace gpuvet::kb
