#pragma once
// All facts of a machine, one a line, with their origins (`-v`).

#include <string>

#include "render/render.h"

namespace gpuvet {

std::string render_facts(const Machine& machine, const RenderOptions& options);

}  // namespace gpuvet
