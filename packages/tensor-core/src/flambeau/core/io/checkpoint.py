"""Checkpoints of PyTorch: a zip archive of one pickle, and of a file for every storage.

The pickle goes through the interpreter in ``pickles``. Tensors that share a storage share memory
here too.
"""
from __future__ import annotations

from zipfile import ZipInfo

from flambeau.core import _core
from flambeau.core.io.archive import stored_part
from flambeau.core.io.checkpoint_tensors import Storage, StoredTensors, texts
from flambeau.core.io.errors import fail
from flambeau.core.io.memory import over_bytes
from flambeau.core.io.permission import Permission
from flambeau.core.io.pickles import Named
from flambeau.core.io.pickles import run as run_pickle
from flambeau.core.io.sources import Source

#: The byte order of checkpoints that do not name theirs, as those before version 2.1.
byte_order = {"unnamed": "little"}


def is_checkpoint(members: dict[str, ZipInfo]) -> bool:
    """Whether an archive has the pickle of a checkpoint."""
    return any(name == "data.pkl" or name.endswith("/data.pkl") for name in members)


def read(source: Source, members: dict[str, ZipInfo], move, permission: Permission):
    """The object that ``torch.save`` stored, with ``move`` applied to every tensor."""
    return _Checkpoint(source, members, move, permission).read()


class _Checkpoint(StoredTensors):
    def __init__(self, source: Source, members: dict[str, ZipInfo], move,
                 permission: Permission) -> None:
        super().__init__(permission, source.size)
        self.room = source.size                   # bytes that members may still claim
        self.source = source
        self.members = members
        self.move = move
        self.folder = self._folder()
        self.big_endian = self._big_endian()
        self.parts: dict[str, memoryview] = {}
        self.storages: dict[tuple[str, str], Storage] = {}

    def _folder(self) -> str:
        found = [name[:-len("data.pkl")] for name in self.members
                 if name == "data.pkl" or name.endswith("/data.pkl")]
        if len(found) != 1:
            fail("the zip archive holds several data.pkl; a checkpoint has one")
        if found[0] + "constants.pkl" in self.members:
            fail("the file is a TorchScript program, not a checkpoint; in PyTorch write "
                 "torch.save(torch.jit.load(path).state_dict(), path)")
        return found[0]

    def _big_endian(self) -> bool:
        if self.folder + "byteorder" not in self.members:
            return byte_order["unnamed"] == "big"
        order = bytes(self._part("byteorder"))
        if order not in (b"little", b"big"):
            fail(f"the byte order {order[:20]!r} of the checkpoint is neither 'little' nor 'big'")
        return order == b"big"

    def _part(self, name: str) -> memoryview:
        if self.folder + name not in self.members:
            fail(f"the checkpoint has no member {self.folder + name!r}; the file is damaged")
        start, end = stored_part(self.source, self.members[self.folder + name])
        self.room -= end - start
        if self.room < 0:
            fail("members of the zip archive lie over each other; the file is damaged")
        return self.source.part(start, end)

    def read(self):
        return run_pickle(bytes(self._part("data.pkl")), self.setting())

    def stored(self, identity) -> Storage:
        """The storage that the pickle names: ("storage", type, key, device, elements)."""
        identity = texts(identity)
        if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage":
            fail("the pickle names something outside it that is not a storage")
        _, kind, key, _, count = identity
        if not isinstance(kind, Named) or kind.build or type(key) is not str or \
                type(count) is not int:
            fail("the pickle describes a storage wrongly; the file is damaged")
        storage = self._storage(key, kind.name)
        if count > storage.flat.numel():
            fail(f"storage {key!r} should have {count} elements but has {storage.flat.numel()}")
        return storage

    def typed(self, storage: Storage, dtype_name: str) -> Storage:
        return self._storage(storage.key, dtype_name)

    def _storage(self, key: str, dtype_name: str) -> Storage:
        if (key, dtype_name) in self.storages:
            return self.storages[key, dtype_name]
        if key not in self.parts:
            self.parts[key] = self._part(f"data/{key}")
        part = self.parts[key]
        dtype = _core._dtype_named(dtype_name)
        whole = len(part) // dtype.itemsize * dtype.itemsize
        flat = self.move(over_bytes(part[:whole], dtype, self.big_endian))
        return self.storages.setdefault((key, dtype_name), Storage(flat, key))
