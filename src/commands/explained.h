#pragma once
// A text's facts → diagnosis, alone or beside this machine's: what `explain` and `run` share.

#include "commands/input.h"
#include "diagnose/explain.h"

namespace gpuvet {

struct Explained {
  Diagnosis diagnosis;
  Machine machine;  ///< whose facts it is from, redacted where the options ask for it
};

/// Is what is told to be redacted: asked for, or a Markdown block, which others are to read?
bool is_redacted(const Options& options);

Explained explained(const Options& options, Machine text, const Knowledge& knowledge);
/// With this machine's facts (or those of --root or --snapshot), judged for `purpose`. An error where these cannot be had.
tl::expected<Explained, Failure> explained_here(const Options& options, Machine text, Purpose purpose, bool same_machine,
                                                const Knowledge& knowledge);

std::string render_explained(const Options& options, const Explained& explained, const Knowledge& knowledge,
                             const RenderOptions& how);

/// The program that was asked for keeps its place among the plans, under its redacted name.
void redact_with_purpose(Machine& machine, Purpose& purpose);

}  // namespace gpuvet
