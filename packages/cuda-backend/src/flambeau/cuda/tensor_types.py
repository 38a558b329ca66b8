"""Tensor types by dtype, ``flambeau.cuda.FloatTensor``, as older programs make and test tensors."""
from __future__ import annotations

from functools import cache
from typing import Any

import flambeau.cuda.runtime as runtime
from flambeau.core import _core
from flambeau.core.compat.tensor_types import from_arguments
from flambeau.core.composites.conversions import TYPES


class TensorType(type):
    """A type of tensors on GPUs; its instances are plain tensors of one dtype."""

    dtype: Any

    def __instancecheck__(cls, value: object) -> bool:
        return (_core.is_tensor(value) and value.dtype == cls.dtype     # type: ignore[attr-defined]
                and value.device.type == runtime.device_type())         # type: ignore[attr-defined]

    def __call__(cls, *arguments: Any, device: Any = None) -> Any:
        """A tensor on a GPU from values, or an uninitialized one from sizes.

        Args:
            arguments: Nested sequences of numbers, a tensor of the GPU's, or sizes.
            device: Which GPU; the current one when left out.

        Raises:
            RuntimeError: ``device`` is no GPU.
        """
        found, index = runtime.place(device)
        place = f"{found.name}:{index}"
        if len(arguments) == 1 and _core.is_tensor(arguments[0]):
            if arguments[0].device.type != found.name:
                raise TypeError(f"cuda.{cls.__name__}(): expected a tensor on {place}, got one on "
                                f"{arguments[0].device}; write x.to('{place}')")
            return from_arguments(f"cuda.{cls.__name__}", cls.dtype, *arguments)
        return from_arguments(f"cuda.{cls.__name__}", cls.dtype, *arguments, device=place)


@cache
def named(name: str) -> TensorType | None:
    """The type called ``name``; None when there is none."""
    dtype = TYPES.get(name.removesuffix("Tensor"))
    if dtype is None or not name.endswith("Tensor"):
        return None
    return TensorType(name, (), {"dtype": _core._dtype_named(dtype), "__module__": "flambeau.cuda"})
