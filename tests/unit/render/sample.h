#pragma once
// A small machine and what could be said about it.

#include "model/finding.h"

namespace gpuvet {

inline Machine sample_machine() {
  Machine m;
  m.source = "root";
  m.os.id = Fact<std::string>::known("ubuntu");
  m.os.id_like = Fact<std::string>::known("debian");
  m.os.version_id = Fact<std::string>::known("22.04");
  m.os.architecture = Fact<std::string>::known("x86_64");
  m.user.name = Fact<std::string>::known("alice");
  m.user.uid = Fact<std::int64_t>::known(1000);
  m.environment = {{"USER", "alice"}};
  return m;
}

inline Diagnosis broken_diagnosis() {
  Finding root, effect;
  root.kind = "dkms-headers-missing";
  root.layer = Layer::KernelModule;
  root.parameters = {{"kernel", "6.8.0-49-generic"}};
  root.evidence = {{"/proc/sys/kernel/osrelease", 1, "6.8.0-49-generic"}};
  root.repair = {{"install-kernel-headers", {{"kernel", "6.8.0-49-generic"}, {"debian_headers", "linux-headers-6.8.0-49-generic"}}}};
  root.explains = {"libcuda-missing"};
  effect.kind = "libcuda-missing";
  effect.layer = Layer::UserDriver;
  Diagnosis d;
  d.verdict = Verdict::Broken;
  d.root_cause = root.kind;
  d.findings = {root, effect};
  d.chain = {{Layer::Hardware, LinkState::Ok, "RTX 4090 (AD102)"},
             {Layer::KernelModule, LinkState::Broken, ""},
             {Layer::DeviceNode, LinkState::Unknown, ""},
             {Layer::UserDriver, LinkState::Broken, ""},
             {Layer::Toolkit, LinkState::NotNeeded, ""}};
  d.not_seen = {{"kernel-log", "permission denied"}};
  return d;
}

inline Diagnosis healthy_diagnosis() {
  Diagnosis d;
  d.verdict = Verdict::Holds;
  Finding healthy;
  healthy.kind = "driver-healthy";
  healthy.severity = Severity::Note;
  d.findings = {healthy};
  d.chain = {{Layer::Hardware, LinkState::Ok, "RTX 4090 (AD102)"}};
  return d;
}

}  // namespace gpuvet
