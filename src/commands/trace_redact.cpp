#include "commands/trace_redact.h"

#include <map>

namespace gpuvet {
namespace {

class Redaction {
 public:
  Redaction(const std::function<void(std::string&)>& redact, std::deque<LibraryFile>& files) : redact_(redact), files_(files) {}

  void text(std::string& text) {
    if (!text.empty()) redact_(text);
  }
  void texts(std::vector<std::string>& texts) {
    for (std::string& t : texts) text(t);
  }
  void places(std::vector<TriedPlace>& places) {
    for (TriedPlace& place : places) text(place.path), text(place.rule), text(place.why);
  }
  void copies(std::vector<OtherCopy>& copies) {
    for (OtherCopy& copy : copies) text(copy.path);
  }
  void file(const LibraryFile*& file) {
    if (file == nullptr) return;
    auto [known, added] = done_.try_emplace(file, nullptr);
    if (added) {
      LibraryFile& copy = files_.emplace_back(*file);
      for (std::string* t : {&copy.path, &copy.real_path, &copy.soname, &copy.rpath, &copy.runpath, &copy.interpreter}) text(*t);
      texts(copy.needed);
      texts(copy.filters);
      known->second = &copy;
    }
    file = known->second;
  }
  void object(LoadedObject& object) {
    for (std::string* t : {&object.name, &object.path, &object.rule, &object.rule_detail}) text(*t);
    file(object.file);
    places(object.tried);
    for (ShadowedCopy& copy : object.shadows) {
      text(copy.path);
      text(copy.rule);
      file(copy.file);
    }
  }
  void plan(ProcessPlan& plan) {
    for (std::string* t : {&plan.name, &plan.program, &plan.prefix, &plan.framework}) text(*t);
    for (LoadStep& step : plan.steps) {
      texts(step.names);
      texts(step.after_failure);
      text(step.caller);
      text(step.why);
    }
    for (Origin& origin : plan.problems) text(origin.source), text(origin.text);
  }
  void conflict(SymbolConflict& conflict) {
    texts(conflict.symbols);
    text(conflict.expected_name);
    copies(conflict.found_in);
  }

 private:
  const std::function<void(std::string&)>& redact_;
  std::deque<LibraryFile>& files_;
  std::map<const LibraryFile*, const LibraryFile*> done_;
};

}  // namespace

void redact_trace(TraceReport& report, const std::function<void(std::string&)>& redact, std::deque<LibraryFile>& files) {
  Redaction redaction(redact, files);
  redaction.text(report.target);
  redaction.text(report.library_path);
  redaction.plan(report.plan);
  for (LoadedObject& object : report.forecast.objects) redaction.object(object);
  for (MissingLibrary& library : report.forecast.missing) {
    for (std::string* t : {&library.name, &library.needed_by_path, &library.blocked_by, &library.error}) redaction.text(*t);
    redaction.places(library.tried);
  }
  for (StepOutcome& step : report.forecast.steps) redaction.text(step.name);
  redaction.texts(report.forecast.unknown);
  for (SymbolConflict& conflict : report.conflicts.conflicts) redaction.conflict(conflict);
  for (HostSymbols& host : report.conflicts.host) redaction.texts(host.symbols);
  std::map<std::string, std::vector<OtherCopy>> copies;
  for (auto& [name, found] : report.copies) {
    std::string hidden = name;
    redaction.text(hidden);
    redaction.copies(found);
    copies[std::move(hidden)] = std::move(found);
  }
  report.copies = std::move(copies);
}

}  // namespace gpuvet
