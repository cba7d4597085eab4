#include "model/redact.h"

#include <gtest/gtest.h>

#include "fill.h"
#include "model/json.h"

namespace gpuvet {
namespace {

Origin origin(std::string source, std::string text) { return {std::move(source), 1, std::move(text)}; }

Machine workstation() {
  Machine m;
  m.user.name = Fact<std::string>::known("alice", origin("/etc/passwd", "alice:x:1000:1000:Alice Smith,,,:/home/alice:/bin/bash"));
  m.user.groups = Fact<std::vector<UserGroup>>::known({{1000, "alice"}, {44, "video"}, {2000, "acme-research"}},
                                                      origin("/etc/group", "video:x:44:alice,bob"));
  m.environment = {{"USER", "alice"},
                   {"HOME", "/home/alice"},
                   {"PATH", "/home/alice/venv/bin:/scratch/alice/bin:/usr/local/cuda/bin:/usr/bin"},
                   {"CUDA_VISIBLE_DEVICES", "GPU-0824627d"},
                   {"NV_LIBCUBLAS_VERSION", "12.4.5.8-1"},
                   {"MASTER_ADDR", "10.20.30.40"},
                   {"HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz"},
                   {"MY_PROJECT", "moonshot"}};
  ProcGpu gpu;
  gpu.address = "0000:01:00.0";
  gpu.uuid = "GPU-0824627d-4c4a-ad7a-4a5a-ea73a67cb7a0";
  m.kernel_driver.gpus = {gpu};
  m.os.kernel_command_line =
      Fact<std::string>::known("BOOT_IMAGE=/boot/vmlinuz-6.8.0-49-generic root=UUID=c7d8a6d7-22a1-ec9a-16fa-e165177c418d resume=UUID=1A2B-3C4D ro");
  LogEvent xid;
  xid.kind = "xid";
  xid.code = 79;
  xid.pci = "0000:01:00";
  xid.text = "NVRM: Xid (PCI:0000:01:00): 79, pid=77, name=python, GPU has fallen off the bus. (node17, 10.20.30.40)";
  xid.origin = origin("/var/log/kern.log", "Nov 30 12:00:01 node17 kernel: [  1.2] NVRM: Xid (PCI:0000:01:00): 79, serial number: 0324718089123");
  m.kernel_log.events = Fact<std::vector<LogEvent>>::known({xid});
  Package package;
  package.name = "libnvidia-compute-550";
  package.version = "550.120-0ubuntu0.22.04.1";
  m.packages.installed = Fact<std::vector<Package>>::known({package});
  return m;
}

TEST(Redact, NothingThatIdentifiesIsLeft) {
  const std::string json = machine_to_json(redact(workstation()));
  for (const char* secret : {"alice", "Alice", "Smith", "bob", "acme", "0824627d", "c7d8a6d7", "1A2B-3C4D", "node17", "10.20.30.40", "0324718089123",
                             "hf_abc", "moonshot"}) {
    EXPECT_EQ(json.find(secret), std::string::npos) << secret << " is still in\n" << json;
  }
}

TEST(Redact, EqualStaysEqualAndFactsStay) {
  const Machine m = redact(workstation());
  EXPECT_TRUE(m.redacted);
  EXPECT_TRUE(m.user.name.is("user1"));
  EXPECT_EQ(m.environment.at("USER"), "user1");
  EXPECT_EQ(m.environment.at("HOME"), "/home/user1");
  EXPECT_EQ(m.environment.at("PATH"), "/home/user1/venv/bin:/scratch/user1/bin:/usr/local/cuda/bin:/usr/bin");
  EXPECT_EQ(m.environment.at("NV_LIBCUBLAS_VERSION"), "12.4.5.8-1");
  EXPECT_EQ(m.environment.at("MASTER_ADDR"), "192.0.2.1");
  EXPECT_EQ(m.environment.at("HF_TOKEN"), "(removed)");
  EXPECT_EQ(m.environment.at("MY_PROJECT"), "(removed)");
  EXPECT_EQ(m.kernel_driver.gpus[0].uuid, "GPU-00000001-0000-0000-0000-000000000000");
  EXPECT_EQ(m.environment.at("CUDA_VISIBLE_DEVICES"), "GPU-00000001");
  EXPECT_EQ(m.user.groups.get()->at(0).name, "user1");
  EXPECT_EQ(m.user.groups.get()->at(1).name, "video");
  EXPECT_EQ(m.user.groups.get()->at(2).name, "group1");
  const LogEvent& event = m.kernel_log.events.get()->at(0);
  EXPECT_EQ(event.text, "NVRM: Xid (PCI:0000:01:00): 79, pid=77, name=python, GPU has fallen off the bus. (host1, 192.0.2.1)");
  EXPECT_EQ(event.origin.text, "Nov 30 12:00:01 host1 kernel: [  1.2] NVRM: Xid (PCI:0000:01:00): 79, serial number: serial1");
  EXPECT_EQ(*m.os.kernel_command_line.get(),
            "BOOT_IMAGE=/boot/vmlinuz-6.8.0-49-generic root=UUID=00000002-0000-0000-0000-000000000000 resume=UUID=disk1 ro");
  EXPECT_EQ(m.packages.installed.get()->at(0), workstation().packages.installed.get()->at(0));
}

TEST(Redact, IsIdempotent) {
  const Machine once = redact(workstation());
  EXPECT_EQ(redact(once), once);
  Machine again = once;  // even without being told that it was done
  again.redacted = false;
  EXPECT_EQ(redact(again).environment, once.environment);
  EXPECT_EQ(redact(again).user, once.user);
  EXPECT_EQ(redact(again).kernel_log, once.kernel_log);
}

TEST(Redact, NamesThatAreDriverWordsGoOnlyWhereTheyAreNames) {
  Machine m;
  m.user.name = Fact<std::string>::known("pascal");
  m.environment = {{"USER", "pascal"}, {"HOME", "/home/pascal"}, {"PATH", "/home/pascal/bin"}};
  m.kernel_driver.banner = Fact<std::string>::known("a pascal GPU");
  const Machine r = redact(m);
  EXPECT_TRUE(r.user.name.is("user1"));
  EXPECT_EQ(r.environment.at("PATH"), "/home/user1/bin");
  EXPECT_TRUE(r.kernel_driver.banner.is("a pascal GPU"));
}

TEST(Redact, GenericNamesAndVersionsStay) {
  Machine m;
  m.user.name = Fact<std::string>::known("root");
  m.environment = {{"USER", "root"}, {"HOME", "/root"}, {"HOSTNAME", "localhost"}};
  m.kernel_driver.banner = Fact<std::string>::known("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023");
  Machine expected = m;
  expected.redacted = true;
  EXPECT_EQ(machine_to_json(redact(m)), machine_to_json(expected));
}

TEST(Redact, WindowsAccountsInWslPaths) {
  Machine m;
  m.environment = {{"PATH", "/usr/bin:/mnt/c/Users/Alice Smith/AppData/Local/bin:/mnt/c/Windows"}};
  EXPECT_EQ(redact(m).environment.at("PATH"), "/usr/bin:/mnt/c/Users/user1/AppData/Local/bin:/mnt/c/Windows");
}

TEST(Redact, CredentialsInUrlsAndOptions) {
  Machine m;
  m.environment = {{"PIP_INDEX_URL", "https://joe:s3cret@pypi.example.com/simple"}};
  m.packages.repositories = {origin("/etc/apt/sources.list", "deb https://bearer:abc@repo.example.com/nvidia stable main")};
  const Machine r = redact(m);
  EXPECT_EQ(r.environment.at("PIP_INDEX_URL"), "https://(removed)@pypi.example.com/simple");
  EXPECT_EQ(r.packages.repositories[0].text, "deb https://(removed)@repo.example.com/nvidia stable main");
}

TEST(Redact, PseudonymsNeverCollideWithRealNames) {
  Machine m;
  m.user.name = Fact<std::string>::known("zoe");
  m.environment = {{"USER", "zoe"}, {"PATH", "/home/user1/bin:/home/zoe/bin"}};
  EXPECT_EQ(redact(m).environment.at("PATH"), "/home/user1/bin:/home/user2/bin");
}

TEST(Redact, RandomMachinesAreRedactedOnceAndForAll) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    Machine m;
    FillAtRandom(seed).fill(m);
    m.redacted = false;
    const Machine once = redact(m);
    ASSERT_EQ(redact(once), once);
  }
}

}  // namespace
}  // namespace gpuvet

