"""pickle and copy of tensors: storages, views of them, requires_grad, attributes.

A pickle holds every storage once, and tensors as views of it: what shared memory shares it again,
with the same strides and offsets. Tensors of other devices are pickled by their elements, and
come back on the CPU; those of ``meta`` have no elements, and stay there. To other processes go
storages that are shared by reference (``shared_memory``), and others as bytes.
"""
from __future__ import annotations

from flambeau.core import _core

TYPE_CHECKING = False  # the import of types would cost time
if TYPE_CHECKING:
    from types import FrameType


def _new_storage(raw: bytes):
    """A storage with these bytes, in memory that tensors may write to."""
    uint8 = _core._dtype_named("uint8")
    if not raw:
        return _core._storage_of(_core.operators()["empty"]((0,), dtype=uint8))
    flat = _core.over_buffer(raw, uint8).clone()
    _core._as_new(flat)
    return _core._storage_of(flat)


def reduce_storage(storage):
    """What pickle and copy need of a storage (``Storage.__reduce__``)."""
    import sys

    sharing = sys.modules.get("flambeau.core.shared_memory")
    if sharing is not None and _sends_to_process():
        shared = sharing.reduce_shared(storage)
        if shared is not None:
            return shared
    return _new_storage, (_core._storage_bytes(storage),)


def rebuild_view(cls, storage, dtype, shape: tuple[int, ...], strides: tuple[int, ...],
                 offset: int, requires_grad: bool):
    """Make a tensor that begins ``offset`` bytes into a storage."""
    x = _core._on_storage(storage, dtype, tuple(shape), strides, offset)
    return _finished(cls, x, requires_grad)


def rebuild(cls, raw: bytes, dtype, shape: tuple[int, ...], requires_grad: bool):
    """Make a tensor from the bytes of its elements in C order."""
    flat = _core.over_buffer(bytearray(raw), dtype)
    return _finished(cls, flat.view(shape), requires_grad)


def rebuild_meta(cls, dtype, shape: tuple[int, ...], strides: tuple[int, ...],
                 requires_grad: bool):
    """Make a tensor that has a geometry and no elements."""
    x = _core.operators()["empty_strided"](shape, strides, dtype=dtype, device="meta")
    return _finished(cls, x, requires_grad)


def _finished(cls, x, requires_grad: bool):
    if cls is not _core.Tensor:
        return _core.Tensor._make_subclass(cls, x, requires_grad)
    return _core.requiring(x, requires_grad) if requires_grad else x


def rebuild_wrapper(cls, dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int,
                    device: str, requires_grad: bool):
    """Make a tensor without memory of its own; its attributes come after it."""
    x = _core.make_wrapper(cls, tuple(shape), tuple(strides), dtype, device, offset)
    return _core.requiring(x, requires_grad) if requires_grad else x


def reduce_tensor(x):
    """What pickle and copy.copy need (``Tensor.__reduce_ex__``)."""
    _check_level(x)
    if _core.is_dispatched(x):
        return _reduce_subclass(x)
    share_what_is_sent(x)
    if x.requires_grad:
        _check_graph(x)
    plain = x.detach()
    state = _state_of(x)
    if x.is_meta:
        return rebuild_meta, (type(x), x.dtype, tuple(x.shape), tuple(x.stride()),
                              x.requires_grad), *state
    if not x.is_cpu:
        raw = _core.raw_bytes(plain.cpu().contiguous())
        return rebuild, (type(x), raw, x.dtype, tuple(x.shape), x.requires_grad), *state
    offset = _core._place_in_storage(plain)
    return rebuild_view, (type(x), _core._storage_of(plain), x.dtype, tuple(x.shape),
                          tuple(x.stride()), offset, x.requires_grad), *state


