"""Batches cut into one part for each device, and parts of results joined again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flambeau

__all__ = ["gather", "scatter", "scatter_kwargs"]


def device_of(device: Any) -> Any:
    """A device, of which GPUs may be given by number."""
    return flambeau.device("cuda", device) if isinstance(device, int) else flambeau.device(device)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Cut the tensors in a structure into parts, one structure for each device.

    Args:
        inputs: A tensor, or tuples, lists and dicts of tensors; what else is in them is repeated.
        target_gpus: The devices, ``"cpu"`` too, or numbers of GPUs.
        dim: The dimension that is cut.

    Returns:
        As many structures as devices, fewer where a tensor has fewer rows.

    Example:
        >>> import flambeau
        >>> from flambeau.nn.parallel import scatter
        >>> scatter({"x": flambeau.arange(3), "flag": True}, ["cpu", "cpu"])
        [{'x': tensor([0, 1]), 'flag': True}, {'x': tensor([2]), 'flag': True}]
    """
    devices = [device_of(each) for each in target_gpus]

    def cut(value: Any) -> list[Any]:
        if isinstance(value, flambeau.Tensor):
            parts = value.chunk(len(devices), dim)
            return [part.to(device) for part, device in zip(parts, devices, strict=False)]
        if isinstance(value, tuple | list) and value:
            rows = zip(*map(cut, value), strict=False)
            return [_alike(value, row) for row in rows]
        if isinstance(value, Mapping) and value:
            rows = zip(*map(cut, value.items()), strict=False)
            return [type(value)(row) for row in rows]  # type: ignore[call-arg]
        return [value for _ in devices]

    return cut(inputs)


def scatter_kwargs(
    inputs: Any, kwargs: Mapping[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Cut positional and keyword arguments into parts for devices.

    Args:
        inputs: Positional arguments.
        kwargs: Keyword arguments.
        target_gpus: As in `scatter`.
        dim: The dimension that is cut.

    Returns:
        Positional arguments for each device, and keyword arguments for each.
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    positional += [() for _ in range(count - len(positional))]
    named += [{} for _ in range(count - len(named))]
    return tuple(positional), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join what several devices gave.

    Args:
        outputs: Structures of the same form, with tensors in them.
        target_device: Where the results are to be, a device or the number of a GPU.
        dim: The dimension along which tensors are joined; those without one become a vector.

    Returns:
        A structure of the same form.

    Raises:
        ValueError: Dicts have different keys.

    Example:
        >>> import flambeau
        >>> from flambeau.nn.parallel import gather
        >>> gather([flambeau.zeros(1), flambeau.ones(2)], "cpu")
        tensor([0., 1., 1.])
    """
    device = flambeau.device("cpu") if target_device == -1 else device_of(target_device)

    def join(parts: Sequence[Any]) -> Any:
        first = parts[0]
        if isinstance(first, flambeau.Tensor):
            return _joined([part.to(device) for part in parts], dim)
        if first is None:
            return None
        if isinstance(first, Mapping):
            if any(part.keys() != first.keys() for part in parts):
                raise ValueError("All dicts must have the same number of keys")
            items = ((key, join([part[key] for part in parts])) for key in first)
            return type(first)(items)  # type: ignore[call-arg]
        return _alike(first, tuple(map(join, zip(*parts, strict=True))))

    return join(outputs)


def _joined(parts: list[Any], dim: int) -> Any:
    if parts[0].ndim == 0 and dim == 0:
        warnings.warn(
            "Was asked to gather along dimension 0, but all input tensors were scalars; will "
            "instead unsqueeze and return a vector.",
            stacklevel=4,
        )
        return flambeau.stack(parts)
    return flambeau.cat(parts, dim)


def _alike(model: Any, values: Sequence[Any]) -> Any:
    """Values as a tuple, named tuple or list like the model."""
    make: Callable[..., Any] = type(model)
    return make(*values) if hasattr(model, "_fields") else make(values)
