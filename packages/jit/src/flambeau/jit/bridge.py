"""What the package asks of the core: its objects, memory and hooks; modes are in ``modes``."""

from __future__ import annotations

import ctypes
import io
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import flambeau
from flambeau import core
from flambeau.core import _core
from flambeau.core._core import (
    DeferredCall,
    Guards,
    Recording,
    ReplayedCall,
    ReplayProgram,
    configure_deferral,
    is_deferring,
    may_record,
    own_number,
    trial_runs,
)
from flambeau.jit.ir import Value
from flambeau.jit.literals import Device, DType, Opaque
from flambeau.jit.modes import (
    defaults,
    is_grad_enabled,
    is_inference_mode,
    no_grad,
    random_state,
    random_state_now,
    same_random_numbers,
    without_autocast,
    without_history,
)

__all__ = ["DeferredCall", "Guards", "Recording", "ReplayProgram", "ReplayedCall",
           "configure_deferral", "defaults", "is_deferring", "is_grad_enabled",
           "is_inference_mode", "may_record", "no_grad", "own_number", "random_state",
           "random_state_now", "same_random_numbers", "trial_runs", "without_autocast",
           "without_history"]
Tensor = Any
Size: type = flambeau.Size
_PLAIN = frozenset({bool, int, float, complex, str})


# ---- objects ------------------------------------------------------------------------------


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, _core.Tensor)


def is_generator(obj: object) -> bool:
    """Whether an object is a random generator."""
    return isinstance(obj, _core.Generator)


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, ``"float32"``."""
    return str(dtype.name)


def device_name(code: int) -> str:
    """The type of a device, by the core's code of the device."""
    return str(_core.known_devices()[code >> 8])


def dtype_literal(name: str) -> DType:
    """A dtype as it stands in a node."""
    return DType(name)


def to_literal(obj: Any) -> Any:
    """A Python argument as it stands in a node."""
    if obj is None or type(obj) in _PLAIN:
        return obj
    if isinstance(obj, _core.dtype):
        return DType(obj.name)
    if isinstance(obj, _core.device):
        return Device(str(obj))
    return Opaque(obj)


@cache
def dtype_named(name: str) -> Any:
    """The core's dtype of this name."""
    return _core._dtype_named(name)


def from_literal(leaf: Any) -> Any:
    """A literal as the core takes it."""
    if isinstance(leaf, DType):
        return dtype_named(leaf.name)
    if isinstance(leaf, Device):
        return _core.device(leaf.name)
    if isinstance(leaf, Opaque):
        return leaf.value
    return [from_literal(item) for item in leaf] if isinstance(leaf, tuple | list) else leaf


def size_of(sizes: Sequence[int]) -> Any:
    """A shape of these very integers."""
    return _core.Sizes.__new__(Size, sizes)


def number_of(number: int) -> Tensor:
    """A tensor of one integer, made by an operator."""
    return flambeau.full((), int.__int__(number), dtype=flambeau.int64)


def memory_address(tensor: Tensor) -> int:
    """A number that all tensors over the same memory share, also those made by ``.data``."""
    if not tensor.numel() and not storage_bytes(tensor):     # no memory, so no address
        return int(_core.storage_id(tensor))
    return int(_core.storage_address(tensor))


def is_private(tensor: Tensor) -> bool:
    """Whether nothing but tensors reaches the memory."""
    return bool(_core.is_private(tensor))


def extent(tensor: Tensor) -> tuple[Any, ...]:
    """Where a tensor lies and how: equal for two objects that are the same elements."""
    return memory_address(tensor), tensor.storage_offset(), tuple(tensor.shape), tensor.stride()


def storage_refcount(tensor: Tensor) -> int:
    """How many tensors and others hold the memory of this one."""
    return int(_core.storage_refcount(tensor))


def storage_bytes(tensor: Tensor) -> int:
    """Bytes of the memory that a tensor lies in."""
    return int(_core.storage_bytes(tensor))


