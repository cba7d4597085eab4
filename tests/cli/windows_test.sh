#!/usr/bin/env bash
# --windows: asks programs of Windows only when told to, in their own folders only, with a deadline, whatever they print. WSL is
# played by a kernel name in a mount namespace; the programs are scripts.
source "$(dirname "$0")/common.sh" "$@"
system32=$work/c/Windows/System32
mkdir -p "$system32/WindowsPowerShell/v1.0" "$work/bin"
echo 5.15.167.4-microsoft-standard-WSL2 >"$work/osrelease"
# shellcheck disable=SC2016
in_wsl() { unshare -rm sh -c 'mount --bind "$0" /proc/sys/kernel/osrelease && shift 0 && exec "$@"' "$work/osrelease" "$@"; }
in_wsl true 2>/dev/null || skip "no mount namespace here"

program() { cat >"$1"; chmod +x "$1"; }
program "$system32/nvidia-smi.exe" <<'S'
#!/bin/sh
echo "$0 $*" >>"$(dirname "$0")/../../../asked"
printf 'NVIDIA GeForce RTX 3080, 560.94, WDDM\r\n'
S
program "$system32/wsl.exe" <<'S'
#!/bin/sh
echo "$0 $* $WSL_UTF8 $WSLENV" >>"$(dirname "$0")/../../../asked"
printf 'WSL 版本： 2.3.26.0\r\r\n\r\r\n内核版本： 5.15.167.4-1\r\r\nWSLg 版本： 1.0.65\r\r\nWindows 版本： 10.0.22631.4460\r\r\n' | iconv -f UTF-8 -t UTF-16LE
S
program "$system32/WindowsPowerShell/v1.0/powershell.exe" <<'S'
#!/bin/sh
echo "$0" >>"$(dirname "$0")/../../../../../asked"
printf 'build=10.0.22631.0\r\ndisplay=NVIDIA GeForce RTX 3080|32.0.15.6094\r\n'
S
program "$work/bin/powershell.exe" <<S
#!/bin/sh
touch $work/foreign
S
cp "$work/bin/powershell.exe" "$work/bin/wsl.exe"
export PATH=$work/bin:$PATH:$system32:$system32/WindowsPowerShell/v1.0
fact() { python3 -c 'import json,sys; f=json.load(open(sys.argv[1]))["machine"]["wsl"].get(sys.argv[2],{}); print(f.get("known", "not seen: "+f.get("not_seen","") if "not_seen" in f else "nothing"))' "$work/out" "$1"; }
look() { in_wsl timeout 60 "$gpuvet" check --format json "$@" >"$work/out" 2>"$work/err"; }

look
[ -e "$work/asked" ] && fail "Windows is asked without --windows: $(cat "$work/asked")"
look --windows
[ "$(fact nvidia_smi)" = 560.94 ] || fail "nvidia-smi: $(fact nvidia_smi)"
[ "$(fact driver_model)" = WDDM ] || fail "driver model: $(fact driver_model)"
[ "$(fact wsl_version)" = 2.3.26.0 ] || fail "WSL version: $(fact wsl_version)"
[ "$(fact windows_build)" = 10.0.22631 ] || fail "Windows build: $(fact windows_build)"
[ "$(fact windows_driver)" = 32.0.15.6094 ] || fail "driver by PowerShell: $(fact windows_driver)"
grep -q 'wsl.exe --version 1 WSL_UTF8' "$work/asked" || fail "wsl.exe is started otherwise: $(cat "$work/asked")"
[ -e "$work/foreign" ] && fail "a powershell.exe outside of Windows' folders is started"

# An old wsl.exe shows its help; a program that hangs ends at the deadline, one that prints for ever is cut off.
program "$system32/wsl.exe" <<'S'
#!/bin/sh
printf 'Copyright (c) Microsoft Corporation.\r\nUsage: wsl.exe [Argument]\r\n' | iconv -f UTF-8 -t UTF-16LE
exit 255
S
program "$system32/nvidia-smi.exe" <<'S'
#!/bin/sh
exec yes 'NVIDIA-SMI has failed because it couldn'"'"'t communicate with the NVIDIA driver.'
S
program "$system32/WindowsPowerShell/v1.0/powershell.exe" <<'S'
#!/bin/sh
exec sleep 1000
S
start=$SECONDS
look --windows
[ $((SECONDS - start)) -le 30 ] || fail "a program that hangs holds gpuvet for $((SECONDS - start)) s"
case $(fact wsl_version) in *"does not tell its version"*) ;; *) fail "old wsl.exe: $(fact wsl_version)" ;; esac
case $(fact nvidia_smi) in *"names no GPU"*) ;; *) fail "failing nvidia-smi: $(fact nvidia_smi)" ;; esac
case $(fact windows_build) in *"no answer in time"*) ;; *) fail "hanging powershell: $(fact windows_build)" ;; esac

# None of them there; and not together with another machine's files.
rm -r "$work/c"
look --windows
case $(fact wsl_version) in "not seen: "*"no such program"*) ;; *) fail "without programs: $(fact wsl_version)" ;; esac
"$gpuvet" check --windows --root / >"$work/out" 2>"$work/err"; [ $? = 2 ] || fail "--windows with --root is taken"
"$gpuvet" check --windows --format json >"$work/out" 2>"$work/err"
case $(fact wsl_version) in *"no WSL"*) ;; *) fail "outside of WSL: $(fact wsl_version)" ;; esac
finish
