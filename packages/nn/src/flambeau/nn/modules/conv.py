"""``Conv2d``."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._pair import IntPair, pair
from .module import Module

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class Conv2d(Module):
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
        >>> tuple(nn.Conv2d(1, 8, 3, padding=1)(flambeau.zeros(5, 1, 8, 8)).shape)
        (5, 8, 8, 8)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntPair,
        stride: IntPair = 1,
        padding: str | IntPair = 0,
        dilation: IntPair = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        if padding_mode not in _PADDING_MODES:
            allowed = ", ".join(map(repr, _PADDING_MODES))
            raise ValueError(f"padding_mode is one of {allowed}, not {padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = pair(stride, "stride")
        self.dilation = pair(dilation, "dilation")
        self.padding = padding if isinstance(padding, str) else pair(padding, "padding")
        self._padding = self._resolve_padding()
        self.groups = groups
        self.padding_mode = padding_mode
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(flambeau.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(flambeau.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.fan_in_uniform_(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Correlate ``input`` with the kernels."""
        padding = self._padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._margins(), mode=self.padding_mode), (0, 0)
        return F.conv2d(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0, 0):
            text += f", padding={self.padding}"
        if self.dilation != (1, 1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _resolve_padding(self) -> str | tuple[int, int]:
        """The zeros on every side that ``padding`` asks for; "same" where the sides differ."""
        if not isinstance(self.padding, str):
            return self.padding
        if self.padding == "valid":
            return (0, 0)
        if self.padding != "same":
            raise ValueError(f'padding is a size, "same" or "valid", not {self.padding!r}')
        if self.stride != (1, 1):
            raise ValueError(f'padding="same" needs stride 1, not {self.stride}')
        total = self._reach()
        if total[0] % 2 or total[1] % 2:
            return "same"
        return (total[0] // 2, total[1] // 2)

    def _reach(self) -> tuple[int, int]:
        """How far a kernel reaches beyond its first element."""
        height, width = self.kernel_size
        return (self.dilation[0] * (height - 1), self.dilation[1] * (width - 1))

    def _margins(self) -> tuple[int, int, int, int]:
        """Left, right, top and bottom; "same" has the odd one behind."""
        if isinstance(self._padding, str):
            (y, x) = self._reach()
            return (x // 2, x - x // 2, y // 2, y - y // 2)
        (y, x) = self._padding
        return (x, x, y, y)


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError(f"groups is at least 1, not {groups}")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups:
            raise ValueError(f"{name} ({channels}) must be divisible by groups ({groups})")
