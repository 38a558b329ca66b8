"""Checkpoints of PyTorch: a zip archive of one pickle, and of a file for every storage.

The pickle goes through the interpreter in ``pickles``; the names below are all it may use.
Tensors that share a storage share memory here too.
"""
from __future__ import annotations

import codecs
from collections import Counter, OrderedDict
from typing import Any
from zipfile import ZipInfo

from flambeau import rooms
from flambeau.core import _core
from flambeau.core.io.archive import stored_part
from flambeau.core.io.errors import fail
from flambeau.core.io.memory import over_bytes
from flambeau.core.io.pickles import Named, Refused, plain_key
from flambeau.core.io.pickles import run as run_pickle
from flambeau.core.io.sources import Source
from flambeau.core.size import Size

_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_STORAGES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
             "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
             "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128"}
_DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
           "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128")
_UNTYPED = "uint8"

#: The byte order of checkpoints that do not name theirs, as those before version 2.1.
byte_order = {"unnamed": "little"}


def refuse_legacy(start: bytes) -> None:
    """Say what to do with files that are one long pickle."""
    again = ("load it in PyTorch and save it again: torch.save(torch.load(path, "
             "weights_only=True), path)")
    if start.startswith(_LEGACY):
        fail(f"a checkpoint in the format that PyTorch wrote before version 1.6; {again}")
    if start[:1] == b"\x80" and start[1:2] in b"\2\3\4\5" and len(start) > 8 and start[7]:
        fail(f"a bare pickle, which can run code and is not read; if PyTorch wrote it, {again}")


def is_checkpoint(members: dict[str, ZipInfo]) -> bool:
    """Whether an archive has the pickle of a checkpoint."""
    return any(name == "data.pkl" or name.endswith("/data.pkl") for name in members)


def read(source: Source, members: dict[str, ZipInfo], move):
    """The object that ``torch.save`` stored, with ``move`` applied to every tensor."""
    return _Checkpoint(source, members, move).read()


def _attach(value, state) -> None:
    """State dicts are ordered dicts with one attribute; nothing else has any."""
    if type(value) is not OrderedDict:
        fail(f"the file sets attributes of a {type(value).__name__}; only containers, numbers, "
             "strings and tensors are read")
    if not isinstance(state, dict) or set(state) - {"_metadata"}:
        fail("the file sets attributes of an OrderedDict other than _metadata")
    value._metadata = state.get("_metadata")     # type: ignore[attr-defined]


class _Storage:
    """Memory of a checkpoint, and the dtype in which tensors see it."""

    def __init__(self, flat, key: str) -> None:
        self.flat = flat
        self.key = key


class _Checkpoint:
    def __init__(self, source: Source, members: dict[str, ZipInfo], move) -> None:
        self.source = source
        self.members = members
        self.move = move
        self.folder = self._folder()
        self.big_endian = self._big_endian()
        self.parts: dict[str, memoryview] = {}
        self.storages: dict[tuple[str, str], _Storage] = {}

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
        member = self.members[self.folder + name]
        return self.source.part(*stored_part(self.source, member))

    def read(self):
        return run_pickle(bytes(self._part("data.pkl")), self._names(), self._stored, _attach)

    def _names(self) -> dict[str, Any]:
        names = {f"torch.{name}Storage": dtype for name, dtype in _STORAGES.items()}
        names["torch.storage.UntypedStorage"] = _UNTYPED
        table: dict[str, Any] = {
            name: Named(dtype) for name, dtype in names.items()}
        table |= {f"torch.{name}": _core._dtype_named(name) for name in _DTYPES}
        builders = {**_BUILDERS, "torch._utils._rebuild_tensor": self._tensor,
                    "torch._utils._rebuild_tensor_v2": self._tensor_v2,
                    "torch._utils._rebuild_tensor_v3": self._tensor_v3,
                    "torch._utils._rebuild_parameter": _parameter}
        table |= {name: Named(name, build) for name, build in builders.items()}
        return table | {name: Refused(text) for name, text in _REFUSED.items()}

    # ---- storages and tensors

    def _stored(self, identity) -> _Storage:
        """The storage that the pickle names: ("storage", type, key, device, elements)."""
        if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage":
            fail("the pickle names something outside it that is not a storage")
        _, kind, key, _, count = identity
        if not isinstance(kind, Named) or kind.build or type(key) is not str or \
                type(count) is not int:
            fail("the pickle describes a storage wrongly; the file is damaged")
        storage = self._typed(key, kind.name)
        if count > storage.flat.numel():
            fail(f"storage {key!r} should have {count} elements but has {storage.flat.numel()}")
        return storage

    def _typed(self, key: str, dtype_name: str) -> _Storage:
        if (key, dtype_name) in self.storages:
            return self.storages[key, dtype_name]
        if key not in self.parts:
            self.parts[key] = self._part(f"data/{key}")
        part = self.parts[key]
        dtype = _core._dtype_named(dtype_name)
        whole = len(part) // dtype.itemsize * dtype.itemsize
        flat = self.move(over_bytes(part[:whole], dtype, self.big_endian))
        return self.storages.setdefault((key, dtype_name), _Storage(flat, key))

    def _tensor(self, storage, offset, size, stride):
        if not isinstance(storage, _Storage):
            fail("a tensor of the checkpoint has no storage; the file is damaged")
        numbers = [offset, *_sizes(size), *_sizes(stride)]
        if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers) or \
                len(size) != len(stride) or len(size) > 32:
            fail(f"a tensor of size {size!r} and stride {stride!r} at {offset!r} in storage "
                 f"{storage.key!r}; the file is damaged")
        return storage.flat.as_strided(tuple(size), tuple(stride), offset).detach()

    def _tensor_v2(self, storage, offset, size, stride, requires_grad, hooks, metadata=None):
        _refuse_hooks(hooks)
        x = self._tensor(storage, offset, size, stride)
        return _finished(x, storage, requires_grad, metadata)

    def _tensor_v3(self, storage, offset, size, stride, requires_grad, hooks, dtype,
                   metadata=None):
        _refuse_hooks(hooks)
        if not isinstance(storage, _Storage) or not isinstance(dtype, _core.dtype):
            fail("a tensor of the checkpoint has no storage or no dtype; the file is damaged")
        typed = self._typed(storage.key, dtype.name)
        x = self._tensor(typed, offset, size, stride)
        return _finished(x, typed, requires_grad, metadata)


