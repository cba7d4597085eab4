#include "collect/command_words.h"

#include <algorithm>
#include <array>

#include "collect/process_plan.h"
#include "collect/working_folder.h"

namespace gpuvet {
namespace {

using Kind = CommandWords::Kind;
using Words = std::vector<std::string>;

constexpr std::size_t most_source = 256 << 10;
constexpr int most_wrappers = 8;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::ranges::find(list, word) != list.end();
}

constexpr std::array<std::string_view, 7> containers = {"docker",      "podman", "nerdctl",       "apptainer",
                                                        "singularity", "enroot", "docker-compose"};
constexpr std::array<std::string_view, 7> remotes = {"ssh", "srun", "sbatch", "salloc", "kubectl", "mosh", "oc"};
/// Their options stand before the command and may have values: the command is the first word that looks like one.
constexpr std::array<std::string_view, 10> launchers = {"mpirun", "mpiexec",  "horovodrun",        "nsys",   "ncu",
                                                        "gdb",    "cuda-gdb", "compute-sanitizer", "strace", "perf"};

/// A wrapper whose options are known: those with a value of their own word, and how many words stand before the command.
struct Wrapper {
  std::string_view name;
  std::string_view with_value;  ///< "-n -c"
  int operands = 0;
};
constexpr std::array<Wrapper, 14> wrappers = {{{"env", "-u -C --unset --chdir", 0},
                                               {"nice", "-n", 0},
                                               {"ionice", "-c -n -p", 0},
                                               {"nohup", "", 0},
                                               {"setsid", "", 0},
                                               {"timeout", "-k -s --kill-after --signal", 1},
                                               {"stdbuf", "-i -o -e", 0},
                                               {"time", "-f -o", 0},
                                               {"taskset", "", 1},
                                               {"numactl", "-N -m -C -i -p", 0},
                                               {"chrt", "", 1},
                                               {"sudo", "-u -g -h -p -C -U -D", 0},
                                               {"xvfb-run", "-n -s -e -f", 0},
                                               {"exec", "-a", 0}}};

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1))
    if ((at == 0 || list[at - 1] == ' ') && (at + word.size() == list.size() || list[at + word.size()] == ' ')) return true;
  return false;
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && word.substr(0, equals).find('/') == std::string_view::npos &&
         word[0] != '-';
}

bool is_python(std::string_view path) {
  std::string_view name = base_name(path);
  for (const std::string_view start : {"python", "pypy"})
    if (name.starts_with(start) && name.substr(start.size()).find_first_not_of("0123456789.t") == std::string_view::npos)
      return true;
  return false;
}

bool looks_like_program(std::string_view word) {
  return !word.starts_with('-') && (is_python(word) || word == "torchrun" || word.starts_with("./") || word.starts_with('/')) &&
         word.find('=') == std::string_view::npos;
}

/// Takes the words of a known wrapper off. False: it is none.
bool take_wrapper(CommandWords& command) {
  Words& words = command.words;
  const auto wrapper = std::ranges::find(wrappers, base_name(words.front()), &Wrapper::name);
  if (wrapper == wrappers.end()) return false;
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (wrapper->name == "env" && is_assignment(word)) {
      command.variables.push_back(word);
    } else if (word.starts_with('-')) {
      if (has_word(wrapper->with_value, word)) ++at;
    } else {
      break;
    }
  }
  at += static_cast<std::size_t>(wrapper->operands);
  if (at >= words.size()) return false;
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

/// "uv run [options] X", "poetry run X", "conda run -n NAME X".
bool take_runner(CommandWords& command) {
  Words& words = command.words;
  const std::string_view name = base_name(words.front());
  constexpr std::array<std::string_view, 8> runners = {"uv", "poetry", "pipenv", "pdm", "hatch", "conda", "mamba", "micromamba"};
  if (!one_of(name, runners) || words.size() < 3 || words[1] != "run") return false;
  constexpr std::string_view with_value = "-n --name -p --prefix --python --with --extra --group --project --directory";
  std::size_t at = 2;
  for (; at < words.size() && words[at].starts_with('-') && words[at] != "--"; ++at) {
    const std::string option = words[at];
    if (!has_word(with_value, option)) continue;
    const bool names_environment = name.ends_with("conda") || name.ends_with("mamba");
    if (names_environment && at + 1 < words.size() && has_word("-n --name -p --prefix", option))
      command.environment = words[at + 1];
    if (option == "-p" && !names_environment) continue;
    ++at;
  }
  if (at < words.size() && words[at] == "--") ++at;
  if (at >= words.size()) return false;
  if (command.environment.empty() && name == "uv") command.environment = ".venv";
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

bool take_launcher(CommandWords& command) {
  Words& words = command.words;
  if (!one_of(base_name(words.front()), launchers)) return false;
  const auto inner = std::find_if(words.begin() + 1, words.end(), looks_like_program);
  if (inner == words.end()) return false;
  words.erase(words.begin(), inner);
  return true;
}

/// "-X dev -u train.py", "-m torch.distributed.run …", "-c CODE".
void read_python_arguments(CommandWords& command) {
  command.kind = Kind::Python;
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const std::string& word = command.words[at];
    const bool more = at + 1 < command.words.size();
    if (word == "-X" || word == "-W" || word == "--check-hash-based-pycs") {
      ++at;
    } else if (word.starts_with("-m")) {
      command.module_name = word.size() > 2 ? word.substr(2) : more ? command.words[at + 1] : "";
      return;
    } else if (word.starts_with("-c")) {
      command.code = word.size() > 2 ? word.substr(2) : more ? command.words[at + 1] : "";
      return;
    } else if (!word.starts_with('-')) {
      command.script = word;
      return;
    }
  }
}

