#pragma once
// Program outputs in a pasted text → facts of a partial Machine. Each reader knows the shape of some outputs, finds them anywhere
// in the text (behind a prompt or without one, cut, indented), and fills only what a line says; every fact has its line.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "knowledge/knowledge.h"
#include "model/machine.h"
#include "text/pasted_text.h"
#include "text/signature_match.h"

namespace gpuvet {

using TextReader = void (*)(const PastedText& text, const Knowledge& knowledge, Machine& machine);

// nvidia_smi_text.cpp: the table, -L, -q, --query-*, topo -m; the driver, its CUDA version, GPUs, modes, processes.
void read_nvidia_smi(const PastedText& text, const Knowledge& knowledge, Machine& machine);
// system_text.cpp: uname, os-release, lsb_release, WSL and container signs, environment variables, mokutil, id.
void read_system(const PastedText& text, const Knowledge& knowledge, Machine& machine);
// python_text.cpp: pip, conda and uv lists, torch's and others' environment reports, versions in messages.
void read_python(const PastedText& text, const Knowledge& knowledge, Machine& machine);
// toolkit_text.cpp: nvcc --version, which nvcc, gcc --version, version files, PATH.
void read_toolkits(const PastedText& text, const Knowledge& knowledge, Machine& machine);
// driver_text.cpp, bus_text.cpp, module_text.cpp, package_text.cpp: /proc/driver/nvidia/version, modinfo, lsmod, lspci, dkms
// status, ldconfig -p, package lists, services, kernel logs.
void read_driver(const PastedText& text, const Knowledge& knowledge, Machine& machine);
// container_text.cpp: docker, podman, Kubernetes and Slurm commands, images, Dockerfiles, compose files.
void read_containers(const PastedText& text, const Knowledge& knowledge, Machine& machine);

// gpu_name_text.cpp: GPUs that are only named, in a program's line or in prose. After the others.
void read_gpu_names(const PastedText& text, const Knowledge& knowledge, Machine& machine);

/// Everything that a text tells: facts and observations. source "text".
Machine machine_of_text(const PastedText& text, const SignatureMatcher& matcher, const Knowledge& knowledge);

// ---- for readers -----------------------------------------------------------------------------------------------------

/// Where a line of the text is, as evidence.
Origin origin_of(const PastedText& text, std::size_t line);
/// The segment that a line belongs to (as output or as its command); null: the text has no prompts there.
const PasteSegment* segment_of(const PastedText& text, std::size_t line);
bool in_container(const PastedText& text, std::size_t line);
bool in_windows(const PastedText& text, std::size_t line);
/// Does the command run this program: "uname" for "uname -r", "/usr/bin/uname -a", "A=1 uname"?
bool runs(const PasteSegment& segment, std::string_view program);
/// Adds an observation of a reader: meaning, values, its line.
Observation& add_observation(Machine& machine, const PastedText& text, std::size_t line, std::string_view meaning,
                             std::initializer_list<std::pair<std::string_view, std::string>> values = {});
/// Sets a fact unless a line before has set it.
template <class T>
void set_fact(Fact<T>& fact, T value, const PastedText& text, std::size_t line) {
  if (!fact.is_known()) fact = Fact<T>::known(std::move(value), origin_of(text, line));
}
/// The device id of a GPU that a program names ("NVIDIA GeForce RTX 4090", "Tesla V100-SXM2-16GB"); nothing: unknown, or names of
/// several chips.
std::optional<std::uint16_t> device_of_name(const Knowledge& knowledge, std::string_view name);
/// The GPU that a text names, once for an index (or address); `index` −1: any.
void add_gpu(Machine& machine, const Knowledge& knowledge, const PastedText& text, std::size_t line, std::string_view name,
             std::string_view address, int index = -1);
/// Text behind `key` in a line, to the end or the first of `ends`; nothing: the line has no such key.
std::optional<std::string_view> value_behind(std::string_view line, std::string_view key, std::string_view ends = {});
/// "535.129.03", "12.4", "2.5.1+cu124": the version-like word that starts at (or after blanks and one 'v' from) the beginning.
std::string_view version_word(std::string_view text);
/// The Python environment that the text speaks of; made when there is none.
PythonEnvironment& text_environment(Machine& machine);

}  // namespace gpuvet
