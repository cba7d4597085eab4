#!/usr/bin/env bash
# Fetches Debian's driver packages (non-free), CUDA stubs, a kernel image and kmod into ${GPUVET_CACHE:-~/.cache/gpuvet} and unpacks
# them there, for the tests against genuine files. Uses a private apt configuration: nothing is installed, the system's apt state stays
# as it is. Works as any user. Without network it says so and ends with 0: the tests are then skipped.
set -u
home=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}
cache=${GPUVET_CACHE:-$home/gpuvet}
packages=(libcuda1 libnvidia-ml1 libnvidia-ptxjitcompiler1 libnvidia-tesla-cuda1 libnvidia-tesla-ml1 libnvidia-tesla-470-cuda1
          libnvidia-tesla-470-ml1 nvidia-cuda-dev nvidia-cuda-toolkit nvidia-profiler libcudart11.0 kmod libkmod2 linux-image)
skip() { echo "fetch_vendor_packages: $1; tests against genuine files will be skipped"; exit 0; }
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "no apt here"
apt=$cache/apt
mkdir -p "$apt"/{parts,lists/partial,archives/partial,debs} "$cache/unpacked" 2>/dev/null || skip "cannot write to $cache"

# The machine's own Debian sources, with contrib and non-free beside main.
{
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] && awk 'BEGIN { RS = ""; FS = "\n" } /URIs:[^\n]*\/debian(-security)?/ {
      for (i = 1; i <= NF; i++) if ($i !~ /^#/) print ($i ~ /^Components:/) ? "Components: main contrib non-free non-free-firmware" : $i
      print "" }' "$file"
  done
} >"$apt/parts/debian.sources"
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
  sed -nE 's#^(deb +(\[[^]]*\] +)?[^ ]+/debian(-security)?/? +[^ ]+) +main.*#\1 main contrib non-free non-free-firmware#p' >"$apt/parts/debian.list"
[ -s "$apt/parts/debian.sources" ] || [ -s "$apt/parts/debian.list" ] || skip "no Debian source in /etc/apt"

options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
         -o "Dir::Cache::archives=$apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o "APT::Sandbox::User=$(id -un)"
         -o Acquire::http::Timeout=20 -o Acquire::Retries=1)

unpack() {  # name file
  local part=$cache/unpacked/$1.part
  rm -rf "$part" && mkdir -p "$part" && dpkg-deb -x "$2" "$part" && rm -rf "$cache/unpacked/$1" && mv "$part" "$cache/unpacked/$1"
}

# linux-image stands for the newest kernel for virtual machines: genuine signed modules, but only a third of the full kernel's size.
package_of() {
  [ "$1" = linux-image ] || { echo "$1"; return; }
  apt-cache "${options[@]}" depends "linux-image-cloud-$(dpkg --print-architecture)" 2>/dev/null |
    sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1
}

updated=
for name in "${packages[@]}"; do
  [ -d "$cache/unpacked/$name" ] && continue
  if [ -z "$updated" ]; then
    apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >/dev/null 2>"$apt/error" || skip "apt-get update failed ($(tail -n 1 "$apt/error"))"
    updated=yes
  fi
  package=$(package_of "$name")
  (cd "$apt/debs" && apt-get "${options[@]}" download "${package:-$name}" >/dev/null 2>"$apt/error") ||
    { echo "fetch_vendor_packages: no $name"; continue; }
  file=$(ls -t "$apt/debs/${package}"_*.deb 2>/dev/null | head -n 1)
  [ -n "$file" ] && unpack "$name" "$file" && echo "$name: $(basename "$file")"
done

# One root with the distribution's whole toolkit, as hard links.
toolkit=$cache/roots/debian-toolkit
if [ ! -d "$toolkit" ] && [ -d "$cache/unpacked/nvidia-cuda-toolkit" ] && [ -d "$cache/unpacked/nvidia-cuda-dev" ]; then
  rm -rf "$toolkit.part" && mkdir -p "$toolkit.part"
  for name in nvidia-cuda-toolkit nvidia-cuda-dev nvidia-profiler libcudart11.0; do
    [ -d "$cache/unpacked/$name" ] && cp -al "$cache/unpacked/$name/." "$toolkit.part/"
  done
  mv "$toolkit.part" "$toolkit"
fi
