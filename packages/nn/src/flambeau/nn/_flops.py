"""How many floating-point operations an operator takes.

A multiplication and an addition count one each, so a product of an ``(m, k)`` and a ``(k, n)``
matrix takes ``2 * m * k * n``. Pointwise operators count one for every element of the result,
reductions one for every element they read, norms and softmaxes five; moving data is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flambeau import Tensor

_NORMALIZING = 5  # mean, deviation, square, quotient and sum; or maximum, exponential, ...


def flops_of(op: Any, args: Sequence[Any], results: Sequence[Any]) -> int:
    """Operations of one call of the operator ``op``.

    Args:
        op: The handle of the operator.
        args: Its arguments in the operator's order.
        results: The tensors it gave.
    """
    if op.key in _FORMULAS:
        return _FORMULAS[op.key](args, results)
    if op.category == "pointwise":
        return sum(result.numel() for result in results)
    if op.category == "reduction":
        return _numel(args[0])
    return 0


def _numel(value: Any) -> int:
    return value.numel() if isinstance(value, Tensor) else 0


def _linear(args: Sequence[Any], results: Sequence[Any]) -> int:
    weight, bias = args[1], args[2]
    count = results[0].numel()
    return 2 * count * weight.shape[-1] + (count if bias is not None else 0)


def _matmul(args: Sequence[Any], results: Sequence[Any]) -> int:
    return 2 * results[0].numel() * args[0].shape[-1]


def _convolution(args: Sequence[Any], results: Sequence[Any]) -> int:
    weight, bias = args[1], args[2]
    count = results[0].numel()
    return 2 * count * math.prod(weight.shape[1:]) + (count if bias is not None else 0)


def _transposed_convolution(args: Sequence[Any], results: Sequence[Any]) -> int:
    return 2 * args[0].numel() * math.prod(args[1].shape[1:])


def _attention(args: Sequence[Any], results: Sequence[Any]) -> int:
    query, key, value = args[:3]
    scores = math.prod(query.shape[:-1]) * key.shape[-2]
    return scores * (2 * query.shape[-1] + 2 * value.shape[-1] + _NORMALIZING)


def _recurrent(args: Sequence[Any], results: Sequence[Any]) -> int:
    rows = args[0].numel() // args[0].shape[-1]
    return 2 * rows * sum(map(_numel, (args[3], args[4], args[7])))


def _normalization(args: Sequence[Any], results: Sequence[Any]) -> int:
    return _NORMALIZING * _numel(args[0])


def _pooling(args: Sequence[Any], results: Sequence[Any]) -> int:
    return int(results[0].numel() * math.prod(args[1]))


_FORMULAS: dict[str, Callable[[Sequence[Any], Sequence[Any]], int]] = {
    "linear": _linear,
    "matmul": _matmul,
    "attention": _attention,
    "recurrent": _recurrent,
    **dict.fromkeys(("conv2d", "conv3d"), _convolution),
    **dict.fromkeys(("conv2d_input_grad", "conv3d_input_grad"), _transposed_convolution),
    **dict.fromkeys(
        ("native_batch_norm", "native_layer_norm", "native_group_norm"), _normalization
    ),
    **dict.fromkeys(("softmax", "log_softmax"), _normalization),
    **dict.fromkeys(("max_pool2d_compact_indices", "max_pool2d_values", "avg_pool2d"), _pooling),
}
