"""pickle and copy of tensors: storages, views of them, requires_grad, attributes.

A pickle holds every storage once, and tensors as views of it: what shared memory shares it again,
with the same strides and offsets. Tensors of other devices are pickled by their elements, and
come back on the CPU.
"""
from __future__ import annotations

import copyreg

from flambeau.core import _core


def _new_storage(raw: bytes):
    """A storage with these bytes, in memory that tensors may write to."""
    uint8 = _core._dtype_named("uint8")
    if not raw:
        return _core._storage_of(_core.operators()["empty"]((0,), dtype=uint8))
    flat = _core.frombuffer(raw, dtype=uint8).clone()
    _core._as_new(flat)
    return _core._storage_of(flat)


def _reduce_storage(storage):
    return _new_storage, (_core._storage_bytes(storage),)


copyreg.pickle(type(_core._storage_of(_core.operators()["empty"]((0,)))), _reduce_storage)


def rebuild_view(cls, storage, dtype, shape: tuple[int, ...], strides: tuple[int, ...],
                 place: int, requires_grad: bool):
    """Make a tensor that begins ``place`` bytes into a storage."""
    x = _core._on_storage(storage, dtype, tuple(shape), strides, place)
    return _finished(cls, x, requires_grad)


def rebuild(cls, raw: bytes, dtype, shape: tuple[int, ...], requires_grad: bool):
    """Make a tensor from the bytes of its elements in C order."""
    flat = _core.frombuffer(bytearray(raw), dtype=dtype) if raw else \
        _core.operators()["empty"]((0,), dtype=dtype)
    return _finished(cls, flat.view(shape), requires_grad)


def _finished(cls, x, requires_grad: bool):
    if cls is not _core.Tensor:
        return _core.Tensor._make_subclass(cls, x, requires_grad)
    return x.requires_grad_(requires_grad) if requires_grad else x


def reduce_tensor(x):
    """What pickle and copy.copy need (``Tensor.__reduce_ex__``)."""
    plain = x.detach()
    state = (dict(x.__dict__),) if x.__dict__ else ()
    if not x.is_cpu:
        raw = _core.raw_bytes(plain.cpu().contiguous())
        return rebuild, (type(x), raw, x.dtype, tuple(x.shape), x.requires_grad), *state
    place = _core._place_in_storage(plain)
    return rebuild_view, (type(x), _core._storage_of(plain), x.dtype, tuple(x.shape),
                          tuple(x.stride()), place, x.requires_grad), *state


def deepcopy_tensor(x, memo: dict):
    """What copy.deepcopy needs."""
    from copy import deepcopy

    if id(x) in memo:
        return memo[id(x)]
    if not x.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the "
                           "deepcopy protocol at the moment; write x.detach().clone()")
    made = _finished(type(x), _copied(x, memo), x.requires_grad)
    memo[id(x)] = made
    if x.grad is not None:
        made.grad = deepcopy(x.grad, memo)
    if x.__dict__:
        made.__dict__.update(deepcopy(x.__dict__, memo))
    return made


def _copied(x, memo: dict):
    """A view of a copy of the storage, which all views of it have in common."""
    from copy import deepcopy

    if not x.is_cpu:
        return x.detach().clone()
    plain = x.detach()
    storage = deepcopy(_core._storage_of(plain), memo)
    return _core._on_storage(storage, x.dtype, tuple(x.shape), tuple(x.stride()),
                             _core._place_in_storage(plain))
