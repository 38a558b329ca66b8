"""Operators along one dimension, whose results have rows along all others."""

from __future__ import annotations

from .._call import SUM, Call, R, Strategy, rule
from ..placement_types import Shard

_POSITION = {"_softmax": 1, "_log_softmax": 1, "softmax": 1, "log_softmax": 1, "softmax_grad": 2,
             "log_softmax_grad": 2, "cumsum": 1, "cumprod": 1, "sort": 1, "topk": 2, "flip": 1,
             "logcumsumexp": 1}


@rule(*_POSITION)
def rows(call: Call) -> list[Strategy]:
    """Rows along all other dimensions."""
    ndim = call.outs[0].ndim
    name = "dims" if call.name == "flip" else "dim"
    given = call.argument(_POSITION[call.name], name, -1)
    dims = {dim % ndim for dim in ([given] if isinstance(given, int) else given)} if ndim else set()
    return [Strategy((Shard(dim),) * len(call.outs), (Shard(dim),) * len(call.inputs))
            for dim in range(ndim) if dim not in dims]


@rule("cat")
def joined(call: Call) -> list[Strategy]:
    """Rows of joined tensors."""
    ndim, count = call.outs[0].ndim, len(call.inputs)
    along = call.argument(1, "dim", 0) % ndim
    if any(x.ndim != ndim for x in call.inputs):        # empty tensors of one dimension
        return []
    rows = [Strategy((Shard(dim),), (Shard(dim),) * count) for dim in range(ndim) if dim != along]
    return [*rows, Strategy((SUM,), (SUM,) * count)]


@rule("stack")
def stacked(call: Call) -> list[Strategy]:
    """Rows of stacked tensors."""
    ndim, count = call.outs[0].ndim, len(call.inputs)
    along = call.argument(1, "dim", 0) % ndim
    rows = [Strategy((Shard(dim + (dim >= along)),), (Shard(dim),) * count)
            for dim in range(ndim - 1)]
    return [*rows, Strategy((SUM,), (SUM,) * count)]


@rule("index_select")
def selected(call: Call) -> list[Strategy]:
    """Dimensions beside the one of the index."""
    ndim = call.outs[0].ndim
    along = call.args[1] % max(ndim, 1)
    return [Strategy((Shard(dim),), (Shard(dim), R)) for dim in range(ndim) if dim != along]
