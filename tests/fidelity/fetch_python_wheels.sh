#!/usr/bin/env bash
# Fetches genuine wheels into ${GPUVET_CACHE:-~/.cache/gpuvet}/wheels for tests/fidelity/python_wheels_test.cpp: small ones, and with
# --slow also large ones. Of wheels with hundreds of megabytes only the files that gpuvet reads are taken, by range requests, into
# cache/partial-wheels. Without network it says so and ends with 0: the tests are then skipped.
set -u
home=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}
cache=${GPUVET_CACHE:-$home/gpuvet}
here=$(cd "$(dirname "$0")" && pwd)
small=(nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-runtime==13.0.96 nvidia-nvjitlink-cu12==12.6.85
       nvidia-cuda-nvcc-cu12==12.4.131 torchvision==0.20.1 nvidia-cuda-runtime-cu13==0.0.1)
# A second release of one library, in a folder of its own: one environment holds one release only.
second=(nvidia-nvjitlink-cu12==12.4.127)
# For gpu_code_test.cpp: the tool to compare with, and GPU code of three CUDA majors.
tool=nvidia-cuda-cuobjdump==13.5.37
code=(nvidia-nvjpeg-cu11==11.9.0.86 nvidia-nvjpeg-cu12==12.4.0.76 nvidia-nvjpeg==13.3.2.43)
code_large=(nvidia-curand-cu11==10.3.0.86 nvidia-curand-cu12==10.3.9.90 nvidia-curand==10.4.5.25 nvidia-cufft-cu11==10.9.0.58
            nvidia-nccl-cu11==2.21.5 nvidia-npp-cu11==11.8.0.86 nvidia-cusparselt-cu12==0.6.3 triton==3.4.0)
large=(cupy-cuda12x==13.3.0 ctranslate2==4.5.0 onnxruntime==1.20.1 bitsandbytes==0.45.0)
partial=(torch==2.5.1 torch==2.8.0 torchaudio==2.5.1 tensorflow==2.18.0 jaxlib==0.4.35 jax-cuda12-plugin==0.4.35 onnxruntime-gpu==1.22.0
         xformers==0.0.28.post3 triton==3.1.0 nvidia-cudnn-cu12==9.1.0.70 nvidia-cusparse-cu12==12.3.1.170 vllm==0.6.6)
skip() { echo "fetch_python_wheels: $1; tests with real wheels will be skipped"; exit 0; }

# Pinned releases have wheels for these Pythons; any one will do, they are never imported by it except in the test's own environment.
python=
for name in python3.12 python3.11 python3.10 python3; do
  if command -v "$name" >/dev/null && "$name" -m pip --version >/dev/null 2>&1; then python=$name; break; fi
done
[ -n "$python" ] || skip "no python3 with pip here"
mkdir -p "$cache/wheels/small" "$cache/wheels/second" "$cache/wheels/large" "$cache/wheels/gpu-code" "$cache/partial-wheels" 2>/dev/null || skip "cannot write to $cache"

fetch() {  # folder requirement…
  local folder=$1 requirement stamp
  shift
  for requirement in "$@"; do
    stamp=$cache/wheels/$folder/.${requirement//==/-}
    [ -e "$stamp" ] && continue
    if "$python" -m pip --disable-pip-version-check -q download --no-deps --retries 1 -d "$cache/wheels/$folder" "$requirement" >/dev/null 2>"$cache/wheels/error"; then
      touch "$stamp"
    else
      echo "fetch_python_wheels: no $requirement ($(tail -n 1 "$cache/wheels/error"))"
      failed=$((failed + 1))
    fi
    [ "$failed" -lt 3 ] || skip "three downloads failed"
  done
}

failed=0
fetch small "${small[@]}"
fetch second "${second[@]}"
fetch gpu-code "$tool" "${code[@]}"
if [ ! -e "$cache/tools/nvidia" ]; then
  mkdir -p "$cache/tools" && "$python" -m zipfile -e "$cache"/wheels/gpu-code/nvidia_cuda_cuobjdump-*.whl "$cache/tools" &&
    chmod +x "$cache"/tools/nvidia/*/bin/*
fi
# CUDA 12's own cuobjdump is in the triton wheel: later ones refuse files for old GPUs.
cuda12_tool() {
  "$python" - "$cache"/wheels/gpu-code/triton-*.whl "$cache/tools/cuda-12" <<'TEXT'
import os, sys, zipfile
wheel, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
with open(folder + "/cuobjdump", "wb") as tool:
    tool.write(zipfile.ZipFile(wheel).read("triton/backends/nvidia/bin/cuobjdump"))
os.chmod(folder + "/cuobjdump", 0o755)
TEXT
}
if [ "${1:-}" = --slow ]; then
  fetch large "${large[@]}"
  fetch gpu-code "${code_large[@]}"
  [ -e "$cache/tools/cuda-12/cuobjdump" ] || cuda12_tool
  "$python" "$here/partial_wheel.py" "$cache/partial-wheels" "${partial[@]}" || skip "range requests failed"
fi
exit 0
