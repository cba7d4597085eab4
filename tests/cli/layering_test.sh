#!/usr/bin/env bash
# Who may include whom (docs/architecture.md). A line below: folder, then the folders it may include.
source "$(dirname "$0")/common.sh" "$@"
allowed() {
  case $1 in
    model) echo model ;;
    system) echo system model ;;
    elf) echo elf system model ;;
    loader) echo loader model ;;
    audit) echo audit ;;
    knowledge) echo knowledge model ;;
    text) echo text knowledge model ;;
    shell) echo shell model ;;
    config) echo config model ;;
    image) echo image config system model ;;
    collect) echo collect text shell config elf loader system knowledge model ;;
    rules) echo rules knowledge loader model ;;
    diagnose) echo diagnose rules knowledge model ;;
    render) echo render diagnose rules knowledge loader model ;;
    commands) echo commands render diagnose rules collect image text shell config elf loader audit system knowledge model ;;
    *) echo unknown-folder ;;
  esac
}
cd "$source_dir/src" || exit 1
for file in */*.cpp */*.h; do
  folder=${file%%/*}
  may=" $(allowed "$folder") "
  for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' "$file"); do
    case $may in *" $included "*) ;; *) fail "$file includes $included/" ;; esac
  done
done
# Only system/ asks the operating system; heavy headers stay in few files.
for file in $(grep -lE '#include <(fcntl|unistd|dirent|sys/(stat|socket|syscall|wait|mman)|fstream|filesystem|spawn)(\.h)?>' */*.cpp */*.h); do
  case $file in system/*|commands/output_file.cpp|commands/terminal.cpp) ;; *) fail "$file opens a door to the host beside system/" ;; esac
done
for header in nlohmann/json.hpp CLI/ sqlite3.h; do
  count=$(grep -l "#include <$header" */*.cpp */*.h | wc -l)
  [ "$count" -le 5 ] || fail "$header is included in $count files"
  grep -l "#include <$header" */*.h | while read -r f; do echo "FAIL: $header in the header $f"; done | grep . && failures=$((failures + 1))
done
grep -nE 'std::regex|reinterpret_cast<const (Elf|struct )' */*.cpp */*.h && fail "std::regex or a struct cast onto file bytes"
finish
