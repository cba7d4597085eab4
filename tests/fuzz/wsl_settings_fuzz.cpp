// WSL's settings files, the number of a Windows driver, and what programs of Windows answer.
#include <cstdint>
#include <string_view>

#include "collect/windows_answers.h"
#include "collect/wsl_settings.h"
#include "model/windows_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto& setting : gpuvet::parse_wsl_settings(bytes)) (void)gpuvet::wsl_switch(setting.value);
  (void)gpuvet::driver_of_windows_version(bytes);
  (void)gpuvet::parse_wsl_version(bytes);
  (void)gpuvet::parse_smi_gpus(bytes);
  (void)gpuvet::parse_powershell(bytes);
  (void)gpuvet::first_words(bytes);
  return 0;
}
