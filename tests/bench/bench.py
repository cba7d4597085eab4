#!/usr/bin/env python3
"""Speed of the whole process, as ratios in one run: gpuvet beside `python3 -c pass` and `ldd /bin/ls`, interleaved.

    bench.py GPUVET [ROUNDS]

The figures are medians. Peak memory is an upper bound: Linux carries the peak of the process that starts a program over into the
program's own ru_maxrss, so no figure is below this script's own."""
import os
import statistics
import subprocess
import sys
import time


def run_once(command):
    """Wall seconds and peak KiB of one run."""
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    usage = os.wait4(pid, 0)[2]
    return time.perf_counter() - start, usage.ru_maxrss


def which(name):
    for folder in os.environ["PATH"].split(":"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    sys.exit(f"bench: no {name} on PATH")


def real_python():
    """The interpreter itself, not a version manager's shim in front of it."""
    return os.path.realpath(sys.executable)


def main():
    gpuvet = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    commands = {
        "gpuvet": [gpuvet],
        "gpuvet --format json": [gpuvet, "--format", "json"],
        "gpuvet kb gpu": [gpuvet, "kb", "gpu", "10de:2684"],
        "python3 -c pass": [real_python(), "-c", "pass"],
        "python3 -I -S -c pass": [real_python(), "-I", "-S", "-c", "pass"],
        "ldd /bin/ls": [which("ldd"), "/bin/ls"],
    }
    samples = {name: [] for name in commands}
    peaks = {name: 0 for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            seconds, peak = run_once(command)
            samples[name].append(seconds)
            peaks[name] = max(peaks[name], peak)
    base = statistics.median(samples["gpuvet"])
    print(f"{'command':26} {'median ms':>10} {'gpuvet is':>12} {'peak MiB <=':>11}   ({rounds} rounds, interleaved)")
    for name in commands:
        median = statistics.median(samples[name])
        print(f"{name:26} {median * 1e3:10.2f} {median / base:11.2f}x {peaks[name] / 1024:11.1f}")
    print("\nper collector, this machine (gpuvet --timing):")
    timing = subprocess.run([gpuvet, "--timing"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    print(timing.stderr.rstrip())


try:
    main()
except BrokenPipeError:
    pass
