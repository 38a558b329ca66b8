"""New tensors like others."""

from __future__ import annotations

from .._call import SIZED, Call, R, Strategy, rule
from ..placement_types import Shard

SIZED.update({"new_zeros": 1, "new_ones": 1, "new_empty": 1, "new_full": 1, "new_empty_strided": 1})


@rule("zeros_like", "ones_like", "empty_like", "full_like")
def like(call: Call) -> list[Strategy]:
    """New tensors are cut as those they are like."""
    x = call.inputs[0]
    rows = [Strategy((Shard(dim),), (Shard(dim),)) for dim in range(x.ndim)]
    now = {p for p in x._spec.placements if p.is_partial()}
    return [*rows, *(Strategy((R,), (p,)) for p in now)]


@rule("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
def new(call: Call) -> list[Strategy]:
    """Each process has all of a new tensor."""
    return [Strategy((R,), (p,)) for p in set(call.inputs[0]._spec.placements)]
