// The judged process: its environment variables that matter, and its user.

#include <algorithm>
#include <array>

#include "collect/collect.h"
#include "collect/lines.h"

namespace gpuvet {
namespace {

// Prefixes and names of variables that change what the GPU stack does, or that say in which world the process lives.
// "TF_" alone would take Terraform's variables too, which hold secrets.
constexpr std::array kept_prefixes = {"CUDA_",
                                      "CUDNN_",
                                      "CUBLAS",
                                      "CUFFT_",
                                      "CUSPARSE",
                                      "CUTENSOR",
                                      "NVIDIA_",
                                      "NVCC_",
                                      "NVRTC_",
                                      "NVSHMEM_",
                                      "NCCL_",
                                      "NV_CUDA_",
                                      "NV_LIBNCCL_",
                                      "NV_CUDNN_",
                                      "NVBLAS_",
                                      "NVTE_",
                                      "LD_",
                                      "CONDA_",
                                      "MAMBA_",
                                      "PYENV_",
                                      "PYTORCH_",
                                      "TORCH_",
                                      "TORCHINDUCTOR_",
                                      "TRITON_",
                                      "XLA_",
                                      "JAX_",
                                      "TF_CPP_",
                                      "TF_CUDA",
                                      "TF_CUDNN_",
                                      "TF_ENABLE_",
                                      "TF_FORCE_",
                                      "TF_GPU_",
                                      "TF_NEED_",
                                      "TF_NUM_",
                                      "TF_USE_",
                                      "TF_XLA_",
                                      "TF_DETERMINISTIC",
                                      "UCX_",
                                      "ROCR_",
                                      "HIP_",
                                      "HSA_",
                                      "LC_",
                                      "WSL",
                                      "__NV_",
                                      "__GLX_",
                                      "__GL_",
                                      "DRI_PRIME",
                                      "SLURM_JOB_GPUS",
                                      "SLURM_STEP_GPUS",
                                      "SLURM_GPUS",
                                      "MPS_",
                                      "GPU_DEVICE_ORDINAL",
                                      "DALI_",
                                      "TENSORRT_",
                                      "CUPY_",
                                      "NUMBA_",
                                      "OLLAMA_",
                                      "LLAMA_",
                                      "GGML_",
                                      "VLLM_",
                                      "MESA_",
                                      "VK_",
                                      "EGL_",
                                      "GBM_"};
constexpr std::array kept_names = {"PATH",
                                   "CPATH",
                                   "LIBRARY_PATH",
                                   "CUDA",
                                   "CUDAToolkit_ROOT",
                                   "VIRTUAL_ENV",
                                   "PYTHONPATH",
                                   "PYTHONHOME",
                                   "PYTHONNOUSERSITE",
                                   "PIP_BREAK_SYSTEM_PACKAGES",
                                   "CC",
                                   "CXX",
                                   "LANG",
                                   "LANGUAGE",
                                   "HOME",
                                   "USER",
                                   "LOGNAME",
                                   "SHELL",
                                   "CONTAINER",
                                   "container",
                                   "SINGULARITY_NAME",
                                   "SINGULARITY_CONTAINER",
                                   "APPTAINER_NAME",
                                   "APPTAINER_CONTAINER",
                                   "ENROOT_ROOTFS",
                                   "SINGULARITY_NV",
                                   "APPTAINER_NV",
                                   "OMPI_COMM_WORLD_LOCAL_RANK",
                                   "LOCAL_RANK",
                                   "WORLD_SIZE",
                                   "RANK",
                                   "MODULEPATH",
                                   "LOADEDMODULES",
                                   "SPACK_ENV",
                                   "TERM",
                                   "XDG_SESSION_TYPE",
                                   "XDG_CURRENT_DESKTOP",
                                   "DISTROBOX_ENTER_PATH",
                                   "TOOLBOX_PATH",
                                   "SUDO_USER",
                                   "SUDO_UID",
                                   "NO_COLOR",
                                   "BASH_ENV",
                                   "ENV"};
// Only that they are set matters; their values are addresses.
constexpr std::array presence_only = {"DISPLAY", "WAYLAND_DISPLAY", "KUBERNETES_SERVICE_HOST", "SSH_CONNECTION", "SSH_TTY"};
// A variable of a kept family can still hold a secret.
constexpr std::array secret_words = {"TOKEN",      "SECRET",     "PASSW",   "API_KEY", "APIKEY",
                                     "ACCESS_KEY", "CREDENTIAL", "PRIVATE", "AUTH"};

bool holds_secret(std::string_view name) {
  return std::any_of(secret_words.begin(), secret_words.end(),
                     [&](const char* word) { return contains_ignoring_case(name, word); });
}

bool is_kept(std::string_view name) {
  if (holds_secret(name)) return false;
  const bool named = std::find(kept_names.begin(), kept_names.end(), name) != kept_names.end();
  return named ||
         std::any_of(kept_prefixes.begin(), kept_prefixes.end(), [&](const char* prefix) { return name.starts_with(prefix); });
}

std::map<std::string, std::string> variables_that_matter(const std::map<std::string, std::string>& all) {
  constexpr std::size_t longest_value = 32768;
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : all) {
    if (std::find(presence_only.begin(), presence_only.end(), name) != presence_only.end()) {
      kept[name] = "set";
    } else if (is_kept(name)) {
      kept[name] = value.substr(0, longest_value);
    }
  }
  return kept;
}

std::map<std::string, std::string> own_environment(System& system) {
  std::map<std::string, std::string> all;
  const auto entries = system.environment();
  if (!entries) return all;
  for (const std::string& entry : *entries) {
    const std::size_t equal = entry.find('=');
    if (equal != std::string::npos && equal > 0) all.try_emplace(entry.substr(0, equal), entry.substr(equal + 1));
  }
  return all;
}

// ---- the user ---------------------------------------------------------------------------------------------------------

struct PasswdEntry {
  std::string name, home;
  std::int64_t uid = 0, gid = 0;
  std::uint32_t line = 0;
  std::string text;
};

/// The first line of etc/passwd that fits.
template <class Fits>
std::optional<PasswdEntry> find_passwd(const std::string& passwd, Fits&& fits) {
  std::optional<PasswdEntry> found;
  for_each_line(passwd, [&](std::string_view line, std::uint32_t number) {
    const auto fields = split(line, ':');
    if (fields.size() < 4) return true;
    const auto uid = decimal(fields[2]), gid = decimal(fields[3]);
    if (!uid || !gid) return true;
    PasswdEntry entry{std::string(fields[0]), std::string(fields.size() > 5 ? fields[5] : ""), *uid, *gid, number,
                      std::string(line)};
    if (!fits(entry)) return true;
    found = std::move(entry);
    return false;
  });
  return found;
}

std::string group_name(const std::string& groups, std::int64_t gid) {
  std::string name;
  for_each_line(groups, [&](std::string_view line, std::uint32_t) {
    const auto fields = split(line, ':');
    if (fields.size() < 3 || decimal(fields[2]) != gid) return true;
    name = fields[0];
    return false;
  });
  return name;
}

/// Groups that etc/group gives a user by name.
std::vector<UserGroup> member_groups(const std::string& groups, std::string_view user) {
  std::vector<UserGroup> found;
  for_each_line(groups, [&](std::string_view line, std::uint32_t) {
    const auto fields = split(line, ':');
    if (fields.size() < 4) return true;
    const auto gid = decimal(fields[2]);
    for (const std::string_view member : split(fields[3], ',')) {
      if (gid && trim(member) == user) found.push_back({*gid, std::string(fields[0])});
    }
    return true;
  });
  return found;
}

struct ProcessIds {
  std::optional<std::int64_t> uid;
  std::vector<std::int64_t> gids;  ///< effective, then supplementary
};

/// Uid:, Gid: and Groups: of /proc/self/status; the second number of the first two is the effective one (proc(5)).
ProcessIds read_process_ids(System& system) {
  ProcessIds ids;
  const auto status = system.read_file("/proc/self/status");
  if (!status) return ids;
  for_each_line(*status, [&](std::string_view line, std::uint32_t) {
    const auto parts = words(line);
    if (parts.size() < 2) return true;
    if (parts[0] == "Uid:" && parts.size() > 2) ids.uid = decimal(parts[2]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto gid = decimal(parts[i]);
      if (gid && ((parts[0] == "Gid:" && i == 2) || parts[0] == "Groups:")) ids.gids.push_back(*gid);
    }
    return true;
  });
  return ids;
}

void add_group(std::vector<UserGroup>& groups, UserGroup group) {
  if (std::none_of(groups.begin(), groups.end(), [&](const UserGroup& g) { return g.gid == group.gid; }))
    groups.push_back(std::move(group));
}

/// The user of a running process: its ids are certain, names come from the machine's own files.
void set_user_by_ids(const ProcessIds& ids, const std::string& source, const std::string& passwd, const std::string& group_file,
                     User& user) {
  user.uid = Fact<std::int64_t>::known(*ids.uid, origin_of(source));
  const auto entry = find_passwd(passwd, [&](const PasswdEntry& candidate) { return candidate.uid == *ids.uid; });
  if (entry) user.name = Fact<std::string>::known(entry->name, origin_of("/etc/passwd", entry->text, entry->line));
  if (!entry) user.name = Fact<std::string>::not_seen("no name for uid " + std::to_string(*ids.uid) + " in /etc/passwd");
  std::vector<UserGroup> groups;
  for (const std::int64_t gid : ids.gids) add_group(groups, {gid, group_name(group_file, gid)});
  user.groups = Fact<std::vector<UserGroup>>::known(std::move(groups), origin_of(source));
}

/// The user that the environment names: ids and groups as a fresh login of that user would get them.
void set_user_by_name(const std::string& name, const std::string& passwd, const std::string& group_file, User& user) {
  user.name = Fact<std::string>::known(name, origin_of("environment", "USER=" + name));
  const auto entry = find_passwd(passwd, [&](const PasswdEntry& candidate) { return candidate.name == name; });
  if (!entry && name != "root") {
    user.uid = Fact<std::int64_t>::not_seen("no user " + name + " in /etc/passwd");
    user.groups = Fact<std::vector<UserGroup>>::not_seen("no user " + name + " in /etc/passwd");
    return;
  }
  const std::int64_t uid = entry ? entry->uid : 0, gid = entry ? entry->gid : 0;
  const Origin origin = entry ? origin_of("/etc/passwd", entry->text, entry->line) : origin_of("environment", "USER=root");
  user.uid = Fact<std::int64_t>::known(uid, origin);
  std::vector<UserGroup> groups{{gid, group_name(group_file, gid)}};
  for (UserGroup& group : member_groups(group_file, name)) add_group(groups, std::move(group));
  user.groups = Fact<std::vector<UserGroup>>::known(std::move(groups), origin_of("/etc/group"));
}

/// The name in USER or LOGNAME; a container's process often has neither, but a HOME that is one user's.
std::string user_name(const std::map<std::string, std::string>& variables, const std::string& passwd) {
  for (const char* variable : {"USER", "LOGNAME"}) {
    const auto it = variables.find(variable);
    if (it != variables.end() && !it->second.empty()) return it->second;
  }
  const auto home = variables.find("HOME");
  if (home == variables.end() || home->second.size() < 2) return {};
  const auto entry = find_passwd(passwd, [&](const PasswdEntry& candidate) { return candidate.home == home->second; });
  return entry ? entry->name : std::string();
}

void collect_user(System& system, const std::map<std::string, std::string>& variables, bool environment_given, User& user) {
  const std::string passwd = system.read_file("/etc/passwd").value_or("");
  const std::string group_file = system.read_file("/etc/group").value_or("");
  const std::string name = user_name(variables, passwd);
  const auto identity = system.identity();
  // On the host itself the kernel knows this process' ids; a given environment is of another process, maybe another user's.
  if (!name.empty() && (!identity || environment_given)) {
    set_user_by_name(name, passwd, group_file, user);
    if (user.uid.is_known() || !identity) return;
  }
  ProcessIds ids;
  if (identity) {
    ids.uid = identity->uid;
    ids.gids.assign(identity->groups.begin(), identity->groups.end());
  } else {
    ids = read_process_ids(system);
  }
  if (ids.uid) return set_user_by_ids(ids, "/proc/self/status", passwd, group_file, user);
  const char* why = "no USER in an environment and no /proc/self/status in this root";
  user.name = Fact<std::string>::not_seen(why);
  user.uid = Fact<std::int64_t>::not_seen(why);
  user.groups = Fact<std::vector<UserGroup>>::not_seen(why);
}

}  // namespace

void collect_environment(System& system, const CollectOptions& options, Machine& machine) {
  const bool given = options.has_environment || !options.environment.empty();
  const auto all = given ? options.environment : own_environment(system);
  machine.environment = variables_that_matter(all);
  if (given || system.is_live()) {
    machine.environment_seen = Fact<bool>::known(true, origin_of("environment"));
  } else {
    machine.environment_seen = Fact<bool>::not_seen("no environment was given for this root");
  }
  collect_user(system, all, options.has_environment, machine.user);
}

}  // namespace gpuvet
