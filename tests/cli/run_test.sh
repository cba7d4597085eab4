#!/usr/bin/env bash
# `run`: the command as if gpuvet were not there (streams, terminal, signals, exit code), and what is said after it.
source "$(dirname "$0")/common.sh" "$@"
export TERM=dumb
run() { timeout 60 "$gpuvet" run "$@"; }
oom="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.00 GiB is free."

# ---- exit codes ------------------------------------------------------------------------------------------------------------
for code in 0 1 2 42 255; do run --report never -- sh -c "exit $code" 2>"$work/err"; [ $? = $code ] || fail "exit code $code is lost"; done
[ -s "$work/err" ] && fail "--report never says something: $(cat "$work/err")"
for signal in TERM KILL SEGV; do
  number=$(kill -l $signal)
  ( run --report never -- sh -c "kill -$signal \$\$" ) 2>/dev/null
  [ $? = $((128 + number)) ] || fail "signal $signal of the command is lost"
done
expect_exit 127 "$gpuvet" run -- "$work/none"; expect_err "not run"
expect_exit 127 "$gpuvet" run -- no-such-command-anywhere
: >"$work/plain"; expect_exit 126 "$gpuvet" run -- "$work/plain"; expect_err "permission denied"
expect_exit 126 "$gpuvet" run -- "$work"
expect_exit 2 "$gpuvet" run
printf 'echo without an interpreter; exit 9\n' >"$work/script"; chmod +x "$work/script"
expect_exit 9 "$gpuvet" run -- "$work/script"; expect_out "without an interpreter"
# Without "--" the first word that is no option begins the command; its options are its own.
[ "$(run echo --format json --report x -- y)" = "--format json --report x -- y" ] || fail "arguments of the command are eaten"
[ "$(run --report never -- echo -- a 'b c' '')" = "-- a b c " ] || fail "arguments behind -- are not verbatim"

# ---- streams ---------------------------------------------------------------------------------------------------------------
run -- sh -c 'echo out; echo err >&2' >"$work/out" 2>"$work/err"
[ "$(cat "$work/out")" = out ] && [ "$(cat "$work/err")" = err ] || fail "streams are mixed: $(head "$work/out" "$work/err")"
run -- sh -c 'echo out; echo err >&2; exit 1' 2>/dev/null | cmp -s - <(echo out) || fail "the report is on standard output"
[ "$(printf 'through' | run -- cat)" = through ] || fail "standard input does not pass"
[ "$(run -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo $i >&2; done' 2>&1 | tr -d '\n')" = 112233445566778899 ] || fail "order of both streams in one pipe"
[ "$(run -- sh -c 'echo a; echo b >&2' 2>&1 >/dev/null)" = b ] || fail "standard error alone"
head -c 200000000 /dev/urandom >"$work/random"
sum=$(sha256sum <"$work/random")
[ "$(run -- cat "$work/random" | sha256sum)" = "$sum" ] || fail "200 MB through a pipe differ"
[ "$(run -- cat <"$work/random" | sha256sum)" = "$sum" ] || fail "200 MB from standard input differ"
run -- cat "$work/random" >"$work/copy"; cmp -s "$work/random" "$work/copy" || fail "200 MB into a file differ"
rm -f "$work/copy" "$work/random"
# A file is written by the command itself: appended where it was, and heard all the same.
echo before >"$work/log"
run -- sh -c "echo '$oom'; exit 1" >>"$work/log" 2>"$work/err"
[ "$(sed -n 1p "$work/log")" = before ] && [ "$(wc -l <"$work/log")" = 2 ] || fail "appending: $(cat "$work/log")"
expect_err "out-of-memory"
run -- sh -c "echo '$oom' >&2; exit 1" >"$work/log" 2>&1; grep -q "out-of-memory" "$work/log" || fail "both streams in one file are not heard"
head -1 "$work/log" | grep -q '^torch.OutOfMemoryError' || fail "the file's beginning is lost: $(head -3 "$work/log")"
# The reader goes away.
timeout 20 "$gpuvet" run -- yes 2>"$work/err" | head -1 >/dev/null
[ "${PIPESTATUS[0]}" = 141 ] || fail "yes | head: not SIGPIPE"
[ -s "$work/err" ] && fail "yes | head is told as a failure: $(cat "$work/err")"
# Closed streams and files that were open.
run --report never -- sh -c 'exit 4' >&- 2>&- <&-; [ $? = 4 ] || fail "closed streams"
exec 7>"$work/seven"; run -- sh -c 'echo kept >&7'; exec 7>&-; [ "$(cat "$work/seven")" = kept ] || fail "descriptor 7 is not inherited"
[ "$(run -- ls /proc/self/fd)" = "$(ls /proc/self/fd)" ] || fail "gpuvet's own files are left open in the command: $(run -- ls -l /proc/self/fd)"
# Environment, folder, mask, signals as they were.
[ "$(cd /; A=b run -- sh -c 'umask; pwd; echo $A')" = "$(umask; printf '/\nb')" ] || fail "umask, folder or environment"
[ "$("$gpuvet" run -- sed -n 's/^Sig[BI].*:/&/p' /proc/self/status)" = "$(sed -n 's/^Sig[BI].*:/&/p' /proc/self/status | cat)" ] || fail "signals of the command are others"
( trap '' PIPE HUP; [ "$("$gpuvet" run -- sed -n 's/^SigIgn.*/&/p' /proc/self/status)" = "$(sed -n 's/^SigIgn.*/&/p' /proc/self/status | cat)" ] ) || fail "ignored signals are not inherited"

