#!/usr/bin/env python3
"""Speed of the Python part: a machine with many environments, in a temporary folder.

    python_environments_bench.py GPUVET [ENVIRONMENTS [PACKAGES [ROUNDS]]]

Beside it, summed over the same environments: `python3 -c "import importlib.metadata as m; list(m.distributions())"`, which lists the
folders of packages and opens no file of them. Medians of interleaved rounds, files warm in the page cache."""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

CUDA = {"cublas": "12.4.5.8", "cuda_cupti": "12.4.127", "cuda_nvrtc": "12.4.127", "cuda_runtime": "12.4.127", "cudnn": "9.1.0.70",
        "cufft": "11.2.1.3", "curand": "10.3.5.147", "cusolver": "11.6.1.9", "cusparse": "12.3.1.170", "nccl": "2.21.5",
        "nvjitlink": "12.4.127", "nvtx": "12.4.127"}
FRAMEWORKS = {"torch": "2.5.1+cu124", "torchvision": "0.20.1+cu124", "torchaudio": "2.5.1+cu124", "triton": "3.1.0",
              "xformers": "0.0.28.post3", "bitsandbytes": "0.45.0"}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def add_package(site, name, version, requires=(), folder=None):
    info = f"{site}/{name}-{version}.dist-info"
    lines = [f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\nSummary: {name}\n"]
    lines += [f"Requires-Dist: {one}\n" for one in requires]
    write(f"{info}/METADATA", "".join(lines) + "\n" + "A long description.\n" * 400)
    write(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: setuptools\nRoot-Is-Purelib: false\nTag: cp312-cp312-manylinux_2_28_x86_64\n")
    write(f"{info}/INSTALLER", "pip\n")
    folder = folder or name
    write(f"{info}/RECORD", "".join(f"{folder}/file{i}.py,sha256=x,1\n" for i in range(50)))
    write(f"{site}/{folder}/__init__.py", "\n")


def add_environment(prefix, packages):
    site = f"{prefix}/lib/python3.12/site-packages"
    write(f"{prefix}/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.3\n")
    os.makedirs(f"{prefix}/bin")
    os.symlink("/usr/bin/python3.12", f"{prefix}/bin/python3")
    os.symlink("python3", f"{prefix}/bin/python")
    os.symlink("lib", f"{prefix}/lib64")
    for name, version in CUDA.items():
        add_package(site, f"nvidia_{name}_cu12", version, folder=f"nvidia/{name}")
    for name, version in FRAMEWORKS.items():
        add_package(site, name, version, [f"nvidia-{n.replace('_', '-')}-cu12=={v}" for n, v in CUDA.items()])
    write(f"{site}/torch/version.py", "__version__ = '2.5.1+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n")
    for library in ("libtorch_cuda.so", "libc10_cuda.so", "libc10.so"):
        write(f"{site}/torch/lib/{library}", "")
    for number in range(packages - len(CUDA) - len(FRAMEWORKS)):
        add_package(site, f"package_{number}", "1.2.3")
    return site


def make_machine(root, environments, packages):
    write(f"{root}/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nu:x:1000:1000::/home/u:/bin/bash\n")
    write(f"{root}/etc/os-release", 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04"\n')
    write(f"{root}/usr/bin/python3.12", "")
    os.chmod(f"{root}/usr/bin/python3.12", 0o755)
    os.symlink("python3.12", f"{root}/usr/bin/python3")
    write(f"{root}.environ", "HOME=/home/u\nUSER=u\nPATH=/usr/bin:/bin\n")
    return [add_environment(f"{root}/home/u/project{number}/.venv", packages) for number in range(environments)]


def collector_milliseconds(gpuvet, root):
    """Of gpuvet's own --timing: the Python collector."""
    run = subprocess.run([gpuvet, "--root", root, "--environ", root + ".environ", "--timing"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"([0-9.]+) ms\s+python$", run.stderr, re.MULTILINE)
    if not found:
        sys.exit(f"python_environments_bench: no time of the Python collector in\n{run.stderr}")
    return float(found.group(1))


def distributions_milliseconds(python, sites):
    """One process an environment, as a user would ask them."""
    start = time.perf_counter()
    for site in sites:
        code = f"import sys; sys.path.append({site!r}); import importlib.metadata as m; list(m.distributions())"
        subprocess.run([python, "-I", "-S", "-c", code], check=True)
    return (time.perf_counter() - start) * 1e3


def listing_milliseconds(python, sites):
    """All environments in one process, without its start."""
    code = ("import sys, time, importlib.metadata as m\nstart = time.perf_counter()\n"
            "for site in sys.argv[1:]: list(m.distributions(path=[site]))\nprint((time.perf_counter() - start) * 1e3)")
    return float(subprocess.run([python, "-I", "-S", "-c", code, *sites], stdout=subprocess.PIPE, text=True, check=True).stdout)


def main():
    gpuvet = os.path.abspath(sys.argv[1])
    environments, packages, rounds = (int(value) for value in (sys.argv[2:] + ["50", "300", "9"][len(sys.argv) - 2:])[:3])
    python = os.path.realpath(sys.executable)
    with tempfile.TemporaryDirectory(prefix="gpuvet-python-bench-") as folder:
        root = folder + "/machine"
        sites = make_machine(root, environments, packages)
        collector_milliseconds(gpuvet, root)
        samples = [(collector_milliseconds(gpuvet, root), listing_milliseconds(python, sites)) for _ in range(rounds)]
        summed = statistics.median(distributions_milliseconds(python, sites) for _ in range(3))
    own, listing = (statistics.median(column) for column in zip(*samples))
    print(f"{environments} Python environments of {packages} packages, warm (medians of {rounds} rounds):")
    print(f"  gpuvet, Python collector                        {own:8.1f} ms")
    print(f"  importlib.metadata, one process an environment  {summed:8.1f} ms   {summed / own:6.1f} times as long")
    print(f"  importlib.metadata, one process for all         {listing:8.1f} ms   {listing / own:6.1f} times as long")


main()
