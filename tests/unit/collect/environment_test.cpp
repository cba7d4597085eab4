#include <gtest/gtest.h>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

using Variables = std::map<std::string, std::string>;

RecordedTree tree_with_users() {
  RecordedTree tree;
  tree.add_file("/etc/passwd",
                "root:x:0:0:root:/root:/bin/bash\n"
                "broken line\n"
                "alice:x:1000:1000:Alice:/home/alice:/bin/bash\n");
  tree.add_file("/etc/group", "root:x:0:\nvideo:x:44:bob,alice\nrender:x:109:alice\nalice:x:1000:\nbad:x:zz:alice\n");
  return tree;
}

Machine machine_of(RecordedTree tree, const Variables& variables, bool given = true) {
  auto system = make_recorded_system(std::move(tree));
  CollectOptions options;
  options.has_environment = given;
  options.environment = variables;
  Machine machine;
  collect_environment(*system, options, machine);
  return machine;
}

TEST(Environment, KeepsWhatMattersOnly) {
  const auto kept = machine_of({}, {{"PATH", "/usr/bin"},
                                    {"LD_LIBRARY_PATH", "/x"},
                                    {"CUDA_VISIBLE_DEVICES", ""},
                                    {"NVIDIA_REQUIRE_CUDA", "cuda>=12.4"},
                                    {"TF_FORCE_GPU_ALLOW_GROWTH", "1"},
                                    {"SSH_AUTH_SOCK", "/tmp/x"},
                                    {"DISPLAY", ":0"},
                                    {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                    {"MY_APP", "x"}})
                        .environment;
  EXPECT_EQ(kept.size(), 7u);
  EXPECT_EQ(kept.at("CUDA_VISIBLE_DEVICES"), "");  // set but empty hides all GPUs: not the same as unset
  EXPECT_EQ(kept.at("DISPLAY"), "set");
  EXPECT_EQ(kept.at("KUBERNETES_SERVICE_HOST"), "set");
}

TEST(Environment, NeverASecret) {
  EXPECT_TRUE(machine_of({}, {{"NVIDIA_API_KEY", "nvapi-1"},
                              {"NGC_API_KEY", "x"},
                              {"VLLM_API_KEY", "x"},
                              {"CONDA_TOKEN", "x"},
                              {"TF_VAR_db_password", "x"},
                              {"TF_TOKEN_app_terraform_io", "x"},
                              {"AWS_SECRET_ACCESS_KEY", "x"},
                              {"HF_TOKEN", "x"}})
                  .environment.empty());
}

TEST(Environment, NotGivenForARoot) {
  EXPECT_TRUE(machine_of({}, {}, false).environment_seen.is_not_seen());
  EXPECT_TRUE(machine_of({}, {}, true).environment_seen.is(true));
}

TEST(User, ByNameWithGroups) {
  const auto user = machine_of(tree_with_users(), {{"USER", "alice"}}).user;
  EXPECT_TRUE(user.name.is("alice"));
  EXPECT_TRUE(user.uid.is(1000));
  ASSERT_TRUE(user.groups.is_known());
  const std::vector<UserGroup> expected{{1000, "alice"}, {44, "video"}, {109, "render"}};
  EXPECT_EQ(*user.groups.get(), expected);
}

TEST(User, ByHomeRootWithoutPasswdAndStranger) {
  EXPECT_TRUE(machine_of(tree_with_users(), {{"HOME", "/root"}}).user.uid.is(0));
  EXPECT_TRUE(machine_of({}, {{"USER", "root"}}).user.uid.is(0));
  const auto stranger = machine_of(tree_with_users(), {{"USER", "carol"}}).user;
  EXPECT_TRUE(stranger.name.is("carol"));
  EXPECT_TRUE(stranger.uid.is_not_seen());
}

TEST(User, ByProcessOfACapture) {
  RecordedTree tree = tree_with_users();
  tree.add_file("/proc/self/status", "Name:\tbash\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t44 1000 4711 \n");
  const auto user = machine_of(tree, {}, false).user;
  EXPECT_TRUE(user.uid.is(1000));
  EXPECT_TRUE(user.name.is("alice"));
  const std::vector<UserGroup> expected{{1000, "alice"}, {44, "video"}, {4711, ""}};
  EXPECT_EQ(*user.groups.get(), expected);
}

TEST(User, NothingToTellFrom) { EXPECT_TRUE(machine_of({}, {}, false).user.uid.is_not_seen()); }

}  // namespace
}  // namespace gpuvet
