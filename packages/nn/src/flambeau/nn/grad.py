"""Gradients of convolutions as functions of their own: ``nn.grad.conv2d_input`` and its like.

``backward`` computes the same; these serve custom ``autograd.Function`` classes. They are
convolutions themselves, and differentiable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor

from ._core import ops

Size = int | Sequence[int]


def _several(value: Size, dims: int) -> list[int]:
    return [value] * dims if isinstance(value, int) else list(value)


def _call(kind: str, dims: int, grad: Any, other: Any, shape: Any, options: tuple[Any, ...]) -> Any:
    """The operator; one dimension is computed as two, the first of size 1."""
    *windows, groups = options
    windows = [_several(value, dims) for value in windows]
    shape = list(shape)
    if dims > 1:
        return getattr(ops, f"conv{dims}d_{kind}_grad")(grad, other, shape, *windows, groups)
    flat = [[neutral, *value] for neutral, value in zip((1, 0, 1), windows, strict=True)]
    grad, other = grad.unsqueeze(-2), other.unsqueeze(-2)
    shape.insert(-1, 1)
    return getattr(ops, f"conv2d_{kind}_grad")(grad, other, shape, *flat, groups).squeeze(-2)


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv1d`` for its input; the arguments are those of ``conv2d_input``."""
    options = (stride, padding, dilation, groups)
    return _call("input", 1, grad_output, weight, input_size, options)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv1d`` for its weight; the arguments are those of ``conv2d_weight``."""
    options = (stride, padding, dilation, groups)
    return _call("weight", 1, grad_output, input, weight_size, options)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv2d`` for its input.

    Args:
        input_size: The shape of the input, ``(N, C, H, W)``.
        weight: ``(O, C / groups, kH, kW)``.
        grad_output: The gradient of the output, ``(N, O, H', W')``.
        stride: As in the convolution, like the arguments that follow.
        padding: See there.
        dilation: See there.
        groups: See there.

    Returns:
        A tensor of shape ``input_size``.

    Raises:
        RuntimeError: The shapes do not fit each other.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> ones = flambeau.ones(1, 1, 2, 2)
        >>> nn.grad.conv2d_input((1, 1, 3, 3), ones, ones)[0, 0].tolist()
        [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    options = (stride, padding, dilation, groups)
    return _call("input", 2, grad_output, weight, input_size, options)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv2d`` for its weight.

    Args:
        input: ``(N, C, H, W)``.
        weight_size: The shape of the weight, ``(O, C / groups, kH, kW)``.
        grad_output: The gradient of the output, ``(N, O, H', W')``.
        stride: As in the convolution, like the arguments that follow.
        padding: See there.
        dilation: See there.
        groups: See there.

    Returns:
        A tensor of shape ``weight_size``.

    Raises:
        RuntimeError: The shapes do not fit each other.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> image, ones = flambeau.arange(4.0).reshape(1, 1, 2, 2), flambeau.ones(1, 1, 1, 1)
        >>> nn.grad.conv2d_weight(image, (1, 1, 2, 2), ones)[0, 0].tolist()
        [[0.0, 1.0], [2.0, 3.0]]
    """
    options = (stride, padding, dilation, groups)
    return _call("weight", 2, grad_output, input, weight_size, options)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv3d`` for its input; the arguments are those of ``conv2d_input``."""
    options = (stride, padding, dilation, groups)
    return _call("input", 3, grad_output, weight, input_size, options)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Gradient of ``conv3d`` for its weight; the arguments are those of ``conv2d_weight``."""
    options = (stride, padding, dilation, groups)
    return _call("weight", 3, grad_output, input, weight_size, options)
