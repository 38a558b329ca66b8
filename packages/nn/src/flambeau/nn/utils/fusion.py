"""Folding a batch norm that evaluates into the layer before it, which saves its time."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import flambeau
from flambeau import Tensor

from ..modules.batchnorm import _BatchNorm
from ..modules.conv import _ConvNd
from ..modules.linear import Linear
from ..parameter import Parameter

Conv = TypeVar("Conv", bound=_ConvNd)
LinearT = TypeVar("LinearT", bound=Linear)


def fuse_conv_bn_eval(conv: Conv, bn: _BatchNorm, transpose: bool = False) -> Conv:
    """A convolution that computes what ``bn(conv(x))`` does when both evaluate.

    Args:
        conv: The convolution, which stays as it is.
        bn: The batch norm after it, with running statistics.
        transpose: Whether ``conv`` is a transposed convolution.

    Returns:
        A new module.

    Raises:
        ValueError: One of the two is in training mode, ``bn`` has no running statistics or
            another number of features than ``conv`` has outputs, or ``transpose`` does not fit.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> conv, bn = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
        >>> x = flambeau.randn(1, 3, 6, 6)
        >>> fused = nn.utils.fuse_conv_bn_eval(conv, bn)
        >>> bool((fused(x) - bn(conv(x))).abs().max() < 1e-5)
        True
    """
    _check(conv, bn, conv.out_channels)
    if transpose != conv.transposed:
        raise ValueError(
            f"{type(conv).__name__} needs transpose={conv.transposed} in fuse_conv_bn_eval()"
        )
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that includes the batch norm after it.

    ``w' = w * s`` and ``b' = (b - mean) * s + shift`` with ``s = scale / sqrt(var + eps)`` by
    output channel.

    Args:
        conv_w: Weight of the convolution.
        conv_b: Its bias, or ``None``.
        bn_rm: Running mean of the norm.
        bn_rv: Running variance.
        bn_eps: Its ``eps``.
        bn_w: Its scale, or ``None`` for 1.
        bn_b: Its shift, or ``None`` for 0.
        transpose: Whether the convolution is transposed: outputs are the weight's second
            dimension.

    Example:
        >>> import flambeau
        >>> one, zero = flambeau.ones(1), flambeau.zeros(1)
        >>> w, b = fuse_conv_bn_weights(flambeau.ones(1, 1, 1), None, one, one, 0.0, 2 * one, zero)
        >>> w.item(), b.item()
        (2.0, -2.0)
    """
    norm = (bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    if not transpose:
        return _fold(conv_w, conv_b, norm)
    # A transposed weight has its outputs second: by group, outputs first, it is like another.
    shape = conv_w.shape
    groups = bn_rm.numel() // shape[1]
    by_group = conv_w.reshape(groups, -1, *shape[1:]).transpose(1, 2)
    weight, bias = _fold(by_group.flatten(0, 1), conv_b, norm)
    data = weight.detach().reshape(by_group.shape).transpose(1, 2).reshape(shape)
    return Parameter(data, conv_w.requires_grad), bias


def fuse_linear_bn_eval(linear: LinearT, bn: _BatchNorm) -> LinearT:
    """A linear layer that computes what ``bn(linear(x))`` does when both evaluate.

    Args:
        linear: The layer, which stays as it is.
        bn: The batch norm after it, with running statistics.

    Returns:
        A new module.

    Raises:
        ValueError: One of the two is in training mode, ``bn`` has no running statistics, or
            another number of features than ``linear`` has outputs and not one.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
        >>> x = flambeau.randn(2, 3)
        >>> fused = nn.utils.fuse_linear_bn_eval(linear, bn)
        >>> bool((fused(x) - bn(linear(x))).abs().max() < 1e-5)
        True
    """
    _check(linear, bn, linear.out_features if bn.num_features != 1 else 1)
    return _fused(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that includes the batch norm after it.

    The mathematics and the arguments are those of ``fuse_conv_bn_weights``.

    Example:
        >>> import flambeau
        >>> one, zero = flambeau.ones(1), flambeau.zeros(1)
        >>> w, b = fuse_linear_bn_weights(flambeau.ones(1, 1), None, one, one, 0.0, 2 * one, zero)
        >>> w.item(), b.item()
        (2.0, -2.0)
    """
    return _fold(linear_w, linear_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b))


def _fold(
    weight: Tensor, bias: Tensor | None, norm: tuple[Any, ...]
) -> tuple[Parameter, Parameter]:
    """Scale the outputs, which are the weight's first dimension."""
    mean, var, eps, factor, shift = norm
    with flambeau.no_grad():
        scale = flambeau.rsqrt(var + eps)
        if factor is not None:
            scale = scale * factor
        old = weight.new_zeros(weight.shape[0]) if bias is None else bias
        new = (old - mean) * scale
        if shift is not None:
            new = new + shift
        scaled = weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    trained = bias is not None and bias.requires_grad
    return (
        Parameter(scaled.to(weight.dtype), weight.requires_grad),
        Parameter(new.to(old.dtype), trained),
    )


def _fused(layer: Any, bn: _BatchNorm, fold: Any, *more: Any) -> Any:
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fold(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *more
    )
    return fused


def _check(layer: Any, bn: _BatchNorm, outputs: int) -> None:
    names = f"{type(layer).__name__} and {type(bn).__name__}"
    if layer.training or bn.training:
        raise ValueError(f"{names} are fused in evaluation mode: call eval() on both")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError(f"{type(bn).__name__} has no running statistics, so it cannot be fused")
    if bn.num_features != outputs:
        raise ValueError(
            f"{names} do not fit: {bn.num_features} features are normalized, {outputs} are computed"
        )
