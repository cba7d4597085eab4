#!/usr/bin/env bash
# The release binary is fully static: it starts on old and new distributions alike.
source "$(dirname "$0")/common.sh" "$@"
release=$source_dir/build/release/gpuvet
[ -x "$release" ] || skip "no release binary at build/release/gpuvet: run ./dev build"
grep -q 'GPUVET_STATIC:BOOL=ON' "$source_dir/build/release/CMakeCache.txt" || skip "this distribution has no static libraries: the release is dynamic"
readelf -lW "$release" | grep -q INTERP && fail "the release binary asks for a dynamic loader"
readelf -dW "$release" 2>/dev/null | grep -q NEEDED && fail "the release binary needs shared libraries"
ldd "$release" 2>&1 | grep -qE 'not a dynamic executable|statically linked' || fail "ldd finds libraries: $(ldd "$release" 2>&1)"
mkdir "$work/empty"
# In a root with nothing in it, not even a libc.
if [ "$(id -u)" = 0 ]; then
  cp "$release" "$work/empty/gpuvet"
  chroot "$work/empty" /gpuvet version >"$work/out" 2>&1 || fail "does not start in an empty root: $(cat "$work/out")"
fi
finish
