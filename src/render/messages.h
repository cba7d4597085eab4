#pragma once
// gpuvet's own sentences, in both languages. Texts of rules and repairs are in data/.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "render/render.h"

namespace gpuvet {

enum class Message : std::uint8_t {
  // headings
  AtMost,
  Evidence,
  Repair,
  Consequences,
  OtherFindings,
  NotSeen,
  Facts,
  Source,
  Decides,
  AppliesOn,
  Explains,
  Variants,
  Chain,
  RootCause,
  Toolkits,
  PythonEnvironments,
  // explain: what a text shows
  Confirm,
  WouldDecide,
  OtherPossibilities,
  NotTheProblem,
  ExplainedCause,
  ExplainedWarning,
  ExplainedUnknown,
  ExplainedNothing,
  ExplainedPart,
  PasteAndEnd,
  NoTextGiven,
  ThisMachine,
  Contradictions,
  LoaderDidNotFind,
  Command,
  // lists
  NoCompilerIn,
  MissingIn,
  // the chain
  NotAskedFor,
  BehindTheBreak,
  NothingKnown,
  ThePythonEnvironment,
  CodesInLog,
  CodeCauses,
  CodeAdvice,
  ExplainedCodes,
  // repair
  RebootNeeded,
  NoRebootNeeded,
  CannotBeUndone,
  NoRepairKnown,
  PackagesUnknown,
  BackUpFirst,
  StepInstead,
  StepIfNotEnough,
  OnDistributions,
  OrWith,
  // verdicts
  VerdictHolds,
  VerdictHoldsWarning,
  VerdictHoldsStrict,
  VerdictBroken,
  VerdictUnknown,
  // command line
  UnknownRule,
  UnknownCommand,
  DidYouMean,
  CannotRead,
  CannotWrite,
  NotADirectory,
  BadSnapshot,
  BadEnvironment,
  BadPurpose,
  CannotJudgeProgram,
  SnapshotWithoutProgram,
  OutputIsLink,
  OutputExists,
  MustBeOneOf,
  RuleListHint,
  OneInputOnly,
  TraceNoSnapshot,
  SnapshotWritten,
  TooLong,
  MissingOutput,
  UsageHint,
  OutputNotRegular,
  // scan: what GPU code means for a GPU
  ScanRuns,
  ScanJit,
  ScanJitAnyDriver,
  ScanLto,
  ScanNoImage,
  ScanPtxTooNew,
  ScanJitDisabled,
  ScanNoPtxForced,
  ScanNoCode,
  ScanOnlyStubs,
  ScanNotAllRead,
  ScanTargetNotKnown,
  ScanPartOfPtxTooNew,
  ScanPtxIsaNotKnown,
  ScanHoles,
  ScanByPtx,
  ScanSpecial,
  ScanContainers,
  ScanHeading,
  ScanFiles,
  ScanTargets,
  ScanSummary,
  ScanProblems,
  ScanMoreProblems,
  ScanFileCount,
  ScanForcePtx,
  ScanDisablePtx,
  ScanDriver,
  ScanNothing,
  ScanFound,
  ScanAllRun,
  ScanSomeFail,
  ScanSomeUnknown,
  ScanStopped,
  ScanNoPath,
  ScanUnknownGpu,
  ScanAmbiguousGpu,
  ScanNoGpuHere,
  ScanBadDriver,
};

std::string_view message(Message id, Language language);
/// message() with {placeholders} filled.
std::string message(Message id, Language language, const std::map<std::string, std::string>& values);

/// "GPU on the bus", "kernel driver", …
std::string_view layer_title(Layer layer, Language language);
/// The same of one link of a diagnosis: for a program the link of frameworks is its own GPU code.
std::string_view link_title(Layer layer, const Diagnosis& diagnosis, Language language);
std::string_view severity_title(Severity severity, Language language);
std::string_view world_title(World world, Language language);
std::string_view state_title(LinkState state, Language language);
/// What could not be seen ("kernel-log" → "the kernel log") and how to let gpuvet see it. `why` may shape the advice.
std::string not_seen_title(std::string_view what, Language language);
std::string not_seen_advice(const gpuvet::NotSeen& entry, const Machine& machine, Language language);

/// Replaces {name} by values[name], and {name|one|many} by the word that fits its number; unknown placeholders stay.
std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values);
bool has_placeholder(std::string_view text);

}  // namespace gpuvet
