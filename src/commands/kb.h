#pragma once
// `gpuvet kb`: what the tables know about a driver, a GPU, a compute capability, a CUDA release, an Xid, an error or a soname,
// every figure with its source. Pure: no machine is looked at.

#include <optional>
#include <string>
#include <vector>

#include "knowledge/knowledge.h"
#include "render/render.h"

namespace gpuvet {

/// `args`: {"driver", "535.129.03"}, {"gpu", "rtx", "4090"}, {"gpu", "10de:2684"}, {"sm", "89"}, {"cuda", "12.4"}, {"xid", "79"},
/// {"error", "804"}, {"error", "cudaErrorNoDevice"}, {"soname", "libcudart.so.12"}, {"libcudart.so.12"},
/// {"function", "cuMemcpyBatchAsync"}. Nothing when the tables do not know it:
/// kb_unknown() says then what can be asked. JSON is in English, whatever the language.
std::optional<std::string> kb_answer(const Knowledge& knowledge, std::vector<std::string> args, Language language, bool json,
                                     int width = 80);

/// Why there is no answer, what comes near, and what can be asked.
std::string kb_unknown(const Knowledge& knowledge, const std::vector<std::string>& args, Language language);

}  // namespace gpuvet
