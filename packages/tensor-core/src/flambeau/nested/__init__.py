"""Nested tensors: samples of different lengths in one tensor, without padding.

Example:
    >>> import flambeau
    >>> texts = [flambeau.ones(2, 3), flambeau.ones(4, 3)]
    >>> x = nested_tensor(texts, layout=flambeau.jagged)
    >>> (x * 2).sum(-1).to_padded_tensor(0.0)
    tensor([[6., 6., 0., 0.],
            [6., 6., 6., 6.]])
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions, layouts
from flambeau.nested import (  # noqa: F401  (they fill the tables of calls)
    _compute,
    _samples,
    _shape,
)
from flambeau.nested._jagged import NestedTensor, jagged, of_parts
from flambeau.nested._ragged import Ragged, of_lengths
from flambeau.nested._strided import StridedNestedTensor, of_samples
from flambeau.nested._tensor import Nested

__all__ = ["NestedTensor", "StridedNestedTensor", "as_nested_tensor", "masked_select", "narrow",
           "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]

_op = {**functions, **_core.operators()}


def nested_tensor(tensor_list: Sequence[Any], *, dtype: Any = None, layout: Any = None,
                  device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Any:
    """A nested tensor of samples, whose elements are copied.

    Args:
        tensor_list: Tensors, or what ``tensor`` takes, with equally many dimensions. For
            ``flambeau.jagged`` they differ in one dimension at most.
        dtype: Of the result; that of the samples by default.
        layout: ``flambeau.strided``, the default, in which samples may differ in every dimension
            and few functions are there; or ``flambeau.jagged``.
        device: Of the result.
        requires_grad: Whether gradients are wanted.
        pin_memory: Accepted for compatibility.

    Returns:
        A leaf of the layout.

    Raises:
        RuntimeError: The samples do not fit each other.

    Example:
        >>> import flambeau
        >>> x = nested_tensor([[1, 2, 3], [4]], layout=flambeau.jagged)
        >>> x.values(), x.offsets()
        (tensor([1, 2, 3, 4]), tensor([0, 3, 4]))
    """
    parts = [x.detach() if isinstance(x, _core.Tensor) else _core.tensor(x) for x in tensor_list]
    made = as_nested_tensor(parts, dtype, device, layout).detach()
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of samples, which keeps their history.

    Args:
        ts: Tensors, a dense tensor whose first dimension counts samples, or a nested tensor.
        dtype: Of the result; that of the samples by default.
        device: Of the result.
        layout: ``flambeau.strided``, the default, or ``flambeau.jagged``.

    Returns:
        A nested tensor of the layout.

    Raises:
        RuntimeError: The samples do not fit each other.
        TypeError: An element is no tensor.

    Example:
        >>> import flambeau
        >>> parts = [flambeau.ones(n, requires_grad=True) for n in (1, 3)]
        >>> as_nested_tensor(parts, layout=flambeau.jagged).sum().backward()
        >>> parts[1].grad
        tensor([1., 1., 1.])
    """
    if isinstance(ts, Nested) and (layout is None or ts.layout == layout):
        return ts.to(device=device or ts.device, dtype=dtype or ts.dtype)
    parts = list(ts.unbind() if isinstance(ts, _core.Tensor) else ts)
    for part in parts:
        if not isinstance(part, _core.Tensor):
            raise TypeError(f"as_nested_tensor(): samples are tensors, not {type(part).__name__}; "
                            "nested_tensor() takes numbers, too")
    if dtype is not None or device is not None:
        parts = [x.to(device=device or x.device, dtype=dtype or x.dtype) for x in parts]
    if len({x.ndim for x in parts}) > 1 or len({x.dtype for x in parts}) > 1:
        raise RuntimeError("as_nested_tensor(): samples have one number of dimensions and one "
                           f"dtype, not {[x.ndim for x in parts]} and {[x.dtype for x in parts]}")
    if layout is None or layout == layouts.strided:
        return of_samples(parts)
    if layout != layouts.jagged:
        raise RuntimeError(f"nested tensors have layout flambeau.strided or flambeau.jagged, not "
                           f"{layout}")
    return _jagged_of(parts)


def _jagged_of(parts: list[Any]) -> NestedTensor:
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor of layout jagged from an empty list: "
                           "nested_tensor_from_jagged() takes values and offsets")
    if parts[0].ndim == 0:
        raise RuntimeError("Cannot construct a nested tensor of layout jagged from samples "
                           "without dimensions")
    differ = [d for d in range(parts[0].ndim) if len({x.shape[d] for x in parts}) > 1]
    if len(differ) > 1:
        raise RuntimeError("nested tensors of layout jagged differ in one dimension, but these "
                           f"samples have the shapes {[tuple(x.shape) for x in parts]}: give "
                           "layout=flambeau.strided")
    return of_parts(parts, (differ[0] if differ else 0) + 1)


