"""Moving elements of tensors that have a scale for each index of one dimension."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core.quantized.schemes import Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap

_ELLIPSIS, _NONE = type(...), type(None)


def moved(function: Any, name: str, x: QuantizedTensor, args: tuple[Any, ...],
          kwargs: dict[str, Any]) -> QuantizedTensor:
    """What a call that moves elements gives, where each channel stays whole.

    Args:
        function: The call.
        name: Its name.
        x: The first argument.
        args: Further arguments.
        kwargs: Keywords, the first argument not among them.

    Raises:
        NotImplementedError: It would mix channels.
    """
    quantizer = _KINDS[name](x, *args, **kwargs) if name in _KINDS else None
    if quantizer is None:
        raise NotImplementedError(
            f"{name}() is not supported for tensors quantized by channel, whose scales it would "
            "mix: dequantize() first, or move int_repr() and q_per_channel_scales() yourself")
    return wrap(function(x._values, *args, **kwargs), x._dtype, quantizer)


def _part(quantizer: Quantizer, index: int | slice, axis: int) -> Quantizer | None:
    """The scales at an index of the channels; None for one channel whose zero is no integer."""
    scale, zero = quantizer.scale[index], quantizer.zero_point[index]
    if isinstance(index, slice):
        return Quantizer(scale, zero, axis)
    return None if zero.dtype.is_floating_point else Quantizer(float(scale), int(zero))


def _getitem(x: QuantizedTensor, index: Any) -> Quantizer | None:
    items = list(index) if isinstance(index, tuple) else [index]
    if any(type(item) not in (int, slice, _NONE, _ELLIPSIS) for item in items):
        return None
    rest = [slice(None)] * (x.ndim - sum(type(item) in (int, slice) for item in items))
    hole = next((i for i, item in enumerate(items) if item is ...), len(items))
    items[hole:hole + 1] = rest
    dim = axis = 0
    for item in items:
        if item is not None and dim == x._quantizer.axis:
            return _part(x._quantizer, item, axis)
        dim += item is not None
        axis += type(item) is not int
    return None


def _select(x: QuantizedTensor, dim: int, index: int) -> Quantizer | None:
    return _getitem(x, (slice(None),) * (dim % x.ndim) + (index,))


def _narrow(x: QuantizedTensor, dim: int, start: int, length: int) -> Quantizer | None:
    return _getitem(x, (slice(None),) * (dim % x.ndim) + (slice(start, start + length),))


def _unsqueeze(x: QuantizedTensor, dim: int) -> Quantizer:
    axis = x._quantizer.axis
    assert axis is not None
    return x._quantizer._replace(axis=axis + (dim % (x.ndim + 1) <= axis))


def _squeeze(x: QuantizedTensor, dim: Any = None) -> Quantizer:
    axis = x._quantizer.axis
    assert axis is not None
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {d % x.ndim for d in dims if x.shape[d] == 1}
    if axis in gone:
        raise RuntimeError("squeeze(): Squeeze is only possible on non-axis dimension for "
                           f"Per-Channel Quantized Tensors, and {axis} is the dimension of the "
                           "channels: write the other dimensions, as in x.squeeze(dim)")
    return x._quantizer._replace(axis=axis - sum(d < axis for d in gone))


_KINDS: dict[str, Callable[..., Quantizer | None]] = {
    "getitem": _getitem, "select": _select, "narrow": _narrow, "unsqueeze": _unsqueeze,
    "squeeze": _squeeze}