struct Library {
  std::string_view module_name, framework;
};
constexpr std::array<Library, 39> libraries = {{{"torch", "torch"},
                                                {"torchvision", "torch"},
                                                {"torchaudio", "torch"},
                                                {"lightning", "torch"},
                                                {"pytorch_lightning", "torch"},
                                                {"transformers", "torch"},
                                                {"diffusers", "torch"},
                                                {"accelerate", "torch"},
                                                {"deepspeed", "torch"},
                                                {"vllm", "torch"},
                                                {"sglang", "torch"},
                                                {"peft", "torch"},
                                                {"trl", "torch"},
                                                {"timm", "torch"},
                                                {"fastai", "torch"},
                                                {"ultralytics", "torch"},
                                                {"sentence_transformers", "torch"},
                                                {"flash_attn", "torch"},
                                                {"xformers", "torch"},
                                                {"bitsandbytes", "torch"},
                                                {"torchrun", "torch"},
                                                {"torch_geometric", "torch"},
                                                {"detectron2", "torch"},
                                                {"mmcv", "torch"},
                                                {"whisper", "torch"},
                                                {"axolotl", "torch"},
                                                {"tensorflow", "tensorflow"},
                                                {"tf_keras", "tensorflow"},
                                                {"jax", "jax"},
                                                {"jaxlib", "jax"},
                                                {"flax", "jax"},
                                                {"optax", "jax"},
                                                {"haiku", "jax"},
                                                {"cupy", "cupy"},
                                                {"cupyx", "cupy"},
                                                {"onnxruntime", "onnxruntime"},
                                                {"paddle", "paddle"},
                                                {"numba", "numba"},
                                                {"mxnet", "mxnet"}}};

