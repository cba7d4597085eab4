#pragma once
// /etc/ld.so.cache. Formats: glibc's sysdeps/generic/dl-cache.h and elf/cache.c: the old "ld.so-1.7.0" table, the new
// "glibc-ld.so.cache1.1" one, or the new one behind the old one.

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/machine.h"

namespace gpuvet {

/// All entries in the order of the file. Where both tables are there, the new one decides, as for glibc since 2.2.
tl::expected<std::vector<LoaderCacheEntry>, std::string> read_loader_cache(std::string_view bytes);

}  // namespace gpuvet
