"""``make_tensor``: tensors of random values for tests, of any dtype and layout."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau.core import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: str | None = None,
) -> Tensor:
    """A tensor of values drawn uniformly from ``[low, high)``.

    Args:
        shape: Sizes, as numbers or as one sequence.
        dtype: The dtype.
        device: The device.
        low: The least value; left out, -9, or 0 for unsigned numbers and bools. Limits beyond the
            dtype's range are moved into it.
        high: The end of the values; left out, 9 for floating dtypes, 10 for integers, 2 for bools.
        requires_grad: Whether ``backward`` fills ``grad``.
        noncontiguous: Whether to leave gaps between the elements.
        exclude_zero: Whether zeros become the least value above them.
        memory_format: How the elements lie in memory.

    Returns:
        The tensor.

    Raises:
        ValueError: an impossible interval, or two layouts at once.
        RuntimeError: ``requires_grad`` of a dtype without gradients.

    Example:
        >>> import flambeau
        >>> x = flambeau.testing.make_tensor(2, 3, dtype=flambeau.int64, low=4, high=5)
        >>> x
        tensor([[4, 4, 4],
                [4, 4, 4]])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"make_tensor(): noncontiguous={noncontiguous} and memory_format={memory_format!r} "
            "exclude each other; give one"
        )
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise RuntimeError(f"make_tensor(): requires_grad needs a floating dtype, not {dtype}")
    start, end = _limits(dtype, low, high)
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    x = _drawn((*sizes[:-1], 2 * sizes[-1]) if noncontiguous else sizes, dtype, start, end)
    if exclude_zero:
        x = x.masked_fill(x == 0, flambeau.finfo(dtype).tiny if inexact else 1)
    x = x.to(device)
    if noncontiguous:
        x = x[..., 1::2]
    elif memory_format is not None:
        x = x.clone(memory_format=memory_format)
    # Without autograd installed there is no such method.
    return x.requires_grad_() if requires_grad else x


def _limits(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """Where the values start and end, within what the dtype holds."""
    least: float
    greatest: float
    if dtype is flambeau.bool:
        least, greatest, ends = 0, 2, (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        info = flambeau.finfo(dtype)
        least, greatest, ends = info.min, info.max, (-9, 9)
    else:
        counts = flambeau.iinfo(dtype)
        least, greatest, ends = counts.min, counts.max, (-9 if counts.min else 0, 10)
    start, end = (ends[i] if given is None else given for i, given in enumerate((low, high)))
    if math.isnan(start) or math.isnan(end) or not start <= end:
        raise ValueError(f"make_tensor(): low={start} must be below high={end}")
    start, end = (min(max(value, least), greatest) for value in (start, end))
    if not (dtype.is_floating_point or dtype.is_complex):
        start, end = math.ceil(start), math.ceil(end)
        if start == end:
            raise ValueError(f"make_tensor(): no {dtype} lies in [{low}, {high})")
    return start, end


def _drawn(sizes: Any, dtype: Any, start: float, end: float) -> Tensor:
    """Values in one stretch; the same as PyTorch's where its generator is the one in use."""
    if dtype.is_complex:
        x = flambeau.empty(sizes, dtype=dtype)
        _fill(flambeau.view_as_real(x), start, end)
        return x
    if dtype.is_floating_point:
        small = dtype.itemsize == 1
        x = flambeau.empty(sizes, dtype=flambeau.float32 if small else dtype)
        _fill(x, start, end)
        return x.to(dtype)
    return flambeau.randint(int(start), int(end), sizes, dtype=flambeau.int64).to(dtype)


def _fill(x: Tensor, start: float, end: float) -> None:
    """Draw into a tensor; limits so far apart that their difference overflows, by halves."""
    if end - start >= flambeau.finfo(x.dtype).max:
        x.uniform_(start / 2, end / 2).mul_(2)
    else:
        x.uniform_(start, end)
