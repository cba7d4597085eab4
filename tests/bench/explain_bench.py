#!/usr/bin/env python3
"""Speed of reading long texts, as ratios in one run.

    explain_bench.py GPUVET [GIGABYTES]

A mix of a kernel log, tracebacks and a training's output, with a GPU's error now and then: `gpuvet explain` against reading the bytes
(cat), against ripgrep and grep with the same literals, and the same through a pipe.
Peak memory is ru_maxrss, which is the starting process' own (some MiB) where that is larger."""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from glob import glob

HERE = os.path.dirname(os.path.abspath(__file__))


def literals():
    found = set()
    for path in glob(os.path.join(HERE, "../../data/signatures/*.toml")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("literals = "):
                    found.update(json.loads(line[len("literals = "):]))
    return sorted(found)


def mix(lines=40_000):
    """One block of lines; a fault every thousandth."""
    random.seed(5)
    out = []
    for i in range(lines):
        kind = random.random()
        if kind < 0.6:
            out.append(f"Dec  2 {i % 24:02}:{i % 60:02}:{i % 60:02} node7 kernel: [{i}.{i:06}] irq {i % 99} handled on cpu {i % 64}, depth {i % 13}")
        elif kind < 0.9:
            out.append(f'  File "/opt/venv/lib/python3.11/site-packages/model/blocks/attention.py", line {i % 2000}, in forward')
        elif kind < 0.999:
            out.append(f"INFO epoch={i % 9} step={i} loss={random.random():.5f} lr={random.random() / 1e3:.2e} tokens/s={random.randrange(9999)}")
        else:
            out.append(f"Dec  2 {i % 24:02}:{i % 60:02}:{i % 60:02} node7 kernel: NVRM: Xid (PCI:0000:3b:00): {random.choice([13, 31, 45])}, pid={i}, name=python, Ch 00000010")
    return ("\n".join(out) + "\n").encode()


def which(name):
    return next((p for p in (os.path.join(d, name) for d in os.environ.get("PATH", "").split(":")) if os.access(p, os.X_OK)), None)


def run(command, stdin=None):
    """Wall seconds and peak MiB."""
    start = time.perf_counter()
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL
    child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main():
    gpuvet = sys.argv[1]
    size = int(float(sys.argv[2] if len(sys.argv) > 2 else 1) * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        text, words = os.path.join(folder, "mix.log"), os.path.join(folder, "literals")
        block, written = mix(), 0
        with open(text, "wb") as file:
            while written < size:
                written += file.write(block)
        found = literals()
        with open(words, "w", encoding="utf-8") as file:
            file.write("\n".join(found) + "\n")
        commands = {"cat": ["cat", text], "explain": [gpuvet, "explain", text], "explain -": [gpuvet, "explain", "-"]}
        if which("rg"):
            commands["rg -F -f"] = ["rg", "-j1", "-a", "-F", "-c", "-f", words, text]
        if which("grep"):
            commands["grep -F -f"] = ["grep", "-a", "-F", "-c", "-f", words, text]
        seconds, peak = {name: [] for name in commands}, {}
        for _ in range(3):
            for name, command in commands.items():
                taken, memory = run(command, text if name == "explain -" else None)
                seconds[name].append(taken)
                peak[name] = max(peak.get(name, 0), memory)
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        print(f"explain of a text of {written / 1e9:.2f} GB, {len(found)} literals")
        for name, value in medians.items():
            print(f"  {name:12} {value:7.2f} s   {written / value / 1e6:8.0f} MB/s   {value / medians['explain']:6.2f} × explain   {peak[name]:5.0f} MiB")


main()
