#pragma once
// Makes the small libraries and programs that loader_cases.txt describes, with gcc (musl-gcc) and patchelf.

#include <filesystem>
#include <string>
#include <vector>

#include "loader_truth.h"

namespace gpuvet::test {

struct LoaderCase {
  std::string name;
  bool musl = false;
  bool run = false;                ///< the program itself; else `ld.so --list`
  std::string file;                ///< what is loaded
  std::vector<std::string> steps;  ///< "open:NAME", "global:NAME", "from:LIBRARY:NAME"
  Variables environment;
  std::string folder;  ///< working directory
  int level = 0;       ///< x86-64 level that the loader is told to see; 0: the CPU's
  bool tells_loads = false;
  std::vector<std::string> loads;  ///< what of the case's own files the loader must take: a case that went wrong is no case
};

/// Why cases cannot be built here (no compiler, no patchelf); empty: they can. `musl`: the same for musl's.
std::string cannot_build(bool musl);

/// Reads the file and makes everything below `root`.
std::vector<LoaderCase> build_cases(const std::filesystem::path& data, const std::filesystem::path& root);

/// "NAME=VALUE" with "@" for a folder and "%20" for a blank.
std::string filled(std::string text, const std::string& folder);

/// The steps of a case as a plan's.
std::vector<LoadStep> steps_of(const LoaderCase& made);

}  // namespace gpuvet::test
