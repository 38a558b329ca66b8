"""Writing files that ``torch.load`` of PyTorch reads: a zip archive around a pickle, or, as before
version 1.6, pickles and storages one after the other.

Every storage is a member of the archive, whole, beginning at a multiple of 64 bytes so that it
can be mapped; tensors that share memory share it again. Numbers, strings, containers and tensors
need no permission there; objects are named by their classes.
"""
from __future__ import annotations

import struct
import sys
import zipfile
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import flambeau.core.io.legacy as legacy
import flambeau.core.io.quantized_parts as quantized
from flambeau import rooms
from flambeau.core import _core
from flambeau.core.io.checkpoint_tensors import STORAGES
from flambeau.core.io.npy import elements
from flambeau.core.io.numpy_random import is_random
from flambeau.core.io.objects import loaded_numpy
from flambeau.core.io.pickle_writer import Call, Global, Outside, PickleWriter
from flambeau.core.io.pytorch_names import home_in_pytorch
from flambeau.core.io.sparse_parts import facts_of, parts_of
from flambeau.core.io.storages import elements_of, is_storage
from flambeau.core.io.unusual_tensors import attributes_of, meta_facts, of_class
from flambeau.core.size import Size

if TYPE_CHECKING:
    from collections.abc import Callable

_ALIGNMENT = 64
_FOLDER = "archive"
_LOCAL_HEADER = 30          # bytes, before the name and the extra field
_ZIP64_FIELD = 20           # bytes, which zipfile adds when it is told that files may be large
_KINDS = {name: kind for kind, name in STORAGES.items()}


def legacy_writer(obj: Any) -> Callable[[Any], None]:
    """What writes ``obj`` as PyTorch did before version 1.6; `flambeau.core.io.legacy` reads it."""
    storages = _Storages((None,))
    program = PickleWriter(storages.replace, _global_of).write(obj)
    machine = {"protocol_version": legacy.VERSION, "little_endian": sys.byteorder == "little",
               "type_sizes": {"short": 2, "int": 4, "long": 4}}
    keys = [str(key) for key in range(len(storages.flats))]
    head, tail = (legacy.MAGIC, legacy.VERSION, machine), PickleWriter.plain(keys)

    def write(file: Any) -> None:
        for part in (*map(PickleWriter.plain, head), program, tail):
            file.write(part)
        for flat in storages.flats:
            file.write(struct.pack("=q", flat.numel()))
            file.write(elements(flat))

    return write


def writer(obj: Any) -> Callable[[Any], None]:
    """What writes ``obj`` to an open file; an object that no file holds raises here."""
    storages = _Storages()
    program = PickleWriter(storages.replace, _global_of).write(obj)
    members = [("data.pkl", program), ("byteorder", sys.byteorder.encode())]

    def write(file: Any) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members:
                write_member(archive, name, content)
            for key, flat in enumerate(storages.flats):
                write_member(archive, f"data/{key}", elements(flat))
            write_member(archive, "version", b"3\n")

    return write


def write_member(archive: zipfile.ZipFile, name: str, content: Any, folder: str = _FOLDER) -> None:
    """Write a member whose content begins at a multiple of 64 bytes.

    Args:
        archive: Open for writing.
        name: Of the member, in its folder.
        content: Its bytes.
        folder: Where it lies.
    """
    info = zipfile.ZipInfo(f"{folder}/{name}")
    assert archive.fp is not None
    start = archive.fp.tell() + _LOCAL_HEADER + len(info.filename) + _ZIP64_FIELD + 4
    filler = -start % _ALIGNMENT
    info.extra = struct.pack("<2sH", b"FB", filler) + b"Z" * filler
    with archive.open(info, "w", force_zip64=True) as member:
        member.write(content)


def _global_of(name: str) -> Global:
    """What a class or function is called in PyTorch, or where it is the program's own."""
    module, _, last = name.rpartition(".")
    if module.startswith("builtins"):
        return Global("__builtin__", last)
    if f"{module}.".startswith(rooms.PREFIX):
        module = home_in_pytorch(module, last)
    return Global(module, last)


