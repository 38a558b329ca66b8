"""Convolutions: ``Conv1d``, ``Conv2d`` and ``Conv3d``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .._siblings import init
from ..parameter import Parameter
from ._sizes import Size, check_integer, spread
from .module import Module

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions of every number of dimensions share, transposed ones too."""

    _operator: ClassVar[Callable[..., Tensor]]
    _dims: ClassVar[int]
    transposed: bool = False

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        sizes: dict[str, Any],
        groups: int,
        bias: bool,
        padding_mode: str,
        made: dict[str, Any],
    ) -> None:
        """What every ``__init__`` does; ``sizes`` are those that count per dimension."""
        super().__init__()
        check_integer(self, in_channels=in_channels, out_channels=out_channels, groups=groups)
        check_groups(in_channels, out_channels, groups)
        self.in_channels = in_channels
        self.out_channels = out_channels
        for name, size in sizes.items():
            text = isinstance(size, str) and name == "padding"
            if not text and name != "kernel_size" and isinstance(size, tuple | list) \
                    and len(size) == 1:
                size = size[0]      # as operators take it
            setattr(self, name, size if text else spread(size, self._dims, name))
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_padding()
        self._make_parameters(bias, made)
        self.reset_parameters()

    def _make_parameters(self, bias: bool, made: dict[str, Any]) -> None:
        self.weight = Parameter(flambeau.empty(self._weight_shape(), **made))
        shift = Parameter(flambeau.empty(self.out_channels, **made)) if bias else None
        self.register_parameter("bias", shift)

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.fan_in_uniform_(self.weight, self.bias)

    def extra_repr(self) -> str:
        zeros, ones = (0,) * self._dims, (1,) * self._dims
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def _check_padding(self) -> None:
        if self.padding_mode not in PADDING_MODES:
            allowed = ", ".join(map(repr, PADDING_MODES))
            raise ValueError(f"padding_mode is one of {allowed}, not {self.padding_mode!r}")
        if not isinstance(self.padding, str):
            return
        if self.padding not in ("same", "valid"):
            raise ValueError(f'padding is a size, "same" or "valid", not {self.padding!r}')
        if self.padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(f'padding="same" needs stride 1, not {self.stride}')


class _Conv(_ConvNd):
    """What the convolutions that are not transposed share."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: str | Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "output_padding": 0,
        }
        made = {"device": device, "dtype": dtype}
        self._set_up(in_channels, out_channels, sizes, groups, bias, padding_mode, made)

    def forward(self, input: Tensor) -> Tensor:
        """Correlate ``input`` with the kernels."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Correlate with other kernels than the module's own; subclasses may change them here."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._margins(), self.padding_mode)
            padding = (0,) * self._dims
        elif isinstance(padding, str):
            padding = self._zeros_on_each_side(padding)
        return type(self)._operator(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def _zeros_on_each_side(self, padding: str) -> str | tuple[int, ...]:
        """What "same" and "valid" mean as sizes; "same" where the two sides differ."""
        if padding == "valid":
            return (0,) * self._dims
        reach = self._reach()
        if any(far % 2 for far in reach):
            return padding
        return tuple(far // 2 for far in reach)

    def _reach(self) -> list[int]:
        """How far a kernel reaches beyond its first element."""
        return [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]

    def _margins(self) -> list[int]:
        """Both sides of every dimension, the last first; "same" has the odd one behind."""
        if self.padding == "valid":
            sides = [(0, 0)] * self._dims
        elif self.padding == "same":
            sides = [(far // 2, far - far // 2) for far in self._reach()]
        else:
            sides = [(size, size) for size in self.padding]  # type: ignore[misc]
        return [size for side in reversed(sides) for size in side]


class Conv1d(_Conv):
    r"""One-dimensional cross-correlation with learned kernels.

    ``out[n, k] = bias[k] + sum over c of weight[k, c] * input[n, c]``, where ``*`` slides the
    kernel along the padded line. Weight and bias start uniform in ``[-b, b]`` with
    ``b = 1/sqrt(in_channels/groups * kernel_size)``.

    Shapes: input ``(N, in_channels, L)`` or ``(in_channels, L)``; output
    ``(N, out_channels, L')`` with
    ``L' = floor((L + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)``.

    Args:
        in_channels: Lines of the input.
        out_channels: Lines of the output.
        kernel_size: Length of the kernel.
        stride: Step of the kernel.
        padding: Width of the margins on both sides, or ``"same"`` or ``"valid"``.
        dilation: Distance between the kernel's taps.
        groups: Independent parts into which the channels are divided.
        bias: Whether to add a bias.
        padding_mode: What the margins hold: ``"zeros"``, or what ``functional.pad`` puts there
            with ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: ``groups`` does not divide the channels, or the padding is not possible.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Conv1d(16, 33, 3, stride=2)(flambeau.zeros(20, 16, 50)).shape)
        (20, 33, 24)
    """

    _operator = F.conv1d
    _dims = 1


class Conv2d(_Conv):
    r"""Two-dimensional cross-correlation with learned kernels.

    ``out[n, k] = bias[k] + sum over c of weight[k, c] * input[n, c]``, where ``*`` slides the
    kernel over the padded plane. Weight and bias start uniform in ``[-b, b]`` with
    ``b = 1/sqrt(in_channels/groups * kernel height * kernel width)``.

    Shapes: input ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``; output
    ``(N, out_channels, H', W')`` with
    ``H' = floor((H + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)``.

    Args:
        in_channels: Planes of the input.
        out_channels: Planes of the output.
        kernel_size: Height and width of the kernel, or one number for both.
        stride: Step of the kernel.
        padding: Width of the margins around the plane, or ``"same"`` or ``"valid"``.
        dilation: Distance between the kernel's taps.
        groups: Independent parts into which the channels are divided; with as many as there are
            input channels it is a depthwise convolution.
        bias: Whether to add a bias.
        padding_mode: What the margins hold: ``"zeros"``, or what ``functional.pad`` puts there
            with ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: ``groups`` does not divide the channels, or the padding is not possible.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Conv2d(1, 8, 3, padding=1)(flambeau.zeros(5, 1, 8, 8)).shape)
        (5, 8, 8, 8)
    """

    _operator = F.conv2d
    _dims = 2


class Conv3d(_Conv):
    r"""Three-dimensional cross-correlation with learned kernels.

    The mathematics and the arguments are those of ``Conv2d``, with volumes for planes.

    Shapes: input ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``; output
    ``(N, out_channels, D', H', W')`` with
    ``D' = floor((D + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)``.

    Raises:
        ValueError: ``groups`` does not divide the channels, or the padding is not possible.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Conv3d(2, 4, (3, 1, 1), padding="same")(flambeau.zeros(1, 2, 5, 6, 7)).shape)
        (1, 4, 5, 6, 7)
    """

    _operator = F.conv3d
    _dims = 3


def check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    """Refuse groups that do not divide the channels.

    Raises:
        ValueError: They do not.

    Example:
        >>> check_groups(4, 8, 2)
    """
    if groups <= 0:
        raise ValueError(f"groups is at least 1, not {groups}")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups:
            raise ValueError(f"{name} ({channels}) must be divisible by groups ({groups})")
