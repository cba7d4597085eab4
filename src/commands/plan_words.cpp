#include "commands/plan_words.h"

#include <array>

#include "model/utf8.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

using Kind = PlanError::Kind;

struct Words {
  Kind kind;
  int exit_code;
  std::string_view english, chinese;
};

constexpr std::array words{
    Words{Kind::NotFound, 2, "{path} is not there", "{path} 不存在"},
    Words{Kind::Folder, 2, "{path} is a folder: name a program or a library in it", "{path} 是目录：请指定其中的程序或库"},
    Words{Kind::NotRegular, 2, "{path} is no regular file (a FIFO, socket or device)",
          "{path} 不是普通文件（而是 FIFO、套接字或设备）"},
    Words{Kind::Unreadable, 3, "{path} cannot be read: {detail}", "无法读取 {path}：{detail}"},
    Words{Kind::NotElf, 2, "{path} is no ELF file: no program and no library, and no script with a #! line",
          "{path} 不是 ELF 文件：既不是程序，也不是库，也不是带 #! 行的脚本"},
    Words{Kind::ObjectFile, 2, "{path} is an object file or a core dump: no process loads it",
          "{path} 是目标文件或 core 转储：没有进程会加载它"},
    Words{Kind::PythonScript, 2, "{path} is a Python script: ask for what it imports, such as torch",
          "{path} 是 Python 脚本：请改为检查它导入的框架，例如 torch"},
    Words{Kind::NoInterpreter, 1, "{path} cannot start: its interpreter {detail} is not there",
          "{path} 无法启动：它的解释器 {detail} 不存在"},
    Words{Kind::InterpreterUnknown, 3,
          "{path} is a script for {detail}, and the PATH that leads to it is not known; give --environ",
          "{path} 是 {detail} 的脚本，而用于查找 {detail} 的 PATH 未知；请用 --environ 提供环境变量"},
    Words{Kind::NoFolder, 2, "{path}: give the whole path, the working folder is not known here",
          "{path}：请给出完整路径，这里的工作目录未知"},
    Words{Kind::NoModule, 2, "python: needs the name of a module, such as python:torch",
          "python: 之后需要模块名，例如 python:torch"},
    Words{Kind::NotLookedAt, 3, "no Python environment was looked at", "没有查看任何 Python 环境"},
    Words{Kind::NoneInUse, 2, "no Python environment is in use here", "这里没有正在使用的 Python 环境"},
    Words{Kind::NoEnvironment, 2, "not one Python environment is called {path}", "没有唯一的名为 {path} 的 Python 环境"},
    Words{Kind::NoPython, 1, "the Python environment {path} has no interpreter that was seen",
          "Python 环境 {path} 中没有看到解释器"},
    Words{Kind::NotInstalled, 1, "{path} is not installed in {detail}", "{detail} 中没有安装 {path}"},
};

const Words& words_of(Kind kind) {
  for (const Words& one : words)
    if (one.kind == kind) return one;
  return words.front();
}

/// "PATH: reason" of a failed look-up names the path once more.
std::string without_path(const std::string& text, const std::string& path) {
  return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}

}  // namespace

std::string plan_error_text(const PlanError& error, Language language) {
  const Words& found = words_of(error.kind);
  return fill_placeholders(language == Language::Chinese ? found.chinese : found.english,
                           {{"path", printable(error.path)}, {"detail", printable(without_path(error.detail, error.path))}});
}

int plan_error_code(const PlanError& error) { return words_of(error.kind).exit_code; }

}  // namespace gpuvet
