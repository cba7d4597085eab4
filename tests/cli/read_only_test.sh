#!/usr/bin/env bash
# Promise: nothing is written, no network is used, and nothing is run but journalctl on the live host (and the user's own command by
# trace --live, programs of Windows by --windows inside WSL).
source "$(dirname "$0")/common.sh" "$@"
command -v strace >/dev/null || skip "no strace"
strace -o "$work/probe" true 2>/dev/null || skip "strace may not trace here"
mkdir -p "$work/root/etc" "$work/root/proc/sys/kernel"
echo 'ID=debian' >"$work/root/etc/os-release"; echo 6.1.0 >"$work/root/proc/sys/kernel/osrelease"

check_trace() {  # $1 what ran
  local bad
  bad=$(grep -E 'open(at|at2)?\(.*(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC)' "$work/trace" | grep -vE '"/dev/(null|tty|nvidia[^"]*|dxg)"')
  [ -z "$bad" ] || fail "$1 opens for writing: $(echo "$bad" | head -3)"
  bad=$(grep -E '^[0-9]+ +(unlink|rename|mkdir|rmdir|chmod|chown|link|symlink|truncate|ftruncate|mknod|utime|setxattr|mount)[a-z0-9]*\(' "$work/trace")
  [ -z "$bad" ] || fail "$1 changes the file system: $(echo "$bad" | head -3)"
  bad=$(grep -E '^[0-9]+ +(socket|connect|bind|sendto)\(' "$work/trace")
  [ -z "$bad" ] || fail "$1 uses the network: $(echo "$bad" | head -3)"
  bad=$(grep -E '^[0-9]+ +execve\(' "$work/trace" | tail -n +2 | grep -v '/journalctl"')
  [ -z "$bad" ] || fail "$1 runs a program: $(echo "$bad" | head -3)"
}

trace() {
  timeout 60 strace -f -s 200 -e trace=%file,%network,%process,ftruncate,fchmod,fchown -o "$work/trace" "$gpuvet" "$@" >"$work/out" 2>"$work/err" </dev/null
  check_trace "gpuvet $*"
}
trace
trace check --format json -v
trace check --windows  # this host is no WSL: nothing is asked
trace check --root "$work/root"
grep -q execve.*journalctl "$work/trace" && fail "a root is answered by the host's journal"
# Paths of the root are opened relative to its folder; what is opened from the working directory or "/" after that is the host's
# (before it, the loader of a dynamic build reads its libraries).
sed -n "\|open.*\"$work/root\"|,\$p" "$work/trace" | grep -E 'open(at)?2?\((AT_FDCWD, )?"/(proc|sys|var|etc|usr|lib|dev)/' | grep -vE '/proc/self/(maps|status|fd|exe)|/sys/devices/system/cpu' | head -3 >"$work/leak"
[ -s "$work/leak" ] && fail "with --root the host itself is read: $(cat "$work/leak")"
trace kb driver 535.129.03
trace rule
trace snapshot -o -

# trace --live runs the user's command, and that alone; the one file that is written is the record in memory, by the command's loader.
true_program=$(command -v true)
timeout 60 strace -f -s 200 -e trace=%file,%network,%process -o "$work/trace" "$gpuvet" trace --live -- "$true_program" >"$work/out" 2>"$work/err" </dev/null
grep -E 'execve\(' "$work/trace" | tail -n +2 | grep -v "\"$true_program\"" >"$work/bad" && fail "trace --live runs something else: $(head -3 "$work/bad")"
grep -E 'open(at|at2)?\(.*(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC)' "$work/trace" | grep -vE '"/(dev/(null|tty)|proc/[0-9]+/fd/[0-9]+)"' >"$work/bad" && fail "trace --live opens for writing: $(head -3 "$work/bad")"
grep -E '(unlink|rename|mkdir|socket|connect)[a-z0-9]*\(' "$work/trace" >"$work/bad" && fail "trace --live: $(head -3 "$work/bad")"
trace trace --pid $$
finish
