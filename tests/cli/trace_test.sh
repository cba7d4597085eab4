#!/usr/bin/env bash
# gpuvet trace on libraries that are made here: rules in words, missing ones, symbol conflicts, comparison, hostile names.
source "$(dirname "$0")/common.sh" "$@"
command -v gcc >/dev/null || skip "no gcc"
cd "$work" || exit 1
export LANG=C.UTF-8
mkdir -p new old app
echo 'int part_new(void){return 1;} int part(void){return 1;}' | gcc -shared -fPIC -xc - -Wl,-soname,libpart.so.1 -o new/libpart.so.1
echo 'int part(void){return 1;}' | gcc -shared -fPIC -xc - -Wl,-soname,libpart.so.1 -o old/libpart.so.1
echo 'int part_new(void); int user(void){return part_new();}' |
  gcc -shared -fPIC -xc - -xnone -Wl,-soname,libuser.so -Wl,-rpath,'$ORIGIN/../new' new/libpart.so.1 -o app/libuser.so
echo 'int user(void); int main(void){return user()-1;}' |
  gcc -xc - -xnone app/libuser.so -Wl,-rpath,'$ORIGIN' -Wl,--allow-shlib-undefined -o app/program

expect_exit 0 "$gpuvet" trace app/program --width 200
expect_out "libuser.so → $work/app/libuser.so (RUNPATH \$ORIGIN of program)"
expect_out "(RUNPATH \$ORIGIN/../new of libuser.so)"
expect_out "fit together"
expect_exit 0 "$gpuvet" trace app/program --format json
expect_out '"document": "trace"'
expect_out "\"needed_by\": \"$work/app/libuser.so\""
expect_exit 0 "$gpuvet" trace app/program --format dot
expect_out 'digraph "app/program"'
expect_exit 0 "$gpuvet" trace app/program --format markdown

# An older copy on LD_LIBRARY_PATH lacks a function.
expect_exit 1 env LD_LIBRARY_PATH="/nowhere:$work/old" "$gpuvet" trace app/program --width 200
expect_out "LD_LIBRARY_PATH, 2nd element"
expect_out "shadows $work/app/../new/libpart.so.1"
expect_out "part_new"
expect_exit 0 env LD_LIBRARY_PATH="$work/old" "$gpuvet" trace app/program --without LD_LIBRARY_PATH --width 200
expect_out "+ $work/app/../new/libpart.so.1"
expect_exit 1 "$gpuvet" trace app/program --with LD_LIBRARY_PATH="$work/old" --format json
expect_out '"changes"'
expect_exit 0 env LD_LIBRARY_PATH="$work/old" "$gpuvet" trace app/program --no-symbols

# Names are hidden where that is asked for.
mkdir -p home/alice.example && ln -s "$work/app" home/alice.example/app
expect_exit 0 env HOME=/home/alice.example USER=alice.example LD_LIBRARY_PATH=/home/alice.example/lib "$gpuvet" trace app/program --with LD_LIBRARY_PATH=/home/alice.example/other --redact
for format in text json dot markdown; do
  env USER=alice.example LD_LIBRARY_PATH=/home/alice.example/lib "$gpuvet" trace home/alice.example/app/program --redact --format $format >"$work/out"
  grep -q "alice" "$work/out" && fail "a user's name in $format"
done
expect_exit 2 "$gpuvet" trace --pid 1 --redact

# Missing.
mv new/libpart.so.1 new/away
expect_exit 1 "$gpuvet" trace app/program --width 200
expect_out "libpart.so.1, needed by libuser.so"
expect_out "$work/app/../new/libpart.so.1"
expect_exit 1 "$gpuvet" trace app/program --lang zh
expect_out "找不到"

# A library whose symbols its program brings.
echo 'void *PyList_New(long); void *module(void){return PyList_New(0);}' | gcc -shared -fPIC -xc - -o module.so
expect_exit 0 "$gpuvet" trace ./module.so
expect_out "Python"

