"""Copies of a network on several devices, whose gradients come back to the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..modules.module import Module
from ..modules.module._members import PLACES, without_attributes
from .scatter_gather import device_of

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Copy a network to each device.

    The copies' parameters are tensors made of the network's own, so that gradients go there. On
    the network's own device they are the same tensors.

    Args:
        network: The network.
        devices: The devices, ``"cpu"`` too, or numbers of GPUs.
        detach: Whether gradients stay out of the network.

    Returns:
        A network for each device.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.Linear(1, 1)
        >>> first, second = nn.parallel.replicate(net, ["cpu", "cpu"])
        >>> (first(flambeau.ones(1)) + second(flambeau.ones(1))).sum().backward()
        >>> net.bias.grad
        tensor([2.])
    """
    return [_copied(network, device_of(each), detach) for each in devices]


def _copied(network: Module, device: Any, detach: bool) -> Module:
    tensors: dict[int, Any] = {}
    modules: dict[int, Module] = {}

    def moved(tensor: Any) -> Any:
        if id(tensor) not in tensors:
            tensors[id(tensor)] = (tensor.detach() if detach else tensor).to(device)
        return tensors[id(tensor)]

    return _copy(network, moved, modules)


def _copy(module: Module, moved: Callable[[Any], Any], done: dict[int, Module]) -> Module:
    if id(module) in done:
        return done[id(module)]
    replica = done[id(module)] = module.__new__(type(module))
    state = without_attributes(module.__dict__)
    replica.__dict__.update(state, **{place: {} for place in PLACES}, _is_replica=True)
    for name, p in module._parameters.items():
        replica._parameters[name] = None if p is None else moved(p)
    for name, b in module._buffers.items():
        replica._buffers[name] = None if b is None else moved(b)
    for name, child in module._modules.items():
        replica._modules[name] = None if child is None else _copy(child, moved, done)
    return replica