def _sizes(value) -> tuple:
    if not isinstance(value, tuple):
        fail(f"a tensor of the checkpoint has the sizes {value!r}; the file is damaged")
    return value


def _refuse_hooks(hooks) -> None:
    if hooks:
        fail("a tensor of the checkpoint has backward hooks, which are code; save it detached")


def _finished(x, storage: _Storage, requires_grad, metadata):
    """With the marks that PyTorch keeps beside a tensor."""
    marks = metadata or {}
    if not isinstance(marks, dict) or set(marks) - {"conj", "neg"}:
        fail(f"a tensor of the checkpoint has the marks {marks!r}; known are conj and neg")
    if any(marks.values()) and x.numel() > storage.flat.numel():
        fail("a tensor that is conjugate or negative repeats its elements; save a clone of it")
    if marks.get("conj"):
        x = x.conj()
    if marks.get("neg"):
        x = -x
    return _core.requiring(x, True) if requires_grad is True else x


def _parameter(data, requires_grad, hooks):
    _refuse_hooks(hooks)
    if not isinstance(data, _core.Tensor):
        fail("a parameter of the checkpoint is not a tensor; the file is damaged")
    if rooms.installed("nn"):
        return rooms.enter("nn").Parameter(data.detach(), requires_grad is True)
    return _core.requiring(data.detach(), requires_grad is True)


# ---- the other names that checkpoints use --------------------------------------------


def _ordered(items=()):
    made = OrderedDict()
    for item in items:
        if type(item) is not list and type(item) is not tuple or len(item) != 2:
            fail("an OrderedDict of the checkpoint is damaged")
        made[plain_key(item[0])] = item[1]
    return made


def _counter(counts=None):
    if counts is not None and type(counts) is not dict:
        fail("a Counter of the checkpoint is damaged")
    return Counter(counts or {})


def _members(kind):
    def build(items=()):
        if type(items) is not list and type(items) is not tuple:
            fail(f"a {kind.__name__} of the checkpoint is damaged")
        return kind([plain_key(item) for item in items])

    return build


def _encoded(text, encoding):
    """How old protocols write bytes."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        fail("bytes of the checkpoint are in an unknown encoding")
    return codecs.encode(text, "latin-1")


def _bytearray(content=b"", encoding=None):
    raw = content if encoding is None else _encoded(content, encoding)
    if type(raw) is not bytes:
        fail("a bytearray of the checkpoint is damaged")
    return bytearray(raw)


def _size(sizes=()):
    if any(type(n) is not int for n in sizes):
        fail("a torch.Size of the checkpoint is damaged")
    return Size(sizes)


def _device(kind, index=None):
    return _core.device(kind if index is None else f"{kind}:{index}")


def _complex(real, imag):
    return complex(float(real), float(imag))


_BUILDERS = {
    "collections.OrderedDict": _ordered, "collections.Counter": _counter,
    "torch.Size": _size, "torch.device": _device, "_codecs.encode": _encoded,
    **{f"{module}.{name}": build for module in ("builtins", "__builtin__") for name, build in (
        ("set", _members(set)), ("frozenset", _members(frozenset)), ("complex", _complex),
        ("bytearray", _bytearray), ("bytes", lambda: b""))},
}


def _refused(what: str, instead: str) -> str:
    return f"the checkpoint holds {what}, which {instead}"


_NUMPY = _refused("a NumPy array or number", "is not read; in PyTorch save torch.from_numpy(array) "
                  "or number.item() instead")
_NARROW = _refused("a tensor of a dtype that is not known here",
                   "can be read after x.float() in PyTorch")

#: What checkpoints of PyTorch may hold beside dense tensors and containers.
_REFUSED = {
    "torch._utils._rebuild_sparse_tensor": _refused(
        "a sparse tensor", "is not read; in PyTorch save x.to_dense() instead"),
    "torch._utils._rebuild_qtensor": _refused(
        "a quantized tensor", "is not read; in PyTorch save x.dequantize() instead"),
    "torch._utils._rebuild_nested_tensor": _refused(
        "a nested tensor", "is not read; in PyTorch save x.unbind() instead"),
    "torch._utils._rebuild_meta_tensor_no_storage": _refused(
        "a tensor on the meta device", "has no numbers to read; save one with memory"),
    "torch._tensor._rebuild_from_type_v2": _refused(
        "a tensor of a subclass or with attributes of its own",
        "is not read; in PyTorch save x.detach() of a plain tensor instead"),
    "torch.complex32": _NARROW,
    **{f"torch.float8_{name}": _NARROW
       for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")},
    **{f"numpy.{module}.multiarray.{name}": _NUMPY
       for module in ("core", "_core") for name in ("scalar", "_reconstruct")},
}
