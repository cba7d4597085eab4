#pragma once
// The toolkits and Python environments of a machine, listed for people and for JSON: what is there, and what would be taken.

#include <string>

#include "model/json_writer.h"
#include "render/render.h"

namespace gpuvet {

/// Two lists with headings, a line an entry; empty when the machine has neither.
std::string render_software(const Machine& machine, const RenderOptions& options);

/// "toolkit_choices": which toolkit nvcc, CMake, torch's extension builder and the linker would take; null: none.
void write_toolkit_choices(JsonWriter& writer, const Machine& machine);

}  // namespace gpuvet
