#include "loader/failed_loads.h"

#include <algorithm>
#include <set>

namespace gpuvet {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_gpu_library(std::string_view name) {
  for (const std::string_view start :
       {"libcu", "libnv", "libnccl", "libnpp", "libtensorrt", "libtorch_cuda", "libc10_cuda", "libggml-cuda"})
    if (name.starts_with(start) && !name.starts_with("libcurl") && !name.starts_with("libcups")) return true;
  return false;
}

bool found_later(const RecordedProcess& process, std::string_view name) {
  return std::ranges::any_of(process.objects, [&](const RecordedObject& object) {
    return base_name(object.name) == name || base_name(object.path) == name;
  });
}

bool matters(const RecordedProcess& process, const RecordedFailure& failure,
             const std::function<bool(std::string_view)>& is_named) {
  if (!process.started) return !failure.dlopen;
  const std::string_view name = base_name(failure.name);
  return (is_gpu_library(name) || is_named(name)) && !found_later(process, name);
}

}  // namespace

std::vector<FailedLoad> failed_loads(const LoadRecord& record, const std::function<bool(std::string_view)>& is_named,
                                     std::size_t limit) {
  std::vector<FailedLoad> found;
  std::set<std::string_view> names;
  for (const RecordedProcess& process : record.processes) {
    for (const RecordedFailure& failure : process.failures) {
      if (failure.name.empty() || found.size() == limit || !matters(process, failure, is_named)) continue;
      if (!names.insert(base_name(failure.name)).second) continue;
      const auto requester = static_cast<std::size_t>(failure.requester);
      found.push_back({failure.name, requester < process.objects.size() ? process.objects[requester].path : "", process.program,
                       failure.stopped_at, !process.started});
    }
  }
  return found;
}

}  // namespace gpuvet
