#pragma once
// Lays out what links 5 and 7 look at: CUDA toolkits, host compilers, Python environments and the packages inside them.

#include <string>

#include "machine_builder.h"

namespace gpuvet::test {

/// CUDA toolkit as NVIDIA's installer lays it out: `without=ptxas,cicc,nvcc,libdevice,cudart,headers` leaves parts out (the manifest
/// still names them), `gcc-max`, `clang-max`, `sm=50,…,90`, `no-manifest`, `glibc-2.41` (headers that know it), `runtime-only`.
void add_toolkit(MachineBuilder& builder, const std::string& path, const std::string& version, const Options& options);

/// gcc/g++ of one version as Debian installs it; `default`: gcc, g++, cc and c++ lead to it. `name=clang` for clang.
void add_compiler(MachineBuilder& builder, const std::string& name, const std::string& version, const Options& options);

/// /usr/include/features.h of a glibc release.
void add_libc_headers(MachineBuilder& builder, const std::string& version);

/// A Python environment: kind=venv (base=/usr), uv, virtualenv, conda, system.
void add_python(MachineBuilder& builder, const std::string& prefix, const std::string& version, const Options& options);

/// site-packages of an environment that add_python() laid out.
std::string site_packages_of(const MachineBuilder& builder, const std::string& prefix);

/// A wheel in it: dist-info and an import package; tag=…, installer=…, requires=a==1,b>=2, import=NAME, files=x.so,y.py, no-metadata,
/// no-files, url=….
void add_wheel(MachineBuilder& builder, const std::string& prefix, const std::string& name, const std::string& version, const Options& options);

/// torch with its own version file and libraries: cuda=12.4, hip=6.2 (neither: a CPU build), and add_wheel's options.
void add_torch(MachineBuilder& builder, const std::string& prefix, const std::string& version, const Options& options);

/// tensorflow with its build_info.py: cuda=12.5.1 cudnn=9 capabilities=sm_60,sm_70,compute_90; none: a CPU build.
void add_tensorflow(MachineBuilder& builder, const std::string& prefix, const std::string& version, const Options& options);

/// The usual nvidia-* wheels of a CUDA major ("cu12", "cu13") with their libraries; without=NAME,…; version=12.4 for the runtime's.
void add_nvidia_wheels(MachineBuilder& builder, const std::string& prefix, const std::string& major, const Options& options);

/// Libraries of a CUDA release in one folder, linked with each other as NVIDIA's are; cudnn=9.1.0: and cuDNN.
void add_cuda_libraries(MachineBuilder& builder, const std::string& folder, const std::string& release, const Options& options);
/// cuDNN 9 with its parts.
void add_cudnn(MachineBuilder& builder, const std::string& folder, const std::string& version);
/// libc.so.6, libm.so.6 and libstdc++.so.6 that define versions up to these ("2.35", "3.4.30").
void add_libc(MachineBuilder& builder, const std::string& folder, const std::string& glibc, const std::string& glibcxx);

/// A package in conda-meta; channel=….
void add_conda_package(MachineBuilder& builder, const std::string& prefix, const std::string& name, const std::string& version,
                       const std::string& build, const Options& options);

}  // namespace gpuvet::test