class _Storages:
    """The memory of the tensors that a pickle has met.

    Args:
        view: What ends the identity of a storage.
    """

    def __init__(self, view: tuple[Any, ...] = ()) -> None:
        self.view = view
        self.flats: list[Any] = []
        self.keys: dict[tuple[int, str], str] = {}

    def replace(self, obj: Any, path: str) -> Any:
        """What stands for a tensor, and for other objects that pickles hold in their own way."""
        if _core.is_sparse_object(obj):
            return self._quantized(obj) if obj.is_quantized else self._sparse(obj)
        if isinstance(obj, _core.Tensor):
            parts = of_class(obj, path)
            return self._of_class(*parts, obj.requires_grad) if parts else self._tensor(obj, path)
        if is_storage(obj):
            return self._storage(obj)
        if isinstance(obj, _core.dtype):
            return Global("torch", obj.name)
        if isinstance(obj, _core.device):
            return _device(obj)
        if isinstance(obj, Size):
            return Call(Global("torch", "Size"), (tuple(obj),))
        if _is_of_numpy(obj):
            return _reduced(obj, path)
        if is_random(obj):
            function, arguments, state = (*obj.__reduce_ex__(2), None)[:3]
            return Call(Global(function.__module__, function.__name__), arguments, state)
        return None

    def _storage(self, storage: Any) -> Outside:
        name, flat = elements_of(storage, self.keys)
        kind = _KINDS.get(name) if name else None
        return self._outside(kind, flat if flat.is_cpu else flat.cpu())

    def _outside(self, kind: str | None, x: Any) -> Outside:
        """The memory of a tensor as numbers of a kind, else as bytes."""
        key, count = self._key(x)
        storage = Global("torch", f"{kind}Storage") if kind else \
            Global("torch.storage", "UntypedStorage")
        if not kind:
            count *= x.dtype.itemsize
        if not kind and self.view:      # before version 1.6 bytes were a kind of numbers
            storage = Global("torch", "ByteStorage")
            self.flats[int(key)] = self.flats[int(key)].view(_core._dtype_named("uint8"))
        return Outside(("storage", storage, key, "cpu", count, *self.view))

    def _sparse(self, x: Any) -> Any:
        parts = [self._view(part, False) for _, part in parts_of(x)]
        name, shape, coalesced = facts_of(x)
        size = Call(Global("torch", "Size"), (tuple(shape),))
        facts = (size, coalesced) if name == "sparse_coo" else (size,)
        kind = Call(Global("torch.serialization", "_get_layout"), (f"torch.{name}",))
        return Call(Global("torch._utils", "_rebuild_sparse_tensor"), (kind, (*parts, *facts)))

    def _quantized(self, x: Any) -> Any:
        if x._dtype.name not in map(str.lower, quantized.STORAGES):
            raise TypeError(f"save(): tensors of {x._dtype} are not written in PyTorch's format: "
                            "write save(..., format='flambeau'), or save x.int_repr() and its "
                            "scales")
        integers = x._values if x._values.is_cpu else x._values.cpu()
        kind = next(name for name, dtype in quantized.STORAGES.items()
                    if dtype == integers.dtype.name)
        identity = self._outside(kind, integers)
        scale, zero_point, axis = x._quantizer
        scheme = Global("torch", str.__str__(x.qscheme()))
        parameters = (scheme, float(scale), int(zero_point)) if axis is None else \
            (scheme, self._view(scale, False), self._view(zero_point, False), axis)
        return Call(Global("torch._utils", "_rebuild_qtensor"),
                    (identity, integers.storage_offset(), tuple(integers.shape),
                     tuple(integers.stride()), parameters, False, OrderedDict()))

    def _tensor(self, x: Any, path: str) -> Any:
        if x.is_meta:
            dtype, shape, stride, requires_grad = meta_facts(x)
            return Call(Global("torch._utils", "_rebuild_meta_tensor_no_storage"),
                        (Global("torch", dtype), tuple(shape), tuple(stride), requires_grad))
        parameter = getattr(sys.modules.get(f"{rooms.PREFIX}nn"), "Parameter", ())
        attributes = attributes_of(x)
        plain = isinstance(parameter, tuple) or not isinstance(x, parameter)
        data = self._view(x, plain and x.requires_grad)
        if plain and attributes:
            return Call(Global("torch._tensor", "_rebuild_from_type_v2"),
                        (data.function, Global("torch", "Tensor"), data.arguments, attributes))
        if plain:
            return data
        if attributes:
            return Call(Global("torch._utils", "_rebuild_parameter_with_state"),
                        (data, x.requires_grad, OrderedDict(), attributes))
        return Call(Global("torch._utils", "_rebuild_parameter"),
                    (data, x.requires_grad, OrderedDict()))

    def _of_class(self, kind: type, data: Any, attributes: Any, requires_grad: bool) -> Call:
        """A tensor of a program's class."""
        if isinstance(data, list):
            dtype, shape, stride, offset, device = data
            layout = Call(Global("torch.serialization", "_get_layout"), ("torch.strided",))
            made = Call(Global("torch._utils", "_rebuild_wrapper_subclass"),
                        (kind, Global("torch", dtype.name), tuple(shape), tuple(stride), offset,
                         layout, _device(device), requires_grad))
        else:
            made = self._view(data, requires_grad)
        return Call(Global("torch._tensor", "_rebuild_from_type_v2"),
                    (made.function, kind, made.arguments, attributes))

    def _view(self, x: Any, requires_grad: bool) -> Call:
        x = x.detach().resolve_conj().resolve_neg()
        if not x.is_cpu:
            x = x.cpu()
        kind = _KINDS.get(x.dtype.name)
        arguments: tuple[Any, ...] = (self._outside(kind, x), x.storage_offset(), tuple(x.shape),
                                      tuple(x.stride()), requires_grad, OrderedDict())
        if kind:
            return Call(Global("torch._utils", "_rebuild_tensor_v2"), arguments)
        return Call(Global("torch._utils", "_rebuild_tensor_v3"),
                    (*arguments, Global("torch", x.dtype.name)))

    def _key(self, x: Any) -> tuple[str, int]:
        """The member that holds a tensor's storage as elements of its dtype, and their number."""
        identity = (_core.storage_id(x), x.dtype.name)
        if identity not in self.keys:
            bytes_of = x.untyped_storage()
            count = bytes_of.nbytes() // x.dtype.itemsize
            self.keys[identity] = str(len(self.flats))
            self.flats.append(x.as_strided((count,), (1,), 0))
        key = self.keys[identity]
        flat = self.flats[int(key)]
        return key, flat.numel() * flat.dtype.itemsize // x.dtype.itemsize


def _device(device: Any) -> Call:
    index = () if device.index is None else (device.index,)
    return Call(Global("torch", "device"), (device.type, *index))


def _is_of_numpy(obj: Any) -> bool:
    numpy = loaded_numpy()
    return numpy is not None and (
        type(obj) is numpy.ndarray or isinstance(obj, numpy.generic | numpy.dtype))


def _reduced(obj: Any, path: str) -> Call:
    """An array, a number or a dtype of NumPy, as NumPy says it is pickled."""
    if getattr(obj, "dtype", obj).hasobject:
        raise TypeError(f"save(): cannot store {type(obj).__name__} at {path or 'the top'}: its "
                        "elements are objects")
    function, arguments, state = (*obj.__reduce__(), None)[:3]
    name = function.__name__
    if isinstance(function, type):
        return Call(Global("numpy", name), arguments, state)
    core = "numpy._core" if function.__module__.startswith("numpy._core") else "numpy.core"
    return Call(Global(f"{core}.multiarray", name), arguments, state)
