#!/usr/bin/env python3
"""Speed of the whole process, as ratios in one run: gpuvet beside `python3 -c pass` and `ldd /bin/ls`, interleaved.

    bench.py GPUVET [ROUNDS]

The figures are medians. Peak memory is VmHWM of the process itself (not of programs that it starts), read in a run of its own while
the kernel holds it at its exit. ru_maxrss would not do: Linux carries the peak of the starting process over into it."""
import ctypes
import os
import signal
import statistics
import subprocess
import sys
import time


def run_once(command):
    """Wall seconds of one run."""
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    os.waitpid(pid, 0)
    return time.perf_counter() - start


PTRACE_TRACEME, PTRACE_CONT, PTRACE_SETOPTIONS = 0, 7, 0x4200
PTRACE_O_TRACEEXIT, PTRACE_O_EXITKILL, PTRACE_EVENT_EXIT = 0x40, 0x100000, 6


def peak_kib(command):
    """VmHWM at the exit of one run; None where tracing is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            if libc.ptrace(PTRACE_TRACEME, 0, None, None) == 0:
                os.execv(command[0], command)
        finally:
            os._exit(127)
    peak = None
    status = os.waitpid(pid, 0)[1]  # stops at its exec
    if os.WIFSTOPPED(status):
        libc.ptrace(PTRACE_SETOPTIONS, pid, None, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)
    deliver = 0
    while os.WIFSTOPPED(status):
        libc.ptrace(PTRACE_CONT, pid, None, deliver)
        status = os.waitpid(pid, 0)[1]
        deliver = os.WSTOPSIG(status) if os.WIFSTOPPED(status) else 0
        if status >> 8 == signal.SIGTRAP | PTRACE_EVENT_EXIT << 8:
            deliver = 0
            with open(f"/proc/{pid}/status", encoding="ascii") as lines:
                peak = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)
    return peak


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
    peaks = {name: peak_kib(command) for name, command in commands.items()}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(run_once(command))
    base = statistics.median(samples["gpuvet"])
    print(f"{'command':26} {'median ms':>10} {'gpuvet is':>12} {'peak MiB':>9}   ({rounds} rounds, interleaved)")
    for name in commands:
        median = statistics.median(samples[name])
        peak = "-" if peaks[name] is None else f"{peaks[name] / 1024:.1f}"
        print(f"{name:26} {median * 1e3:10.2f} {median / base:11.2f}x {peak:>9}")
    print("\nper collector, this machine (gpuvet --timing):")
    timing = subprocess.run([gpuvet, "--timing"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    print(timing.stderr.rstrip())


try:
    main()
except BrokenPipeError:
    pass
