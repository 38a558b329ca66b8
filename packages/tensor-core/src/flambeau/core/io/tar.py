"""Checkpoints that PyTorch wrote before version 0.1.10: a tar archive of three files.

``storages`` has the memory, ``tensors`` the views of it, both as pickles with bytes between them;
``pickle`` is the object, which names tensors by numbers. Only headers of the archive are read here:
no file is extracted.
"""
from __future__ import annotations

import struct
from typing import Any

from flambeau.core import _core
from flambeau.core.io.checkpoint_tensors import STORAGES, Storage, StoredTensors
from flambeau.core.io.errors import fail, shown
from flambeau.core.io.memory import over_bytes
from flambeau.core.io.permission import Permission
from flambeau.core.io.pickles import Named, run, run_from
from flambeau.core.io.sources import Source

_BLOCK = 512
_WANTED = ("storages", "tensors", "pickle")
_FILES = (b"0", b"\0")          # types of members that are files; others are links and remarks
_MAX_DIMS = 32


def is_tar(source: Source) -> bool:
    """Whether a file begins as tar archives do."""
    return source.size >= _BLOCK and bytes(source.part(257, 262)) == b"ustar"


def read(source: Source, move, permission: Permission) -> Any:
    """The object that such a file holds, with ``move`` applied to every tensor's memory."""
    return _Tar(source, move, permission).read()


def _members(source: Source) -> dict[str, bytes]:
    """The files of an archive that make a checkpoint, by name."""
    found: dict[str, bytes] = {}
    at = 0
    while at + _BLOCK <= source.size:
        header = bytes(source.part(at, at + _BLOCK))
        if not header.strip(b"\0"):
            break
        name = header[:100].partition(b"\0")[0].decode("latin-1").removeprefix("./")
        size = _octal(header[124:136])
        if name in _WANTED and header[156:157] in _FILES:
            if name in found:
                fail(f"two members of the tar archive are called {name!r}")
            found[name] = bytes(source.part(at + _BLOCK, at + _BLOCK + size))
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
    if missing := [name for name in _WANTED if name not in found]:
        fail(f"the tar archive is no checkpoint of PyTorch: it has no {missing[0]!r}")
    return found


def _octal(field: bytes) -> int:
    text = field.strip(b" \0")
    if not text or not set(text) <= set(b"01234567"):
        fail(f"a size {field!r} in the tar archive is not a number; the file is damaged")
    return int(text, 8)


class _Tar(StoredTensors):
    def __init__(self, source: Source, move, permission: Permission) -> None:
        super().__init__(permission, source.size)
        self.members = _members(source)
        self.move = move
        self.storages: dict[int, Storage] = {}
        self.tensors: dict[int, Any] = {}

    def read(self) -> Any:
        self._read_storages(Source(memoryview(self.members["storages"])))
        self._read_tensors(Source(memoryview(self.members["tensors"])))
        return run(self.members["pickle"], self.setting())

    def stored(self, identity: Any) -> Any:
        """A tensor or storage by its number, or (class, file, text)."""
        if type(identity) is tuple and len(identity) == 3:
            return identity[0]
        known = {**self.storages, **self.tensors}
        if type(identity) is str and identity.isascii() and identity.isdigit():
            identity = int(identity[:20])
        if type(identity) is not int or identity not in known:
            fail("the pickle names a tensor that the archive does not have")
        return known[identity]

    def _counted(self, whole: Source) -> tuple[int, int]:
        count, at = run_from(whole, 0, self.setting())
        if type(count) is not int or not 0 <= count <= whole.size:
            fail(f"the archive claims to have {shown(count)} storages or tensors; it is damaged")
        return count, at

    def _facts(self, whole: Source, at: int) -> tuple[Any, Any, str, int]:
        """A key, something about it, the name of a class, and where its bytes begin."""
        facts, at = run_from(whole, at, self.setting())
        if type(facts) is not tuple or len(facts) != 3 or type(facts[0]) is not int or \
                not isinstance(facts[2], Named):
            fail("the archive describes a storage or tensor wrongly; it is damaged")
        return facts[0], facts[1], facts[2].name, at

    def _read_storages(self, whole: Source) -> None:
        count, at = self._counted(whole)
        for _ in range(count):
            key, _, name, at = self._facts(whole, at)
            if name not in STORAGES.values():
                fail(f"the archive has a storage of {name!r}, which is not known here")
            dtype = _core._dtype_named(name)
            size = int.from_bytes(whole.part(at, at + 8), "little", signed=True)
            end = at + 8 + size * dtype.itemsize
            flat = over_bytes(whole.part(at + 8, end), dtype)
            self.storages[key] = Storage(self.move(flat), str(key))
            at = end
        views, _ = run_from(whole, at, self.setting())
        if type(views) is not list:
            fail("the archive has no list of parts of storages; it is damaged")
        for view in views:
            self._add_view(view)

    def _add_view(self, view: Any) -> None:
        """(key, key of the storage that it is a part of, first element, elements)."""
        if type(view) is not tuple or len(view) != 4 or \
                any(type(n) is not int for n in view) or view[1] not in self.storages or \
                min(view[2:]) < 0 or sum(view[2:]) > self.storages[view[1]].flat.numel():
            fail("a part of a storage of the archive does not lie in it; it is damaged")
        key, root, first, count = view
        self.storages[key] = Storage(self.storages[root].flat[first:first + count], str(key))

    def _read_tensors(self, whole: Source) -> None:
        count, at = self._counted(whole)
        for _ in range(count):
            key, number, _, at = self._facts(whole, at)
            ndim, = struct.unpack("<i", whole.part(at, at + 4))
            if not 0 <= ndim <= _MAX_DIMS or number not in self.storages:
                fail(f"a tensor of {ndim} dimensions in storage {shown(number)}; the file is "
                     "damaged")
            at += 8                     # four bytes more than the number has
            size = 8 * (2 * ndim + 1)
            numbers = struct.unpack(f"<{2 * ndim + 1}q", whole.part(at, at + size))
            try:
                self.tensors[key] = self._view(self.storages[number], numbers[-1],
                                               numbers[:ndim], numbers[ndim:-1])
            except RuntimeError as error:
                fail(f"a tensor of the tar archive is damaged: {error}")
            at += size
