#!/usr/bin/env python3
"""Speed of reading binaries, as ratios in one run.

    binaries_bench.py GPUVET [CUDA_FOLDER]

scan: the whole CUDA folder against plainly reading its bytes (cat), warm and cold, and against `cuobjdump --list-elf` file by file;
where that takes more than a minute, both get the same part of the files and it is said. trace: of one large library against
libtree and ldd. Peak memory is ru_maxrss, which is the starting process' own (some MiB) where that is larger."""
import glob
import os
import statistics
import subprocess
import sys
import time

CUOBJDUMP_SECONDS = 60


def run(command, limit=600):
    """Wall seconds, peak MiB and exit code; None for the code where it ran into the limit."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return time.perf_counter() - start, usage.ru_maxrss / 1024, child.returncode
        if time.perf_counter() - start > limit:
            child.kill()
            child.wait()
            return limit, 0, None
        time.sleep(0.0005)


def medians(commands, rounds):
    """Median seconds of each, interleaved."""
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(run(command)[0])
    return {name: statistics.median(values) for name, values in times.items()}


def files_below(folder):
    found = []
    for here, _, names in os.walk(folder):
        found += [os.path.join(here, n) for n in names if os.path.isfile(os.path.join(here, n)) and not os.path.islink(os.path.join(here, n))]
    return sorted(found)


def which(name):
    return next((p for p in (os.path.join(d, name) for d in os.environ.get("PATH", "").split(":")) if os.access(p, os.X_OK)), None)


def forget(files):
    """Drops the files from the page cache; says how."""
    try:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as control:
            control.write("1")
        return "drop_caches"
    except OSError:
        for path in files:
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
        return "posix_fadvise"


def holds_code(path):
    with open(path, "rb") as file:
        head = file.read(8)
    return head[:4] == b"\x7fELF" or head == b"!<arch>\n"


def bench_reading(gpuvet, folder, files):
    size = sum(os.path.getsize(f) for f in files)
    print(f"scan of {folder}: {len(files)} files, {size / 1e9:.2f} GB")
    commands = {"cat": ["cat", *files], "scan": [gpuvet, "scan", folder]}
    for command in commands.values():
        run(command)
    warm = medians(commands, 5)
    peak = run(commands["scan"])[1]
    print(f"  warm: cat {warm['cat'] * 1e3:8.0f} ms, scan {warm['scan'] * 1e3:8.0f} ms: scan is {warm['cat'] / warm['scan']:.2f}x as fast")
    cold = {}
    for name, command in commands.items():
        how = forget(files)
        cold[name] = run(command)[0]
    print(f"  cold: cat {cold['cat'] * 1e3:8.0f} ms, scan {cold['scan'] * 1e3:8.0f} ms: scan is {cold['cat'] / cold['scan']:.2f}x as fast (one run, {how})")
    print(f"  peak memory of scan: {peak:.1f} MiB (limit of the project: 200)")


def bench_cuobjdump(gpuvet, files):
    cache = os.environ.get("GPUVET_CACHE", os.path.expanduser("~/.cache/gpuvet"))
    tool = next(iter(glob.glob(cache + "/tools/nvidia/cu13/bin/cuobjdump")), None)
    if tool is None:
        print("  SKIPPED: no cuobjdump in the cache (./dev fetch)")
        return
    candidates = sorted((f for f in files if holds_code(f)), key=os.path.getsize)
    spent, done = 0.0, []
    for path in candidates:
        seconds, _, code = run([tool, "--list-elf", path], CUOBJDUMP_SECONDS - spent + 1)
        if code is None:
            break
        spent += seconds
        done.append(path)
        if spent > CUOBJDUMP_SECONDS:
            break
    own = medians({"scan": [gpuvet, "scan", *done]}, 5)["scan"]
    part = "all" if len(done) == len(candidates) else f"the {len(done)} smallest of {len(candidates)} (the rest would take too long)"
    size = sum(os.path.getsize(f) for f in done)
    print(f"  cuobjdump --list-elf, {part} files with ELF in them, {size / 1e9:.2f} GB: cuobjdump {spent * 1e3:.0f} ms, scan {own * 1e3:.1f} ms: scan is {spent / own:.0f}x as fast")


def bench_trace(gpuvet, folder):
    library = next(iter(sorted(glob.glob(folder + "/**/libcusolver.so.[0-9]*", recursive=True))), None)
    if library is None:
        print("trace: SKIPPED: no libcusolver")
        return
    commands = {"gpuvet trace": [gpuvet, "trace", library], "gpuvet trace --no-symbols": [gpuvet, "trace", "--no-symbols", library]}
    for tool in ("libtree", "ldd"):
        if which(tool):
            commands[tool] = [which(tool), library]
        else:
            print(f"trace: no {tool}: left out")
    if run(commands["gpuvet trace"])[2] == 2:
        print("trace: SKIPPED: this gpuvet has no trace")
        return
    times = medians(commands, 15)
    base = times["gpuvet trace"]
    print(f"trace of {os.path.basename(library)} (medians of 15, interleaved):")
    for name, seconds in times.items():
        print(f"  {name:26} {seconds * 1e3:9.2f} ms   gpuvet is {seconds / base:6.2f}x as fast")


def main():
    gpuvet = os.path.abspath(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else "/usr/local/cuda"
    if not os.path.isdir(folder):
        print(f"binaries: SKIPPED: no {folder}")
        return
    folder = os.path.realpath(folder)
    files = files_below(folder)
    bench_reading(gpuvet, folder, files)
    bench_cuobjdump(gpuvet, files)
    bench_trace(gpuvet, folder)


main()
