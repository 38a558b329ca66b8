"""Tensor types by dtype, ``flambeau.LongTensor``, as older programs name, make and test tensors."""
from __future__ import annotations

from functools import cache
from typing import Any

from flambeau.core import Size, _core, functions
from flambeau.core._core import Tensor
from flambeau.core.composites.methods import TYPES


class TensorType(type):
    """A type of tensors on the CPU; its instances are plain tensors of one dtype."""

    dtype: Any

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype and value.is_cpu

    def __call__(cls, *arguments: Any) -> Tensor:
        """A tensor from values, or an uninitialized one from sizes.

        Args:
            arguments: Nested sequences of numbers, a tensor of this dtype, or sizes.

        Example:
            >>> import flambeau
            >>> flambeau.LongTensor([1, 2])
            tensor([1, 2])
            >>> isinstance(flambeau.zeros(1), flambeau.DoubleTensor)
            False
        """
        if len(arguments) != 1 or isinstance(arguments[0], (int, Size)):
            sizes = arguments[0] if arguments and isinstance(arguments[0], Size) else arguments
            return functions["empty"](sizes or (0,), dtype=cls.dtype)
        values = arguments[0]
        if isinstance(values, Tensor) and values.dtype != cls.dtype:
            raise TypeError(
                f"{cls.__name__}(): expected a tensor of {cls.dtype}, got {values.dtype}; "
                f"write x.to({cls.dtype})"
            )
        if isinstance(values, Tensor):
            return values.detach()
        return _core.tensor(values, dtype=cls.dtype)


@cache
def named(name: str) -> TensorType | None:
    """The type called ``name``; None when there is none."""
    dtype = TYPES.get(name.removesuffix("Tensor"))
    if dtype is None or not name.endswith("Tensor"):
        return None
    return TensorType(name, (), {"dtype": _core._dtype_named(dtype), "__module__": "flambeau"})
