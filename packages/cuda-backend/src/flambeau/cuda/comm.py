"""Tensors to several devices of this process and back, by copies between devices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
import flambeau.cuda.runtime as runtime

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced",
           "scatter"]

Tensor = Any


def _place(device: Any) -> Any:
    """A device; a number stands for that GPU, and a negative one, or -1, for the CPU."""
    if not isinstance(device, int):
        return flambeau.device(device)
    return flambeau.device("cpu" if device < 0 else f"{runtime.device_type()}:{device}")


def broadcast(tensor: Tensor, devices: Sequence[Any] | None = None, *,
              out: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """A copy on each device; where the tensor lies already, it is the tensor itself.

    Args:
        tensor: What is copied.
        devices: Where to, by number or name.
        out: Tensors that are written to, instead of ``devices``.

    Raises:
        RuntimeError: both or neither are given.

    Example:
        >>> import flambeau as fl
        >>> from flambeau.cuda import comm
        >>> comm.broadcast(fl.ones(2), ["cpu", "cpu"])
        (tensor([1., 1.]), tensor([1., 1.]))
    """
    if (devices is None) == (out is None):
        raise RuntimeError("broadcast(): exactly one of 'devices' and 'out' must be given; name "
                           "the devices to copy to, or the tensors to write to")
    if out is not None:
        for target in out:
            target.copy_(tensor)
        return tuple(out)
    return tuple(tensor.to(_place(device)) for device in devices or ())


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[Any],
                        buffer_size: int = 10485760) -> list[list[Tensor]]:
    """``broadcast`` of several tensors: a list for each device.

    Args:
        tensors: What is copied.
        devices: Where to.
        buffer_size: Accepted for compatibility: each tensor is copied by itself.
    """
    return [[x.to(_place(device)) for x in tensors] for device in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices.

    Args:
        inputs: Tensors of one shape.
        destination: Where the sum lies; the current GPU when left out.

    Raises:
        ValueError: shapes differ.
    """
    target = _place(runtime.current_index() if destination is None else destination)
    total = inputs[0].to(target, copy=True)
    for x in inputs[1:]:
        if x.shape != total.shape:
            raise ValueError(f"reduce_add(): inputs must have one shape, got {list(total.shape)} "
                             f"and {list(x.shape)}")
        total += x.to(target)
    return total


def reduce_add_coalesced(inputs: Sequence[Sequence[Tensor]], destination: Any = None,
                         buffer_size: int = 10485760) -> tuple[Tensor, ...]:
    """``reduce_add`` of several tensors: ``inputs`` has a list of them for each device."""
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def scatter(tensor: Tensor, devices: Sequence[Any] | None = None,
            chunk_sizes: Sequence[int] | None = None, dim: int = 0, streams: Any = None, *,
            out: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """Parts of a tensor, one on each device.

    Args:
        tensor: What is cut.
        devices: Where to.
        chunk_sizes: Sizes along ``dim``; about equal ones when left out.
        dim: The dimension that is cut.
        streams: Accepted for compatibility: copies run on the current stream.
        out: Tensors that are written to, which say the sizes.
    """
    if out is not None:
        sizes = [x.shape[dim] for x in out]
        for target, part in zip(out, tensor.split(sizes, dim), strict=True):
            target.copy_(part)
        return tuple(out)
    devices = list(devices or ())
    parts = tensor.chunk(len(devices), dim) if chunk_sizes is None \
        else tensor.split(list(chunk_sizes), dim)
    return tuple(part.to(_place(device))
                 for part, device in zip(parts, devices, strict=chunk_sizes is not None))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *,
           out: Tensor | None = None) -> Tensor:
    """Tensors of several devices, joined.

    Args:
        tensors: What is joined.
        dim: Along which dimension.
        destination: Where; the current GPU when left out, -1 for the CPU.
        out: A tensor that is written to.
    """
    if out is not None:
        return out.copy_(flambeau.cat([x.to(out.device) for x in tensors], dim))
    target = _place(runtime.current_index() if destination is None else destination)
    return flambeau.cat([x.to(target) for x in tensors], dim)
