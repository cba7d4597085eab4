#!/usr/bin/env bash
# Hostile and broken input: a clear message, the right exit code, no crash, no hang, nothing written.
source "$(dirname "$0")/common.sh" "$@"

expect_exit 2 "$gpuvet" check --root "$work/none"
expect_err "$work/none"
echo x >"$work/file"
expect_exit 2 "$gpuvet" check --root "$work/file"
expect_err "$work/file"
expect_exit 2 "$gpuvet" check --snapshot "$work/none.json"
expect_err none.json
echo '{"schema": 1, "pci": [' >"$work/bad.json"
expect_exit 2 "$gpuvet" check --snapshot "$work/bad.json"
expect_err bad.json
echo '{"schema": 999}' >"$work/new.json"
expect_exit 2 "$gpuvet" check --snapshot "$work/new.json"
expect_err 999
expect_exit 2 "$gpuvet" check --environ "$work/none"
expect_exit 2 "$gpuvet" check --kernel-log "$work/none"
expect_exit 2 "$gpuvet" chekc
expect_err check
expect_exit 2 "$gpuvet" --format yaml
expect_exit 2 "$gpuvet" kb gpu 10de:zzzz
expect_exit 2 "$gpuvet" rule no-such-rule
expect_err "gpuvet rule lists them all"
expect_exit 2 "$gpuvet" rule --format markdown
expect_exit 0 "$gpuvet" rule --format json
expect_out '"document": "rules"'
expect_exit 0 "$gpuvet" kb
expect_out "kb driver"
"$gpuvet" kb soname libcublas.so.12 --width 40 >"$work/out"; awk 'length > 40' "$work/out" | grep -q ' .* .* ' && fail "kb does not wrap to --width"
expect_exit 0 "$gpuvet" kb soname libcublas.so.12 --width 1000
expect_out "in other releases: libcublas.so.10.0 (CUDA 10.0); libcublas.so.10 (CUDA 10.1, 10.2)"
expect_exit 2 "$gpuvet" snapshot -o "$work/no/such/dir/x.json"

# A knowledge overlay with an error: path and line.
mkdir "$work/overlay"
printf 'code\tmnemonic\tmeaning\tlikely_causes\trecommended_action\tsource\n79\tA\tB\n' >"$work/overlay/xid.tsv"
expect_exit 2 "$gpuvet" kb xid 79 --knowledge "$work/overlay"
expect_err "xid.tsv:2"

# Roots full of things that must not be opened or followed.
root=$work/hostile
mkdir -p "$root"/{etc/ld.so.conf.d,etc/modprobe.d,proc/sys/kernel,proc/driver/nvidia,sys/bus/pci/devices,sys/module/nvidia,var/log,var/lib/dpkg,var/lib/rpm,usr/lib/modules,dev,usr/lib/x86_64-linux-gnu,var/lib/dkms}
for f in etc/os-release etc/ld.so.conf etc/ld.so.cache etc/passwd proc/modules proc/devices proc/sys/kernel/osrelease proc/driver/nvidia/version \
         var/log/kern.log var/lib/dpkg/status var/lib/rpm/rpmdb.sqlite sys/module/nvidia/version usr/lib/x86_64-linux-gnu/libcuda.so.1; do
  mkfifo "$root/$f"
done
rmdir "$root/sys/bus/pci/devices" "$root/sys/bus/pci"
expect_exit 3 "$gpuvet" check --root "$root"
mkdir -p "$root/sys/bus/pci/devices"
find "$root" -type p -delete
for f in etc/os-release proc/modules var/log/kern.log var/lib/dpkg/status etc/ld.so.conf; do ln -s "$f" "$root/$f.loop"; ln -s "../../../../../../../../../../$f" "$root/$f"; done
ln -s loop2 "$root/etc/modprobe.d/loop1.conf"; ln -s loop1.conf "$root/etc/modprobe.d/loop2"
ln -s / "$root/usr/lib/modules/6.1.0"
ln -s ../../../.. "$root/sys/bus/pci/devices/0000:01:00.0"
ln -s . "$root/var/lib/dkms/nvidia"
timeout 20 "$gpuvet" check --root "$root" --format json >"$work/out" 2>"$work/err"; code=$?
case $code in 0|1|3) ;; *) fail "exit $code on a root full of loops: $(head -c 300 "$work/err")" ;; esac
grep -q "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" "$work/out" && fail "a link out of the root was followed"

