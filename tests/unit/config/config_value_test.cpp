#include "config/config_value.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

ConfigValue json(std::string_view text) {
  auto value = parse_json_config(text);
  EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().message);
  return value ? *value : ConfigValue{};
}
ConfigValue yaml(std::string_view text) {
  auto documents = parse_yaml_config(text);
  EXPECT_TRUE(documents.has_value()) << (documents ? "" : documents.error().message);
  return documents && !documents->empty() ? documents->front() : ConfigValue{};
}

TEST(JsonConfig, TellsWhereEachValueStands) {
  const ConfigValue value = json("{\n  \"default-runtime\": \"nvidia\",\n  \"runtimes\": {\"nvidia\": {\"args\": [1, 25,\n true]}}\n}\n");
  ASSERT_TRUE(value.is_map());
  EXPECT_EQ(value.place, (ConfigPlace{1, 1}));
  EXPECT_EQ(value.members[0].place, (ConfigPlace{2, 3}));
  EXPECT_EQ(value.members[0].value.place, (ConfigPlace{2, 22}));
  EXPECT_EQ(value.text_of("default-runtime"), "nvidia");
  const ConfigValue* args = value.at({"runtimes", "nvidia", "args"});
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(args->place, (ConfigPlace{3, 35}));
  EXPECT_EQ(args->items[0].place, (ConfigPlace{3, 36}));
  EXPECT_EQ(args->items[1].place, (ConfigPlace{3, 39}));
  EXPECT_EQ(args->items[1].text, "25");
  EXPECT_EQ(args->items[2].place, (ConfigPlace{4, 2}));
  EXPECT_TRUE(args->items[2].is_true());
}

TEST(JsonConfig, SaysWhereItBreaks) {
  const auto value = parse_json_config("{\n  \"a\": 1,\n}\n");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().place, (ConfigPlace{3, 1}));
  EXPECT_FALSE(parse_json_config("").has_value());
  EXPECT_FALSE(parse_json_config("{\"a\": 1} {").has_value());
}

TEST(JsonConfig, TheLastOfTwoEqualKeysCounts) { EXPECT_EQ(json(R"({"a": 1, "a": 2})").text_of("a"), "2"); }

TEST(JsonConfig, BoundsDepthAndNumber) {
  EXPECT_FALSE(parse_json_config(std::string(200, '[') + std::string(200, ']')).has_value());
  std::string many = "[1";
  for (int i = 0; i < 300'000; ++i) many += ",1";
  EXPECT_FALSE(parse_json_config(many + "]").has_value());
}

TEST(YamlConfig, ReadsComposeWithPlaces) {
  const ConfigValue value = yaml("services:\n  web:\n    image: \"cuda:12\"\n    privileged: yes\n    shm_size: 1.5\n    command: [a, 'b']\n");
  const ConfigValue* web = value.at({"services", "web"});
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(web->text_of("image"), "cuda:12");
  EXPECT_EQ(web->find("image")->place, (ConfigPlace{3, 12}));
  EXPECT_TRUE(web->find("privileged")->is_true());
  EXPECT_EQ(web->find("shm_size")->kind, ConfigKind::Number);
  EXPECT_EQ(web->find("command")->items[1].text, "b");
  EXPECT_EQ(web->find("command")->items[1].place, (ConfigPlace{6, 18}));
}

TEST(YamlConfig, ResolvesAnchorsAndMergeKeys) {
  const ConfigValue value = yaml("x-gpu: &gpu\n  runtime: nvidia\n  shm_size: 1gb\nservices:\n  a:\n    <<: *gpu\n    shm_size: 2gb\n");
  const ConfigValue* service = value.at({"services", "a"});
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->text_of("runtime"), "nvidia");
  EXPECT_EQ(service->text_of("shm_size"), "2gb");
}

TEST(YamlConfig, RefusesCyclesAndBombs) {
  EXPECT_FALSE(parse_yaml_config("a: &x\n  b: *x\n").has_value());
  EXPECT_FALSE(parse_yaml_config("&x [*x]\n").has_value());
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_FALSE(parse_yaml_config(bomb).has_value());
}

TEST(YamlConfig, ReadsSeveralDocuments) {
  const auto documents = parse_yaml_config("kind: Pod\n---\nkind: Service\n");
  ASSERT_TRUE(documents.has_value());
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[1].text_of("kind"), "Service");
  EXPECT_EQ((*documents)[1].members[0].place, (ConfigPlace{3, 1}));
}

TEST(YamlConfig, SaysWhereItBreaks) {
  const auto documents = parse_yaml_config("services:\n  web:\n   - a\n  - b\n");
  ASSERT_FALSE(documents.has_value());
  EXPECT_EQ(documents.error().place.line, 4);
}

TEST(TomlConfig, ReadsContainerdsConfiguration) {
  const auto value = parse_toml_config("version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"nvidia\"\n  x = false\n  l = [1]\n");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->text_of("version"), "2");
  const ConfigValue* containerd = value->at({"plugins", "io.containerd.grpc.v1.cri", "containerd"});
  ASSERT_NE(containerd, nullptr);
  EXPECT_EQ(containerd->text_of("default_runtime_name"), "nvidia");
  EXPECT_EQ(containerd->find("default_runtime_name")->place.line, 3);
  EXPECT_TRUE(containerd->find("x")->is_false());
  EXPECT_EQ(containerd->find("l")->items[0].text, "1");
  const auto broken = parse_toml_config("a = 1\nb = \n");
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().place.line, 2);
}

}  // namespace
}  // namespace gpuvet
