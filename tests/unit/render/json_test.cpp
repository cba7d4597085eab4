// The shape that docs/json.md promises.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/json.h"
#include "render/render.h"
#include "sample.h"

namespace gpuvet {
namespace {

using nlohmann::json;

json document(const Diagnosis& diagnosis, const Machine& machine, RenderOptions options = {}) {
  return json::parse(render_json(diagnosis, machine, Knowledge(), options));
}

TEST(CheckJson, HasTheDocumentedShape) {
  const json d = document(broken_diagnosis(), sample_machine());
  EXPECT_EQ(d["schema"], 1);
  EXPECT_EQ(d["document"], "check");
  EXPECT_EQ(d["verdict"], "broken");
  EXPECT_EQ(d["exit_code"], 1);
  EXPECT_EQ(d["root_cause"]["kind"], "dkms-headers-missing");
  ASSERT_EQ(d["findings"].size(), 2U);
  const json& f = d["findings"][0];
  for (const char* field : {"kind", "layer", "severity", "title", "explanation"}) EXPECT_TRUE(f[field].is_string()) << field;
  EXPECT_EQ(f["layer"], "kernel-module");
  EXPECT_EQ(f["severity"], "error");
  EXPECT_TRUE(f["rank"].is_number());
  EXPECT_EQ(f["evidence"][0], (json{{"origin", "/proc/sys/kernel/osrelease"}, {"line", 1}, {"text", "6.8.0-49-generic"}}));
  EXPECT_EQ(f["explains"], json::array({"libcuda-missing"}));
  const json& a = f["repair"][0];
  EXPECT_EQ(a["type"], "install-kernel-headers");
  EXPECT_EQ(a["parameters"]["kernel"], "6.8.0-49-generic");
  EXPECT_TRUE(a["risk"].is_string());
  EXPECT_TRUE(a["reversible"].is_boolean());
  EXPECT_TRUE(a["reboot"].is_boolean());
  EXPECT_TRUE(a["text"].is_string());
  EXPECT_TRUE(a["commands"].is_array());
  EXPECT_EQ(d["chain"][1], (json{{"link", "kernel-module"}, {"state", "broken"}, {"detail", ""}}));
  EXPECT_EQ(d["not_seen"][0]["what"], "kernel-log");
  EXPECT_TRUE(d["not_seen"][0]["advice"].is_string());
}

TEST(CheckJson, HealthyHasNoRootCause) {
  const json d = document(healthy_diagnosis(), sample_machine());
  EXPECT_TRUE(d["root_cause"].is_null());
  EXPECT_EQ(d["verdict"], "holds");
  EXPECT_EQ(d["findings"][0]["kind"], "driver-healthy");
}

TEST(CheckJson, WarningAsRootCauseHoldsUnlessStrict) {
  Diagnosis d = healthy_diagnosis();
  d.findings = {Finding()};
  d.findings[0].kind = d.root_cause = "multiple-libcuda";
  d.findings[0].severity = Severity::Warning;
  EXPECT_EQ(exit_code(d, false), 0);
  EXPECT_EQ(exit_code(d, true), 1);
  EXPECT_EQ(document(d, sample_machine())["root_cause"]["severity"], "warning");
}

TEST(CheckJson, MachineInsideIsRedactedUnlessAskedOtherwise) {
  Machine m = sample_machine();
  EXPECT_EQ(document(broken_diagnosis(), m)["machine"]["user"]["name"]["known"], "user1");
  EXPECT_EQ(document(broken_diagnosis(), m)["machine"]["redacted"], true);
  RenderOptions raw;
  raw.redact = false;
  EXPECT_EQ(document(broken_diagnosis(), m, raw)["machine"]["user"]["name"]["known"], "alice");
  const auto again = machine_from_json(render_json(broken_diagnosis(), m, Knowledge(), raw));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, m);
}

TEST(CheckJson, ForeignBytesStayValidJson) {
  Diagnosis d = broken_diagnosis();
  d.findings[0].evidence[0].text = "\x1b[31m caf\xe9 \"\\\x01";
  d.findings[0].parameters["kernel"] = "\xff\xfe";
  d.chain[0].detail = "\x80";
  EXPECT_NO_THROW(document(d, sample_machine()));
}

}  // namespace
}  // namespace gpuvet
