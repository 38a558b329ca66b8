"""The order in which the weights of convolutions lie in memory."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules.conv import Conv2d, Conv3d
from ..modules.convtranspose import ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

Net = TypeVar("Net", bound=Module)


def convert_conv2d_weight_memory_format(module: Net, memory_format: Any) -> Net:
    """Lay out the weights of all two-dimensional convolutions anew.

    Args:
        module: A convolution, or a network with some.
        memory_format: ``flambeau.channels_last`` or ``flambeau.contiguous_format``.

    Returns:
        ``module``.

    Raises:
        TypeError: ``memory_format`` is no memory format.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Flatten())
        >>> net = nn.utils.convert_conv2d_weight_memory_format(net, flambeau.channels_last)
        >>> net[0].weight.stride()
        (12, 1, 6, 3)
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Net, memory_format: Any) -> Net:
    """Lay out the weights of all three-dimensional convolutions anew.

    Args:
        module: A convolution, or a network with some.
        memory_format: ``flambeau.channels_last_3d`` or ``flambeau.contiguous_format``.

    Returns:
        ``module``.

    Raises:
        TypeError: ``memory_format`` is no memory format.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Conv3d(2, 4, 1)
        >>> layer = nn.utils.convert_conv3d_weight_memory_format(layer, flambeau.channels_last_3d)
        >>> layer.weight.is_contiguous(memory_format=flambeau.channels_last_3d)
        True
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


def _convert(module: Net, kinds: tuple[type[Module], ...], memory_format: Any) -> Net:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module
