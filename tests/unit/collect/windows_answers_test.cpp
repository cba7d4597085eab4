#include <gtest/gtest.h>

#include "collect/windows_answers.h"

namespace gpuvet {
namespace {

std::string utf16(std::string_view ascii, bool mark) {
  std::string bytes = mark ? "\xFF\xFE" : "";
  for (const char c : ascii) {
    bytes += c;
    bytes += '\0';
  }
  return bytes;
}

TEST(WslVersion, InManyLanguagesAndEncodings) {
  const std::string english = "WSL version: 1.1.3.0\r\nKernel version: 5.15.90.1\r\nWSLg version: 1.0.49\r\nDXCore version: 10.0.25131.1002-220531-1700\r\nWindows version: 10.0.19044.2604\r\n";
  for (const std::string& text : {english, utf16(english, false), utf16(english, true)}) {
    const auto answer = parse_wsl_version(text);
    EXPECT_EQ(answer.wsl, "1.1.3.0");
    EXPECT_EQ(answer.windows, "10.0.19044.2604");
  }
  EXPECT_EQ(parse_wsl_version("WSL 版本： 2.0.14.0\n内核版本： 5.15.133.1-1\nWSLg 版本： 1.0.59\nWindows 版本： 10.0.22631.3007\n").wsl, "2.0.14.0");
  EXPECT_EQ(parse_wsl_version("WSL-Version: 2.0.9.0\nKernelversion: 5.15.133.1-1\nWindows-Version: 10.0.22631.2715\n").windows, "10.0.22631.2715");
  EXPECT_EQ(parse_wsl_version("Version WSL : 2.0.9.0\nVersion de Windows : 10.0.22631.2715\n").wsl, "2.0.9.0");
  EXPECT_EQ(parse_wsl_version("Copyright (c) Microsoft Corporation.\nUsage: wsl.exe [Argument]\n").wsl, "");
  EXPECT_EQ(parse_wsl_version("").windows, "");
  EXPECT_EQ(parse_wsl_version("WSL " + std::string(100, '1') + ".2.3").wsl, "");
}

TEST(NvidiaSmiOfWindows, DriverAndModelOfEachGpu) {
  const auto gpus = parse_smi_gpus("NVIDIA GeForce RTX 3080, 560.94, WDDM\r\nQuadro RTX 6000, a, b, 560.94, TCC\r\nNVIDIA T4, 560.94, [N/A]\r\n");
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].driver, "560.94");
  EXPECT_EQ(gpus[0].model, "WDDM");
  EXPECT_EQ(gpus[1].model, "TCC");
  EXPECT_EQ(gpus[2].model, "");
  EXPECT_TRUE(parse_smi_gpus("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure, please, that\n").empty());
  EXPECT_TRUE(parse_smi_gpus("Field \"driver_model.current\" is not a valid field to query.\n").empty());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "x, 560.94, WDDM\n";
  EXPECT_EQ(parse_smi_gpus(many).size(), 64u);
}

TEST(Powershell, BuildAndAdapters) {
  const auto answer = parse_powershell("build=10.0.19045.0\r\ndisplay=Intel(R) UHD Graphics|31.0.101.2125\r\ndisplay=NVIDIA GeForce GTX 1060|27.21.14.5671\r\n");
  EXPECT_EQ(answer.build, "10.0.19045.0");
  EXPECT_EQ(answer.nvidia_driver, "27.21.14.5671");
  EXPECT_EQ(parse_powershell("display=NVIDIA|x\n").nvidia_driver, "");
  EXPECT_EQ(parse_powershell("powershell : \xB2\xBB\xCA\xC7\n").build, "");
}

TEST(FirstWords, ArePrintable) {
  EXPECT_EQ(first_words("\r\n\r\nUsage: \x1b[31mwsl.exe\r\nmore"), "Usage:  [31mwsl.exe");
  EXPECT_EQ(first_words(utf16("Nutzung\r\n", false)), "Nutzung");
  EXPECT_EQ(first_words(""), "");
}

}  // namespace
}  // namespace gpuvet