# What is no dynamic program.
echo 'int main(void){return 0;}' | gcc -static -xc - -o static 2>/dev/null && { expect_exit 0 "$gpuvet" trace ./static; expect_out "Statically linked"; }
echo text >text
expect_exit 2 "$gpuvet" trace ./text
expect_exit 2 "$gpuvet" trace ./nothing
expect_exit 2 "$gpuvet" trace
expect_exit 2 "$gpuvet" trace ./text --with nonsense
expect_exit 2 "$gpuvet" check --format dot
# Refused in words.
for number in abc -3 0 1.5 99999999999; do
  expect_exit 2 "$gpuvet" trace --pid=$number
  expect_err "must be a process number"
done
echo '{"schema": 1}' >snapshot.json
expect_exit 2 "$gpuvet" trace app/program --snapshot snapshot.json
expect_err "reads the files themselves"
expect_exit 2 "$gpuvet" trace --live --format dot -- true
expect_exit 2 "$gpuvet" trace --pid $$ --root /
expect_exit 0 "$gpuvet" trace --help
expect_out "trace --live -- CMD"
expect_out "--redact"
if [ "$(id -u)" = 0 ]; then
  "$gpuvet" trace --pid 1 >out 2>err
  grep -q "try sudo" err && fail "root is told to use sudo"
fi

# Names of libraries that a file has, and other sentences of gpuvet's own, in the reader's language.
echo 'const char*name="libcudart.so.12";int main(void){return name[0]==1;}' | gcc -xc - -o opener
: >libcudart.so.12
expect_exit 0 env LD_LIBRARY_PATH="$work" "$gpuvet" trace ./opener --width 200 --lang zh
echo 'int c(void){return 1;}' | gcc -shared -fPIC -xc - -Wl,-soname,libcudart.so.12 -o libcudart.so.12
expect_exit 0 env LD_LIBRARY_PATH="$work" "$gpuvet" trace ./opener --width 200
expect_out "then: what opener may open while it works"
expect_exit 0 env LD_LIBRARY_PATH="$work" "$gpuvet" trace ./opener --width 200 --lang zh
expect_out "opener 工作时可能打开的库"
expect_exit 0 env LD_LIBRARY_PATH="$work" "$gpuvet" trace ./opener --format json
expect_out "a name in opener"
printf '#!/bin/sh\n' >script
expect_exit 0 "$gpuvet" trace ./script --lang zh --width 200
expect_out "脚本运行的内容没有跟踪"

# Files that broke off: the loader says nothing, gpuvet does. What is short on purpose is whole.
head -c 8400 app/program >cut && chmod +x cut
expect_exit 1 "$gpuvet" trace ./cut --width 200
expect_out "cut off: needs at least"
expect_exit 1 "$gpuvet" trace ./cut --format json
expect_out '"verdict": "cut-off"'
expect_out '"whole_size"'
expect_exit 1 "$gpuvet" trace ./cut --lang zh
expect_out "不完整"
mkdir -p short && head -c 9000 app/libuser.so >short/libuser.so
expect_exit 1 env LD_LIBRARY_PATH="$work/short" "$gpuvet" trace app/program --width 200
expect_out "$work/short/libuser.so is cut off"
if command -v objcopy >/dev/null; then
  echo 'int whole(void){return 1;}' | gcc -g -shared -fPIC -xc - -o whole.so
  cp whole.so more.so && printf 'trailing data' >>more.so
  objcopy --strip-all whole.so stripped.so && objcopy --only-keep-debug whole.so whole.debug
  for file in whole.so more.so stripped.so; do expect_exit 0 "$gpuvet" trace "./$file"; done
  "$gpuvet" trace ./whole.debug >debug.out 2>&1
  grep "cut off" debug.out && fail "debug information is called cut off"
fi

# Control characters of names are never echoed.
bad=$(printf 'lib\033[31mx.so')
echo 'int x(void){return 1;}' | gcc -shared -fPIC -xc - -Wl,-soname,"$bad" -o "$bad"
echo 'int x(void); int main(void){return x();}' | gcc -xc - -xnone "./$bad" -o evil
rm -f "$bad"
for format in text json dot markdown; do
  "$gpuvet" trace ./evil --format $format >"$work/out" 2>"$work/err"
  grep -q "$(printf '\033')" "$work/out" "$work/err" && fail "an escape character in $format"
done
finish
