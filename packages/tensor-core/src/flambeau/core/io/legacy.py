"""Checkpoints in the format that PyTorch wrote before version 1.6: pickles, then the storages.

A number that marks the format, its version, what the writing machine was like, the object with
storages by key, the keys in the order of the storages; then for each storage the number of its
elements and the elements. Tensors are made before their elements are read; where tensors are
computed from others, all are made once more when the elements are there.
"""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.io.checkpoint import byte_order
from flambeau.core.io.checkpoint_tensors import Storage, StoredTensors, texts
from flambeau.core.io.errors import fail
from flambeau.core.io.memory import over_bytes
from flambeau.core.io.permission import Permission
from flambeau.core.io.pickles import Named, run_from
from flambeau.core.io.sources import Source

MAGIC = 0x1950A86A20F9469CFC6C
_MAGIC_BYTES = b"\x8a\n" + MAGIC.to_bytes(10, "little")
VERSION = 1001


def is_legacy(source: Source, start: bytes) -> bool:
    """Whether a file begins as this format does; complains of what is like it."""
    if start[:1] == b"\x80" and _MAGIC_BYTES in start:
        return True
    if start[:1] == b"\x80" and start[1:2] in b"\2\3\4\5" and len(start) > 8 and start[7]:
        fail("a bare pickle, which can run code and is not read; if PyTorch wrote it, load it in "
             "PyTorch and save it again: torch.save(torch.load(path), path)")
    return False


def read(source: Source, move, permission: Permission) -> Any:
    """The object that such a file holds, with ``move`` applied to every tensor's memory."""
    return _Legacy(source, move, permission).read()


class _Legacy(StoredTensors):
    def __init__(self, source: Source, move, permission: Permission) -> None:
        super().__init__(permission, source.size)
        self.source = source
        self.move = move
        self.storages: dict[str, Storage] = {}
        self.names: dict[str, str] = {}           # key -> dtype
        self.views: dict[tuple[str, str], Storage] = {}
        self.big_endian = byte_order["unnamed"] == "big"
        self.room = source.size                   # bytes that storages may still claim
        self.is_filled = False
        self.is_computed = False                  # something is made of elements

    def read(self) -> Any:
        setting, at, found, starts = self.setting(), 0, [], []
        for _ in range(5):
            starts.append(at)
            made, at = run_from(self.source, at, setting)
            found.append(made)
        magic, version, machine, obj, keys = found
        keys = texts(keys)
        if magic != MAGIC or version != VERSION or not isinstance(machine, dict):
            fail("the file begins like a checkpoint of PyTorch before version 1.6, but is none")
        self.big_endian = False in (machine.get("little_endian"), machine.get(b"little_endian"))
        if not isinstance(keys, list) or set(map(str, keys)) != set(self.storages):
            fail("the keys of the storages are not those that tensors name; the file is damaged")
        for key in keys:
            at = self._fill(key, at)
        self.source.end, self.is_filled = at, True
        return run_from(self.source, starts[3], setting)[0] if self.is_computed else obj

    def _sparse(self, kind: Any, parts: Any) -> Any:
        return super()._sparse(kind, parts) if self._is_ready() else functions["zeros"](())

    def _quantized(self, *arguments: Any) -> Any:
        return super()._quantized(*arguments) if self._is_ready() else functions["zeros"](())

    def _finished(self, x: Any, storage: Storage, requires_grad: Any, metadata: Any) -> Any:
        if metadata and not self._is_ready():
            return x
        return super()._finished(x, storage, requires_grad, metadata)

    def _is_ready(self) -> bool:
        """Whether elements are there, which a tensor is made of; else it is made once more."""
        self.is_computed |= not self.is_filled
        return self.is_filled

    def stored(self, identity: Any) -> Any:
        """("storage", type, key, device, elements, view), or ("module", class, file, text)."""
        if type(identity) is tuple and len(identity) == 4 and identity[0] == "module":
            return identity[1]
        identity = texts(identity)
        if type(identity) is not tuple or len(identity) != 6 or identity[0] != "storage":
            fail("the pickle names something outside it that is not a storage")
        _, kind, key, _, count, view = identity
        if not isinstance(kind, Named) or kind.build or type(key) is not str or \
                type(count) is not int:
            fail("the pickle describes a storage wrongly; the file is damaged")
        storage = self._allocated(key, kind.name, count)
        return storage if view is None else self._part(storage, view)

    def _allocated(self, key: str, dtype_name: str, count: int) -> Storage:
        """A storage whose elements come later."""
        if key not in self.storages:
            dtype = _core._dtype_named(dtype_name)
            self.room -= count * dtype.itemsize
            if count < 0 or self.room < 0:
                fail(f"storage {key!r} should have {count} elements, more than the file holds")
            flat = functions["zeros"]((count,), dtype=dtype)
            self.storages[key] = Storage(self.move(flat), key)
            self.names[key] = dtype_name
        if self.names[key] != dtype_name:
            fail(f"storage {key!r} has two dtypes; the file is damaged")
        return self.storages[key]

    def _part(self, storage: Storage, view: Any) -> Storage:
        """The piece of a storage that another storage was: (key, first element, elements)."""
        if type(view) is not tuple or len(view) != 3 or \
                any(type(n) is not int or n < 0 for n in view[1:]) or \
                sum(view[1:]) > storage.flat.numel():
            fail(f"a part of storage {storage.key!r} does not lie in it; the file is damaged")
        _, first, count = view
        return self.views.setdefault(
            (storage.key, str(view[0])),
            Storage(storage.flat[first:first + count], storage.key))

    def typed(self, storage: Storage, dtype_name: str) -> Storage:
        """Bytes as elements of another dtype."""
        dtype = _core._dtype_named(dtype_name)
        return Storage(storage.flat.view(dtype), storage.key)

    def _fill(self, key: Any, at: int) -> int:
        """Read the elements of a storage that lie at ``at``; where the next ones lie."""
        if type(key) is not str:
            fail("a key of a storage is not a string; the file is damaged")
        flat = self.storages[key].flat
        count = int.from_bytes(self.source.part(at, at + 8),
                               "big" if self.big_endian else "little", signed=True)
        if count != flat.numel():
            fail(f"storage {key!r} has {count} elements where {flat.numel()} should be")
        end = at + 8 + count * flat.dtype.itemsize
        flat.copy_(over_bytes(self.source.part(at + 8, end), flat.dtype, self.big_endian))
        return end