def _state_of(x) -> tuple:
    """The attributes as pickle takes them: at most one dict, or a dict and that of slots."""
    inside = dict(x.__dict__)
    slots = {} if type(x) is _core.Tensor else {
        name: value for name, value in _core.attributes_of(x).items() if name not in inside}
    if slots:
        return ((inside or None, slots),)
    return (inside,) if inside else ()


def _reduce_subclass(x):
    """A tensor of a class with ``__torch_dispatch__``: its attributes, and memory if it has any."""
    if not x.is_leaf:
        x = x.detach()
    if not _core.is_wrapper(x):
        with _core.DisableTorchDispatch():
            plain = x.detach()
        return _finished, (type(x), plain, x.requires_grad), (None, _core.attributes_of(x))
    facts = (type(x), x.dtype, tuple(x.shape), tuple(x.stride()), x.storage_offset(),
             str(x.device), x.requires_grad)
    return rebuild_wrapper, facts, (None, _core.attributes_of(x))


def _copied_subclass(x, memo: dict):
    """A clone by the class, with a copy of the attributes."""
    from copy import deepcopy

    made = _core.call_unrecorded(x.clone)
    if type(made) is not type(x):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for "
            "subclass types that properly implement clone(): the one of "
            f"{type(x).__name__} gave a {type(made).__name__}. Let __torch_dispatch__ answer "
            "aten.clone.default with the class, or define __deepcopy__")
    memo[id(x)] = made
    for name, value in _core.attributes_of(x).items():
        setattr(made, name, deepcopy(value, memo))
    return _core.requiring(made, True) if x.requires_grad else made


def _check_level(x) -> None:
    """Refuse tensors of transforms: their memory is a batch's, or lacks tangent and history."""
    if _core.level_of(x) or (x.requires_grad and _core.is_differentiated_inside(x)):
        raise NotImplementedError(
            "a tensor cannot be pickled, or copied by the module copy, inside vmap, grad, jvp or "
            "another transform: its storage is not all of it. Write x.clone() for a copy, and "
            "return what is to be kept")


def _check_graph(x) -> None:
    """Warn of hooks, which stay behind; refuse what would lose its graph on the way."""
    if not x.is_leaf and _sends_to_process():
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries: its gradient would not come back. "
            "Send x.detach() for the values")
    for hook in (x._backward_hooks or {}).values():
        if not hasattr(hook, "__flambeau_unserializable__"):
            import warnings

            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, "
                "decorate the function with flambeau.utils.hooks.unserializable_hook", stacklevel=4)


#: Set by ``flambeau.multiprocessing``: tensors that are sent are shared, as ``share_memory_`` does.
sent_are_shared = False


def share_what_is_sent(x) -> None:
    """Move a tensor that goes to another process to memory that both see, if it can be moved.

    Memory that is an array's, or that an array shows, stays, and is copied to the process.
    """
    if sent_are_shared and x.is_cpu and not x.is_meta and x.is_leaf and _sends_to_process():
        from flambeau.core import shared_memory

        shared_memory.move(x)


def _sends_to_process() -> bool:
    """Whether multiprocessing is what pickles: its pickler tells nobody else."""
    import sys

    module = sys.modules.get("multiprocessing.reduction")
    if module is None:
        return False
    codes = (module.ForkingPickler.dumps.__code__, module.dump.__code__)
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


def deepcopy_tensor(x, memo: dict):
    """What copy.deepcopy needs."""
    from copy import deepcopy

    if id(x) in memo:
        return memo[id(x)]
    _check_level(x)
    if not x.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the "
                           "deepcopy protocol at the moment; write x.detach().clone()")
    if _core.is_dispatched(x):
        made = _copied_subclass(x, memo)
    else:
        made = _finished(type(x), _copied(x, memo), x.requires_grad)
    memo[id(x)] = made
    if x.grad is not None:
        made.grad = deepcopy(x.grad, memo)
    if _core.is_dispatched(x):
        return made
    for name, value in _core.attributes_of(x).items():
        object.__setattr__(made, name, deepcopy(value, memo))
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