namespace gpuvet {
namespace {

TEST(RedactText, SecretsOfStartUpFilesGo) {
  Machine machine;
  for (const char* line : {R"(export API_TOKEN="s3cret" PATH=/usr/local/cuda/bin:$PATH)", "MY_TOKEN='s3cret' x", "PGPASSWORD=s3cret psql",
                           "export AWS_SECRET_ACCESS_KEY=s3cret", "mysql --password s3cret", "curl https://x/y?sig=s3cret&b=1", "HF_TOKEN=\"s3cret\""})
    machine.shells.cuda_lines.push_back({"/home/alice/.bashrc", 1, line});
  PythonPackage package;
  package.name = "torch", package.version = "2.5.1", package.url = "https://user:s3cret@host/torch.whl?token=s3cret";
  package.requirements = {"tokenizers==0.20.1", "nvidia-cublas-cu12==12.4.5.8"};
  PythonEnvironment environment;
  environment.packages = {package};
  machine.python.environments = Fact<std::vector<PythonEnvironment>>::known({environment});
  const std::string text = machine_to_json(redact(machine));
  EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
  EXPECT_NE(text.find("tokenizers==0.20.1"), std::string::npos);
  EXPECT_NE(text.find("PATH=/usr/local/cuda/bin:$PATH"), std::string::npos);
}

}  // namespace
}  // namespace gpuvet
