"""``DataParallel``: programs that wrap their network for several GPUs run on one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..modules.module import Module

Devices = Sequence[Any] | None


class DataParallel(Module):
    """The network itself, under the name ``module``, as PyTorch runs it on a single device.

    Batches are not divided: one process drives one device. The keys of ``state_dict`` begin with
    ``module.``, so that checkpoints of wrapped networks fit.

    Args:
        module: The network.
        device_ids: Numbers of GPUs, at most one.
        output_device: Accepted for compatibility.
        dim: Accepted for compatibility.

    Raises:
        ValueError: More than one GPU is asked for.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.DataParallel(nn.Linear(3, 2))
        >>> net(flambeau.ones(4, 3)).shape
        flambeau.Size([4, 2])
        >>> list(net.state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Devices = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        _expect_one("DataParallel", device_ids)
        self.dim = dim
        self.module = module
        self.device_ids = list(device_ids or ())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the network gives."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Devices = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Call a network on the one device there is; see `DataParallel`.

    Args:
        module: The network.
        inputs: Its input, or a tuple of its inputs.
        device_ids: Numbers of GPUs, at most one.
        output_device: Accepted for compatibility.
        dim: Accepted for compatibility.
        module_kwargs: Keyword arguments of the network.

    Raises:
        ValueError: More than one GPU is asked for.
    """
    _expect_one("data_parallel", device_ids)
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))


def _expect_one(what: str, device_ids: Devices) -> None:
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError(
            f"{what}(): one process drives one GPU, and device_ids={list(device_ids)} asks for "
            f"{len(device_ids)}; leave device_ids out"
        )
