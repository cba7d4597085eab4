#include "render/software.h"

#include <array>
#include <utility>
#include <vector>

#include "render/messages.h"
#include "render/terminal_text.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

struct Taker {
  const char* key;      ///< in JSON
  const char* english;  ///< for people
  const char* chinese;
  ToolkitChoice (*choose)(const Machine&);
};
constexpr std::array takers{Taker{"nvcc", "nvcc on PATH", "PATH 上的 nvcc", nvcc_on_path},
                            Taker{"cmake", "CMake", "CMake", toolkit_of_cmake},
                            Taker{"extension_builder", "torch extensions", "torch 扩展", toolkit_of_extension_builder},
                            Taker{"linker", "-lcudart", "-lcudart", toolkit_of_linker}};

std::string listed(const std::vector<std::string>& items, std::size_t most = 4) {
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + items[i];
  return items.size() > most ? text + ", …" : text;
}

std::string takers_of(const Machine& machine, const Toolkit& toolkit, Language language) {
  std::vector<std::string> names;
  for (const Taker& taker : takers)
    if (taker.choose(machine).toolkit == &toolkit)
      names.emplace_back(language == Language::Chinese ? taker.chinese : taker.english);
  return listed(names);
}

std::string toolkit_line(const Machine& machine, const Toolkit& toolkit, Language language) {
  std::string text =
      "CUDA " + toolkit.version.value_or(toolkit.nvcc_version.value_or("?")) + "  " + toolkit.path + "  (" + toolkit.origin;
  if (!toolkit.nvcc.is_known()) text += std::string(", ").append(message(Message::NoCompilerIn, language));
  if (const auto* gcc = toolkit.gcc_max.get()) text += ", gcc <= " + std::to_string(*gcc);
  if (!toolkit.architectures.empty()) text += ", sm " + toolkit.architectures.front() + "-" + toolkit.architectures.back();
  text += ")";
  if (!toolkit.missing.empty()) text += "  " + message(Message::MissingIn, language, {{"files", listed(toolkit.missing)}});
  const std::string used_by = takers_of(machine, toolkit, language);
  return used_by.empty() ? text : text + "  <- " + used_by;
}

std::string build_text(const FrameworkBuild& build) {
  std::string text = build.name + " " + (build.version.empty() ? "?" : build.version);
  if (build.flavour.empty()) return text;
  text += " (" + build.flavour;
  if (const auto* cuda = build.cuda.get()) text += " " + *cuda;
  if (const auto* hip = build.hip.get()) text += " " + *hip;
  return text + ")";
}

std::string environment_line(const PythonEnvironment& environment) {
  std::vector<std::string> builds;
  for (const FrameworkBuild& build : environment.frameworks) builds.push_back(build_text(build));
  std::string text = environment.prefix + "  (" + environment.kind;
  if (const auto* python = environment.python.get()) text += ", Python " + *python;
  return text + ")" + (builds.empty() ? "" : "  " + listed(builds, 6));
}

class List {
 public:
  List(std::string& out, const RenderOptions& options) : out_(out), options_(options) {}
  void heading(Message id) {
    out_ += "\n" + styled(std::string(message(id, options_.language)), Style::Bold, options_.color) + "\n";
  }
  void line(const std::string& text, bool marked) {
    out_ += paragraph(printable(text), marked ? "  * " : "    ", "      ", options_.width < 40 ? 40 : options_.width);
  }

 private:
  std::string& out_;
  const RenderOptions& options_;
};

}  // namespace

std::string render_software(const Machine& machine, const RenderOptions& options) {
  std::string out;
  List list(out, options);
  if (const auto* toolkits = machine.toolkits.found.get(); toolkits != nullptr && !toolkits->empty()) {
    list.heading(Message::Toolkits);
    for (const Toolkit& toolkit : *toolkits)
      list.line(toolkit_line(machine, toolkit, options.language), nvcc_on_path(machine).toolkit == &toolkit);
  }
  if (const auto* environments = machine.python.environments.get(); environments != nullptr && !environments->empty()) {
    list.heading(Message::PythonEnvironments);
    for (const PythonEnvironment& environment : *environments) list.line(environment_line(environment), environment.active);
  }
  return out;
}

void write_toolkit_choices(JsonWriter& writer, const Machine& machine) {
  writer.key("toolkit_choices");
  writer.begin_object();
  for (const Taker& taker : takers) {
    writer.key(taker.key);
    const ToolkitChoice choice = taker.choose(machine);
    if (choice.toolkit == nullptr) {
      writer.null();
      continue;
    }
    writer.begin_object();
    writer.field("path", choice.toolkit->path);
    writer.field("version", choice.toolkit->version.value_or(""));
    writer.field("because", choice.origin.text.empty() ? choice.origin.source : choice.origin.text);
    writer.end_object();
  }
  writer.end_object();
}

}  // namespace gpuvet
