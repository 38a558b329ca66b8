"""Tensors of which some elements are left out: data, and a mask that says which count."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.wrapped import Wrapped, new

_op = {**functions, **_core.operators()}


class MaskedTensor(Wrapped):
    """A tensor and a mask of its shape; where it is False, the element counts for nothing.

    This class, as `masked_tensor`, makes one with a copy of its data, `as_masked_tensor` one with
    the data itself.

    Args:
        data: A dense tensor.
        mask: Bools of its shape: True where an element counts.
        requires_grad: Whether gradients are wanted.
    """

    _mask: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        """A masked tensor with a copy of the data."""
        return masked_tensor(data, mask, requires_grad)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from flambeau.masked._calls import run

        return run(func, tuple(args), dict(kwargs or {}))

    @property
    def shape(self) -> Any:
        """The size of every dimension."""
        return self._values.shape

    layout = property(lambda self: self._values.layout)

    def _like(self, values: Any) -> Any:
        return as_masked_tensor(values, self._mask)

    def get_data(self) -> Any:
        """All elements, those that are left out too."""
        return self._values

    def get_mask(self) -> Any:
        """Which elements count."""
        return self._mask

    def to_tensor(self, value: Any) -> Any:
        """A dense tensor, with a number for the elements that are left out."""
        return _op["where"](self._mask, self._values, value)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in C order."""
        return bool(self._values.is_contiguous())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self.ndim == 0:
            there = bool(self._mask)
            return f"MaskedTensor({_written(self._values.item()) if there else '--'}, {there})"
        lines = "\n".join(f"  {line}" for line in _text(
            self._values.tolist(), self._mask.tolist(), self.ndim).split("\n"))
        return f"MaskedTensor(\n{lines}\n)"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return masked_tensor, (self._values.detach(), self._mask, self.requires_grad)


def _written(number: Any) -> str:
    return f"{number:8.4f}" if isinstance(number, float) else str(number)


def _text(data: Any, mask: Any, ndim: int) -> str:
    if ndim == 1:
        words = [_written(number) for number in data]
        wide = max((len(word) if there else 8 for word, there in zip(words, mask, strict=True)),
                   default=0)
        return "[" + ", ".join(word if there else "--".rjust(wide)
                               for word, there in zip(words, mask, strict=True)) + "]"
    parts = [_text(d, m, ndim - 1) for d, m in zip(data, mask, strict=True)]
    inside = ",\n".join("\n".join(f"  {line}" for line in part.split("\n")) for part in parts)
    return f"[\n{inside}\n]"


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor over data that keeps its memory and its history.

    Args:
        data: A tensor.
        mask: Bools of its shape: True where an element counts.

    Returns:
        A masked tensor.

    Raises:
        TypeError: The mask is not of bool, or ``data`` no dense tensor.
        ValueError: Shapes differ.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([1.0, 2.0, 3.0])
        >>> as_masked_tensor(x, x > 1).mean()
        MaskedTensor(  2.5000, True)
    """
    if not isinstance(data, _core.Tensor) or isinstance(data, Wrapped):
        raise TypeError(f"data must be a Tensor, not {type(data).__name__}")
    if not isinstance(mask, _core.Tensor) or mask.dtype is not _core._dtype_named("bool"):
        raise TypeError("mask must have dtype bool: write e.g. mask != 0")
    if data.ndim != mask.ndim:
        raise ValueError(f"data.dim() must equal mask.dim(), and these are {data.ndim} and "
                         f"{mask.ndim}: expand the mask")
    if tuple(data.shape) != tuple(mask.shape):
        raise ValueError(f"data.size() must equal mask.size(), and these are {tuple(data.shape)} "
                         f"and {tuple(mask.shape)}")
    made = new(MaskedTensor, data, tuple(data.shape))
    made._mask = mask.to(data.device)
    return made


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor with a copy of data.

    Args:
        data: A tensor.
        mask: Bools of its shape: True where an element counts.
        requires_grad: Whether gradients are wanted.

    Returns:
        A leaf.

    Raises:
        TypeError: The mask is not of bool, or ``data`` no dense tensor.
        ValueError: Shapes differ.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> masked_tensor(x, x > 1)
        MaskedTensor(
          [
            [      --,   2.0000],
            [  3.0000,   4.0000]
          ]
        )
    """
    if not isinstance(data, _core.Tensor):
        raise TypeError(f"data must be a Tensor, not {type(data).__name__}")
    made = as_masked_tensor(data.detach().clone(), mask.clone())
    return made.requires_grad_() if requires_grad else made


def is_masked_tensor(obj: Any) -> bool:
    """Whether an object is a masked tensor.

    Args:
        obj: Anything.

    Example:
        >>> import flambeau
        >>> is_masked_tensor(flambeau.ones(2))
        False
    """
    return isinstance(obj, MaskedTensor)
