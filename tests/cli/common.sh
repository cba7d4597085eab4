# Shared by the command-line tests: a throw-away folder, and checks that say what failed.
set -u
gpuvet=$1
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
unset LD_LIBRARY_PATH LANG LC_ALL LC_MESSAGES NO_COLOR

fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
skip() { echo "SKIPPED: $*"; exit 77; }
finish() { [ "$failures" = 0 ] && echo "ok" && exit 0; echo "$failures failed"; exit 1; }

# expect_exit CODE COMMAND… : runs it with output in $work/out and $work/err, at most 20 seconds.
expect_exit() {
  local want=$1 got; shift
  timeout 20 "$@" >"$work/out" 2>"$work/err" </dev/null
  got=$?
  [ "$got" = "$want" ] || fail "exit $got instead of $want: $* : $(head -c 300 "$work/err")"
}
expect_out() { grep -qF -- "$1" "$work/out" || fail "output lacks '$1': $(head -c 400 "$work/out")"; }
expect_err() { grep -qF -- "$1" "$work/err" || fail "error output lacks '$1': $(head -c 400 "$work/err")"; }
