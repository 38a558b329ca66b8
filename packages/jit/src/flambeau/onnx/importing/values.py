"""Values of a model's run: tensors, and small arrays that Python knows.

Shapes are computed in ONNX with the operators of tensors. What stems from ``Shape`` and from small
integer constants stays with Python here, so that a recorded program keeps sizes as symbols and no
tensor is read back to say a shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import flambeau as fl


class Host:
    """An array that Python knows; its elements may be sizes that a recording varies.

    Args:
        array: the elements; of dtype ``object`` where they may be symbols.
        dtype: what a tensor of it has.
        made: that tensor, if it exists already.
    """

    __slots__ = ("array", "dtype", "made")

    def __init__(self, array: Any, dtype: fl.dtype, made: fl.Tensor | None = None) -> None:
        self.array = np.asarray(array)
        self.dtype = dtype
        self.made = made

    def tensor(self, device: Any) -> fl.Tensor:
        """The same as a tensor."""
        if self.made is not None:
            return self.made.to(device)
        if self.array.dtype != object:
            return fl.tensor(self.array.tolist(), dtype=self.dtype, device=device)
        each = [fl.full((), n, dtype=self.dtype, device=device) for n in self.array.flat]
        return fl.stack(each).reshape(self.array.shape) if each else fl.zeros(
            self.array.shape, dtype=self.dtype, device=device)


def sizes(numbers: Sequence[int]) -> Host:
    """A vector of sizes."""
    array = np.empty(len(numbers), object)
    array[:] = list(numbers)
    return Host(array, fl.int64)


def numbers_of(value: Any) -> Any:
    """What a host value or a tensor holds, as a list (of lists) or a number."""
    return value.array.tolist() if isinstance(value, Host) else value.tolist()


def as_tensor(value: Any, device: Any) -> Any:
    """A host value, or those of a sequence, as tensors; anything else as it is."""
    if isinstance(value, list):
        return [as_tensor(each, device) for each in value]
    return value.tensor(device) if isinstance(value, Host) else value


def device_of(values: Sequence[Any], otherwise: Any) -> Any:
    """Where the first tensor lies."""
    return next((each.device for each in values if isinstance(each, fl.Tensor)), otherwise)
