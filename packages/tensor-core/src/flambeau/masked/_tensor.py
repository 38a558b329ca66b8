"""Tensors of which some elements are left out: data, and a mask that says which count."""
from __future__ import annotations

import warnings
from typing import Any

from flambeau.core import _core, functions, layouts
from flambeau.core.wrapped import Wrapped, new

_op = {**functions, **_core.operators()}


class MaskedTensor(Wrapped):
    """A tensor and a mask of its shape; where it is False, the element counts for nothing.

    This class, as `masked_tensor`, makes one with a copy of its data, `as_masked_tensor` one with
    the data itself.

    Args:
        data: A tensor; of sparse ones those in layouts ``sparse_coo`` and ``sparse_csr``.
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
        return _op["where"](_dense(self._mask), _dense(self._values), value)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in C order.

        Raises:
            ValueError: The elements are sparse.
        """
        if self._values.layout is not layouts.strided:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous: write "
                             "x.to_dense() before")
        return bool(self._values.is_contiguous())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self.ndim == 0:
            there = bool(_dense(self._mask))
            word = _written(_dense(self._values).item()) if there else "--"
            return f"MaskedTensor({word}, {there})"
        lines = "\n".join(f"  {line}" for line in _text(
            _dense(self._values).tolist(), _dense(self._mask).tolist(), self.ndim).split("\n"))
        return f"MaskedTensor(\n{lines}\n)"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return masked_tensor, (self._values.detach(), self._mask, self.requires_grad)


def _dense(x: Any) -> Any:
    return x if x.layout is layouts.strided else x.to_dense()


def _fitting(data: Any, mask: Any) -> Any:
    """The data, of sparse ones with the indices of the mask.

    Raises:
        TypeError: The mask has another layout, or the layout is not supported.
        ValueError: There are as many indices, and other ones.
    """
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout, and these are "
                        f"{data.layout} and {mask.layout}: convert one, as mask.to_sparse()")
    if data.layout is layouts.strided:
        return data
    if data.layout in (layouts.sparse_coo, layouts.sparse_csr) and data._nnz() != mask._nnz():
        return data.sparse_mask(mask)
    if data.layout is layouts.sparse_coo:
        own, its = (x.detach().coalesce() for x in (data, mask))
        if not own.indices().equal(its.indices()):
            raise ValueError("data and mask are both sparse COO tensors but do not have the same "
                             "indices. Write masked_tensor(data.sparse_mask(mask), mask)")
    elif data.layout is layouts.sparse_csr:
        if not (data.crow_indices().equal(mask.crow_indices())
                and data.col_indices().equal(mask.col_indices())):
            raise ValueError("data and mask are both sparse CSR tensors but do not share either "
                             "crow or col indices. Write masked_tensor(data.sparse_mask(mask), "
                             "mask)")
    else:
        raise TypeError(f"data layout of {data.layout} is not supported: write to_sparse() or "
                        "to_sparse_csr() before")
    return data


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
        TypeError: The mask is not of bool, or of another layout.
        ValueError: Shapes differ, or a sparse mask has other indices.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([1.0, 2.0, 3.0])
        >>> as_masked_tensor(x, x > 1).mean()
        MaskedTensor(  2.5000, True)
    """
    if not isinstance(data, _core.Tensor) or isinstance(data, Wrapped):
        raise TypeError(f"data must be a Tensor, not {type(data).__name__}")
    if not isinstance(mask, _core.Tensor) or isinstance(mask, Wrapped):
        raise TypeError(f"mask must be a Tensor, not {type(mask).__name__}")
    if mask.dtype is not _core._dtype_named("bool"):
        raise TypeError("mask must have dtype bool: write e.g. mask != 0")
    if data.ndim != mask.ndim:
        raise ValueError(f"data.dim() must equal mask.dim(), and these are {data.ndim} and "
                         f"{mask.ndim}: expand the mask")
    if tuple(data.shape) != tuple(mask.shape):
        raise ValueError(f"data.size() must equal mask.size(), and these are {tuple(data.shape)} "
                         f"and {tuple(mask.shape)}")
    data = _fitting(data, mask)
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
        TypeError: The mask is not of bool, or of another layout.
        ValueError: Shapes differ, or a sparse mask has other indices.

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
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, _core.Tensor) or isinstance(value, Wrapped):
            raise TypeError(f"{name} must be a Tensor, not {type(value).__name__}")
    if data.requires_grad:
        warnings.warn("It is not recommended to create a MaskedTensor with a tensor that "
                      "requires_grad. Write masked_tensor(data.detach(), mask, "
                      "requires_grad=True)", UserWarning, stacklevel=2)
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
