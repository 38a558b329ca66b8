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

_UNPACKING = frozenset(("bz2", "compression", "gzip", "lzma", "zipfile"))     # modules of the files


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


class OpenSource(Source):
    """A file that a program has opened, from where it is on; only the wanted parts are read.

    Args:
        file: Anything with ``read``, ``seek`` and ``tell``; ``readinto`` is used where it is.

    Raises:
        OSError, ValueError, AttributeError: The file only goes forward.
    """

    def __init__(self, file) -> None:
        self.file = file
        self.start = file.tell()
        file.seek(0, os.SEEK_END)
        self.size = file.tell() - self.start
        file.seek(self.start)

    def _part(self, start: int, end: int) -> memoryview:
        self.file.seek(self.start + start)
        memory = memoryview(bytearray(end - start))
        done = 0
        while done < len(memory):       # a read may give less than is there
            count = _read_into(self.file, memory[done:])
            if not count:
                fail("the file became shorter while it was read")
            done += count
        return memory


def _read_into(file, memory: memoryview) -> int:
    """Read what fits from a file; how many bytes were read."""
    if hasattr(file, "readinto"):
        return file.readinto(memory)
    read = file.read(len(memory))
    memory[:len(read)] = read
    return len(read)


def _opened(f) -> Source:
    """The bytes of an open file; all of them at once where going back means to start again."""
    if type(f).__module__.partition(".")[0] not in _UNPACKING:
        try:
            return OpenSource(f)
        except (OSError, ValueError, AttributeError):
            pass                        # a pipe or a socket
    return Source(memoryview(bytearray(f.read())))


def _leave(f, source: Source) -> None:
    """Move an open file to what was saved after the object, where the format says so."""
    end = source.size if source.end is None else source.end
    if isinstance(source, OpenSource):
        f.seek(source.start + end)
    elif end < source.size and getattr(f, "seekable", bool)():
        f.seek(end - source.size, os.SEEK_CUR)


@contextmanager
def open_source(f, mapped: bool):
    """The ``Source`` of a path or of a binary file open for reading."""
    if hasattr(f, "read"):
        source = _opened(f)
        yield source
        _leave(f, source)
        return
    with open(path_of(f, "load", "read"), "rb") as file:
        if not mapped:
            yield FileSource(file)
        elif os.fstat(file.fileno()).st_size == 0:
            yield Source(memoryview(b""))
        else:
            whole = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ)
            yield Source(memoryview(whole))
