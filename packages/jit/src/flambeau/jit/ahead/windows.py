"""Operators on windows of images."""

from __future__ import annotations

import math
from collections.abc import Iterable

from flambeau.jit.ahead.conv import Conv, conv_text
from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.pooling import Pool, pool_text
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ir import Node


def convolve(scope: Scope, node: Node) -> None:
    """A convolution over planes."""
    x, weight, bias, stride, padding, dilation, groups = node.args
    if any(each.dtype != "float32" for each in node.inputs) or len(x.shape) != 4:
        raise NotThisError("only batches of float32 images are convolved")
    n, channels, *image = x.shape
    p = Conv(n, groups, channels // groups, weight.shape[0] // groups, _pair(image),
             _pair(weight.shape[2:]), _pair(stride), _pair(padding), _pair(dilation),
             bias is not None)
    if p.result != node.outputs[0].shape[2:]:
        raise NotThisError(f"padding {padding} gives {list(node.outputs[0].shape)}")
    given = [] if bias is None else [scope.dense(bias)]
    scratch = scope.unit.temporary("float32", (p.scratch(scope.unit.machine),))
    scope.unit.add(conv_text(p, scope.unit.machine), scope.dense(x), scope.dense(weight), *given,
                   scope.new(node.outputs[0]), scratch)


def max_pool(scope: Scope, node: Node) -> None:
    """The greatest of each window; which one it was is not kept."""
    x, window, stride, padding, dilation = node.args[:5]
    if any(scope.is_used(each) for each in node.outputs[1:]):
        raise NotThisError("its indices are used")
    if x.dtype != "float32":
        raise NotThisError("only float32 is pooled")
    result = shape_of(node.outputs[0])
    shape = shape_of(x)
    p = Pool(math.prod(shape[:-2]), _pair(shape[-2:]), _pair(result[-2:]), _pair(window),
             _pair(stride or window), _pair(padding), _pair(dilation))
    scope.unit.add(pool_text(p, scope.unit.machine), scope.dense(x), scope.new(node.outputs[0]))


def _pair(sizes: int | Iterable[int]) -> tuple[int, int]:
    """Two sizes; one stands for both."""
    if isinstance(sizes, int):
        return sizes, sizes
    given = tuple(sizes)
    return given[0], given[-1]
