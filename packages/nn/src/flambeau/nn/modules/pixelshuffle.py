"""Moving between channels and planes: ``PixelShuffle`` and ``PixelUnshuffle``."""

from __future__ import annotations

from flambeau import Tensor

from .._siblings import functional as F
from .module import Module


class PixelShuffle(Module):
    """Makes planes ``r`` times as high and wide out of ``r^2`` times as many channels.

    Shapes: input ``(*, C*r^2, H, W)``; output ``(*, C, H*r, W*r)``.

    Args:
        upscale_factor: The factor ``r``.

    Raises:
        RuntimeError: At the call, where ``r^2`` does not divide the channels.

    Source: Shi et al., *Real-time single image and video super-resolution using an efficient
    sub-pixel convolutional neural network* (2016).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.PixelShuffle(2)(flambeau.arange(4.0).reshape(4, 1, 1))
        tensor([[[0., 1.],
                 [2., 3.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Turn channels into pixels."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Undoes ``PixelShuffle``: planes become ``r^2`` times as many channels.

    Shapes: input ``(*, C, H*r, W*r)``; output ``(*, C*r^2, H, W)``.

    Args:
        downscale_factor: The factor ``r``.

    Raises:
        RuntimeError: At the call, where ``r`` does not divide height and width.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.PixelUnshuffle(2)(flambeau.zeros(1, 3, 4, 6)).shape)
        (1, 12, 2, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Turn pixels into channels."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
