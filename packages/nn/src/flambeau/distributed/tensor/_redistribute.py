"""Tensors that processes share in one way, shared in another.

Dimensions of the mesh are taken one after the other: what is cut or partial is joined from the
last to the first, then cut from the first to the last, since a dimension of the tensor that is cut
along several dimensions of the mesh is cut along the first one first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import distributed
from flambeau.distributed import ReduceOp

from .placement_types import NormPartial, Partial, Placement, Replicate, Shard

_OPS = {
    "sum": ReduceOp.SUM,
    "avg": ReduceOp.AVG,
    "max": ReduceOp.MAX,
    "min": ReduceOp.MIN,
    "product": ReduceOp.PRODUCT,
}


def redistribute(
    local: Any, shape: Sequence[int], mesh: Any, now: Sequence[Placement],
    target: Sequence[Placement],
) -> Any:
    """This process's part of a tensor that is to be shared in another way.

    Args:
        local: Its part now.
        shape: The tensor's shape.
        mesh: The processes; all call it.
        now: How they share it now.
        target: How they are to share it.
    """
    if mesh.get_coordinate() is None or tuple(now) == tuple(target):
        return local
    changing = _changing(now, target)
    current = list(now)
    for i in reversed(range(mesh.ndim)):
        if not changing[i] or current[i].is_replicate():
            continue
        step = _direct(current, target, changing, i)
        local = _moved(local, shape, mesh, i, current, step)
        current[i] = step
    for i in range(mesh.ndim):
        if current[i] != target[i]:
            local = _moved(local, shape, mesh, i, current, target[i])
            current[i] = target[i]
    return local


def _changing(now: Sequence[Placement], target: Sequence[Placement]) -> list[bool]:
    """Along which dimensions of the mesh something changes, nested cuts among them."""
    changing = [a != b for a, b in zip(now, target, strict=True)]
    for i, first in enumerate(changing):
        dims = {each.dim for each in (now[i], target[i]) if isinstance(each, Shard)}
        for j in range(i + 1, len(changing)) if first else ():
            if any(isinstance(p, Shard) and p.dim in dims for p in (now[j], target[j])):
                changing[j] = True
    return changing


def _direct(
    current: Sequence[Placement], target: Sequence[Placement], changing: Sequence[bool], i: int
) -> Placement:
    """What one exchange along a dimension makes: the target, where other cuts do not matter."""
    wanted = target[i]
    if not isinstance(wanted, Shard):
        return wanted if not isinstance(wanted, Partial) else Replicate()
    others = [p for j in range(len(current)) if j != i for p in (current[j], target[j])]
    dims = {p.dim for p in (wanted, current[i]) if isinstance(p, Shard)}
    nested = any(isinstance(p, Shard) and p.dim in dims for p in others)
    return Replicate() if nested else wanted


def _moved(
    local: Any, shape: Sequence[int], mesh: Any, i: int, current: Sequence[Placement],
    target: Placement,
) -> Any:
    """One exchange along dimension ``i`` of the mesh."""
    now, group = current[i], mesh.get_group(i)
    rank, count = mesh.get_local_rank(i), mesh.size(i)
    if now == target or count == 1 and not now.is_partial():
        return local
    if isinstance(now, Partial):
        if isinstance(target, Shard) and now.reduce_op in _OPS:
            return _reduce_scattered(local, now, target.dim, group)
        local = _reduced(local, now, group)
        now = Replicate()
    if isinstance(now, Shard):
        size = _outer_size(shape, mesh, current, i, now.dim)
        if isinstance(target, Shard):
            return _exchanged(local, now.dim, target.dim, size, group, rank)
        local = gathered(local, now.dim, size, group)
    if isinstance(target, Shard):
        first, most = _bounds(local.shape[target.dim], count, rank)
        return local.narrow(target.dim, first, most).contiguous()
    if isinstance(target, Partial):
        return _divided(local, target, rank, count)
    return local


def _outer_size(
    shape: Sequence[int], mesh: Any, current: Sequence[Placement], i: int, dim: int
) -> int:
    """The size along a dimension before it was cut along dimension ``i`` of the mesh."""
    size = shape[dim]
    where = mesh.get_coordinate()
    for j in range(i):
        if current[j].is_shard(dim):
            size = Shard.local_shard_size_and_offset(size, mesh.size(j), where[j])[0]
    return size


def _bounds(size: int, count: int, rank: int) -> tuple[int, int]:
    rows, first = Shard.local_shard_size_and_offset(size, count, rank)
    return first, rows


def gathered(local: Any, dim: int, size: int, group: Any) -> Any:
    """All processes' parts along a dimension, joined.

    Args:
        local: This process's part.
        dim: The dimension.
        size: The size of all along it.
        group: The processes.
    """
    count = group.size()
    most = -(-size // count)
    padded = _padded(local, dim, most).movedim(dim, 0).contiguous()
    rows = padded.new_empty((count * most, *padded.shape[1:]))
    distributed.all_gather_into_tensor(rows, padded, group)
    # What is padded is behind all rows: those that have fewer come last.
    return rows[:size].movedim(0, dim).contiguous()


def _padded(local: Any, dim: int, rows: int) -> Any:
    missing = rows - local.shape[dim]
    if missing == 0:
        return local
    shape = [*local.shape[:dim], missing, *local.shape[dim + 1 :]]
    return flambeau.cat([local, local.new_zeros(shape)], dim)


def _reduce_scattered(local: Any, now: Partial, dim: int, group: Any) -> Any:
    count, rank, size = group.size(), group.rank(), local.shape[dim]
    most = -(-size // count)
    rows = _padded(local, dim, most * count).movedim(dim, 0).contiguous()
    mine = rows.new_empty((most, *rows.shape[1:]))
    distributed.reduce_scatter_tensor(mine, rows, _OPS[now.reduce_op], group)
    return mine[: _bounds(size, count, rank)[1]].movedim(0, dim).contiguous()


def _reduced(local: Any, now: Partial, group: Any) -> Any:
    order = now.order if isinstance(now, NormPartial) else None
    if order is None:
        total = local.clone(memory_format=flambeau.contiguous_format)
        distributed.all_reduce(total, _OPS[now.reduce_op], group)
        return total
    if order == float("inf"):
        total = local.clone()
        distributed.all_reduce(total, ReduceOp.MAX, group)
        return total
    total = local.pow(order)
    distributed.all_reduce(total, group=group)
    return total.pow(1 / order)


def _exchanged(local: Any, now: int, target: int, size: int, group: Any, rank: int) -> Any:
    """Rows along one dimension for rows along another."""
    count = group.size()
    there = [_bounds(local.shape[target], count, r) for r in range(count)]
    sent = [local.narrow(target, first, rows).reshape(-1) for first, rows in there]
    mine = list(local.shape)
    mine[target] = there[rank][1]
    shapes = [[*mine[:now], _bounds(size, count, r)[1], *mine[now + 1 :]] for r in range(count)]
    come = [flambeau.Size(each).numel() for each in shapes]
    rows = local.new_empty(sum(come))
    distributed.all_to_all_single(rows, flambeau.cat(sent), come, [s.numel() for s in sent], group)
    parts = zip(rows.split(come), shapes, strict=True)
    return flambeau.cat([each.view(shape) for each, shape in parts], now)


def _divided(local: Any, target: Partial, rank: int, count: int) -> Any:
    """A tensor as something that all processes make together."""
    if target.reduce_op in ("avg", "max", "min"):
        return local
    if target.reduce_op == "sum":
        return local if rank == 0 else flambeau.zeros_like(local)
    if target.reduce_op == "product":
        return local if rank == 0 else flambeau.ones_like(local)
    raise ValueError(f"redistribute(): nothing can be made {target!r}")
