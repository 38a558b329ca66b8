"""What combines the tensors of a group's processes, or copies one to all.

All processes of the group call the same function. Tensors may have gaps in memory or be on a
device: they are then copied to plain memory and back. A world of one process is a group as any
other, in which nothing is sent.
"""
from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import flambeau

from . import rings
from .groups import ProcessGroup, resolve
from .plain import Plain, flat, same_kind, stacked
from .reductions import ReduceOp, combiner
from .work import Work

Group = ProcessGroup | int | None


def _kind(op: ReduceOp, tensor: Any) -> str:
    """What processes have to agree in, besides the size."""
    return f"{op.name} {tensor.dtype}"


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Group = None,
               async_op: bool = False) -> Work | None:
    """Combine the tensors of all processes, and leave the result in each.

    Args:
        tensor: The tensor, of the same shape and dtype everywhere; it is changed.
        op: How they are combined.
        group: The processes; all by default.
        async_op: Return at once, and give a `Work` to wait for.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        TypeError: ``op`` is no operation.
        ValueError: The dtype has no such operation.
        RuntimeError: Another process has failed.

    Example:
        >>> import flambeau
        >>> from flambeau import distributed
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> x = flambeau.ones(2)
        >>> distributed.all_reduce(x)
        >>> x
        tensor([1., 1.])
        >>> distributed.destroy_process_group()
    """
    members = resolve(group)
    plain = Plain(tensor)
    combine = combiner(op, tensor.dtype)

    def call() -> None:
        rings.all_reduce(members.links, plain.flat, combine)
        if op is ReduceOp.AVG:
            plain.flat.div_(members.size())
        plain.write_back()

    return members.run("all_reduce", call, async_op, [tensor], _kind(op, tensor))


def all_reduce_coalesced(tensors: Sequence[Any], op: Any = ReduceOp.SUM, group: Group = None,
                         async_op: bool = False) -> Work | None:
    """Combine several tensors, each as `all_reduce` does.

    Args:
        tensors: The tensors.
        op: How they are combined.
        group: The processes; all by default.
        async_op: Return at once.
    """
    works = [all_reduce(tensor, op, group, async_op) for tensor in tensors]
    return works[-1] if works else None


def broadcast(tensor: Any, src: int | None = None, group: Group = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:
    """Copy the tensor of one process to all others.

    Args:
        tensor: The tensor, of the same shape and dtype everywhere.
        src: The process, by its number among all; 0 by default.
        group: The processes; all by default.
        async_op: Return at once.
        group_src: The process, by its number in the group.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: There is no such process.
    """
    members = resolve(group)
    root = members.named("broadcast", src, group_src)
    plain = Plain(tensor)

    def call() -> None:
        rings.broadcast(members.links, plain.flat, root)
        if root != members.rank():
            plain.write_back()

    return members.run("broadcast", call, async_op, [tensor], tensor.dtype)


def broadcast_coalesced(tensors: Sequence[Any], group: Group = None, group_src: int = 0) -> None:
    """Copy the tensors of one process to all others, those of a dtype and device together.

    Args:
        tensors: The tensors, of the same shapes and dtypes everywhere; without gradients.
        group: The processes; all by default.
        group_src: The process, by its number in the group.
    """
    kinds: dict[Any, list[Any]] = {}
    for tensor in tensors:
        kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor.detach())
    for alike in kinds.values():
        joined = flambeau.cat([each.reshape(-1) for each in alike])
        broadcast(joined, group=group, group_src=group_src)
        parts = flambeau.split(joined, [each.numel() for each in alike])
        for each, part in zip(alike, parts, strict=True):
            each.copy_(part.view(each.shape))


