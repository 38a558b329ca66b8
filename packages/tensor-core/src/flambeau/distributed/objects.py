"""What moves Python objects between the processes of a group.

Objects are pickled, as they are for any process of a program: processes trust each other.
"""
from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import flambeau

from . import collectives, exchanges, messages
from .groups import resolve


def _packed(obj: Any) -> Any:
    return flambeau.frombuffer(bytearray(pickle.dumps(obj)), dtype=flambeau.uint8)


def _unpacked(content: Any) -> Any:
    return pickle.loads(content.numpy().tobytes())


def _sizes(content: Any, group: Any) -> list[int]:
    """How many bytes the object of each process has."""
    sizes = flambeau.zeros(resolve(group).size(), dtype=flambeau.int64)
    exchanges.all_gather_into_tensor(sizes, flambeau.tensor([content.numel()]), group)
    return [int(size) for size in sizes.tolist()]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the objects of all processes into lists in each.

    Args:
        object_list: An element for each process.
        obj: The object of this process.
        group: The processes; all by default.
    """
    content = _packed(obj)
    sizes = _sizes(content, group)
    largest = max(sizes)
    padded = flambeau.zeros(largest, dtype=flambeau.uint8)
    padded[:content.numel()] = content
    every = flambeau.zeros(len(sizes), largest, dtype=flambeau.uint8)
    exchanges.all_gather_into_tensor(every, padded, group)
    for rank, size in enumerate(sizes):
        object_list[rank] = _unpacked(every[rank, :size])


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
                  group: Any = None, group_dst: int | None = None) -> None:
    """Put the objects of all processes into a list in one.

    Args:
        obj: The object of this process.
        object_gather_list: In ``dst``, an element for each process.
        dst: The process, by its number among all; 0 by default.
        group: The processes; all by default.
        group_dst: The process, by its number in the group.

    Raises:
        ValueError: There is no such process.
    """
    members = resolve(group)
    root = members.named("gather_object", dst, group_dst)
    every: list[Any] = [None] * members.size()
    all_gather_object(every, obj, group)
    if members.rank() == root:
        if object_gather_list is None:
            raise ValueError("gather_object(): object_gather_list is needed in the process that "
                             "gathers")
        object_gather_list[:] = every


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Any = None,
                          device: Any = None, group_src: int | None = None) -> None:
    """Put the objects of a list in one process into the lists of all others.

    Args:
        object_list: The objects; a list of the same length everywhere.
        src: The process, by its number among all; 0 by default.
        group: The processes; all by default.
        device: Accepted for compatibility.
        group_src: The process, by its number in the group.

    Raises:
        ValueError: There is no such process.
    """
    members = resolve(group)
    root = members.named("broadcast_object_list", src, group_src)
    content = _packed(list(object_list))
    size = flambeau.tensor([content.numel()])
    collectives.broadcast(size, group=group, group_src=root)
    if members.rank() != root:
        content = flambeau.zeros(int(size.item()), dtype=flambeau.uint8)
    collectives.broadcast(content, group=group, group_src=root)
    if members.rank() != root:
        object_list[:] = _unpacked(content)


def scatter_object_list(scatter_object_output_list: list[Any],
                        scatter_object_input_list: Sequence[Any] | None = None,
                        src: int | None = None, group: Any = None,
                        group_src: int | None = None) -> None:
    """Put one object of a list in one process into the first element of a list in each.

    Args:
        scatter_object_output_list: Where the object goes.
        scatter_object_input_list: In ``src``, an object for each process.
        src: The process, by its number among all; 0 by default.
        group: The processes; all by default.
        group_src: The process, by its number in the group.

    Raises:
        ValueError: There is no such process, or the list has another length.
    """
    members = resolve(group)
    root = members.named("scatter_object_list", src, group_src)
    every = list(scatter_object_input_list or ())
    if members.rank() == root and len(every) != members.size():
        raise ValueError(f"scatter_object_list(): {len(every)} objects for {members.size()} "
                         "processes")
    every = every or [None] * members.size()
    broadcast_object_list(every, group=group, group_src=root)
    scatter_object_output_list[0] = every[members.rank()]


def send_object_list(object_list: Sequence[Any], dst: int | None = None, group: Any = None,
                     device: Any = None, group_dst: int | None = None,
                     use_batch: bool = False) -> None:
    """Send objects to a process, which calls `recv_object_list`.

    Args:
        object_list: The objects.
        dst: The process, by its number among all.
        group: The group; all by default.
        device: Accepted for compatibility.
        group_dst: The process, by its number in the group.
        use_batch: Accepted for compatibility.
    """
    content = _packed(list(object_list))
    messages.send(flambeau.tensor([content.numel()]), dst, group, group_dst=group_dst)
    messages.send(content, dst, group, group_dst=group_dst)


def recv_object_list(object_list: list[Any], src: int | None = None, group: Any = None,
                     device: Any = None, group_src: int | None = None,
                     use_batch: bool = False) -> int:
    """Wait for objects of a process, which calls `send_object_list`.

    Args:
        object_list: Where they go.
        src: The process, by its number among all; any by default.
        group: The group; all by default.
        device: Accepted for compatibility.
        group_src: The process, by its number in the group.
        use_batch: Accepted for compatibility.

    Returns:
        The number of the process among all.
    """
    size = flambeau.zeros(1, dtype=flambeau.int64)
    sender = messages.recv(size, src, group, group_src=group_src)
    content = flambeau.zeros(int(size.item()), dtype=flambeau.uint8)
    messages.recv(content, sender, group)
    object_list[:] = _unpacked(content)
    return sender
