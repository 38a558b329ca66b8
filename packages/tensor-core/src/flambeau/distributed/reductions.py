"""How values of several processes become one."""
from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import flambeau


class ReduceOp(Enum):
    """How values of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


#: What PyTorch calls the type of the members.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]

#: Changes the first tensor, which has the values so far.
_COMBINE: dict[ReduceOp, Callable[[Any, Any], Any]] = {
    ReduceOp.SUM: lambda x, y: x.add_(y),
    ReduceOp.AVG: lambda x, y: x.add_(y),
    ReduceOp.PRODUCT: lambda x, y: x.mul_(y),
    ReduceOp.MIN: lambda x, y: flambeau.minimum(x, y, out=x),
    ReduceOp.MAX: lambda x, y: flambeau.maximum(x, y, out=x),
    ReduceOp.BAND: lambda x, y: x.bitwise_and_(y),
    ReduceOp.BOR: lambda x, y: x.bitwise_or_(y),
    ReduceOp.BXOR: lambda x, y: x.bitwise_xor_(y),
}


def combiner(op: Any, dtype: Any) -> Callable[[Any, Any], Any]:
    """What adds a process's values to those so far.

    Raises:
        TypeError: Not an operation.
        ValueError: The dtype has no such operation.
    """
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be one of flambeau.distributed.ReduceOp, such as ReduceOp.SUM, "
                        f"not {op!r}")
    inexact = dtype.is_floating_point or dtype.is_complex
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and inexact:
        raise ValueError(f"ReduceOp.{op.name} is for integers and bools, not for {dtype}")
    if op in (ReduceOp.MIN, ReduceOp.MAX) and dtype.is_complex:
        raise ValueError(f"ReduceOp.{op.name}: complex numbers have no order")
    if op is ReduceOp.AVG and not inexact:
        raise ValueError(f"ReduceOp.AVG: means of {dtype} are no {dtype}; use ReduceOp.SUM and "
                         "divide the sum")
    return _COMBINE[op]
