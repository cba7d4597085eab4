#pragma once
// What a command line starts, as far as its words and the file it names tell: a program, Python code of some environment, a
// container, another machine. Nothing is run.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/purpose.h"
#include "system/system.h"

namespace gpuvet {

struct CommandWords {
  enum class Kind { Program, Python, Container, Remote } kind = Kind::Program;
  std::vector<std::string> words;         ///< without what only wraps it: env, nice, timeout, sudo, uv run, …
  std::vector<std::string> variables;     ///< "NAME=value", set by env
  std::string environment;                ///< Python environment that a wrapper names: conda run -n, uv run
  std::string script, module_name, code;  ///< Python: what it is to run
};

/// Pure.
CommandWords read_command(const std::vector<std::string>& command);

/// The command of a script's first lines: of "#!/usr/bin/env python3" {"python3"}; also where pip wrote "exec" behind a
/// "#!/bin/sh" because the path was too long. Empty: no script. Pure.
std::vector<std::string> interpreter_words(std::string_view beginning);

/// The framework that Python source imports first, or needs for what it imports: "torch", "tensorflow", …; empty: none. Pure.
std::string framework_of_source(std::string_view source);
/// The same of a module: "torch.distributed.run", "vllm".
std::string framework_of_module(std::string_view name);

/// What has to work for the command.
struct CommandPurpose {
  CommandWords::Kind kind = CommandWords::Kind::Program;
  Purpose purpose;          ///< not asked: what is installed decides
  std::string environment;  ///< prefix (or name) of the Python environment; empty: the one in use, or no Python
  std::vector<std::string> variables;
};
CommandPurpose command_purpose(System& system, const std::map<std::string, std::string>& environment,
                               const std::vector<std::string>& command);

}  // namespace gpuvet
