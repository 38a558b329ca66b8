"""Collectives that give new tensors, through which gradients go back to the processes.

What a process's tensor adds to the losses of all processes is its gradient: each backward pass is
the collective that sends things the other way. All processes call both, in the same order.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import distributed, rooms
from flambeau.distributed.reductions import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather",
           "reduce", "reduce_scatter", "scatter"]

Function: Any = rooms.enter("autograd").Function


def _expect_sum(what: str, op: Any) -> None:
    if op is not ReduceOp.SUM:
        raise NotImplementedError(f"{what}(): gradients of {op} are not made; use ReduceOp.SUM")


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, group: Any) -> Any:
        ctx.group = group
        total = x.clone()
        distributed.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _AllReduce.apply(grad.contiguous(), ctx.group), None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, group: Any) -> Any:
        ctx.group = group
        rows = x.new_empty((distributed.get_world_size(group), *x.shape))
        distributed.all_gather_into_tensor(rows, x.contiguous(), group)
        return rows

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _ReduceScatter.apply(grad.contiguous(), ctx.group), None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, rows: Any, group: Any) -> Any:
        ctx.group = group
        mine = rows.new_empty(rows.shape[1:])
        distributed.reduce_scatter_tensor(mine, rows.contiguous(), group=group)
        return mine

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _AllGather.apply(grad.contiguous(), ctx.group), None


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, src: int, group: Any) -> Any:
        ctx.src, ctx.group = src, group
        shared = x.clone()
        distributed.broadcast(shared, src, group)
        return shared

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _Reduce.apply(grad.contiguous(), ctx.src, ctx.group), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, dst: int, group: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        total = x.clone()
        distributed.reduce(total, dst, group=group)
        return total if distributed.get_rank() == dst else flambeau.zeros_like(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _Broadcast.apply(grad.contiguous(), ctx.dst, ctx.group), None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, sizes: tuple[Any, Any], group: Any) -> Any:
        ctx.sizes, ctx.group = sizes, group
        come, sent = sizes
        rows = x.shape[0] if come is None else sum(come)
        target = x.new_empty((rows, *x.shape[1:]))
        distributed.all_to_all_single(target, x.contiguous(), come, sent, group)
        return target

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        come, sent = ctx.sizes
        return _AllToAll.apply(grad.contiguous(), (sent, come), ctx.group), None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, dst: int, group: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        rows = x.new_zeros((distributed.get_world_size(group), *x.shape))
        targets = list(rows) if distributed.get_rank() == dst else None
        distributed.gather(x.contiguous(), targets, dst, group)
        return rows

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _Scatter.apply(grad.contiguous(), ctx.dst, ctx.group), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, rows: Any, src: int, group: Any) -> Any:
        ctx.src, ctx.group = src, group
        mine = rows.new_empty(rows.shape[1:])
        sources = list(rows.contiguous()) if distributed.get_rank() == src else None
        distributed.scatter(mine, sources, src, group)
        return mine

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _Gather.apply(grad.contiguous(), ctx.src, ctx.group), None, None


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum of the tensors of all processes, in each.

    Args:
        tensor: The tensor, of the same shape everywhere; it is not changed.
        op: ``ReduceOp.SUM``.
        group: The processes; all by default.

    Returns:
        A tensor of the same shape.

    Raises:
        NotImplementedError: Another ``op``.
    """
    _expect_sum("all_reduce", op)
    return _AllReduce.apply(tensor, group)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, in each.

    Args:
        tensor: The tensor, of the same shape everywhere.
        group: The processes; all by default.

    Returns:
        A tensor of each process.
    """
    return tuple(_AllGather.apply(tensor, group))


def reduce_scatter(output: Any, input_list: Sequence[Any], op: Any = ReduceOp.SUM,
                   group: Any = None) -> Any:
    """The sum of all processes' tensors for this process.

    Args:
        output: A tensor of the result's shape, which is not written to.
        input_list: A tensor for each process.
        op: ``ReduceOp.SUM``.
        group: The processes; all by default.

    Returns:
        A tensor of the shape of those in the list.

    Raises:
        NotImplementedError: Another ``op``.
    """
    _expect_sum("reduce_scatter", op)
    return _ReduceScatter.apply(flambeau.stack(list(input_list)), group)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of one process, in each.

    Args:
        tensor: The tensor, of the same shape everywhere; it is not changed.
        src: The process, by its number among all.
        group: The processes; all by default.

    Returns:
        A tensor of the same shape.
    """
    return _Broadcast.apply(tensor, src, group)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum of the tensors of all processes, in one; zeros in the others.

    Args:
        tensor: The tensor, of the same shape everywhere; it is not changed.
        dst: The process, by its number among all.
        op: ``ReduceOp.SUM``.
        group: The processes; all by default.

    Returns:
        A tensor of the same shape.

    Raises:
        NotImplementedError: Another ``op``.
    """
    _expect_sum("reduce", op)
    return _Reduce.apply(tensor, dst, group)


def all_to_all_single(output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
                      input_split_sizes: Sequence[int] | None = None, group: Any = None) -> Any:
    """The rows that all processes have for this one.

    Args:
        output: A tensor of the result's shape, which is not written to.
        input: Rows for each process.
        output_split_sizes: How many rows come from each process; as many by default.
        input_split_sizes: How many rows go to each process; as many by default.
        group: The processes; all by default.

    Returns:
        The rows, by their senders.
    """
    sizes = tuple(each and list(each) for each in (output_split_sizes, input_split_sizes))
    return _AllToAll.apply(input, sizes, group)


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any],
               group: Any = None) -> tuple[Any, ...]:
    """The tensors that all processes have for this one.

    Args:
        output_tensor_list: Tensors of the results' shapes, which are not written to.
        input_tensor_list: A tensor for each process.
        group: The processes; all by default.

    Returns:
        A tensor from each process.
    """
    come = [each.numel() for each in output_tensor_list]
    sent = [each.numel() for each in input_tensor_list]
    joined = flambeau.cat([each.reshape(-1) for each in input_tensor_list])
    parts = _AllToAll.apply(joined, (come, sent), group).split(come)
    return tuple(part.view(model.shape)
                 for part, model in zip(parts, output_tensor_list, strict=True))


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, in one; zeros in the others.

    Args:
        tensor: The tensor, of the same shape everywhere.
        dst: The process, by its number among all.
        group: The processes; all by default.

    Returns:
        A tensor of each process.
    """
    return tuple(_Gather.apply(tensor, dst, group))


def scatter(tensors: Sequence[Any], src: int = 0, group: Any = None) -> Any:
    """The tensor that one process has for this one.

    Args:
        tensors: A tensor for each process, of one shape; their values count in ``src`` alone.
        src: The process, by its number among all.
        group: The processes; all by default.

    Returns:
        A tensor of that shape.
    """
    return _Scatter.apply(flambeau.stack(list(tensors)), src, group)
