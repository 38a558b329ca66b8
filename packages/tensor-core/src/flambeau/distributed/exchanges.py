"""What copies different tensors between the processes of a group, which all call it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau

from . import rings
from .groups import ProcessGroup, resolve
from .plain import Plain, flat, same_kind, stacked
from .work import Work

Group = ProcessGroup | int | None


def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Group = None,
               async_op: bool = False) -> Work | None:
    """Copy the tensors of all processes to lists in each.

    Args:
        tensor_list: A tensor for each process, of its tensor's size.
        tensor: The tensor of this process.
        group: The processes; all by default.
        async_op: Return at once.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: The list has more or fewer tensors than there are processes.
    """
    members = resolve(group)
    same_kind("all_gather", tensor_list, members.size(), tensor)
    targets = [Plain(each) for each in tensor_list]

    def call() -> None:
        parts = [target.flat for target in targets]
        parts[members.rank()].copy_(flat(tensor))
        rings.all_gather(members.links, parts)
        for target in targets:
            target.write_back()

    return members.run("all_gather", call, async_op, [list(tensor_list)],
                       tensor.dtype)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Group = None,
                           async_op: bool = False) -> Work | None:
    """Copy the tensors of all processes into one, one after the other.

    Args:
        output_tensor: As many elements as all inputs have.
        input_tensor: The tensor of this process.
        group: The processes; all by default.
        async_op: Return at once.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: The output has more or fewer elements.
    """
    members = resolve(group)
    target = Plain(output_tensor)
    parts = stacked("all_gather_into_tensor", target.flat, members.size(), input_tensor)

    def call() -> None:
        parts[members.rank()].copy_(flat(input_tensor))
        rings.all_gather(members.links, parts)
        target.write_back()

    return members.run("all_gather_into_tensor", call, async_op, [output_tensor],
                       input_tensor.dtype)


all_gather_single = all_gather_into_tensor


def gather(tensor: Any, gather_list: Sequence[Any] | None = None, dst: int | None = None,
           group: Group = None, async_op: bool = False,
           group_dst: int | None = None) -> Work | None:
    """Copy the tensors of all processes to a list in one.

    Args:
        tensor: The tensor of this process.
        gather_list: In ``dst``, a tensor for each process.
        dst: The process, by its number among all; 0 by default.
        group: The processes; all by default.
        async_op: Return at once.
        group_dst: The process, by its number in the group.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: There is no such process, or the list is missing or has another length.
    """
    members = resolve(group)
    root = members.named("gather", dst, group_dst)
    if root != members.rank():
        if gather_list:
            raise ValueError("gather(): Argument gather_list must NOT be specified on "
                             "non-destination ranks.")
        gather_list = []
    else:
        same_kind("gather", gather_list, members.size(), tensor)
    targets = [Plain(each) for each in gather_list or ()]

    def call() -> None:
        parts = [target.flat for target in targets]
        rings.gather(members.links, flat(tensor), parts, root)
        for target in targets:
            target.write_back()

    return members.run("gather", call, async_op, [list(gather_list or ())], tensor.dtype)


def scatter(tensor: Any, scatter_list: Sequence[Any] | None = None, src: int | None = None,
            group: Group = None, async_op: bool = False,
            group_src: int | None = None) -> Work | None:
    """Copy the tensors of a list in one process to all, one to each.

    Args:
        tensor: Where this process's goes.
        scatter_list: In ``src``, a tensor for each process.
        src: The process, by its number among all; 0 by default.
        group: The processes; all by default.
        async_op: Return at once.
        group_src: The process, by its number in the group.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: There is no such process, or the list is missing or has another length.
    """
    members = resolve(group)
    root = members.named("scatter", src, group_src)
    if root == members.rank():
        same_kind("scatter", scatter_list, members.size(), tensor)
    elif scatter_list:
        raise ValueError("scatter(): Argument scatter_list must NOT be specified on non-source "
                         "ranks.")
    target = Plain(tensor)

    def call() -> None:
        parts = [flat(each) for each in scatter_list or ()]
        rings.scatter(members.links, target.flat, parts, root)
        target.write_back()

    return members.run("scatter", call, async_op, [tensor], tensor.dtype)


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any],
               group: Group = None, async_op: bool = False) -> Work | None:
    """Send a tensor to each process, and receive one of each.

    Args:
        output_tensor_list: Where the tensors go that come, by their senders.
        input_tensor_list: The tensors that are sent, by their receivers.
        group: The processes; all by default.
        async_op: Return at once.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: A list has more or fewer tensors than there are processes.
    """
    members = resolve(group)
    for each in (output_tensor_list, input_tensor_list):
        same_kind("all_to_all", each, members.size())
    targets = [Plain(each) for each in output_tensor_list]
    sent = [flat(each) for each in input_tensor_list]
    return _exchanged("all_to_all", sent, [each.flat for each in targets], targets, members,
                      async_op, [list(output_tensor_list)])


def all_to_all_single(output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
                      input_split_sizes: Sequence[int] | None = None, group: Group = None,
                      async_op: bool = False) -> Work | None:
    """Send rows of a tensor to each process, and receive rows of each.

    Args:
        output: Where the rows go that come, by their senders.
        input: The rows that are sent, by their receivers.
        output_split_sizes: How many rows come from each process; as many by default.
        input_split_sizes: How many rows go to each process; as many by default.
        group: The processes; all by default.
        async_op: Return at once.

    Returns:
        A `Work` with ``async_op``, else None.

    Raises:
        ValueError: The sizes do not sum to the rows, or the rows cannot be divided.
    """
    members = resolve(group)
    target = Plain(output)
    come = _rows("output", target.flat.view(output.shape), output_split_sizes, members.size())
    sent = _rows("input", flat(input).view(input.shape), input_split_sizes, members.size())
    return _exchanged("all_to_all_single", sent, come, [target], members, async_op, [output])


def _rows(what: str, x: Any, sizes: Sequence[int] | None, count: int) -> list[Any]:
    """The rows of each process, as flat tensors over the same memory."""
    rows = x.shape[0]
    if not sizes:
        if rows % count:
            raise ValueError(f"all_to_all_single(): {rows} rows of {what} cannot be divided among "
                             f"{count} processes; give {what}_split_sizes")
        sizes = [rows // count] * count
    if len(sizes) != count or sum(sizes) != rows:
        raise ValueError(f"all_to_all_single(): {what}_split_sizes {list(sizes)} do not divide "
                         f"{rows} rows among {count} processes")
    return [part.reshape(-1) for part in flambeau.split(x, list(sizes))]


def _exchanged(what: str, sent: Sequence[Any], come: Sequence[Any], targets: Sequence[Plain],
               members: ProcessGroup, async_op: bool, result: Any) -> Work | None:
    def call() -> None:
        rings.all_to_all(members.links, sent, come)
        for target in targets:
            target.write_back()

    return members.run(what, call, async_op, result, sent[0].dtype)