std::string_view first_word(std::string_view& text) {
  constexpr std::string_view blanks = " \t,;(";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

std::string framework_of_line(std::string_view line) {
  const std::string_view verb = first_word(line);
  if (verb == "from") return framework_of_module(first_word(line));
  if (verb != "import") return {};
  while (!line.empty()) {
    const std::string_view name = first_word(line);
    if (name.empty()) break;
    if (std::string framework = framework_of_module(name); !framework.empty()) return framework;
  }
  return {};
}

/// Does the file start like this?
std::string beginning(System& system, const std::string& path, std::size_t most) {
  auto text = system.read_head(path, most);
  return text ? std::move(*text) : std::string();
}

class Look {
 public:
  Look(System& system, const std::map<std::string, std::string>& environment, CommandWords command)
      : system_(system), environment_(environment), command_(std::move(command)), folder_(working_folder(system)) {}

  CommandPurpose result() {
    CommandPurpose out;
    out.variables = command_.variables;
    out.environment = command_.environment;
    if (out.environment == ".venv") out.environment = system_.exists(folder_ + "/.venv") ? folder_ + "/.venv" : "";
    if (command_.kind == Kind::Program) program(out);
    if (command_.kind == Kind::Python) python(out);
    if (command_.kind == Kind::Container) ask(out, "driver");
    out.kind = command_.kind;
    return out;
  }

 private:
  std::string file_of(const std::string& word) const {
    if (word.starts_with('/')) return word;
    if (word.find('/') != std::string::npos) return folder_ + "/" + word;
    const auto path = environment_.find("PATH");
    return path == environment_.end() ? "" : find_on_path(system_, path->second, word);
  }

  void ask(CommandPurpose& out, const std::string& what) const {
    if (auto purpose = parse_purpose(what)) out.purpose = std::move(*purpose);
  }

  void program(CommandPurpose& out) {
    const std::string name(base_name(command_.words.front()));
    if (name == "nvidia-smi") return ask(out, "driver");
    if (name == "nvcc") return ask(out, "nvcc");
    const std::string file = file_of(command_.words.front());
    if (file.empty()) return;
    const std::string start = beginning(system_, file, 4096);
    if (start.starts_with("\x7f"
                          "ELF")) {
      out.purpose.name = "path";
      out.purpose.target = out.purpose.text = file;
      return;
    }
    const Words interpreter = interpreter_words(start);
    if (interpreter.empty() || !is_python(interpreter.front())) return;
    // An entry point: "torchrun", "vllm", "./train.py".
    command_.kind = Kind::Python;
    command_.script = file;
    command_.words.front() = interpreter.front();
  }

  void python(CommandPurpose& out) {
    if (out.environment.empty()) out.environment = prefix_of(command_.words.front());
    std::string framework = framework_of_module(command_.module_name);
    if (framework.empty()) framework = framework_of_source(command_.code);
    if (framework.empty() && !command_.script.empty()) {
      const std::string& script = command_.script;
      const std::string path = script.starts_with('/') ? script : folder_ + "/" + script;
      framework = framework_of_source(beginning(system_, path, most_source));
    }
    if (!framework.empty()) ask(out, out.environment.empty() ? framework : framework + "@" + out.environment);
  }

  /// The environment of an interpreter; empty: a plain `python` (the environment in use), or a shim.
  std::string prefix_of(const std::string& interpreter) const {
    if (interpreter == "python" || interpreter == "python3") return {};
    const std::string file = file_of(interpreter);
    const std::size_t folder = file.rfind("/bin/");
    if (folder == std::string::npos || folder == 0 || file.find('/', folder + 5) != std::string::npos) return {};
    auto start = system_.read_head(file, 4);
    return start && *start ==
                        "\x7f"
                        "ELF"
               ? file.substr(0, folder)
               : std::string();
  }

  System& system_;
  const std::map<std::string, std::string>& environment_;
  CommandWords command_;
  std::string folder_;
};

}  // namespace

CommandWords read_command(const Words& words) {
  CommandWords command;
  command.words = words;
  for (int i = 0; i < most_wrappers && !command.words.empty(); ++i)
    if (!take_wrapper(command) && !take_runner(command) && !take_launcher(command)) break;
  if (command.words.empty()) return command;
  const std::string_view name = base_name(command.words.front());
  if (one_of(name, containers)) command.kind = Kind::Container;
  if (one_of(name, remotes)) command.kind = Kind::Remote;
  if (is_python(name)) read_python_arguments(command);
  return command;
}

Words interpreter_words(std::string_view beginning) {
  if (!beginning.starts_with("#!")) return {};
  const std::size_t end = std::min(beginning.find('\n'), beginning.size());
  std::string_view line = beginning.substr(2, end - 2), rest = beginning.substr(std::min(end + 1, beginning.size()));
  Words words;
  while (!line.empty()) {
    const std::string_view word = first_word(line);
    if (!word.empty()) words.emplace_back(word);
  }
  if (words.empty()) return {};
  if (base_name(words.front()) == "env") {
    words.erase(words.begin());
    while (!words.empty() && (words.front().starts_with('-') || is_assignment(words.front()))) words.erase(words.begin());
    return words;
  }
  // "'''exec' "/a very long path/bin/python" "$0" "$@""
  if (base_name(words.front()) == "sh" && rest.starts_with("'''exec' ")) {
    rest.remove_prefix(9);
    const bool quoted = rest.starts_with('"');
    if (quoted) rest.remove_prefix(1);
    return {std::string(rest.substr(0, rest.find(quoted ? '"' : ' ')))};
  }
  return words;
}

std::string framework_of_module(std::string_view name) {
  const std::string_view top = name.substr(0, name.find('.'));
  const auto library = std::ranges::find(libraries, top, &Library::module_name);
  return library == libraries.end() ? "" : std::string(library->framework);
}

std::string framework_of_source(std::string_view source) {
  while (!source.empty()) {
    // Of "-c" several statements stand in a line.
    const std::size_t end = std::min(source.find_first_of("\n;"), source.size());
    if (std::string framework = framework_of_line(source.substr(0, end)); !framework.empty()) return framework;
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return {};
}

CommandPurpose command_purpose(System& system, const std::map<std::string, std::string>& environment, const Words& command) {
  CommandWords words = read_command(command);
  if (words.words.empty()) return {};
  return Look(system, environment, std::move(words)).result();
}

}  // namespace gpuvet