# ---- signals ---------------------------------------------------------------------------------------------------------------
cat >"$work/trap.sh" <<'SH'
trap 'echo got; kill $sleep; exit 17' $1
sleep 30 & sleep=$!
echo ready; wait
SH
for signal in TERM HUP USR1 USR2 QUIT INT; do
  # bash ignores INT and QUIT for what it starts with &: a handler of its own in between gives them back.
  python3 -c "
import os, signal, subprocess, sys, time
for s in (signal.SIGINT, signal.SIGQUIT): signal.signal(s, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1], 'run', '--report', 'never', '--', 'sh', sys.argv[2], '$signal'], stdout=subprocess.PIPE)
assert p.stdout.readline() == b'ready\n'
p.send_signal(signal.SIG$signal)
out = p.stdout.read()
sys.exit(0 if out == b'got\n' and p.wait() == 17 else 1)
" "$gpuvet" "$work/trap.sh" || fail "$signal is not passed on"
done
"$gpuvet" run -- sleep 30 2>"$work/err" & sleeper=$!
sleep 0.5; kill -TERM $sleeper; wait $sleeper 2>/dev/null; [ $? = 143 ] || fail "TERM to gpuvet does not end the command"
[ -s "$work/err" ] && fail "a command that somebody ended is told as a failure: $(cat "$work/err")"
# gpuvet is killed: the command is not left behind at a full pipe.
"$gpuvet" run -- sh -c 'echo $$ >'"$work/pid"'; exec yes' 2>/dev/null > >(exec sleep 5) & sleep 0.7
kill -KILL "$(ps -o ppid= -p "$(cat "$work/pid")" | tr -d ' ')"; sleep 0.5
case $(ps -o stat= -p "$(cat "$work/pid")") in ''|Z*) false ;; esac && { fail "the command outlives a killed gpuvet at a full pipe"; kill -KILL "$(cat "$work/pid")"; }
wait 2>/dev/null
# What the command leaves behind does not hold gpuvet, and can go on to write.
start=$(date +%s)
"$gpuvet" run -- sh -c '(sleep 3; echo later) & echo first; exit 5' >"$work/fifo.out" 2>/dev/null; code=$?
[ $code = 5 ] && [ $(($(date +%s) - start)) -le 2 ] || fail "a background process holds gpuvet (code $code)"
mkfifo "$work/fifo"; cat "$work/fifo" >"$work/got" & reader=$!
"$gpuvet" run -- sh -c '(sleep 2; echo later) & echo first; exit 5' >"$work/fifo" 2>/dev/null; [ $? = 5 ] || fail "background process: exit code"
[ $(($(date +%s) - start)) -le 7 ] || fail "a background process holds gpuvet at a pipe"
wait $reader; [ "$(cat "$work/got")" = "$(printf 'first\nlater')" ] || fail "what a background process writes is lost: $(cat "$work/got")"

# ---- terminal --------------------------------------------------------------------------------------------------------------
if command -v python3 >/dev/null; then
  python3 -I "$(dirname "$0")/terminal_of_run.py" "$gpuvet" >"$work/out" 2>&1 || fail "terminal: $(cat "$work/out")"
fi

# ---- what is said ----------------------------------------------------------------------------------------------------------
run -- sh -c "echo '$oom' >&2; exit 1" >"$work/out" 2>"$work/err"; expect_err "out-of-memory"; expect_err "output:1"; expect_err "exit code 1"
[ -s "$work/out" ] && fail "the report is on standard output"
run -- sh -c 'echo hello; exit 1' >/dev/null 2>"$work/err"; [ "$(wc -l <"$work/err")" = 1 ] || fail "an unknown failure gets more than a line: $(cat "$work/err")"
expect_err "nothing known in its output (exit code 1)"
run -- sh -c 'echo hello' 2>"$work/err" >/dev/null; [ -s "$work/err" ] && fail "a success is commented: $(cat "$work/err")"
run -- sh -c "echo '$oom'" 2>"$work/err" | cat >/dev/null; [ "$(wc -l <"$work/err")" = 1 ] || fail "a success with a known message: $(cat "$work/err")"
expect_err "the command succeeded, but"; expect_err "[out-of-memory]"
run --report always -- true 2>"$work/err"; expect_err "exit code 0"
run --lang zh -- sh -c 'exit 1' 2>"$work/err"; expect_err "输出中没有已知的报错"
# Far away in a long output.
run -- sh -c "seq 1 3000000; echo '$oom'; seq 1 3000000; exit 1" 2>"$work/err" | cat >/dev/null; expect_err "output:3000001"
# Into a file: always written, for programs.
run -o "$work/report" --format json -- sh -c 'exit 3' 2>"$work/err"; [ $? = 3 ] || fail "exit code with -o"
[ -s "$work/err" ] && fail "with -o something is on standard error: $(cat "$work/err")"
python3 -I -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["document"] == "run" and d["exit_code"] == 3 and d["signal"] is None and d["command"] == ["sh", "-c", "exit 3"], d
assert d["host"]["verdict"] in ("holds", "broken", "unknown") and d["contradictions"] == []
' "$work/report" || fail "the JSON of run"
run -o "$work/report" --format json -- true; grep -q '"exit_code": 0' "$work/report" || fail "no JSON of a success"
run --format markdown -o "$work/report" -- sh -c "echo /home/alicia/x '$oom' HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789; exit 1" | cat >/dev/null
grep -q '^## ' "$work/report" || fail "no Markdown"
grep -q 'alicia\|hf_abcdefgh' "$work/report" && fail "Markdown is not redacted: $(grep 'alicia\|hf_abc' "$work/report")"
expect_exit 2 "$gpuvet" run --root / -- true
expect_exit 2 "$gpuvet" run --report sometimes -- true
expect_exit 2 "$gpuvet" run --sanitize --profile -- true

