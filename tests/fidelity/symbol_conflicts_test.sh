#!/usr/bin/env bash
# Whether libraries fit together: the verdict of `gpuvet trace` against `ldd -r`, which lets the loader bind every symbol.
# A sample of this machine's programs and CUDA libraries; all of them with GPUVET_FULL=1.
# symbol_conflicts_test.sh GPUVET | symbol_conflicts_test.sh --one GPUVET FILE
set -u
wrong='undefined symbol|symbol .* version .* not defined|version .* not found|=> not found'

# Prints one word and the file: agree, MISS (only the loader complains), FALSE (only gpuvet does) or other (not comparable).
compare_one() {
  local gpuvet=$1 file json code real
  # The kernel starts the real file, whose $ORIGIN ldd does not see through a link.
  file=$(readlink -f -- "$2")
  json=$(timeout 60 "$gpuvet" trace "$file" --format json 2>/dev/null)
  code=$?
  [ "$code" -le 1 ] || { echo "other $file"; return; }
  real=$(timeout 60 ldd -r "$file" 2>&1)
  case $real in *"not a dynamic executable"*) echo "other $file"; return ;; esac
  if grep -qE "$wrong" <<<"$real"; then
    # What the program that opens a library has to bring is told, but is no fault of the library.
    if [ "$code" = 1 ] || grep -q '"wanted_by".*"program"' <<<"$(tr -d '\n' <<<"$json" | sed 's/.*"provided_by_program"//')"; then echo "agree $file"; else echo "MISS $file"; fi
  else
    if [ "$code" = 0 ]; then echo "agree $file"; else echo "FALSE $file"; fi
  fi
}

if [ "$1" = --one ]; then compare_one "$2" "$3"; exit; fi
command -v ldd >/dev/null || { echo "SKIPPED: no ldd"; exit 77; }
unset LD_LIBRARY_PATH LD_PRELOAD
gpuvet=$1
result=$(mktemp)
trap 'rm -f "$result"' EXIT
{
  find -L /usr/bin /usr/sbin -maxdepth 1 -type f -perm -u+x 2>/dev/null | sort |
    if [ -n "${GPUVET_FULL:-}" ]; then cat; else awk 'NR % 15 == 1'; fi
  find /usr/local/cuda/lib64/ /usr/lib/x86_64-linux-gnu -maxdepth 1 -name 'lib*.so.*' -type f 2>/dev/null | sort |
    if [ -n "${GPUVET_FULL:-}" ]; then cat; else awk 'NR % 20 == 1'; fi
} | xargs -r -d '\n' -n 1 -P "$(nproc)" bash "$0" --one "$gpuvet" >"$result"
grep -v '^agree\|^other' "$result" | head -40
agree=$(grep -c '^agree' "$result") bad=$(grep -vc '^agree\|^other' "$result")
echo "symbol conflicts: $agree of $((agree + bad)) verdicts agree with ldd -r"
[ "$agree" -gt 0 ] || { echo "SKIPPED: nothing to compare"; exit 77; }
[ "$bad" = 0 ]
