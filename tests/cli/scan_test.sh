#!/usr/bin/env bash
# gpuvet scan on trees and archives, ordinary and hostile: what is found, exit codes, no hang, no echo of hostile names.
source "$(dirname "$0")/common.sh" "$@"
command -v python3 >/dev/null || skip "no python3 to make archives"
export PATH="$PATH:/usr/bin:/bin"

# A small "library" for sm_80 with PTX 8.7, one for sm_90a, and archives of them.
cd "$work" || exit 1
python3 - <<'PY' || skip "python3 cannot make the archives"
import io, os, struct, tarfile, zipfile, zlib
def entry(kind, arch, flags=0x11, major=1, minor=8):
    payload = b'x' * 16
    return struct.pack('<HHIQIIHHIIIQQQ', kind, 0x101, 64, len(payload), 0, 0, minor, major, arch, 0, 0, flags, 0, 0) + payload
def container(*entries):
    body = b''.join(entries)
    return struct.pack('<IHHQ', 0xba55ed50, 1, 16, len(body)) + body
elf = b'\x7fELF\x02\x01\x01' + b'\0' * 57
ampere = elf + container(entry(2, 80), entry(1, 80, major=8, minor=7))
hopper = elf + container(entry(2, 90, 0x100011))
os.makedirs('tree/lib/python3.11/site-packages/torch/lib')
os.makedirs('tree/lib/python3.11/site-packages/nvidia/cublas/lib')
open('tree/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so', 'wb').write(ampere)
open('tree/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12', 'wb').write(hopper)
open('tree/notes.txt', 'w').write('nothing')
open('hopper.so', 'wb').write(hopper)
def tar(mode, members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as t:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()
members = [('torch/lib/libtorch_cuda.so', ampere), ('torch/__init__.py', b'')]
with zipfile.ZipFile('torch.whl', 'w', zipfile.ZIP_DEFLATED) as z:
    for name, data in members:
        z.writestr(name, data)
open('x.tar.gz', 'wb').write(tar('w:gz', members))
open('x.tar.xz', 'wb').write(tar('w:xz', members))
with zipfile.ZipFile('x.conda', 'w', zipfile.ZIP_STORED) as z:
    z.writestr('metadata.json', '{}')
    z.writestr('pkg-x-1.tar.gz', tar('w:gz', members))
with zipfile.ZipFile('bomb.whl', 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    with z.open('bomb.so', 'w') as m:
        m.write(elf)
        block = b'\0' * (16 << 20)
        for _ in range(40):
            m.write(block)
open('evil\x1b[31m.so', 'wb').write(hopper)
with zipfile.ZipFile('evil.zip', 'w') as z:
    z.writestr('a\x1b]0;owned\x07/b.so', hopper)
PY

# A tree, per GPU: exit codes and words.
expect_exit 0 "$gpuvet" scan tree --gpu sm_90
expect_out "libtorch_cuda.so"
expect_out "torch"
expect_out "nvidia-cublas"
expect_exit 1 "$gpuvet" scan tree --gpu "RTX 4090"
expect_out "error 209"
expect_out "machine code sm_80"
expect_exit 0 "$gpuvet" scan tree/lib/python3.11/site-packages/torch --gpu 12.0
expect_out "PTX compute_80"
expect_out "driver 570"
expect_exit 1 "$gpuvet" scan tree/lib/python3.11/site-packages/torch --gpu 12.0 --driver 535.54.03
expect_out "error 222"
expect_exit 1 env CUDA_DISABLE_PTX_JIT=1 "$gpuvet" scan tree/lib/python3.11/site-packages/torch --gpu 12.0
expect_exit 1 env CUDA_FORCE_PTX_JIT=1 "$gpuvet" scan hopper.so --gpu sm_90
expect_out "CUDA_FORCE_PTX_JIT"
expect_exit 1 "$gpuvet" scan hopper.so --gpu "RTX 5090" --lang zh
expect_out "错误 209"
expect_exit 3 "$gpuvet" scan tree/notes.txt --gpu sm_90
expect_exit 2 "$gpuvet" scan none
expect_exit 2 "$gpuvet" scan tree none --gpu sm_90
expect_out "libtorch_cuda.so"
expect_exit 1 "$gpuvet" scan hopper.so none --gpu "RTX 4090"
mkfifo pipe; expect_exit 2 "$gpuvet" scan pipe
expect_exit 0 "$gpuvet" scan hopper.so
expect_out "1 file has GPU code (1 file looked at)."
expect_exit 0 "$gpuvet" scan tree
expect_out "2 files have GPU code"
expect_exit 2 "$gpuvet" scan
expect_exit 2 "$gpuvet" scan tree --gpu "RTX 40900"
expect_err "RTX 4090"
expect_exit 2 "$gpuvet" scan tree --gpu GTX
expect_err "several GPUs"
expect_exit 2 "$gpuvet" scan tree --driver abc
for format in json markdown; do
  expect_exit 1 "$gpuvet" scan tree --gpu 8.9 --format $format
  expect_out "sm_90a"
done
"$gpuvet" scan tree --gpu 8.9 --gpu 9.0 --format json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == 1 and d["exit_code"] == 1
files = {f["path"].split("/")[-1]: f for f in d["files"]}
torch = files["libtorch_cuda.so"]
assert [(t["kind"], t["arch"], t["count"], t["min_driver"]) for t in torch["targets"]] == [("sass", "sm_80", 1, None), ("ptx", "compute_80", 1, "570")], torch
assert [v["verdict"] for v in torch["verdicts"]] == ["native", "jit"], torch
assert [v["verdict"] for v in files["libcublas.so.12"]["verdicts"]] == ["fails", "native"]
assert sorted(s["group"] for s in d["summary"]) == ["nvidia-cublas", "torch"]
' || fail "JSON is not as docs/json.md says"

# Archives, by the members' names.
for archive in torch.whl x.tar.gz x.tar.xz; do
  expect_exit 0 "$gpuvet" scan $archive --gpu 8.6 --width 200
  expect_out "$archive:torch/lib/libtorch_cuda.so"
done
expect_exit 0 "$gpuvet" scan x.conda --gpu 8.6 --width 200
expect_out "x.conda:pkg-x-1.tar.gz:torch/lib/libtorch_cuda.so"
if command -v zstd >/dev/null; then
  gzip -dc x.tar.gz | zstd -q -o x.tar.zst
  expect_exit 0 "$gpuvet" scan x.tar.zst --gpu 8.6 --width 200
  expect_out "x.tar.zst:torch/lib"
fi

# A bomb ends early and is told.
expect_exit 3 "$gpuvet" scan bomb.whl --gpu 8.6
expect_out "expands to far more"

# Names of files and members never reach the terminal raw.
for format in text json markdown; do
  expect_exit 0 "$gpuvet" scan evil*.so evil.zip --gpu sm_90 --format $format
  grep -q "$(printf '\033')" "$work/out" && fail "a terminal escape of a name was echoed ($format)"
done

# Things in a tree that must not be opened or followed; narrow terminals.
mkfifo tree/fifo
ln -s .. tree/lib/up; ln -s loop2 tree/loop1; ln -s loop1 tree/loop2; ln -s /dev/zero tree/zero
truncate -s 50G tree/huge.so && printf '\177ELF\002\001\001' | dd of=tree/huge.so conv=notrunc status=none
cp hopper.so tree/secret.so; chmod 000 tree/secret.so
( ulimit -v 1000000 2>/dev/null; timeout 60 "$gpuvet" scan tree --gpu sm_90 --width 30 >"$work/out" 2>"$work/err" </dev/null ); code=$?
[ "$code" = 0 ] || fail "exit $code on a tree with a FIFO, loops and a 50 GB sparse file: $(head -c 300 "$work/err")"
expect_out "libtorch_cuda.so"
if [ "$(id -u)" != 0 ]; then expect_out "secret.so"; fi
# A link that is named is followed, one in a tree is not.
mkdir links; ln -s ../hopper.so links/a.so
expect_exit 3 "$gpuvet" scan links --gpu sm_90
expect_exit 0 "$gpuvet" scan links/a.so --gpu sm_90

# A library that broke off.
head -c 9000 /bin/true >broken.so
expect_exit 3 "$gpuvet" scan broken.so --gpu sm_90 --width 200
expect_out "cut off: needs at least"
expect_exit 3 "$gpuvet" scan broken.so --gpu sm_90 --lang zh --width 200
expect_out "文件不完整"

# Inside a root, absolute links stay inside.
mkdir -p root/opt; cp hopper.so root/opt/x.so; ln -s /etc/passwd root/opt/out
expect_exit 0 "$gpuvet" scan --root root /opt --gpu sm_90
expect_exit 2 "$gpuvet" scan --root root /opt/out --gpu sm_90
finish
