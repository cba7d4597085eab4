#!/usr/bin/env bash
# Compiles small kernels in every way that decides how GPU code lies in a file, for gpu_code_test.cpp.
#   gpu_code_samples.sh NVCC FOLDER [full]
# FOLDER/expected.tsv: file, the targets that were ordered ("sm_90a:1 compute_120f:1"; stubs of the device linker as "stub:sm_75").
set -u
nvcc=$1 out=$2 full=${3:-}
mkdir -p "$out" && cd "$out" || exit 1
jobs=$(nproc)
: >jobs.txt
: >expected.tsv
printf '__global__ void one(float* x) { x[threadIdx.x] *= 2.0f; }\nvoid f(float* x) { one<<<1, 32>>>(x); }\n' >one.cu
printf '__device__ float two(float x) { return x + 1; }\n__global__ void g(float* x) { *x = two(*x); }\nvoid h(float* x) { g<<<1, 1>>>(x); }\n' >two.cu

# Debian's toolkit out of a folder: its own gcc wrapper would not be found, and its nvcc knows gcc only up to 11.
options=()
case $nvcc in
  */nvidia-cuda-toolkit/bin/nvcc)
    root=${nvcc%/usr/lib/nvidia-cuda-toolkit/bin/nvcc}
    export PATH="$root/usr/lib/nvidia-cuda-toolkit/bin:$root/usr/bin:$PATH" NVVMIR_LIBRARY_DIR="$root/usr/lib/nvidia-cuda-toolkit/libdevice"
    for host in g++-11 clang++-14 clang-14 clang++-13; do command -v "$host" >/dev/null && break; done
    command -v "$host" >/dev/null || { echo "no host compiler for $nvcc"; exit 77; }
    options=(-ccbin "$host" "-I$root/usr/include" "-L$root/usr/lib/x86_64-linux-gnu") ;;
  *) export PATH="$(dirname "$nvcc"):$PATH" ;;
esac
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
default=$([ "$release" -ge 13 ] && echo 75 || echo 52)  # target of a device link without -arch

sample() {  # FILE "EXPECTED" nvcc-arguments…
  local file=$1 expected=$2
  shift 2
  printf '%s\t%s\n' "$file" "$expected" >>expected.tsv
  printf '%s\0' "$(printf '%q ' "$nvcc" "${options[@]}" "$@" -o "$file")" >>jobs.txt
}
run_jobs() { xargs -0 -P "$jobs" -I{} bash -c '{} >>log.txt 2>&1 || echo "failed: {}"' <jobs.txt; : >jobs.txt; }
gencode() {  # NUMBER… → options for cubin and PTX of each
  local n
  for n in "$@"; do printf -- '-gencode arch=compute_%s,code=[sm_%s,compute_%s] ' "$n" "$n" "$n"; done
}
both() { local n; for n in "$@"; do printf 'sm_%s:1 compute_%s:1 ' "$n" "$n"; done; }

mapfile -t plain < <("$nvcc" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p')
special=()
if [ "$release" -ge 13 ]; then special=(90a 100a 100f 103a 103f 110a 110f 120a 120f 121a 121f); fi
# shellcheck disable=SC2046
sample every.o "$(both "${plain[@]}")" -c one.cu --threads 2 $(gencode "${plain[@]}")
if [ ${#special[@]} -gt 0 ]; then
  # shellcheck disable=SC2046
  sample special.o "$(both "${special[@]}")" -c one.cu --threads 2 $(gencode "${special[@]}")
  # shellcheck disable=SC2046
  sample special_all.fatbin "$(both 90a 100f 121a)" -fatbin one.cu -Xfatbin -compress-all $(gencode 90a 100f 121a)
  sample raw_f.cubin sm_100f:1 -cubin one.cu -arch=sm_100f
  sample raw_a.cubin sm_90a:1 -cubin one.cu -arch=sm_90a
  sample raw_plain.cubin sm_120:1 -cubin one.cu -arch=sm_120
  sample lto.fatbin lto_90:1 -fatbin -dc one.cu -gencode arch=compute_90,code=lto_90
  for mode in none speed size balance default; do
    # shellcheck disable=SC2046
    sample "mode_$mode.fatbin" "$(both 80 100f)" -fatbin one.cu "--compress-mode=$mode" $(gencode 80 100f)
  done
fi
sample compressed.o "$(both 80)" -c one.cu -arch=sm_80 -Xcompiler -fPIC -Xfatbin -compress-all
sample plain.fatbin "$(both 80 90)" -fatbin one.cu -no-compress $(gencode 80 90)
sample raw.cubin sm_80:1 -cubin one.cu -arch=sm_80
sample debug.fatbin "$(both 80)" -fatbin -G one.cu -arch=sm_80
sample text.ptx compute_80:1 -ptx one.cu -arch=compute_80
sample only_ptx.fatbin compute_80:1 -fatbin one.cu -gencode arch=compute_80,code=compute_80
sample relocatable.o "$(both 80)" -dc two.cu -arch=sm_80 -Xcompiler -fPIC
sample relocatable_all.o "$(both 80)" -dc two.cu -arch=sm_80 -Xfatbin -compress-all
sample link_time.o "compute_80:1 lto_80:1" -dc -dlto two.cu -arch=sm_80
printf 'int no_kernels() { return 0; }\n' >none.cu
sample without_kernels.o "stub:sm_80:1 stub:compute_80:1" -c none.cu -arch=sm_80
sample shared.so "$(both 80) stub:sm_80:1" -shared -Xcompiler -fPIC one.cu -arch=sm_80
run_jobs
if [ "$release" -ge 13 ]; then
  sample linked.so "$(both 80) sm_80:1" -shared relocatable.o -arch=sm_80
  sample default_link.so "$(both 80) stub:sm_$default:1" -shared compressed.o
  sample all.a "$(both 80) $(both 80)" -lib compressed.o relocatable.o
else
  ar rc all.a compressed.o relocatable.o && printf 'all.a\t%s\n' "$(both 80) $(both 80)" >>expected.tsv
fi
if [ "$full" = full ]; then
  for n in "${plain[@]}" "${special[@]}"; do
    # shellcheck disable=SC2046
    for compress in -no-compress "-Xfatbin -compress-all"; do
      sample "one_$n${compress:0:4}.o" "$(both "$n")" -c one.cu $compress $(gencode "$n")
      sample "dc_$n${compress:0:4}.o" "$(both "$n")" -dc two.cu $compress $(gencode "$n")
    done
    sample "one_$n.cubin" "sm_$n:1" -cubin one.cu -arch="sm_$n"
    sample "lto_$n.o" "lto_$n:1" -dc two.cu -gencode "arch=compute_$n,code=lto_$n"
    sample "one_$n.ptx" "compute_$n:1" -ptx one.cu -arch="compute_$n"
  done
fi
run_jobs
exit 0
