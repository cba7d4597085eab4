#!/usr/bin/env bash
# Programs that are named on the command line: what may be named, exit codes (one for check, trace and snapshot), hints, snapshots.
source "$(dirname "$0")/common.sh" "$@"
command -v gcc >/dev/null || skip "no gcc"
cd "$work" || exit 1
export LANG=C.UTF-8

# all_of CODE TEXT TARGET : check, snapshot and trace end alike and say the same.
all_of() {
  expect_exit "$1" "$gpuvet" check --for "$3"; expect_err "$2"
  expect_exit "$1" "$gpuvet" snapshot -o - --for "$3"; expect_err "$2"
  expect_exit "$1" "$gpuvet" trace "$3"; expect_err "$2"
}
mkdir folder; mkfifo fifo; echo text >text; echo 'import torch' >train.py
echo 'int f(void){return 1;}' | gcc -c -xc - -o object.o
printf '#!%s/gone/bin/python -u\n' "$work" >orphan; printf '#!/usr/bin/env no-such-python\n' >orphan2
all_of 2 "is not there" ./none
all_of 2 "is a folder" ./folder
all_of 2 "no regular file" ./fifo
all_of 2 "no ELF file" ./text
all_of 2 "is a Python script" ./train.py
all_of 2 "is an object file" ./object.o
all_of 1 "its interpreter $work/gone/bin/python is not there" ./orphan
all_of 1 "its interpreter no-such-python is not there" ./orphan2
expect_exit 1 "$gpuvet" check --for ./orphan --lang zh
expect_err "无法启动：它的解释器"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work"; cp "$gpuvet" gpuvet; chmod 755 gpuvet; cp object.o closed; chmod 000 closed
  for command in "check --for" trace; do
    expect_exit 3 setpriv --reuid=65534 --regid=65534 --clear-groups ./gpuvet $command "$work/closed"
    expect_err "cannot be read"
  done
fi

# Files that the user hands over: a FIFO without a writer is refused at once, the pipe of "<(COMMAND)" is not.
for option in --environ --snapshot --kernel-log; do
  expect_exit 2 timeout 5 "$gpuvet" check $option fifo
  expect_err "FIFO"
done
"$gpuvet" check --environ <(echo PATH=/bin) >out 2>&1; [ $? != 2 ] || fail "--environ <(COMMAND): $(cat out)"

# A program without CUDA needs neither GPU nor driver, whatever the machine lacks.
echo 'int main(void){return 0;}' | gcc -xc - -o plain
expect_exit 3 "$gpuvet" check --for ./plain
expect_out "none of its files uses CUDA"
expect_exit 3 "$gpuvet" check --for ./plain --format json
expect_out '"application"'

# GPU code: of a program without any it is told what it works through. Names of libraries that are not here: of the only way to the
# GPU nobody knows whether it is needed.
echo 'int cublasCreate_v2(void){return 0;}' | gcc -shared -fPIC -Wl,-soname,libcublas.so.12 -xc - -o libcublas.so.12
echo 'int cublasCreate_v2(void); int main(void){return cublasCreate_v2();}' | gcc -xc - -x none ./libcublas.so.12 -Wl,-rpath,"$work" -o blas
"$gpuvet" check --for ./blas --width 1000 >out 2>err
grep -qF "none in the program itself; it works through libcublas.so.12" out || fail "what it works through is not told: $(cat out)"
"$gpuvet" check --for ./blas --width 1000 --lang zh >out 2>err
grep -qF "程序本身没有；它通过 libcublas.so.12" out || fail "not in Chinese: $(cat out)"
echo 'const char *name = "libcudart.so.99"; int main(void){return name[0];}' | gcc -xc - -o opens
"$gpuvet" check --for ./opens --width 1000 >out 2>err
grep -qF "leads to the GPU: libcudart.so.99" out || fail "the missing name is not told: $(cat out)"

# One that starts or opens its part with CUDA: that part is named.
mkdir -p ollama/bin ollama/lib/ollama/cuda_v12; cp plain ollama/bin/ollama
echo 'int g(void){return 1;}' | gcc -shared -fPIC -xc - -o ollama/lib/ollama/cuda_v12/libggml-cuda.so
"$gpuvet" check --for ollama/bin/ollama --width 1000 >out 2>err
grep -qF "gpuvet --for $work/ollama/lib/ollama/cuda_v12/libggml-cuda.so" out || fail "the part with CUDA is not named: $(cat out)"

# A script of an environment: what it imports is judged in that environment.
mkdir -p venv/bin; cp plain venv/bin/python3; printf '#!%s/venv/bin/python3\n' "$work" >run
"$gpuvet" check --for ./run --width 1000 >out 2>err
grep -qF "gpuvet --for torch@$work/venv" out || fail "the script's environment is not named: $(cat out)"
printf '#!%s/plain\n' "$work" >run
"$gpuvet" check --for ./run --width 1000 >out 2>err
grep -qF "for torch" out && fail "torch is named for a script that is no Python"

# The compiler is a tool, not a program for the GPU.
mkdir -p toolkit/bin; cp plain toolkit/bin/nvcc
"$gpuvet" check --for toolkit/bin/nvcc --format json >one 2>err; "$gpuvet" check --for nvcc --format json >other 2>err
[ "$(grep root_cause one)" = "$(grep root_cause other)" ] && [ "$(grep -c application one)" = "$(grep -c application other)" ] || fail "nvcc by its path is not nvcc"
expect_exit 2 "$gpuvet" check --for ./folder/nvcc

# A snapshot that was made for a program is judged for it, asked for or not.
expect_exit 0 "$gpuvet" snapshot -o snapshot.json --for ./plain --no-redact
for purpose in "" "--for ./plain" "--for plain"; do
  expect_exit 3 "$gpuvet" check --snapshot snapshot.json $purpose
  expect_out "none of its files uses CUDA"
done
expect_exit 2 "$gpuvet" check --snapshot snapshot.json --for ./other
finish
