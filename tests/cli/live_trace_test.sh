#!/usr/bin/env bash
# `trace --live`: the command runs as if gpuvet were not there, the record equals the forecast, a death in the loader is explained.
source "$(dirname "$0")/common.sh" "$@"
live() { timeout 120 "$gpuvet" trace --live -o "$work/report" --format json -- "$@" </dev/null; }

live true || { grep -q 'without the audit library' "$work/report" 2>/dev/null && skip "built without the audit library"; fail "true does not end with 0"; }

# Streams, exit codes and signals pass through.
printf 'a\nb\n' >"$work/in"
timeout 20 "$gpuvet" trace --live -o "$work/report" -- sort -r "$work/in" >"$work/traced" 2>"$work/err" || fail "sort fails"
sort -r "$work/in" | cmp -s - "$work/traced" || fail "standard output differs"
[ -s "$work/err" ] && fail "something was written to standard error: $(head -c 300 "$work/err")"
printf 'through' | timeout 20 "$gpuvet" trace --live -o "$work/report" -- cat >"$work/traced"; [ "$(cat "$work/traced")" = through ] || fail "standard input does not pass"
live sh -c 'exit 42'; [ $? = 42 ] || fail "exit code 42 is lost"
( live sh -c 'kill -TERM $$' ) 2>/dev/null; [ $? = 143 ] || fail "the signal is lost"
grep -q '"signal": 15' "$work/report" || fail "the signal is not told"
timeout 20 "$gpuvet" trace --live -- sh -c 'exit 3' >"$work/out" 2>"$work/err"; [ $? = 3 ] || fail "exit code without -o"
[ -s "$work/out" ] && fail "the report is on standard output"
expect_err "exit code 3"
expect_exit 127 "$gpuvet" trace --live -- "$work/none"
expect_exit 2 "$gpuvet" trace --live
"$gpuvet" trace --live -o "$work/report" -- sleep 30 & sleeper=$!
sleep 1; kill -TERM $sleeper; wait $sleeper 2>/dev/null; [ $? = 143 ] || fail "a signal to gpuvet does not reach the command"
# Options of the command are its own.
[ "$(live echo --format json --live -- x)" = "--format json --live -- x" ] || fail "arguments of the command are eaten"

# Record against forecast: no difference without a known reason, in twenty programs of this machine and what they start.
programs=0; start_up=0; equal=0; run_time=0; run_equal=0; failed=0; failed_equal=0
sum() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$work/report" | awk '{ n += $1 } END { print n + 0 }'; }
compare() {
  command -v "$1" >/dev/null || return
  live "$@" >/dev/null 2>&1
  [ -s "$work/report" ] || { fail "no report about $*"; return; }
  programs=$((programs + 1))
  start_up=$((start_up + $(sum start_up))); equal=$((equal + $(sum start_up_equal)))
  run_time=$((run_time + $(sum run_time))); run_equal=$((run_equal + $(sum run_time_equal)))
  failed=$((failed + $(sum failures))); failed_equal=$((failed_equal + $(sum failures_equal)))
  grep -q '"why": "not-known"' "$work/report" && fail "$*: $(grep -B1 -A6 '"why": "not-known"' "$work/report" | head -40)"
  rm -f "$work/report"
}
compare ls -l /; compare bash -c 'ls | cat'; compare getent passwd; compare getent hosts localhost; compare git --version; compare perl -MPOSIX -MSocket -e 1
compare cmake --version; compare gcc --version; compare id; compare tar --version; compare openssl list -providers; compare curl --version; compare find / -maxdepth 1
compare grep x /dev/null; compare awk 'BEGIN { }'; compare sed -n 1p /etc/passwd; compare ninja --version; compare readelf --version; compare iconv -f utf-8 -t utf-16 /dev/null
compare file /bin/ls; compare xz --version; compare gpg --version; compare zsh -c true; compare python3 -c 'import ssl, sqlite3, ctypes, decimal, lzma'
[ -x /usr/bin/python3 ] && compare /usr/bin/python3 -c 'import ssl, ctypes, json'
[ "$start_up" = "$equal" ] || fail "start-up: $equal of $start_up as forecast"
[ "$programs" -ge 15 ] || fail "only $programs programs were there to compare"
echo "$programs commands: start-up $equal/$start_up, at run time $run_equal/$run_time, not found $failed_equal/$failed as forecast"

# Who opened what.
if [ -x /usr/bin/perl ]; then
  live /usr/bin/perl -MPOSIX -e 1 >/dev/null
  grep -q '"why": "perl-module"' "$work/report" || fail "POSIX.so is not told as a Perl module"
  grep -q '"kind": "dlopen"' "$work/report" || fail "no dlopen is told"
