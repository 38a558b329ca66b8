"""Enlarging images: ``Upsample`` and its two older names."""

from __future__ import annotations

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size
from .module import Module

Ratio = float | tuple[float, ...]


class Upsample(Module):
    """Resizes lines, planes or volumes by interpolation.

    Shapes: input ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``; output the same with
    the last sizes equal to ``size``, or ``floor(input size * scale_factor)``.

    Args:
        size: The output's sizes, or one number for all.
        scale_factor: Factors on the input's sizes, or one for all, instead.
        mode: ``"nearest"``, ``"linear"`` (lines), ``"bilinear"`` or ``"bicubic"`` (planes),
            ``"trilinear"`` (volumes).
        align_corners: Whether the outermost elements stay where they are (all but ``"nearest"``).
        recompute_scale_factor: Whether the factors are computed anew from the rounded sizes.

    Raises:
        ValueError: At the call, where neither or both of ``size`` and ``scale_factor`` are given
            or the mode does not fit the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Upsample(scale_factor=2)(flambeau.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Size | None = None,
        scale_factor: Ratio | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Ratio | None = None
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(map(float, scale_factor))
        elif scale_factor:
            self.scale_factor = float(scale_factor)
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Resize ``input``."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of planes in mode ``"nearest"``.

    Shapes: input ``(N, C, H, W)``; output ``(N, C, H', W')``.

    Args:
        size: The output's height and width, or one number for both.
        scale_factor: Factors on the input's sizes, or one for both, instead.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.UpsamplingNearest2d(scale_factor=3)(flambeau.zeros(1, 2, 4, 5)).shape)
        (1, 2, 12, 15)
    """

    def __init__(self, size: Size | None = None, scale_factor: Ratio | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of planes in mode ``"bilinear"`` with aligned corners.

    Shapes: input ``(N, C, H, W)``; output ``(N, C, H', W')``.

    Args:
        size: The output's height and width, or one number for both.
        scale_factor: Factors on the input's sizes, or one for both, instead.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.UpsamplingBilinear2d(size=(1, 3))(flambeau.tensor([[[[0.0, 1.0]]]]))
        tensor([[[[0.0000, 0.5000, 1.0000]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Ratio | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
