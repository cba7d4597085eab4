// Containers in a pasted text: what was asked for, images, configuration, and texts that were typed inside of one.

#include <gtest/gtest.h>

#include "text_reader.h"

namespace gpuvet {
namespace {

Machine containers(std::string_view text) { return read_with(read_containers, text); }

std::string asked(std::string_view command) {
  return value(seen(containers("$ " + std::string(command) + "\nx\n"), "container-command"), "gpus");
}

TEST(ContainerText, WhetherGpusWereAskedFor) {
  EXPECT_EQ(asked("docker run --rm --gpus all ubuntu nvidia-smi"), "yes");
  EXPECT_EQ(asked("docker run --runtime=nvidia ubuntu"), "yes");
  EXPECT_EQ(asked("podman run --device nvidia.com/gpu=all ubuntu"), "yes");
  EXPECT_EQ(asked("sudo singularity exec --nv x.sif python"), "yes");
  EXPECT_EQ(asked("nvidia-docker run ubuntu"), "yes");
  EXPECT_EQ(asked("docker run --rm ubuntu nvidia-smi"), "no");
  EXPECT_EQ(asked("docker compose -f x.yml up"), "no");
  EXPECT_EQ(asked("docker ps"), "(none)");
  EXPECT_EQ(asked("docker build -t run ."), "(none)");
  EXPECT_EQ(value(seen(containers("$ kubectl -n ml exec pod -- nvidia-smi\nx\n"), "container-command"), "verb"), "exec");
}

TEST(ContainerText, ImagesTellTheirCuda) {
  const auto cuda = [](std::string_view text) { return value(seen(containers(text), "container-image"), "cuda"); };
  EXPECT_EQ(cuda("$ docker run nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi\n"), "12.4");
  EXPECT_EQ(cuda("FROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime\n"), "12.1");
  EXPECT_EQ(cuda("FROM --platform=linux/amd64 nvidia/cuda:13.1.1-cudnn-runtime-ubuntu24.04 AS runtime\n"), "13.1");
  EXPECT_EQ(cuda("    image: vllm/vllm-openai:v0.4.3\n"), "");
  EXPECT_EQ(cuda("from torch import nn\n"), "(none)");
}

TEST(ContainerText, DeviceRequests) {
  const Machine utility = containers(
      "\"DeviceRequests\":[{\"Driver\":\"nvidia\",\"Count\":1,\"DeviceIDs\":null,\"Capabilities\":[[\"gpu\",\"utility\"]]}]\n");
  EXPECT_EQ(value(seen(utility, "device-requests"), "gpus"), "yes");
  EXPECT_EQ(value(seen(utility, "device-requests"), "capabilities"), "\"gpu\",\"utility\"");
  EXPECT_EQ(value(seen(containers("            \"DeviceRequests\": null,\n"), "device-requests"), "gpus"), "no");
  EXPECT_EQ(value(seen(containers("            \"DeviceRequests\": [\n                {\n"), "device-requests"), "gpus"), "yes");
  EXPECT_EQ(
      value(seen(containers("$ docker inspect c --format '{{.HostConfig.DeviceRequests}}'\n[]\n"), "device-requests"), "gpus"),
      "no");
  EXPECT_EQ(value(seen(containers("              capabilities: [gpu]\n"), "device-requests"), "gpus"), "yes");
  EXPECT_EQ(value(seen(containers("      nvidia.com/gpu: 1\n"), "device-requests"), "gpus"), "yes");
  EXPECT_EQ(value(seen(containers("      nvidia.com/gpu: 0\n"), "device-requests"), "gpus"), "no");
  EXPECT_EQ(seen(containers("capabilities: [SYS_ADMIN]\n"), "device-requests"), nullptr);
}

TEST(ContainerText, RuntimesAndTheToolkit) {
  EXPECT_EQ(value(seen(containers("      default_runtime_name = \"runc\"\n"), "default-runtime"), "runtime"), "runc");
  EXPECT_EQ(value(seen(containers(" Default Runtime: runc\n"), "default-runtime"), "runtime"), "runc");
  EXPECT_EQ(value(seen(containers("  \"default-runtime\": \"nvidia\",\n"), "default-runtime"), "runtime"), "nvidia");
  EXPECT_EQ(seen(containers("  # default_runtime_name = \"nvidia\"\n"), "default-runtime"), nullptr);
  EXPECT_EQ(value(seen(containers("NVIDIA Container Toolkit CLI version 1.14.3\n"), "container-toolkit"), "version"), "1.14.3");
  EXPECT_EQ(value(seen(containers("cli-version: 1.13.5\n"), "container-toolkit"), "version"), "1.13.5");
  EXPECT_EQ(value(seen(containers("ii  libnvidia-container1:amd64  1.5.1-1  amd64  x\n"), "container-toolkit"), "version"),
            "1.5.1");
}

TEST(ContainerText, VariablesOfImagesAndServices) {
  const Machine machine = containers("ENV NVIDIA_DRIVER_CAPABILITIES=utility\n      - NVIDIA_VISIBLE_DEVICES=all\n");
  EXPECT_EQ(count_seen(machine, "variable"), 2);
  EXPECT_EQ(value(seen(machine, "variable"), "value"), "utility");
  EXPECT_EQ(seen(machine, "variable")->place, "container");
  EXPECT_TRUE(machine.environment.empty());
}

TEST(ContainerText, DockerDesktop) {
  EXPECT_NE(seen(containers("desktop-linux *     moby      unix:///home/user/.docker/desktop/docker.sock\n"), "docker-desktop"),
            nullptr);
  EXPECT_EQ(seen(containers("default *           moby      x\ndesktop-linux       moby      unix:///x\n"), "docker-desktop"),
            nullptr);
}

TEST(ContainerText, ATextThatIsInsideOfOne) {
  EXPECT_EQ(containers("root@3f4e5a6b7c8d:/# nvidia-smi\nbash: nvidia-smi: command not found\n").os.container.value_or(""),
            "docker");
  EXPECT_EQ(containers("$ cat /proc/1/cgroup\n12:devices:/kubepods/besteffort/pod1\n").os.container.value_or(""), "kubernetes");
  EXPECT_EQ(containers("$ env\ncontainer=podman\n").os.container.value_or(""), "podman");
  // A host is there too.
  EXPECT_TRUE(containers("$ docker run -it x bash\nroot@3f4e5a6b7c8d:/# nvidia-smi\nx\n").os.container.is_not_seen());
  EXPECT_TRUE(containers("$ docker exec c env\ncontainer=podman\n").os.container.is_not_seen());
  EXPECT_TRUE(containers("$ nvidia-smi\nx\n").os.container.is_not_seen());
}

}  // namespace
}  // namespace gpuvet
