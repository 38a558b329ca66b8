"""``ChannelShuffle``."""

from __future__ import annotations

from flambeau import Tensor

from .._siblings import functional as F
from .module import Module


class ChannelShuffle(Module):
    """Interleaves the channels of ``g`` groups, so that grouped convolutions mix them.

    Channel ``i*(C/g) + j`` goes to ``j*g + i``.

    Shapes: input and output ``(N, C, *)``.

    Args:
        groups: The number ``g``.

    Raises:
        ValueError: ``groups`` is not positive.
        RuntimeError: At the call, where ``g`` does not divide the channels.

    Source: Zhang et al., *ShuffleNet* (2018).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ChannelShuffle(2)(flambeau.arange(4.0).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Interleave the channels."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
