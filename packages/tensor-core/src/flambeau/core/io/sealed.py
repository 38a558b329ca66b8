"""Safetensors files with a checksum of everything in them, which readers demand.

The checksum (SHA-256) stands in the header's metadata; it is that of the file with zeros in the
checksum's own bytes. So any other program can read the file, and no bit of it can change unseen.
"""
from __future__ import annotations

import hashlib
import os
import re
import struct
from typing import NoReturn

from flambeau.core.io.errors import FileError
from flambeau.core.io.safetensors import read_source, write_tensors
from flambeau.core.io.sources import FileSource

_KEY = "flambeau.sha256"
_BLANK = "0" * 64
_SEAL = re.compile(rb'"flambeau\.sha256":"([0-9a-f]{64})"')
_CHUNK = 1 << 22


class _Hashing:
    """A file open for writing that keeps the checksum, and the header, of what goes through."""

    def __init__(self, file) -> None:
        self._file = file
        self.sum = hashlib.sha256()
        self.start = b""

    def write(self, data) -> None:
        if not self.start or len(self.start) == 8:      # the header's size, then the header
            self.start += bytes(data)
        self.sum.update(data)
        self._file.write(data)


def write_sealed(file, tensors: dict, metadata: dict[str, str]) -> None:
    """Write named tensors and texts to a binary file that can seek."""
    start = file.tell()
    hashing = _Hashing(file)
    write_tensors(hashing, tensors, {_KEY: _BLANK, **metadata})
    end = file.tell()
    seal = _SEAL.search(hashing.start)
    assert seal is not None
    file.seek(start + seal.start(1))
    file.write(hashing.sum.hexdigest().encode())
    file.seek(end)


def read_sealed(path) -> tuple[dict, dict[str, str]]:
    """Named tensors and texts of a file that ``write_sealed`` wrote.

    Raises:
        FileError: the file is cut off, or not bit for bit what was written.
    """
    with open(os.fspath(path), "rb") as file:   # a number would be an open file's, and be closed
        source = FileSource(file)
        _check(file, source.size, path)
        return read_source(source)


def _check(file, size: int, path) -> None:
    header_size, = struct.unpack("<Q", _read(file, 0, 8, size, path))
    if header_size > size - 8:
        _fail(path, f"it is cut off after {size} bytes or damaged: "
                    f"a header of {header_size} bytes is announced")
    header = bytearray(_read(file, 0, 8 + header_size, size, path))
    seal = _SEAL.search(header)
    if seal is None:
        _fail(path, "it has no checksum, so save_training_state() did not write it or its header "
                    "is damaged")
    expected = seal[1].decode()
    header[seal.start(1):seal.end(1)] = _BLANK.encode()
    digest = hashlib.sha256(header)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    if digest.hexdigest() != expected:
        _fail(path, f"its {size} bytes have the checksum {digest.hexdigest()[:16]}..., but "
                    f"{expected[:16]}... was written: it is cut off or damaged")


def _read(file, start: int, end: int, size: int, path) -> bytes:
    if end > size:
        _fail(path, f"it is cut off after {size} bytes")
    file.seek(start)
    return file.read(end - start)


def _fail(path, what: str) -> NoReturn:
    raise FileError(f"{path} is not a whole training state: {what}; use an earlier one")
