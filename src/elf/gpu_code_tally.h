#pragma once
// What was found in a file, unit by unit: a unit is one fatbin container, or one cubin outside of any. Units with equal content
// share it, so that 24,000 containers take a few hundred KiB. Where each unit lies is only asked at the end: a stream shows its
// section table last.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/machine.h"

namespace gpuvet {

struct CodeTarget {
  enum class Kind : std::uint8_t { Sass, Ptx, Lto, Other } kind = Kind::Sass;
  std::uint16_t arch = 0;
  char variant = 0;
  std::uint16_t major = 0, minor = 0;  ///< PTX ISA version; 0 for other kinds
  auto operator<=>(const CodeTarget&) const = default;
  std::string name() const;  ///< "sm_90a", "compute_120f", "lto_90"
};

struct CodeUnit {
  std::map<CodeTarget, std::uint32_t> targets;
  bool container = true;  ///< false: a cubin outside of any container
  bool stub = false;      ///< all its entries are without code and data: what nvcc puts into a file without kernels
  auto operator<=>(const CodeUnit&) const = default;
};

/// Where a unit lies: name of the place, and whether the CUDA runtime gets it from there.
struct CodePlace {
  std::string name;
  bool listed = false;
};

class GpuCodeTally {
 public:
  /// False: too many units; it was not taken.
  bool add(std::uint64_t offset, CodeUnit unit);
  bool empty() const { return found_.empty(); }
  std::size_t units() const { return found_.size(); }
  /// Targets, containers, places, sets; the other fields are left alone.
  void summarize(const std::function<CodePlace(std::uint64_t offset)>& place_of, GpuCodeFile& into) const;

 private:
  struct Found {
    std::uint64_t offset;
    std::uint32_t content;
  };
  std::vector<Found> found_;
  std::map<CodeUnit, std::uint32_t> contents_;
  std::size_t targets_ = 0;  ///< of all contents together
};

/// Adds the counts of one file to another: members of an archive.
void add_gpu_code(const GpuCodeFile& part, GpuCodeFile& total);

}  // namespace gpuvet