# Binary garbage and emptiness in every file.
for kind in garbage empty utf16; do
  rm -rf "$root"; mkdir -p "$root"/{etc/ld.so.conf.d,etc/modprobe.d,proc/sys/kernel,proc/driver/nvidia/gpus/0000:01:00.0,sys/bus/pci/devices/0000:01:00.0,sys/module/nvidia,var/log,var/lib/dpkg,var/lib/rpm,usr/lib/modules/6.1.0/updates/dkms,lib64,usr/lib/x86_64-linux-gnu,var/lib/dkms/nvidia/550.1/6.1.0/x86_64/log}
  for f in etc/os-release etc/ld.so.conf etc/ld.so.cache etc/ld.so.conf.d/a.conf etc/modprobe.d/a.conf etc/passwd etc/group proc/modules proc/devices proc/cmdline proc/sys/kernel/osrelease \
           proc/driver/nvidia/version proc/driver/nvidia/params proc/driver/nvidia/gpus/0000:01:00.0/information sys/bus/pci/devices/0000:01:00.0/{vendor,device,class,resource,config,revision} \
           sys/module/nvidia/version var/log/kern.log var/lib/dpkg/status var/lib/rpm/rpmdb.sqlite var/lib/rpm/Packages var/lib/rpm/Packages.db usr/lib/modules/6.1.0/updates/dkms/nvidia.ko.{xz,zst,gz} \
           usr/lib/modules/6.1.0/updates/dkms/nvidia.ko usr/lib/x86_64-linux-gnu/libcuda.so.1 lib64/libnvidia-ml.so.1 var/lib/dkms/nvidia/550.1/6.1.0/x86_64/log/make.log var/log/nvidia-installer.log; do
    case $kind in
      garbage) head -c 20000 /dev/urandom >"$root/$f" ;;
      empty) : >"$root/$f" ;;
      utf16) printf '\377\376N\000A\000\033[31m\000\200\201' >"$root/$f" ;;
    esac
  done
  for format in text json markdown; do
    timeout 20 "$gpuvet" check --root "$root" --format $format -v >"$work/out" 2>"$work/err"; code=$?
    case $code in 0|1|3) ;; *) fail "exit $code on $kind files ($format): $(head -c 300 "$work/err")" ;; esac
    grep -q "$(printf '\033')" "$work/out" && fail "a terminal escape of a file was echoed ($kind, $format)"
  done
done

# A 2 GB sparse log and a hostile kernel log on standard input.
truncate -s 2G "$root/var/log/kern.log"
( ulimit -v 600000 2>/dev/null; timeout 20 "$gpuvet" check --root "$root" >"$work/out" 2>"$work/err" ); code=$?
case $code in 0|1|3) ;; *) fail "exit $code with a 2 GB log: $(head -c 300 "$work/err")" ;; esac
printf 'NVRM: Xid (PCI:0000:01:00): 79, \033]0;owned\007 GPU has fallen off the bus.\n' | timeout 20 "$gpuvet" check --root "$root" --kernel-log - >"$work/out" 2>"$work/err"
grep -q "$(printf '\033')" "$work/out" && fail "a terminal escape of the log was echoed"
expect_out "79"

# A log that names a GPU which this bus does not have is another machine's; of one that it has, nothing is said.
bus=$work/bus; gpu=$bus/sys/bus/pci/devices/0000:01:00.0; mkdir -p "$gpu"
echo 0x10de >"$gpu/vendor"; echo 0x2684 >"$gpu/device"; echo 0x030000 >"$gpu/class"
for slot in 03 01; do
  printf 'NVRM: Xid (PCI:0000:%s:00): 79, GPU has fallen off the bus.\n' $slot | "$gpuvet" check --root "$bus" --kernel-log - --width 1000 >"$work/out" 2>"$work/err"
  case $slot in
    03) expect_out "whose kernel log this is"; expect_out "0000:03:00" ;;
    01) grep -q "whose kernel log" "$work/out" && fail "the log of this very machine was doubted" ;;
  esac
done

# Unreadable things, as a user without rights (root reads everything).
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work"; mkdir -p "$work/closed"; chmod 000 "$work/closed"
  cp "$gpuvet" "$work/gpuvet"; chmod 755 "$work/gpuvet"
  timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/gpuvet" check --root "$work/closed" >"$work/out" 2>"$work/err"
  [ $? = 2 ] || fail "an unreadable root is no usage error"
  expect_err "$work/closed"
fi

# A closed standard output must not look like success.
"$gpuvet" kb driver 535.129.03 >/dev/full 2>"$work/err" && fail "a full standard output is not noticed"
"$gpuvet" rule | head -1 >/dev/null
finish
