"""Tensor types by dtype, ``flambeau.LongTensor``, as older programs name, make and test tensors."""
from __future__ import annotations

from numbers import Integral, Number
from typing import Any

from flambeau.core import Size, _core, functions
from flambeau.core._core import Tensor
from flambeau.core.composites.conversions import TYPES
from flambeau.core.once import once


class TensorType(type):
    """A type of tensors on the CPU; its instances are plain tensors of one dtype."""

    dtype: Any

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> TensorType:
        if bases:
            raise TypeError(f"{name}: type '{bases[0].__name__}' is not an acceptable base type: "
                            "it stands for tensors of one dtype; derive from flambeau.Tensor")
        return super().__new__(cls, name, bases, members)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype and value.is_cpu

    def __call__(cls, *arguments: Any, device: Any = None) -> Tensor:
        """A tensor from values, or an uninitialized one from sizes.

        Args:
            arguments: Nested sequences of numbers, a tensor of this dtype, or sizes.
            device: The CPU, whose type this is.

        Raises:
            RuntimeError: ``device`` is another.

        Example:
            >>> import flambeau
            >>> flambeau.LongTensor([1, 2])
            tensor([1, 2])
            >>> isinstance(flambeau.zeros(1), flambeau.DoubleTensor)
            False
        """
        if device is not None and str(device).partition(":")[0] != "cpu":
            raise RuntimeError(f"{cls.__name__}(): legacy constructor expects device type: cpu but "
                               f"device type: {device} was passed; write flambeau.empty(..., "
                               "device=device)")
        return from_arguments(cls.__name__, cls.dtype, *arguments)


def from_arguments(name: str, dtype: Any, *arguments: Any, device: Any = None) -> Tensor:
    """What ``flambeau.Tensor(...)`` and the types of one dtype make of their arguments.

    Args:
        name: What was called, for errors.
        dtype: The dtype of the result; None for the default one, and that of a given tensor.
        arguments: One nested sequence, array or tensor, or sizes, or one ``Size``.
        device: Where the result should be.

    Raises:
        RuntimeError: a tensor is given, and a device.
        TypeError: the arguments are none of these, or a tensor is of another dtype.
    """
    wanted = dtype or _core.get_default_dtype()
    first = arguments[0] if len(arguments) == 1 else None
    if not arguments or isinstance(first, Size) or all(isinstance(a, Integral) for a in arguments):
        sizes = first if isinstance(first, Size) else [int(a) for a in arguments]
        return functions["empty"](tuple(sizes) if arguments else (0,), dtype=wanted, device=device)
    if first is not None and hasattr(first, "_as_tensor"):    # a storage, whose memory is shared
        return first._as_tensor(dtype)
    if isinstance(first, Tensor):
        return _shared(name, dtype, first, device)
    if first is None or isinstance(first, Number):
        given = ", ".join(type(a).__name__ for a in arguments)
        raise TypeError(f"{name}(): expected sizes, one sequence of numbers or one tensor, got "
                        f"({given}); a tensor of one number is flambeau.tensor(value)")
    return _core.tensor(first, dtype=wanted, device=device)


def _shared(name: str, dtype: Any, values: Tensor, device: Any) -> Tensor:
    """A view of all of a tensor, which must be of the dtype that is asked for."""
    if device is not None:
        raise RuntimeError(f"{name}(): a tensor with device= is not supported by this constructor, "
                           "whose result would share memory; write x.to(device)")
    if dtype is not None and values.dtype != dtype:
        raise TypeError(f"{name}(): expected a tensor of {dtype}, got {values.dtype}; "
                        f"write x.to({dtype})")
    found: Tensor = _core.operators()["alias"](values)
    return found


@once
def named(name: str) -> TensorType | None:
    """The type called ``name``; None when there is none."""
    dtype = TYPES.get(name.removesuffix("Tensor"))
    if dtype is None or not name.endswith("Tensor"):
        return None
    return TensorType(name, (), {"dtype": _core._dtype_named(dtype),
                                 "__module__": _core.shown_package[0]})
