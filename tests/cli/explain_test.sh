#!/usr/bin/env bash
# explain, from outside: what a text tells reaches the words, several files, long logs; exit codes.
source "$(dirname "$0")/common.sh" "$@"

cases=$source_dir/tests/cases

# Versions, GPUs and targets of the text stand in the title; nothing is left blank.
expect_exit 1 "$gpuvet" explain --width 1000 "$cases/driver-library-version-mismatch/fires-both-versions-told.txt"
expect_out "Kernel module 550.144.03 and libraries 550.163"
expect_exit 1 "$gpuvet" explain --width 1000 "$cases/driver-too-old-for-wheel/fires-cu124-on-r470-no-folder.txt"
expect_out "Driver 470.256.02 is too old for torch 2.6.0+cu124"; expect_out "in the Python environment brings"
expect_out "525.60.13 or newer, of a branch"
expect_exit 1 "$gpuvet" explain --lang zh --width 1000 "$cases/driver-too-old-for-wheel/fires-cu124-on-r470-no-folder.txt"
expect_out "当前 Python 环境"
expect_exit 1 "$gpuvet" explain --width 1000 "$cases/gpu-arch-dropped-by-framework/fires-torch-lists-newer-targets.txt"
expect_out "no longer serves Tesla P100-PCIE-16GB (compute capability 6.0)"; expect_out "python3 -m pip install"; expect_out "cu126"

# Numbers of the kernel log that no rule speaks of.
expect_exit 3 "$gpuvet" explain --width 1000 "$cases/unknown/xid-62-alone.txt"
expect_out "Xid 62 (PMU_HALT_ERROR): Internal micro-controller halt"
expect_exit 3 "$gpuvet" explain --lang zh --width 1000 "$cases/unknown/xid-62-alone.txt"; expect_out "微控制器停机"
expect_exit 3 "$gpuvet" explain --format json "$cases/unknown/xid-62-alone.txt"; expect_out '"code": "Xid 62"'

# Two files are two texts, the first without a line end.
printf 'all is well' >"$work/first"
printf '\xef\xbb\xbfFailed to initialize NVML: Driver/library version mismatch\n' >"$work/second"
expect_exit 1 "$gpuvet" explain "$work/first" "$work/second"; expect_out driver-library-version-mismatch

# An Xid in the middle of a long log.
{ seq -f "kernel: usb 1-1: new device number %.0f on a hub that has a rather long name" 100000
  echo 'kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1, An uncorrectable double bit error (DBE) has been detected'
  seq -f "kernel: usb 1-1: new device number %.0f on a hub that has a rather long name" 100000; } >"$work/long"
expect_exit 1 "$gpuvet" explain "$work/long"; expect_out xid48-ecc-dbe-page-retirement

: >"$work/empty"
expect_exit 2 "$gpuvet" explain "$work/empty"
finish
