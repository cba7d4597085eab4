"""What `gpuvet run` costs a command's output: time beside the same command without it, and beside one more `cat` in the pipe."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

PACED = """
import os, sys, time
text = open(sys.argv[1], "rb").read()
piece, seconds, rate = 1 << 20, float(sys.argv[2]), 100e6
start, sent, at = time.monotonic(), 0, 0
while sent < seconds * rate:
    sent += os.write(1, text[at:at + piece])
    at = (at + piece) % (len(text) - piece)
    wait = start + sent / rate - time.monotonic()
    if wait > 0:
        time.sleep(wait)
"""


def lines(size):
    """Output as of a training: no two lines alike, few words that could matter."""
    out = bytearray()
    step = 0
    while len(out) < size:
        out += b"[2026-01-01 12:00:%02d] epoch %d step %d: loss %.6f, lr 1.0e-04, %d tokens/s\n" % (step % 60, step // 5000, step, 4.0 / (1 + step % 977), 10000 + step * 7919 % 4093)
        step += 1
    return bytes(out)


def timed(command):
    """Seconds and processor seconds of a pipeline into a reader that throws all away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(["sh", "-c", command + " | cat >/dev/null"], check=True)
    took = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(title, base, commands, rounds):
    samples = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(timed(command))
    print(f"\n{title} ({rounds} rounds, interleaved)")
    print(f"{'':24} {'seconds':>9} {'ratio':>7} {'processor s':>12}")
    first = statistics.median(took for took, _ in samples[base])
    for name in commands:
        took = statistics.median(took for took, _ in samples[name])
        used = statistics.median(used for _, used in samples[name])
        print(f"{name:24} {took:9.3f} {took / first:6.3f}x {used:12.2f}")


def main():
    gpuvet = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        text, paced = os.path.join(folder, "text"), os.path.join(folder, "paced.py")
        with open(text, "wb") as file:
            file.write(lines(64 << 20))
        with open(paced, "w") as file:
            file.write(PACED)
        produce = f"'{sys.executable}' -I -S '{paced}' '{text}' 3"
        commands = {"direct": produce, "through cat": produce + " | cat", "gpuvet run": f"'{gpuvet}' run -- {produce}"}
        table("output of 100 MB/s for 3 s", "direct", commands, 5)
        produce = f"cat '{text}' '{text}' '{text}' '{text}' '{text}' '{text}' '{text}' '{text}'"
        commands = {"direct": produce, "through cat": produce + " | cat", "gpuvet run": f"'{gpuvet}' run -- {produce}"}
        table("512 MiB as fast as it goes", "direct", commands, 5)
        commands = {"direct": "true", "gpuvet run": f"'{gpuvet}' run -- true"}
        table("a command that does nothing", "direct", commands, 30)


try:
    main()
except BrokenPipeError:
    pass
