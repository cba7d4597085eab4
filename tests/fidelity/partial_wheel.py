#!/usr/bin/env python3
"""Of large wheels only the files that gpuvet reads: by range requests, unpacked into FOLDER/NAME-VERSION. Every other file of the wheel
becomes an empty one, so that listings are genuine.

    partial_wheel.py FOLDER NAME==VERSION…"""
import io
import os
import re
import shutil
import sys
import urllib.parse
import urllib.request
import zipfile

INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
WANTED = (".dist-info/METADATA", ".dist-info/WHEEL", ".dist-info/RECORD", "/version.py", "/_version.py", "/build_info.py",
          "/build_and_package_info.py", "/_wheel.json", "/cpp_lib.json", "/version/__init__.py", "torch/lib/libc10.so")


def open_url(url, headers=None):
    return urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": "gpuvet-tests", **(headers or {})}), timeout=60)


class RemoteFile(io.RawIOBase):
    """A file on a server that answers range requests, read in blocks."""
    BLOCK = 1 << 20

    def __init__(self, url):
        self.url, self.position, self.blocks = url, 0, {}
        with open_url(url, {"Range": "bytes=0-0"}) as answer:
            self.size = int(answer.headers["Content-Range"].split("/")[1])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.position

    def seek(self, offset, whence=io.SEEK_SET):
        self.position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        return self.position

    def block(self, number):
        if number not in self.blocks:
            first = number * self.BLOCK
            with open_url(self.url, {"Range": f"bytes={first}-{min(first + self.BLOCK, self.size) - 1}"}) as answer:
                self.blocks[number] = answer.read()
        return self.blocks[number]

    def read(self, count=-1):
        end = self.size if count is None or count < 0 else min(self.size, self.position + count)
        parts = []
        while self.position < end:
            number, offset = divmod(self.position, self.BLOCK)
            part = self.block(number)[offset:offset + end - self.position]
            parts.append(part)
            self.position += len(part)
        return b"".join(parts)


def wheel_url(name, version):
    """The wheel for Linux on x86-64, of Python 3.11 where there are several: from the package's page of the index, as pip reads it."""
    page = f"{INDEX}/{name}/"
    with open_url(page) as answer:
        links = re.findall(r'href="([^"#]+\.whl)', answer.read().decode())
    urls = [urllib.parse.urljoin(page, link) for link in links]
    urls = [url for url in urls if url.rsplit("/", 1)[1].lower().startswith(f"{name.replace('-', '_')}-{version}-") or f"-{version}.post" in url]
    urls = [url for url in urls if "x86_64" in url and "musllinux" not in url and "macosx" not in url] or urls
    for python in ("-cp311-", "-cp312-", "-py3-", "-cp38-abi3-", ""):
        for url in urls:
            if python in url:
                return url
    return None


def unpack(url, folder):
    with zipfile.ZipFile(RemoteFile(url)) as wheel:
        for entry in wheel.infolist():
            path = os.path.join(folder, entry.filename)
            if entry.is_dir() or ".." in entry.filename.split("/"):
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                if entry.filename.endswith(WANTED) or ".libs/" in entry.filename and entry.file_size < 4096:
                    file.write(wheel.read(entry))


def main():
    for requirement in sys.argv[2:]:
        name, version = requirement.split("==")
        folder = os.path.join(sys.argv[1], f"{name}-{version}")
        if os.path.isdir(folder):
            continue
        url = wheel_url(name, version)
        if url is None:
            print(f"partial_wheel: no wheel of {requirement}")
            continue
        shutil.rmtree(folder + ".part", ignore_errors=True)
        unpack(url, folder + ".part")
        os.rename(folder + ".part", folder)
        print(f"{requirement}: {url.rsplit('/', 1)[1]}")


main()