def bytes_of(tensor: Tensor) -> bytes:
    """The elements in C order."""
    whole = tensor.detach().contiguous()
    return ctypes.string_at(whole.data_ptr(), whole.numel() * whole.element_size())


def are_close(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors of floating numbers differ by roundings of float32."""
    return bool(one.shape == other.shape and one.dtype == other.dtype and
                one.is_floating_point() and
                flambeau.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True))


def whole_memory(tensor: Tensor) -> Tensor:
    """All elements of the memory that a tensor lies in, in a row."""
    count = storage_bytes(tensor) // tensor.element_size()
    return _core.call("as_strided", [tensor.detach(), [count], [1], 0])


def value_of(tensor: Tensor) -> Value:
    """A tensor's type."""
    return Value(tuple(tensor.shape), dtype_name(tensor.dtype), str(tensor.device))


def clone(tensor: Tensor) -> Tensor:
    """A copy with memory of its own."""
    return call("clone", [tensor])[0]


def empty(shape: Sequence[int], strides: Sequence[int], dtype: str) -> Tensor:
    """Memory on the CPU, not filled."""
    return _core.call("empty_strided", [list(shape), list(strides), dtype_named(dtype)])


def from_numbers(numbers: Sequence[float], dtype: str) -> Tensor:
    """A row of numbers."""
    return flambeau.tensor(list(numbers), dtype=dtype_named(dtype))


def poison(tensor: Tensor) -> None:
    """Fill with NaN what was never computed, where the dtype has one."""
    if tensor.is_floating_point() or tensor.is_complex():
        _core.call("fill", [tensor, float("nan")], [tensor])


def empty_on(shape: Sequence[int], dtype: str, device: str,
             strides: Sequence[int] | None = None) -> Tensor:
    """Memory that is not filled, on a device."""
    what = [list(shape), dtype_named(dtype), _core.device(device)]
    if strides is None:
        return _core.call("empty", what)
    return _core.call("empty_strided", [what[0], list(strides), *what[1:]])


def zeros(shape: Sequence[int], dtype: str) -> Tensor:
    """Zeros on the CPU."""
    return flambeau.zeros(list(shape), dtype=dtype_named(dtype), device="cpu")


def arange(count: int) -> Tensor:
    """0, 1, ... on the CPU."""
    return flambeau.arange(count, device="cpu")


def infer(op: str, args: Sequence[Any]) -> Any:
    """Shape, dtype, device and layout of each result, without computing."""
    return _core.infer(op, args)


def take(tensor: Tensor, dim: int, order: Sequence[int]) -> Tensor:
    """Slices of a tensor in an order."""
    index = _core.tensor(list(order), dtype=dtype_named("int64"))
    return call("index_select", [tensor, dim, index])[0]


def copy_into(target: Tensor, source: Tensor) -> None:
    """Overwrite a tensor."""
    _core.call("copy", [target, source], [target])


def is_writable(tensor: Tensor) -> bool:
    """Whether operators may write to the memory: arrays may be for reading only."""
    try:
        copy_into(tensor.data, clone(tensor.detach()))
    except RuntimeError:
        return False
    return True


def copy_all(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """Overwrite tensors, some of which may lie over others."""
    with no_grad():
        for target, source in zip(targets, sources, strict=True):
            copy_into(target, source)


def flipped(tensor: Tensor) -> Tensor:
    """A copy in which each element has another bit pattern."""
    copy = clone(tensor)
    bits = _core.call("view_as_real", [copy]) if copy.is_complex() else copy
    same_size = dtype_named({1: "uint8", 2: "int16", 4: "int32", 8: "int64"}[bits.element_size()])
    bits = _core.call("view.dtype", [bits, same_size])
    _core.call("bitwise_xor", [bits, 1], [bits])
    return copy


def check_write(op: str, args: Sequence[Any], targets: Sequence[Tensor]) -> list[bool]:
    """Raise what writing results into targets would raise; which of them were resized for it."""
    before = [tensor.shape for tensor in targets]
    _core.check_write(op, list(args), list(targets))
    return [tensor.shape != old for tensor, old in zip(targets, before, strict=True)]


def count_write(tensor: Tensor) -> None:
    """Count a write that is only recorded, as autograd expects it."""
    _core.bump_version(tensor)


def equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same values; NaN equals NaN."""
    if value_of(one).type != value_of(other).type:
        return False
    both_nan = (one != one) & (other != other)
    return bool(((one == other) | both_nan).all())


def same_bits(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are equal bit for bit; any NaN is NaN."""
    if value_of(one).type != value_of(other).type:
        return False
    if one.is_complex():
        one, other = (_core.call("view_as_real", [each.contiguous()]) for each in (one, other))
    if not one.is_floating_point():
        return bool((one == other).all())
    same = (one == other) & (one.signbit() == other.signbit())
    return bool((same | ((one != one) & (other != other))).all())


def tensors_to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Named tensors as the bytes of a safetensors file."""
    from flambeau.core import io as tensor_io

    file = io.BytesIO()
    tensor_io.write_tensors(file, dict(tensors))
    return file.getvalue()


def tensors_from_bytes(content: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file, in memory of their own."""
    from flambeau.core import io as tensor_io

    tensors, _ = tensor_io.read_tensors(memoryview(bytearray(content)))
    return dict(tensors)


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its final path, flush it to disk and rename it."""
    from flambeau.core import io as tensor_io

    tensor_io.replace_atomically(path, lambda file: file.write(content))


# ---- operators ----------------------------------------------------------------------------


def call(op: str, args: Sequence[Any]) -> list[Tensor]:
    """Run a definition on arguments in its order; the list of its results."""
    return call_ready(op, [from_literal(arg) for arg in args])


def call_ready(
    op: str, args: Sequence[Any], outs: Sequence[Tensor] | None = None
) -> list[Tensor]:
    """The same for arguments that are as the core takes them, and tensors to write to."""
    result = _core.call(op, args, outs)
    return [result] if isinstance(result, _core.Tensor) else list(result)


def call_below(op: str, args: Sequence[Any], outs: Sequence[Tensor] | None = None) -> list[Tensor]:
    """The same, from within an interposer: what records history stands above it."""
    result = _core.call(op, list(args), outs)
    return [result] if is_tensor(result) else list(result)


def return_type(name: str, *fields: str) -> Any:
    """The core's named tuple for an operator's results, or ``None``."""
    from flambeau import return_types

    found = getattr(return_types, name, None)
    return found if tuple(getattr(found, "_fields", ())) == fields else None


def key_of(op: Any) -> str:
    """The key of the definition an interposer was called with."""
    return str(op.key)


def registered_opdef(key: str) -> Any:
    """The definition of an operator that was registered at run time, or ``None``."""
    try:
        return core.row(key)
    except KeyError:
        return None


# ---- hooks ------------------------------------------------------------------------------


def interpose(
    on_call: Callable[[Any, list[Any], list[Tensor] | None], list[Tensor]],
    on_read: Callable[[Tensor, str], None],
    on_change: Callable[[Any, str, Any], bool],
) -> Any:
    """A context in which operators below autograd go to ``on_call``."""
    return _core.interpose("trace", on_call, on_read, on_change=on_change)


def graphed(function: Callable[..., list[Tensor]], samples: Sequence[Tensor],
            parameters: Sequence[Tensor]) -> Callable[..., list[Tensor] | None] | None:
    """See ``Backend.graphed``: of the samples' device."""
    from flambeau.core import backends

    return backends.adapter(samples[0].device.type).graphed(function, samples, parameters)


def isa_level() -> str:
    """The instruction set level of the core's kernels."""
    return str(_core.isa_level())


@cache
def cache_bytes() -> int:
    """Size of the processor's last cache."""
    return int(_core.cache_bytes())


def parallel_for_address() -> int:
    """The address of the thread pool's ``fl_parallel_chunks``."""
    return int(_core.parallel_for_address())