def reduce(tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Group = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Combine the tensors of all processes, and leave the result in one.

    Args:
        tensor: The tensor; that of ``dst`` is changed.
        dst: The process, by its number among all; 0 by default.
        op: How they are combined.
        group: The processes; all by default.
        async_op: Return at once.
        group_dst: The process, by its number in the group.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: There is no such process, or the dtype has no such operation.
    """
    members = resolve(group)
    root = members.named("reduce", dst, group_dst)
    plain = Plain(tensor, changed=root == members.rank())
    combine = combiner(op, tensor.dtype)

    def call() -> None:
        rings.reduce(members.links, plain.flat, combine, root)
        if op is ReduceOp.AVG:
            plain.flat.div_(members.size())
        if root == members.rank():
            plain.write_back()

    return members.run("reduce", call, async_op, [tensor], _kind(op, tensor))


def reduce_scatter(output: Any, input_list: Sequence[Any], op: Any = ReduceOp.SUM,
                   group: Group = None, async_op: bool = False) -> Work | None:
    """Combine lists of tensors of all processes, and leave one result in each process.

    Args:
        output: Where this process's result goes.
        input_list: A tensor for each process.
        op: How they are combined.
        group: The processes; all by default.
        async_op: Return at once.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: The list has another length, or the dtype has no such operation.
    """
    members = resolve(group)
    same_kind("reduce_scatter", input_list, members.size(), output)
    copies = [flat(each).clone() for each in input_list]
    return _reduce_scattered("reduce_scatter", output, copies, op, members, async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: Any = ReduceOp.SUM, group: Group = None,
                          async_op: bool = False) -> Work | None:
    """Combine the tensors of all processes, and leave a part of the result in each.

    Args:
        output: Where this process's part goes.
        input: As many elements as all parts have.
        op: How they are combined.
        group: The processes; all by default.
        async_op: Return at once.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: The input has more or fewer elements, or the dtype has no such operation.
    """
    members = resolve(group)
    parts = stacked("reduce_scatter_tensor", flat(input).clone(), members.size(), output)
    return _reduce_scattered("reduce_scatter_tensor", output, parts, op, members, async_op)


reduce_scatter_single = reduce_scatter_tensor


def _reduce_scattered(what: str, output: Any, parts: list[Any], op: Any, members: ProcessGroup,
                      async_op: bool) -> Work | None:
    combine = combiner(op, output.dtype)
    target = Plain(output)

    def call() -> None:
        rings.reduce_scatter(members.links, parts, combine)
        mine = parts[members.rank()]
        target.flat.copy_(mine.div_(members.size()) if op is ReduceOp.AVG else mine)
        target.write_back()

    return members.run(what, call, async_op, [output], _kind(op, output))


def barrier(group: Group = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes have come here.

    Args:
        group: The processes; all by default.
        async_op: Return at once.
        device_ids: Accepted for compatibility.

    Returns:
        A `Work` with ``async_op``, else None.
    """
    return all_reduce(flambeau.zeros(1, dtype=flambeau.uint8), group=group, async_op=async_op)


def monitored_barrier(group: Group = None, timeout: timedelta | None = None,
                      wait_all_ranks: bool = False) -> None:
    """Wait until all processes have come here, and say which have not.

    Args:
        group: The processes; all by default.
        timeout: How long to wait; the group's by default.
        wait_all_ranks: Name all that have not come, instead of the first.

    Raises:
        RuntimeError: Some did not come.
    """
    members = resolve(group)
    _barriers[members.group_name] = _barriers.get(members.group_name, 0) + 1
    at = f"barrier/{_barriers[members.group_name]}"
    members.store.set(f"{at}/{members.rank()}", "")
    wait = timeout or members.timeout
    missing: list[int] = []
    for rank in range(members.size()):
        try:
            members.store.wait([f"{at}/{rank}"], timedelta() if missing else wait)
        except RuntimeError:
            missing.append(members.ranks[rank])
            if not wait_all_ranks:
                break
    if missing:
        raise RuntimeError(f"monitored_barrier(): ranks {missing} have not come within {wait}")


_barriers: dict[str, int] = {}
