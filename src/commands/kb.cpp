#include "commands/kb.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "commands/kb_topics.h"
#include "render/terminal_text.h"

namespace gpuvet {
namespace {

using kb::Answer;
using kb::say;

struct Topic {
  std::string_view name;
  std::vector<Answer> (*answer)(const Knowledge&, std::string_view, Language);
  std::string_view example, what_en, what_zh;
  bool bare = false;  ///< an answer without a question: what there is to ask for
};

constexpr Topic topics[] = {
    {"driver", kb::driver, "driver 535.129.03", "a driver version or branch", "驱动版本或分支"},
    {"gpu", kb::gpu, "gpu rtx 4090 | gpu 10de:2684", "a GPU by name or PCI id", "按名称或 PCI ID 查 GPU"},
    {"sm", kb::compute_capability, "sm 89", "a compute capability", "计算能力"},
    {"cuda", kb::cuda, "cuda 12.4", "a CUDA release", "CUDA 版本"},
    {"xid", kb::xid, "xid 79", "an Xid of the kernel log", "内核日志中的 Xid"},
    {"error", kb::error, "error 804 | error cudaErrorNoDevice", "a CUDA error", "CUDA 错误"},
    {"soname", kb::soname, "soname libcudart.so.12", "which CUDA releases bring a library", "某个库属于哪些 CUDA 版本"},
    {"function", kb::function, "function cuMemcpyBatchAsync", "which driver has a function of libcuda",
     "libcuda 的某个函数由哪个驱动提供"},
    {"torch", kb::torch, "torch 2.5.1 | torch 2.5.1+cu124", "a PyTorch release or build", "PyTorch 版本或构建", true},
    {"tensorflow", kb::tensorflow, "tensorflow 2.15", "a TensorFlow release", "TensorFlow 版本", true},
    {"jax", kb::jax, "jax 0.4.35", "a JAX release", "JAX 版本", true},
    {"cudnn", kb::cudnn, "cudnn 9.10", "a cuDNN release", "cuDNN 版本", true},
    {"framework", kb::framework, "cupy | onnxruntime-gpu 1.20.1 | xformers | vllm", "another framework, by its package's name",
     "按软件包名称查其他框架"},
};

const Topic* find_topic(std::string_view name) {
  const std::string wanted = kb::folded(name);
  for (const Topic& topic : topics) {
    if (topic.name == wanted) return &topic;
  }
  return nullptr;
}

/// The words behind the topic as one question: {"gpu", "rtx", "4090"} → "rtx 4090".
std::string question(const std::vector<std::string>& args) {
  std::string text;
  for (std::size_t i = 1; i < args.size(); ++i) text += (text.empty() ? "" : " ") + args[i];
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// "cupy 13.6", "libcudart.so.12" and "cuMemcpyBatchAsync" need no topic in front.
const Topic* topic_of(const Knowledge& knowledge, const std::vector<std::string>& args) {
  if (args.empty() || args[0].size() > 100) return nullptr;
  if (const Topic* topic = find_topic(args[0])) return topic;
  if (args.size() == 1 && !kb::soname(knowledge, args[0], Language::English).empty()) return find_topic("soname");
  if (args.size() == 1 && !kb::function(knowledge, args[0], Language::English).empty()) return find_topic("function");
  return kb::framework(knowledge, args[0], Language::English).empty() ? nullptr : find_topic("framework");
}

std::string asked_of(const Topic& topic, const std::vector<std::string>& args) {
  const bool name_is_topic = kb::folded(args[0]) == topic.name;
  return name_is_topic ? question(args) : args[0] + (args.size() > 1 ? " " + question(args) : "");
}

std::string to_json(const std::vector<std::string>& args, const std::vector<Answer>& answers) {
  nlohmann::ordered_json document = {
      {"schema", 1}, {"document", "kb"}, {"question", args}, {"answers", nlohmann::ordered_json::array()}};
  for (const Answer& answer : answers) {
    nlohmann::ordered_json facts = nlohmann::ordered_json::array();
    for (const kb::Entry& entry : answer.entries) {
      facts.push_back({{"key", entry.key}, {"label", entry.label}, {"value", entry.value}, {"source", entry.source}});
    }
    document["answers"].push_back({{"subject", answer.subject}, {"facts", facts}});
  }
  // Arguments are foreign bytes: what is no UTF-8 is replaced, not thrown about.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::size_t number_of_source(std::vector<std::string>& sources, const std::string& source) {
  const auto it = std::find(sources.begin(), sources.end(), source);
  if (it != sources.end()) return static_cast<std::size_t>(it - sources.begin()) + 1;
  sources.push_back(source);
  return sources.size();
}

std::string to_text(const std::vector<Answer>& answers, Language language, int width) {
  const std::string colon = say(language, ": ", "：");
  std::vector<std::string> sources;
  std::string text;
  for (const Answer& answer : answers) {
    text += (text.empty() ? "" : "\n") + paragraph(answer.subject, "", "", width);
    for (const kb::Entry& entry : answer.entries) {
      const std::string mark = entry.source.empty() ? "" : " [" + std::to_string(number_of_source(sources, entry.source)) + "]";
      text += paragraph(entry.label + colon + entry.value + mark, "  ", "    ", width);
    }
  }
  if (!sources.empty()) text += "\n" + say(language, "Sources", "来源") + "\n";
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += paragraph("[" + std::to_string(i + 1) + "] " + sources[i], "  ", "      ", width);
  return text;
}

}  // namespace

std::optional<std::string> kb_answer(const Knowledge& knowledge, std::vector<std::string> args, Language language, bool json,
                                     int width) {
  const Topic* topic = topic_of(knowledge, args);
  const std::string asked = topic ? asked_of(*topic, args) : "";
  if (!topic || (asked.empty() && !topic->bare) || asked.size() > 200) return std::nullopt;
  const std::vector<Answer> answers = topic->answer(knowledge, asked, json ? Language::English : language);
  if (answers.empty()) return std::nullopt;
  return json ? to_json(args, answers) : to_text(answers, language, width);
}

std::string kb_unknown(const Knowledge& knowledge, const std::vector<std::string>& args, Language language) {
  const std::string asked = printable(question(args)).substr(0, 200);
  const Topic* topic = topic_of(knowledge, args);
  std::string text;
  if (topic && !asked.empty()) {
    text = say(language, "The tables know nothing about ", "知识表里没有：") + std::string(topic->name) + " " + asked +
           say(language, ".", "。") + "\n";
    const auto near = kb::near_matches(knowledge, topic->name, asked);
    if (!near.empty()) text += say(language, "Near to it:", "相近的有：") + "\n";
    for (const std::string& match : near) text += "  " + match + "\n";
  } else if (!args.empty() && !topic) {
    text = say(language, "No such topic: ", "没有这个主题：") + printable(args[0]).substr(0, 200) + "\n";
  }
  text += say(language, "What can be asked:", "可以查询：") + "\n";
  for (const Topic& each : topics) {
    std::string example = "  gpuvet kb " + std::string(each.example);
    example.resize(std::max<std::size_t>(example.size() + 2, 46), ' ');
    text += example + say(language, each.what_en, each.what_zh) + "\n";
  }
  return text;
}

}  // namespace gpuvet
