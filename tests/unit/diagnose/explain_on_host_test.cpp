// A text beside the machine that it is read on: what confirms, what contradicts, what has nothing to do with it.

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/explain.h"
#include "diagnose/host_facts.h"

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge tables;
  return tables;
}

Machine text_with(const std::string& signature, const std::string& meaning, std::map<std::string, std::string> parameters = {}) {
  Machine text;
  text.source = "text";
  Observation observation;
  observation.signature = signature;
  observation.meaning = meaning;
  observation.parameters = std::move(parameters);
  observation.place = "host";
  observation.origin = {"log", 7, "the message"};
  text.observations = Fact<std::vector<Observation>>::known({observation});
  return text;
}

Machine out_of_memory() { return text_with("torch-cuda-out-of-memory", "out-of-memory", {{"wanted", "2.00 GiB"}}); }
Machine no_gpus() { return text_with("torch-no-gpus-available", "no-cuda-device"); }

PciDevice gpu(std::int64_t device) {
  PciDevice pci;
  pci.address = "0000:01:00.0";
  pci.vendor = 0x10de;
  pci.device = device;
  pci.class_code = 0x030000;
  return pci;
}

/// RTX 4090, driver loaded.
Machine host_with_gpu() {
  Machine host;
  host.source = "host";
  host.os.container = Fact<std::string>::absent();
  host.os.wsl = Fact<std::int64_t>::absent();
  host.os.jetson = Fact<std::string>::absent();
  host.pci = Fact<std::vector<PciDevice>>::known({gpu(0x2684)}, {"/sys/bus/pci/devices", 0, ""});
  host.kernel_driver.version = Fact<std::string>::known("580.65.06", {"/proc/driver/nvidia/version", 1, ""});
  return host;
}

Machine host_without_gpu() {
  Machine host = host_with_gpu();
  host.pci = Fact<std::vector<PciDevice>>::known({}, {"/sys/bus/pci/devices", 0, ""});
  host.kernel_driver.version = Fact<std::string>::absent();
  return host;
}

Finding error(const std::string& kind, Layer layer) {
  Finding finding;
  finding.kind = kind;
  finding.layer = layer;
  finding.severity = Severity::Error;
  finding.evidence = {{"/proc/modules", 1, "host's line"}};
  return finding;
}

Diagnosis broken(Finding finding) {
  Diagnosis diagnosis;
  diagnosis.verdict = Verdict::Broken;
  diagnosis.root_cause = finding.kind;
  diagnosis.findings = {std::move(finding)};
  return diagnosis;
}

Diagnosis in_order() {
  Diagnosis diagnosis;
  diagnosis.verdict = Verdict::Holds;
  for (const Layer layer : {Layer::Hardware, Layer::KernelModule, Layer::DeviceNode, Layer::UserDriver})
    diagnosis.chain.push_back({layer, LinkState::Ok, "seen"});
  return diagnosis;
}

Diagnosis on_host(const Machine& text, const Machine& host, const Diagnosis& judged, bool same_machine) {
  const Purpose purpose;
  return explain_on_host(text, {.machine = host, .diagnosis = judged, .purpose = purpose, .same_machine = same_machine}, knowledge());
}

double rank_of(const Diagnosis& diagnosis, std::string_view kind) {
  const auto found = std::ranges::find(diagnosis.findings, kind, &Finding::kind);
  return found == diagnosis.findings.end() ? 0 : found->rank;
}

std::vector<std::string> differences(const Machine& text, const Machine& host) {
  std::vector<std::string> what;
  for (const Contradiction& contradiction : contradictions(text, host, knowledge())) what.push_back(contradiction.what);
  return what;
}

using Names = std::vector<std::string>;

TEST(Contradictions, OnlyWhatBothSidesSaw) {
  Machine text = no_gpus();
  EXPECT_EQ(differences(text, Machine()), Names());
  text.kernel_driver.version = Fact<std::string>::known("580.65.06");
  EXPECT_EQ(differences(text, host_with_gpu()), Names{"gpu-not-seen"});
  text.kernel_driver.version = Fact<std::string>::known("535.129.03");
  EXPECT_EQ(differences(text, host_with_gpu()), (Names{"driver", "gpu-not-seen"}));
  EXPECT_EQ(differences(text, host_without_gpu()), Names{"no-driver"});
}

TEST(Contradictions, DriverInsideWslIsOfWindows) {
  Machine text = out_of_memory(), host = host_with_gpu();
  text.kernel_driver.version = Fact<std::string>::known("535.129.03");
  host.os.wsl = Fact<std::int64_t>::known(2);
  EXPECT_EQ(differences(text, host), Names());
}

TEST(Contradictions, GpusByTheirArchitecture) {
  Machine text;
  text.pci = Fact<std::vector<PciDevice>>::known({gpu(0x2684)});
  EXPECT_EQ(differences(text, host_with_gpu()), Names());
  text.pci = Fact<std::vector<PciDevice>>::known({gpu(0x1b06)});  // GTX 1080 Ti
  EXPECT_EQ(differences(text, host_with_gpu()), Names{"gpu"});
  EXPECT_EQ(differences(text, host_without_gpu()), Names{"no-gpu"});
}

