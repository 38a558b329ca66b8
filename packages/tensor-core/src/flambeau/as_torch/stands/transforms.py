"""What `torch.func` has, under the names that it had before."""
from __future__ import annotations

from typing import Any

from flambeau import rooms
from flambeau.core import Tensor, _core


def _as_tuple(val: Any) -> tuple[Any, ...]:
    """A tuple as it is, anything else as the only item of one."""
    return val if isinstance(val, tuple) else (val,)


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor is one sample of a batch, inside of `vmap`."""
    return bool(_core.level_of(tensor)) and bool(tensor.__dict__.get("_batched"))


def get_unwrapped(tensor: Tensor) -> Tensor:
    """What a tensor of a transform is outside of it: the whole batch, for one of `vmap`.

    Raises:
        RuntimeError: It is of no transform.
    """
    if not _core.level_of(tensor):
        raise RuntimeError("No wrappers present! The tensor is not one of a transform that runs")
    inner: Tensor = tensor.__dict__["_inner"]
    return inner


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(rooms.import_module(f"{rooms.PREFIX}func"), name)
