"""Products of matrices."""

from __future__ import annotations

from typing import Any

from .._call import SUM, Call, R, Strategy, rule
from ..placement_types import Placement, Shard
from .pointwise import aligned


def _product(a: Any, b: Any, ndim: int) -> list[tuple[Placement, Placement, Placement]]:
    """How a product, and its factors, may be shared."""
    found: list[tuple[Placement, Placement, Placement]] = []
    rows, columns = a.ndim > 1, b.ndim > 1
    inner = Shard(b.ndim - 2 if columns else 0)
    found.append((SUM, Shard(a.ndim - 1), inner))
    if rows:
        found.append((Shard(ndim - 1 - columns), Shard(a.ndim - 2), R))
    if columns:
        found.append((Shard(ndim - 1), R, Shard(b.ndim - 1)))
    found += [(SUM, SUM, R), (SUM, R, SUM)]
    for dim in range(ndim - rows - columns):
        batches = ndim - rows - columns
        found.append((Shard(dim), _batch(a, batches, dim), _batch(b, batches, dim)))
    return found


def _batch(x: Any, batches: int, dim: int) -> Placement:
    own = dim - (batches - max(x.ndim - 2, 0))
    return R if own < 0 or x.shape[own] == 1 else Shard(own)


@rule("mm", "bmm", "mv", "dot", "matmul")
def products(call: Call) -> list[Strategy]:
    """Rows, columns, and summands of products."""
    a, b = call.inputs
    return [Strategy((out,), (x, y)) for out, x, y in _product(a, b, call.outs[0].ndim)]


@rule("addmm", "addmv", "baddbmm")
def added(call: Call) -> list[Strategy]:
    """Products to which a tensor is added."""
    bias, a, b = call.inputs
    shape = call.outs[0].shape
    found = []
    for out, x, y in _product(a, b, len(shape)):
        added = aligned(bias, shape, out.dim) if isinstance(out, Shard) else SUM
        found.append(Strategy((out,), (added, x, y)))
    return found
