#pragma once
// Knowledge: the tables of data/facts as typed data with their sources. Compiled in as text and parsed on first use;
// an overlay folder may replace rows at run time. All functions are pure; what is not known is said as such.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/machine.h"
#include "model/version.h"

namespace gpuvet {

enum class OpenModule : std::uint8_t { Unknown, Impossible, Possible, Required };

/// What a PCI id says about a GPU. Every field but the id may be unknown (empty).
struct GpuIdentity {
  std::uint16_t device_id = 0;
  std::string name;          ///< "GeForce RTX 4090"; empty: not in our table, or known by chip only
  std::string chip;          ///< "AD102"
  std::string architecture;  ///< "Ada Lovelace"
  std::optional<ComputeCapability> compute_capability;
  /// Last driver branch that serves the chip (390, 470, 580, 340 …); nothing: still served, or unknown.
  std::optional<std::uint32_t> last_driver_branch;
  /// Oldest driver that accepts the *chip* (never the marketing name): from the chip rows of first_driver_by_branch.tsv,
  /// else the architecture's first driver. The full version is known, or only its branch.
  std::optional<DriverVersion> first_driver;
  OpenModule open_module = OpenModule::Unknown;
  std::string gpu_class;                 ///< "desktop", "data-centre", … as in the table
  bool in_table = false;                 ///< the id is in pci_devices.tsv
  std::uint32_t known_up_to_branch = 0;  ///< newest branch of driver_branches.tsv: what later ones serve is not known
  std::string source;
  /// "RTX 4090 (AD102)", "AD102 [10de:2684]" or "unknown NVIDIA GPU [10de:ffff]".
  std::string label() const;
};

struct DriverBranch {
  std::uint32_t branch = 0;
  std::optional<CudaVersion> cuda;  ///< version that its libcuda reports
  std::string type;
  std::string end_of_life;
  std::string first_release, last_known_release;
  std::string notes;
  std::string source;
};

struct CudaRelease {
  std::string version;  ///< "12.4.1"
  std::string label;
  std::optional<DriverVersion> driver_linux;  ///< corresponding driver of NVIDIA's table
  std::optional<DriverVersion> runfile_driver_linux;
  std::optional<DriverVersion> min_driver_linux;  ///< for minor-version compatibility: the one to test against
  std::string libcudart_soname;
  std::string supported_sm_min, supported_sm_max, sm_added, sm_removed;
  std::string notes;
  std::string source;
};

struct XidMeaning {
  int code = 0;
  std::string mnemonic, meaning, likely_causes, recommended_action, source;
};

struct CudaError {
  std::string api;  ///< "driver", "runtime", "nvml", …
  int code = 0;
  std::string name, meaning, since_cuda, hint, source;
};

/// A driver release with a known defect: data/facts/driver_defects.tsv.
struct DriverDefect {
  std::string rule;           ///< "driver-regression", "open-module-bug-old-release"
  DriverVersion first, last;  ///< range of affected releases, both included
  std::string flavor;         ///< "open", "proprietary", "" any
  /// What must also be seen, joined by " & ": "log:TEXT" (a kernel log message contains TEXT), "chip:GB206" (such a GPU is
  /// there).
  std::string condition;
  std::string defect_en, defect_zh;
  std::string fixed_in;
  std::string source;
};

/// Does this driver serve this chip?
enum class Served : std::uint8_t { Yes, TooOldDriver, DroppedByDriver, Unknown };

class Knowledge {
 public:
  Knowledge();
  ~Knowledge();
  Knowledge(Knowledge&&) noexcept;
  Knowledge& operator=(Knowledge&&) noexcept;

  /// Tables of a folder replace those of the same name (whole table) or, as NAME.add.tsv, add rows in front. Errors carry path
  /// and line.
  tl::expected<void, std::string> add_overlay_table(std::string_view file_name, std::string_view text);

  GpuIdentity gpu(std::uint16_t device_id) const;
  /// Ids whose name contains `name` (case and blanks ignored, "NVIDIA"/"GeForce" optional); several when a name is no identity.
  std::vector<GpuIdentity> gpus_named(std::string_view name) const;
  std::optional<DriverBranch> driver_branch(std::uint32_t branch) const;
  std::vector<DriverBranch> driver_branches() const;
  std::optional<CudaRelease> cuda_release(std::string_view version) const;  ///< "12.4.1", or "12.4" = its first release
  std::vector<CudaRelease> cuda_releases() const;
  std::optional<XidMeaning> xid(int code) const;
  /// The same with meaning, causes and action in Chinese, where xid_words.tsv has the words.
  std::optional<XidMeaning> xid_in_chinese(int code) const;
  std::vector<CudaError> cuda_error(int code) const;  ///< of every API
  std::vector<CudaError> cuda_error_named(std::string_view name) const;
  std::vector<DriverDefect> driver_defects() const;

  /// Native CUDA version of a driver; nothing for an unknown branch.
  std::optional<CudaVersion> native_cuda(const DriverVersion& driver) const;
  /// Least driver for a runtime of this CUDA version under minor-version compatibility (design §5); nothing: unknown release.
  std::optional<DriverVersion> least_driver_for_runtime(const CudaVersion& runtime) const;

  struct Table;                                     ///< parsed table, in tables.cpp
  const Table& table(std::string_view name) const;  ///< for `kb`; name without ".tsv"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// By chip, never by name; a branch beyond our tables is Unknown for dropping, and Yes never guessed.
Served driver_serves(const DriverVersion& driver, const GpuIdentity& gpu);

/// NVIDIA display/3D controllers of the machine (class 03xx, vendor 10de; virtual functions too) with their identity, in bus
/// order.
struct MachineGpu {
  const PciDevice* device = nullptr;
  GpuIdentity identity;
};
std::vector<MachineGpu> nvidia_gpus(const Machine& machine, const Knowledge& knowledge);
/// Vendor 10de, class 0680: NVSwitches.
std::vector<const PciDevice*> nvswitches(const Machine& machine);

}  // namespace gpuvet
