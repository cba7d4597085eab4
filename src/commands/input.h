#pragma once
// What the commands work on: knowledge with its overlay, and the machine (host, root or snapshot).

#include <memory>
#include <vector>

#include "collect/collect.h"
#include "commands/options.h"
#include "model/purpose.h"

namespace gpuvet {

tl::expected<Knowledge, std::string> load_knowledge(const Options& options);

/// The machine that the command line names (this host or --root), open, and what it says about the judged process.
struct Inspected {
  std::unique_ptr<System> system;
  CollectOptions collect;
};
/// Errors are whole sentences that name the path. --snapshot is not looked at.
tl::expected<Inspected, std::string> open_inspected(const Options& options);
/// A whole sentence, and the exit code.
struct Failure {
  std::string text;
  int exit_code = 2;
};
/// The whole machine, or the snapshot, with the binaries of what has to work. A purpose that is the name of a program on PATH and
/// of no framework becomes that program's path; of a snapshot that was made for a program, that program is meant where nothing
/// was asked for. An error too when a program that is asked for is not there, or no ELF file.
tl::expected<Machine, Failure> load_machine(const Options& options, Purpose& purpose, std::vector<CollectorTime>* times);

/// NAME=value lines (as env prints them, values over several lines included) or NUL-separated entries. Errors: the line's number.
tl::expected<std::map<std::string, std::string>, std::size_t> parse_environment(std::string_view text);

}  // namespace gpuvet
