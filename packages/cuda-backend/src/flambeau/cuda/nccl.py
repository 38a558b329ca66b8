"""NCCL, which is not used: devices of a process copy among themselves (``cuda.comm``)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]

SUM = 0


def is_available(tensors: Sequence[Any]) -> bool:
    """Whether NCCL can be used with these tensors: never.

    Example:
        >>> from flambeau.cuda import nccl
        >>> nccl.is_available([])
        False
    """
    return False


def _refusing(name: str, instead: str) -> Callable[..., Any]:
    def refuse(*args: Any, **options: Any) -> Any:
        raise NotImplementedError(f"cuda.nccl.{name}(): NCCL is not used; {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not supported: {instead}."
    return refuse


version = _refusing("version", "ask is_available([]) first")
unique_id = _refusing("unique_id", "processes do not share GPUs here")
init_rank = _refusing("init_rank", "processes do not share GPUs here")
all_reduce = _refusing("all_reduce", "call cuda.comm.reduce_add() and cuda.comm.broadcast()")
reduce = _refusing("reduce", "call cuda.comm.reduce_add()")
broadcast = _refusing("broadcast", "call cuda.comm.broadcast()")
all_gather = _refusing("all_gather", "call cuda.comm.gather() and cuda.comm.broadcast()")
reduce_scatter = _refusing("reduce_scatter",
                           "call cuda.comm.reduce_add() and cuda.comm.scatter()")
