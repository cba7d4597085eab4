#!/usr/bin/env python3
"""Writes data/facts/driver_entry_points.tsv: which CUDA version brought which function of libcuda.

    tools/driver_entry_points.py INCLUDE_FOLDER "SOURCE" > data/facts/driver_entry_points.tsv

INCLUDE_FOLDER holds cudaTypedefs.h and its kin of a CUDA toolkit (or of the wheel nvidia-cuda-runtime). They have one
typedef PFN_NAME_vVERSION a function and a change of its interface; libcuda exports the n-th of them as NAME, NAME_v2, NAME_v3, …
Those for the per-thread default stream (_ptds, _ptsz) take the number of the plain one that was current then. The names that
come out are those of libcuda 470, 525 and 535 (tests/fidelity/driver_entry_points_test.cpp compares them).
"""
import collections
import pathlib
import re
import sys

# Declared for other systems, or exported by no Linux driver that was looked at.
NOT_ON_LINUX = {"cuWGLGetDevice", "cuEventCreateFromEGLSync"}


def read_versions(folder):
    versions = collections.defaultdict(set)
    for header in pathlib.Path(folder).glob("cuda*Typedefs.h"):
        for name, version, stream in re.findall(r"PFN_(cu[A-Z]\w*?)_v(\d{4,5})(_ptds|_ptsz)?\b", header.read_text()):
            versions[name, stream].add(int(version))
    return versions


def exported_names(versions):
    for (name, stream), all_versions in versions.items():
        plain = sorted(versions[name, ""]) if stream else sorted(all_versions)
        for version in all_versions:
            number = sum(each <= version for each in plain)
            yield name + ("" if number <= 1 else f"_v{number}") + stream, version


def main():
    folder, source = sys.argv[1:3]
    by_version = collections.defaultdict(set)
    for name, version in exported_names(read_versions(folder)):
        if name not in NOT_ON_LINUX:
            by_version[version].add(name)
    print("cuda_version\tentry_points\tsource")
    for version in sorted(by_version):
        print(f"{version // 1000}.{version % 1000 // 10}\t{' '.join(sorted(by_version[version]))}\t{source}")


main()