# ---- tools -----------------------------------------------------------------------------------------------------------------
mkdir -p "$work/bin"; printf '#!/bin/sh\necho "tool $(basename "$0") $*"; [ "$1" = profile ] && shift; exec "$@"\n' >"$work/bin/nsys"; chmod +x "$work/bin/nsys"
cp "$work/bin/nsys" "$work/bin/compute-sanitizer"
PATH=$work/bin:$PATH run --sanitize -- sh -c 'exit 6' >"$work/out" 2>/dev/null; [ $? = 6 ] || fail "--sanitize: exit code"; expect_out "tool compute-sanitizer sh -c"
PATH=$work/bin:$PATH run --profile -- sh -c 'exit 6' >"$work/out" 2>/dev/null; [ $? = 6 ] || fail "--profile: exit code"; expect_out "tool nsys profile sh -c"
if ! command -v nsys >/dev/null && [ ! -e /usr/local/cuda/bin/nsys ] && [ ! -e /opt/nvidia/nsight-systems ]; then
  expect_exit 2 env -u CUDA_HOME -u CUDA_PATH "$gpuvet" run --profile -- touch "$work/ran"; expect_err "nsys is not here"
  [ -e "$work/ran" ] && fail "the command ran without its tool"
fi

# ---- loader ----------------------------------------------------------------------------------------------------------------
"$gpuvet" run --trace --report never -- true 2>"$work/err" || grep -q 'without the audit library' "$work/err" || fail "--trace -- true"
if ! grep -q 'without the audit library' "$work/err" && command -v gcc >/dev/null; then
  cd "$work" || exit 1
  printf '#include <dlfcn.h>\n#include <stdio.h>\nint main(void) { dlopen("libcudnn_graph.so.77", RTLD_NOW); dlopen("libunrelated.so.1", RTLD_NOW); puts("it did not work"); return 1; }\n' >d.c
  if gcc d.c -o d -ldl; then
    run --trace --width 1000 -- ./d >/dev/null 2>"$work/err"; [ $? = 1 ] || fail "--trace: exit code"
    expect_err "libcudnn_graph.so.77, asked for by $work/d"
    grep -q libunrelated "$work/err" && fail "a library that nobody named is told"
    run -- ./d >/dev/null 2>"$work/err"; grep -q cudnn_graph "$work/err" && fail "told without --trace"
  fi
  echo 'int f(void) { return 1; }' >f.c; echo 'int f(void); int main(void) { return f(); }' >m.c
  if gcc -shared -fPIC f.c -o libcublasLt.so.12 && gcc m.c -o m ./libcublasLt.so.12; then
    rm libcublasLt.so.12
    run --trace -- ./m >/dev/null 2>"$work/err"; [ $? = 127 ] || fail "a program that dies in its loader"
    expect_err "libcublasLt.so.12"
  fi
fi

# ---- explain --with-host ---------------------------------------------------------------------------------------------------
printf 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n' >"$work/text"
printf 'PRETTY_NAME="Ubuntu 22.04.3 LTS"\nID=ubuntu\nVERSION_ID="22.04"\n' >>"$work/text"; printf '$ uname -r\n6.2.0-39-gpuvet\n%s\n' "$oom" >>"$work/text"
expect_exit 1 "$gpuvet" explain --with-host --width 1000 "$work/text"
expect_out "out-of-memory"; expect_out "Where the text and this machine differ"; expect_out "kernel 6.2.0-39-gpuvet"; expect_out "$work/text:6"
expect_out "its own facts decided"
expect_exit 1 "$gpuvet" explain --with-host --format json "$work/text"; expect_out '"what": "kernel"'; expect_out '"used": false'
expect_exit 1 "$gpuvet" explain --with-host --format markdown "$work/text"; expect_out "### Where the text and this machine differ"
expect_exit 1 "$gpuvet" explain --with-host --lang zh "$work/text"; expect_out "文本与本机不一致之处"
finish
