"""Where the bytes of a file come from: memory, a mapping, or reads of the parts that are wanted.

Every format reads through ``Source.part``. From a file on disk each part becomes memory of its
own, so that a tensor that outlives the others does not hold the whole file, and no moment needs
more memory than the tensors themselves. A mapping gives read-only windows and reads nothing.
"""
from __future__ import annotations

import mmap as mapping
import os
from contextlib import contextmanager

from flambeau.core.io.errors import fail
from flambeau.core.io.paths import path_of


class Source:
    """Bytes in memory or in a mapping."""

    end: int | None = None      # of the object that was read, where the format says so

    def __init__(self, view: memoryview) -> None:
        self.view = view
        self.size = len(view)

    def part(self, start: int, end: int) -> memoryview:
        """The bytes from ``start`` to ``end``; an error where the file is shorter."""
        if not 0 <= start <= end <= self.size:
            fail(f"bytes {start} to {end} are wanted of a file of {self.size} bytes; the file is "
                 "damaged or cut off")
        return self._part(start, end)

    def _part(self, start: int, end: int) -> memoryview:
        return self.view[start:end]


class FileSource(Source):
    """A file on disk, of which only the wanted parts are read."""

    def __init__(self, file) -> None:
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def _part(self, start: int, end: int) -> memoryview:
        memory = bytearray(end - start)
        self.file.seek(start)
        if self.file.readinto(memory) != end - start:
            fail("the file became shorter while it was read")
        return memoryview(memory)


@contextmanager
def open_source(f, mapped: bool):
    """The ``Source`` of a path or of a binary file open for reading."""
    if hasattr(f, "read"):
        source = Source(memoryview(bytearray(f.read())))
        yield source
        if source.end is not None and hasattr(f, "seek"):
            f.seek(source.end - source.size, os.SEEK_CUR)   # to what was saved after it
        return
    with open(path_of(f, "load", "read"), "rb") as file:
        if not mapped:
            yield FileSource(file)
        elif os.fstat(file.fileno()).st_size == 0:
            yield Source(memoryview(b""))
        else:
            whole = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ)
            yield Source(memoryview(whole))