fi

# Deaths in the loader.
if command -v gcc >/dev/null; then
  cd "$work" || exit 1
  echo 'int f(void) { return 1; }' >f.c; echo 'int f(void); int main(void) { return f(); }' >m.c
  mkdir libs; gcc -shared -fPIC f.c -o libs/libgone.so.1 -Wl,-soname,libgone.so.1 && gcc m.c -o m libs/libgone.so.1 -Wl,-rpath,"$work/libs"
  live ./m; [ $? = 1 ] || fail "m does not return 1"
  grep -q '"rule": "RPATH/RUNPATH"' report || fail "the rule RUNPATH is not told"
  : >libs/libgone.so.1
  timeout 20 "$gpuvet" trace --live --width 1000 -- ./m >out 2>err; [ $? = 127 ] || fail "an empty library: exit $?"
  expect_err "the loader stopped at $work/libs/libgone.so.1"
  rm libs/libgone.so.1
  timeout 20 "$gpuvet" trace --live --width 1000 -- ./m >out 2>err; [ $? = 127 ] || fail "a missing library: exit $?"
  expect_err "libgone.so.1 was not found"; expect_err "needed by $work/m"; expect_err "$work/libs/libgone.so.1 (RPATH/RUNPATH)"
  live ./m 2>/dev/null; grep -q '"started": false' report || fail "the death at start-up is not told"
  # LD_LIBRARY_PATH and LD_PRELOAD of a wrapper script.
  mkdir other; gcc -shared -fPIC f.c -o other/libgone.so.1; gcc -shared -fPIC f.c -o other/first.so
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s LD_PRELOAD=%s exec ./m\n' "$work/other" "$work/other/first.so" >wrapper; chmod +x wrapper
  live ./wrapper; grep -q '"rule": "LD_LIBRARY_PATH"' report && grep -q '"rule": "LD_PRELOAD"' report || fail "the wrapper's variables are not seen"
  grep -q 'differences": \[$' report && fail "the wrapper's program differs from its forecast: $(grep -A8 'differences": \[$' report | head -20)"
  # Programs whose loader has no audit interface.
  if gcc -static m.c f.c -o st 2>/dev/null; then live ./st; grep -q '"record": "static-program"' report || fail "a static program is not told"; fi
  if command -v musl-gcc >/dev/null; then musl-gcc m.c f.c -o mu && live ./mu; grep -q '"record": "musl-program"' report || fail "a musl program is not told"; fi
  # The same with files instead of memory, and nothing is left behind.
  mkdir tmp; TMPDIR=$work/tmp GPUVET_AUDIT_IN_FOLDER=1 timeout 20 "$gpuvet" trace --live -o report --format json -- ls / >/dev/null || fail "with files in a folder"
  grep -q '"record": "recorded"' report || fail "nothing was recorded with files in a folder"
  [ -z "$(ls tmp)" ] || fail "files were left behind: $(ls tmp)"
  # A running process whose library was replaced.
  echo '#include <unistd.h>
int f(void); int main(void) { sleep(60); return f(); }' >s.c
  gcc -shared -fPIC f.c -o libs/libgone.so.1 -Wl,-soname,libgone.so.1; gcc s.c -o s libs/libgone.so.1 -Wl,-rpath,"$work/libs"
  ./s & running=$!
  sleep 0.5
  expect_exit 0 "$gpuvet" trace --pid $running
  cp libs/libgone.so.1 new; mv new libs/libgone.so.1
  expect_exit 1 "$gpuvet" trace --pid $running --width 1000
  expect_out "libs/libgone.so.1 ! replaced on disk since"
  expect_exit 1 "$gpuvet" trace --pid $running --format json
  expect_out '"state": "deleted"'
  kill $running; wait $running 2>/dev/null
fi
expect_exit 2 "$gpuvet" trace --pid 999999999

# The library asks nothing of any libc.
for library in "$(dirname "$gpuvet")"/generated/gpuvet-audit.so; do
  [ -f "$library" ] && command -v readelf >/dev/null || continue
  readelf -VW "$library" | grep -q GLIBC && fail "the audit library needs a glibc version"
  readelf -dW "$library" | grep -qE 'NEEDED|TEXTREL' && fail "the audit library needs a library"
  readelf -sW --dyn-syms "$library" | awk '$7 == "UND" && NF > 7' | grep . && fail "the audit library has undefined symbols"
done
finish
