#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "loader/load_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gpuvet::LoadRecord record = gpuvet::parse_load_record({reinterpret_cast<const char*>(data), size});
  for (const gpuvet::RecordedProcess& process : record.processes) {
    const int count = static_cast<int>(process.objects.size());
    for (const gpuvet::RecordedObject& object : process.objects) {
      if (object.requester >= count) std::abort();
    }
    for (const gpuvet::RecordedFailure& failure : process.failures) {
      if (failure.requester >= count) std::abort();
    }
  }
  return 0;
}