TEST(Contradictions, ProgramThatHadAGpu) {
  EXPECT_EQ(differences(out_of_memory(), host_without_gpu()), Names{"no-gpu-at-work"});
  EXPECT_EQ(differences(out_of_memory(), host_with_gpu()), Names());
  EXPECT_EQ(differences(no_gpus(), host_without_gpu()), Names());
}

TEST(Contradictions, DistributionOfAnImageIsItsOwn) {
  Machine text, host = host_with_gpu();
  text.os.id = Fact<std::string>::known("ubuntu");
  text.os.version_id = Fact<std::string>::known("22.04");
  host.os.id = Fact<std::string>::known("debian");
  host.os.version_id = Fact<std::string>::known("12");
  const auto found = contradictions(text, host, knowledge());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].other_machine);
  EXPECT_EQ(found[0].text_value, "ubuntu 22.04");
  EXPECT_EQ(found[0].host_value, "debian 12");
  text.os.container = Fact<std::string>::known("docker");
  EXPECT_FALSE(contradictions(text, host, knowledge())[0].other_machine);
}

TEST(ExplainOnHost, SameKindOfBothIsSurer) {
  const Machine text = text_with("x", "kernel-headers-missing", {{"kernel", "6.8.0-49-generic"}});
  const double alone = rank_of(explain(text, knowledge()), "dkms-headers-missing");
  ASSERT_GT(alone, 0.5);
  const Diagnosis both = on_host(text, host_with_gpu(), broken(error("dkms-headers-missing", Layer::KernelModule)), false);
  EXPECT_GT(rank_of(both, "dkms-headers-missing"), alone);
  EXPECT_EQ(both.root_cause, "dkms-headers-missing");
  const auto& evidence = both.findings.front().evidence;
  EXPECT_TRUE(std::ranges::any_of(evidence, [](const Origin& o) { return o.source == "log"; }));
  EXPECT_TRUE(std::ranges::any_of(evidence, [](const Origin& o) { return o.source == "/proc/modules"; }));
}

TEST(ExplainOnHost, MachineNamesWhatTheTextLeavesOpen) {
  ASSERT_EQ(explain(no_gpus(), knowledge()).root_cause, "");
  const Diagnosis both = on_host(no_gpus(), host_without_gpu(), broken(error("no-nvidia-gpu-in-machine", Layer::Hardware)), false);
  EXPECT_EQ(both.root_cause, "no-nvidia-gpu-in-machine");
  ASSERT_TRUE(both.host.has_value());
  EXPECT_TRUE(both.host->used);
}

TEST(ExplainOnHost, UnrelatedBreakOfTheMachineIsNoCause) {
  const Diagnosis both = on_host(out_of_memory(), host_with_gpu(), broken(error("nvcc-not-on-path", Layer::Toolkit)), true);
  EXPECT_EQ(both.root_cause, "out-of-memory");
  EXPECT_LT(rank_of(both, "nvcc-not-on-path"), sure_enough);
  const Machine nothing = text_with("x", "nothing-that-is-known");
  EXPECT_EQ(on_host(nothing, host_without_gpu(), broken(error("no-nvidia-gpu-in-machine", Layer::Hardware)), true).root_cause, "");
}

TEST(ExplainOnHost, TextOfAnotherMachineDecidesAlone) {
  Machine text = no_gpus();
  text.kernel_driver.version = Fact<std::string>::known("535.129.03");
  const Diagnosis judged = broken(error("no-nvidia-gpu-in-machine", Layer::Hardware));
  const Diagnosis other = on_host(text, host_without_gpu(), judged, false);
  EXPECT_EQ(other.root_cause, explain(text, knowledge()).root_cause);
  EXPECT_EQ(rank_of(other, "no-nvidia-gpu-in-machine"), rank_of(explain(text, knowledge()), "no-nvidia-gpu-in-machine"));
  ASSERT_FALSE(other.contradictions.empty());
  EXPECT_FALSE(other.host->used);
  // A command that ran here is of this machine, whatever its output quotes.
  EXPECT_TRUE(on_host(text, host_without_gpu(), judged, true).host->used);
}

TEST(ExplainOnHost, LinkThatIsInOrderHereIsDoubted) {
  const Machine text = text_with("nvidia-smi-cannot-communicate", "gpu-not-available");
  const double alone = rank_of(explain(text, knowledge()), "module-not-loaded");
  ASSERT_GT(alone, 0.1);
  EXPECT_LT(rank_of(on_host(text, host_with_gpu(), in_order(), false), "module-not-loaded"), alone);
}

TEST(Joined, HostStaysAndTextFillsTheGaps) {
  Machine text = out_of_memory(), host = host_with_gpu();
  text.kernel_driver.version = Fact<std::string>::known("535.129.03");
  text.os.glibc = Fact<std::string>::known("2.35");
  text.environment["LD_LIBRARY_PATH"] = "/opt/x";
  const Machine both = joined(text, host);
  EXPECT_TRUE(both.kernel_driver.version.is("580.65.06"));
  EXPECT_TRUE(both.os.glibc.is("2.35"));
  EXPECT_EQ(both.environment.at("LD_LIBRARY_PATH"), "/opt/x");
  EXPECT_EQ(both.observations, text.observations);
}

}  // namespace
}  // namespace gpuvet
