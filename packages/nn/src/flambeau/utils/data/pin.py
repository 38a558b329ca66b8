"""Page-locked memory, from which copies to a device are fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau import Tensor
from flambeau.core import backends
from flambeau.core.compat.tensor_methods import pinned_copy


def pin_memory(batch: Any, device: str = "") -> Any:
    """A batch whose tensors lie in page-locked memory, where a device wants that.

    Without such a device tensors are returned as they are. Objects with a ``pin_memory()`` method
    of their own are asked for it.

    Args:
        batch: Tensors in dicts, lists and tuples, or an object with ``pin_memory()``.
        device: The device's type; ``"cuda"`` if it can be used when left out.

    Example:
        >>> from flambeau.utils.data.pin import pin_memory
        >>> pin_memory({"x": [1, 2]})
        {'x': [1, 2]}
    """
    return _pin(batch, _backend(device))


def _backend(device: str) -> Any:
    if device:
        return backends.adapter(device.partition(":")[0])
    try:
        return backends.adapter("cuda")
    except RuntimeError:
        return None


def _pin(batch: Any, backend: Any) -> Any:
    if isinstance(batch, Tensor):
        return _pin_tensor(batch, backend)
    if isinstance(batch, str | bytes):
        return batch
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, Mapping):
        return {key: _pin(value, backend) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[_pin(value, backend) for value in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([_pin(value, backend) for value in batch])
    return batch


def _pin_tensor(tensor: Tensor, backend: Any) -> Tensor:
    """A copy in memory that the backend has locked; the tensor itself if it locks none."""
    if backend is None or tensor.device.type != "cpu" or not tensor.numel():
        return tensor
    return pinned_copy(tensor, backend)
