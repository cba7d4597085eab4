#pragma once
// What the real loaders do with a file, and the forecast of the same in the same words.

#include <map>
#include <string>
#include <vector>

#include "loader/forecast.h"

namespace gpuvet::test {

using Variables = std::map<std::string, std::string>;

/// What a loader mapped, in order; or why it ended.
struct Outcome {
  std::vector<std::string> loaded;   ///< paths as the loader names them, the program left out
  std::vector<std::string> missing;  ///< names, in the order asked for
  std::string error;                 ///< last line on standard error when the loader gave up
  std::vector<std::string> steps;    ///< "ok" or "failed" of each dlopen
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Run {
  int exit_code = -1;
  std::string output, errors;
};

/// Runs a program with this environment alone, in this folder ("" stays).
Run run(const std::vector<std::string>& command, const Variables& environment, const std::string& folder);

/// `ld.so --list FILE`, or the same of musl; where something is missing, as ldd asks.
Outcome listed(const std::string& loader, const std::string& file, const Variables& environment, const std::string& folder);
/// The program itself with LD_TRACE_LOADED_OBJECTS=1: it does not start, its loader prints.
Outcome traced(const std::string& program, const Variables& environment, const std::string& folder);
/// A program that prints what is mapped (loader_cases.cpp has it).
Outcome opened(const std::vector<std::string>& command, const Variables& environment, const std::string& folder);

Outcome outcome_of(const Forecast& forecast);

/// In one line.
std::string words_of(const Outcome& outcome);
/// One line a difference; empty: equal. An error of the loader equals a forecast that knows one and ends there.
std::string difference(const Outcome& truth, const Forecast& forecast);

}  // namespace gpuvet::test
