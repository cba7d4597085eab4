// nvidia-smi in a text: the table of every generation, -L, -q, CSV; and what is only like one.

#include <gtest/gtest.h>

#include "text_reader.h"

namespace gpuvet {
namespace {

Machine smi(std::string_view text) { return read_with(read_nvidia_smi, text); }

std::size_t gpus(const Machine& machine) {
  const auto* found = machine.pci.get();
  return found == nullptr ? 0 : found->size();
}

TEST(NvidiaSmiText, HeadersOfEveryGeneration) {
  const struct {
    const char *line, *driver, *cuda;
  } headers[] = {
      {"| NVIDIA-SMI 375.26                 Driver Version: 375.26                    |", "375.26", "(none)"},
      {"| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |", "418.67", "10.1"},
      {"| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |", "535.129.03", "12.2"},
      {"| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |", "580.95.05", "13.0"},
      {"| NVIDIA-SMI 610.12.01        KMD Version: 610.12.01       CUDA UMD Version: 13.3   |", "610.12.01", "13.3"},
  };
  for (const auto& header : headers) {
    const Machine machine = smi(header.line);
    EXPECT_EQ(machine.kernel_driver.version.value_or(""), header.driver) << header.line;
    EXPECT_EQ(value(seen(machine, "driver-cuda"), "cuda"), header.cuda) << header.line;
    EXPECT_EQ(count_seen(machine, "smi-works"), 1) << header.line;
  }
}

TEST(NvidiaSmiText, WindowsDriverUnderWslIsNotTheKernels) {
  const Machine machine = smi("| NVIDIA-SMI 580.82.10              Driver Version: 581.29         CUDA Version: 13.0     |\n");
  EXPECT_TRUE(machine.kernel_driver.version.is_not_seen());
  EXPECT_EQ(value(seen(machine, "windows-driver"), "version"), "581.29");
}

TEST(NvidiaSmiText, NoCudaVersionIsTold) {
  for (const char* cuda : {"ERR!", "N/A"}) {
    const Machine machine =
        smi("| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: " + std::string(cuda) + "     |\n");
    EXPECT_EQ(machine.kernel_driver.version.value_or(""), "470.57.02");
    EXPECT_EQ(count_seen(machine, "driver-cuda"), 0);
    EXPECT_EQ(count_seen(machine, "smi-without-cuda"), 1);
  }
}

constexpr const char* table =
    "+-----------------------------------------------------------------------------------------+\n"
    "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
    "|-----------------------------------------+------------------------+----------------------+\n"
    "|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |\n"
    "|  0%   45C    P8             22W /  450W |   23000MiB /  24564MiB |      0%   E. Process |\n"
    "|   1  ERR!                           ERR! |   00000000:02:00.0 ERR! |                 ERR! |\n"
    "|ERR!  ERR! ERR!             ERR! /  ERR! |   GPU is lost                ERR! |\n";

TEST(NvidiaSmiText, RowsOfTheTable) {
  const Machine machine = smi(table);
  EXPECT_EQ(gpus(machine), 1u);
  EXPECT_EQ(count_seen(machine, "smi-gpu"), 2);
  EXPECT_EQ(value(seen(machine, "smi-memory"), "used"), "23000");
  EXPECT_EQ(value(seen(machine, "smi-memory"), "compute-mode"), "E. Process");
  EXPECT_EQ(value(seen(machine, "smi-err"), "index"), "1");
}

TEST(NvidiaSmiText, QuotedNumberedAndIndentedIsTheSame) {
  std::string quoted, numbered;
  int n = 0;
  for (std::string_view rest = table; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    const std::string line(rest.substr(0, rest.find('\n')));
    quoted += "> " + line + "\r\n";
    numbered += std::to_string(++n) + "\t" + line + "\n";
  }
  for (const std::string& text : {quoted, numbered}) {
    const Machine machine = smi(text);
    EXPECT_EQ(machine.kernel_driver.version.value_or(""), "550.54.15") << text;
    EXPECT_EQ(count_seen(machine, "smi-gpu"), 2) << text;
  }
}

TEST(NvidiaSmiText, List) {
  const Machine machine = smi(
      "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n"
      "  MIG 1g.5gb      Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)\n");
  EXPECT_EQ(gpus(machine), 1u);
  EXPECT_EQ(value(seen(machine, "mig-instance"), "profile"), "1g.5gb");
  EXPECT_EQ(count_seen(machine, "smi-works"), 1);
}

TEST(NvidiaSmiText, Query) {
  const Machine machine = smi(
      "==============NVSMI LOG==============\n\nTimestamp                                 : Mon Dec  1 10:00:00 2025\n"
      "Driver Version                            : 570.86.15\nCUDA Version                              : 12.8\n\n"
      "Attached GPUs                             : 1\nGPU 00000000:17:00.0\n"
      "    Product Name                          : NVIDIA H100 80GB HBM3\n    Fabric\n"
      "        State                             : In Progress\n        Status                            : N/A\n");
  EXPECT_EQ(machine.kernel_driver.version.value_or(""), "570.86.15");
  EXPECT_EQ(value(seen(machine, "driver-cuda"), "cuda"), "12.8");
  EXPECT_EQ(gpus(machine), 1u);
  const Observation* state = seen(machine, "smi-field");
  EXPECT_EQ(value(state, "section"), "Fabric");
  EXPECT_EQ(value(state, "value"), "In Progress");
}

TEST(NvidiaSmiText, Csv) {
  for (const char* text : {"$ nvidia-smi --query-gpu=name,driver_version --format=csv\nname, driver_version\nTesla T4, 535.161.08\n",
                           "$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader\nTesla T4, 535.161.08\n",
                           "name, driver_version\nTesla T4, 535.161.08\n"}) {
    const Machine machine = smi(text);
    EXPECT_EQ(machine.kernel_driver.version.value_or(""), "535.161.08") << text;
    EXPECT_EQ(gpus(machine), 1u) << text;
  }
}

TEST(NvidiaSmiText, TheSameGpuToldTwiceIsOne) {
  const std::string row = "|   0  NVIDIA A100-SXM4-40GB          Off |   00000000:C1:00.0 Off |                    0 |\n";
  const std::string head = "| NVIDIA-SMI 550.54.15     Driver Version: 550.54.15     CUDA Version: 12.4     |\n";
  const std::string list = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n";
  for (const std::string& text : {head + row + list, list + head + row, list + list}) {
    const Machine machine = smi(text);
    ASSERT_EQ(gpus(machine), 1u) << text;
    if (text != list + list) EXPECT_EQ(machine.pci.get()->front().address, "0000:c1:00.0") << text;
  }
  const std::string second = "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-6d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n";
  EXPECT_EQ(gpus(smi(list + second)), 2u);
  EXPECT_EQ(gpus(smi(head + row + list + second)), 2u);
}

TEST(NvidiaSmiText, OtherTablesSayNothing) {
  for (const char* text : {"| name | driver |\n|------|--------|\n| 0  Alice On | 2 |\n", "Driver Version : 1.2 of the printer\n",
                           "name, price\nTesla T4, 535.161.08\n", "NVIDIA-SMI has failed because it couldn't communicate\n"}) {
    const Machine machine = smi(text);
    EXPECT_EQ(gpus(machine), 0u) << text;
    EXPECT_EQ(count_seen(machine, "smi-works"), 0) << text;
    EXPECT_TRUE(machine.kernel_driver.version.is_not_seen()) << text;
  }
}

}  // namespace
}  // namespace gpuvet