def nested_tensor_from_jagged(values: Any, offsets: Any = None, lengths: Any = None,
                              jagged_dim: int | None = None, min_seqlen: int | None = None,
                              max_seqlen: int | None = None) -> NestedTensor:
    """The jagged tensor over values that are there already, and keeps their history.

    Args:
        values: All samples side by side.
        offsets: ``(B + 1,)``: where each sample begins, and where the last ends.
        lengths: ``(B,)``: with ``offsets``, samples end before the next begins; alone, they follow
            each other.
        jagged_dim: The dimension of the result that is ragged, 1 by default.
        min_seqlen: Accepted for compatibility.
        max_seqlen: Accepted for compatibility.

    Returns:
        A tensor of layout ``flambeau.jagged``.

    Raises:
        RuntimeError: Neither offsets nor lengths are given, or they do not fit the values.

    Example:
        >>> import flambeau
        >>> x = nested_tensor_from_jagged(flambeau.arange(5), flambeau.tensor([0, 2, 5]))
        >>> x.unbind()
        (tensor([0, 1]), tensor([2, 3, 4]))
    """
    at = 1 if jagged_dim is None else jagged_dim
    if not 1 <= at <= values.ndim:
        raise RuntimeError(f"nested_tensor_from_jagged(): jagged_dim={at} is not one of the "
                           f"dimensions 1 to {values.ndim}")
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is "
                               "required")
        made = of_lengths(lengths.tolist(), values.device)
    else:
        made = Ragged(offsets, lengths)
    total = values.shape[at - 1]
    bounds = made.bounds()
    if any(start < 0 or stop < start or stop > total for start, stop in bounds):
        raise RuntimeError(f"nested_tensor_from_jagged(): samples at {bounds} do not lie inside "
                           f"values of shape {tuple(values.shape)}")
    return jagged(values, made, at)


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = layouts.strided) -> Any:
    """Of every row of a dense tensor a part of its own.

    Args:
        tensor: ``(B, L, ...)``.
        dim: The dimension that is narrowed: 1.
        start: A number, or where each part begins, ``(B,)``.
        length: A number, or the length of each part, ``(B,)``.
        layout: ``flambeau.jagged`` for a view of the tensor, ``flambeau.strided`` for a copy.

    Returns:
        A nested tensor.

    Raises:
        RuntimeError: The dimension is another than 1, or a part lies outside.

    Example:
        >>> import flambeau
        >>> x = flambeau.arange(8).reshape(2, 4)
        >>> narrow(x, 1, flambeau.tensor([0, 1]), flambeau.tensor([2, 3]),
        ...        layout=flambeau.jagged).unbind()
        (tensor([0, 1]), tensor([5, 6, 7]))
    """
    if dim != 1 or tensor.ndim < 2:
        raise RuntimeError(f"narrow(): nested narrows take dim=1 of a tensor (B, L, ...), not "
                           f"dim={dim} of {tuple(tensor.shape)}")
    count, size = tensor.shape[:2]
    starts, lengths = ([x] * count if isinstance(x, int) else x.tolist() for x in (start, length))
    for begin, n in zip(starts, lengths, strict=True):
        if begin < 0 or n < 0 or begin + n > size:
            raise RuntimeError(f"narrow(): {n} elements from {begin} on are not inside a row of "
                               f"{size}")
    if layout != layouts.jagged:
        return of_samples([tensor[i].narrow(0, begin, n) for i, (begin, n) in enumerate(
            zip(starts, lengths, strict=True))])
    rows = [i * size + begin for i, begin in enumerate(starts)]
    ends = [*rows, rows[-1] + lengths[-1]] if rows else [0]
    offsets = _core.tensor(ends, device=tensor.device)
    return jagged(tensor.flatten(0, 1), Ragged(offsets, _core.tensor(
        lengths, device=tensor.device)))


def masked_select(tensor: Any, mask: Any) -> NestedTensor:
    """The elements of every row where a mask holds.

    Args:
        tensor: ``(B, L, ...)``.
        mask: Bools that broadcast to ``(B, L)``.

    Returns:
        A tensor of layout ``flambeau.jagged``.

    Example:
        >>> import flambeau
        >>> x = flambeau.arange(6).reshape(2, 3)
        >>> masked_select(x, x % 2 == 0).unbind()
        (tensor([0, 2]), tensor([4]))
    """
    wide = mask.expand(*tensor.shape[:2])
    return jagged(tensor[wide], of_lengths(wide.sum(1).tolist(), tensor.device))


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    """A dense tensor in which shorter samples are filled up.

    Args:
        input: A nested tensor.
        padding: What stands behind shorter samples.
        output_size: The size of the result, if it is to be larger than the longest sample.
        out: Refused, as in PyTorch.

    Returns:
        Shape ``(B, longest, ...)``.

    Raises:
        RuntimeError: ``output_size`` is too small.

    Example:
        >>> to_padded_tensor(nested_tensor([[1, 2], [3]]), -1)
        tensor([[ 1,  2],
                [ 3, -1]])
    """
    if out is not None:
        raise RuntimeError("to_padded_tensor(): out= is not taken; write out.copy_(...)")
    return input.to_padded_tensor(padding, output_size)
