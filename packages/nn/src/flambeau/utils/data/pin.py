"""Page-locked memory, from which a device copies while the program goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau import Tensor


def pin_memory(batch: Any) -> Any:
    """A batch whose tensors lie in page-locked memory, where a device needs that.

    Memory of the CPU alone is never locked, and then tensors are returned as they are. Objects
    with a ``pin_memory()`` method of their own are asked for it.

    Args:
        batch: Tensors in dicts, lists and tuples, or an object with ``pin_memory()``.

    Example:
        >>> from flambeau.utils.data.pin import pin_memory
        >>> pin_memory({"x": [1, 2]})
        {'x': [1, 2]}
    """
    if isinstance(batch, str | bytes):
        return batch
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, Tensor):
        return batch
    if isinstance(batch, Mapping):
        return {key: pin_memory(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(pin_memory, batch))
    if isinstance(batch, list | tuple):
        return type(batch)(map(pin_memory, batch))
    return batch
