"""What a group does with flat tensors in CPU memory.

Small tensors go up and down a tree, in about two times log2(n) steps; large ones around a ring
(P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms", 2009), in which each process
sends and receives about twice the tensor, however many they are. All processes have the same bits
afterwards: each sum is made once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flambeau

from .links import Links

TREE_BYTES = 32768                 # up to which latency counts more than bandwidth
Combine = Callable[[Any, Any], Any]


def bytes_of(flat: Any) -> memoryview:
    """The memory of a contiguous tensor with one dimension."""
    if not flat.numel():
        return memoryview(b"")
    return memoryview(flat.view(flambeau.uint8).numpy()).cast("B")


def all_reduce(links: Links, flat: Any, combine: Combine) -> None:
    """Leave the combination of all processes' tensors in each."""
    if flat.numel() * flat.element_size() <= TREE_BYTES or flat.numel() < links.size:
        reduce(links, flat, combine, 0)
        broadcast(links, flat, 0)
        return
    parts = _parts(flat, links.size)
    _combine_parts(links, parts, combine, links.me)
    _pass_parts(links, parts, links.me + 1)


def reduce(links: Links, flat: Any, combine: Combine, root: int) -> None:
    """Leave the combination of all processes' tensors in that of the root."""
    me = (links.me - root) % links.size
    come = flambeau.empty_like(flat)
    step = 1
    while step < links.size:
        if me & step:
            links.send((me - step + root) % links.size, bytes_of(flat))
            return
        if me + step < links.size:
            links.receive((me + step + root) % links.size, bytes_of(come))
            combine(flat, come)
        step *= 2


def broadcast(links: Links, flat: Any, root: int) -> None:
    """Copy the tensor of the root to all others."""
    me = (links.me - root) % links.size
    content = bytes_of(flat)
    step = 1
    while step < links.size and not me & step:
        step *= 2
    if me:
        links.receive((me - step + root) % links.size, content)
    while step > 1:
        step //= 2
        if me + step < links.size:
            links.send((me + step + root) % links.size, content)


def reduce_scatter(links: Links, parts: Sequence[Any], combine: Combine) -> None:
    """Leave the combination of all processes' parts r in part r of process r; others change."""
    _combine_parts(links, parts, combine, links.me - 1)


def all_gather(links: Links, parts: Sequence[Any]) -> None:
    """Copy part r of process r to all others."""
    _pass_parts(links, parts, links.me)


def _parts(flat: Any, size: int) -> list[Any]:
    """The tensor in as many parts as there are processes, which differ by at most an element."""
    ends = [flat.numel() * (i + 1) // size for i in range(size)]
    return [flat[begin:end]
            for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def _combine_parts(links: Links, parts: Sequence[Any], combine: Combine, first: int) -> None:
    """Once around the ring: this process sends part `first`, and has part `first` + 1 in the end,
    combined from all."""
    largest = max(parts, key=lambda part: part.numel())
    come = flambeau.empty_like(largest)
    for sent, target in _turns(links, parts, first):
        room = come[:target.numel()]
        _turn(links, sent, room)
        combine(target, room)


def _pass_parts(links: Links, parts: Sequence[Any], first: int) -> None:
    """Once around the ring: this process has part `first`, and all in the end."""
    for sent, target in _turns(links, parts, first):
        _turn(links, sent, target)


def _turns(links: Links, parts: Sequence[Any], first: int) -> Iterator[tuple[Any, Any]]:
    """Which part goes out and which comes in, at each step around the ring."""
    for step in range(first, first - links.size + 1, -1):
        yield parts[step % links.size], parts[(step - 1) % links.size]


def _turn(links: Links, sent: Any, come: Any) -> None:
    """Send to the next process of the ring, and receive of the one before."""
    links.exchange((links.me + 1) % links.size, bytes_of(sent), (links.me - 1) % links.size,
                   bytes_of(come))


def gather(links: Links, mine: Any, parts: Sequence[Any] | None, root: int) -> None:
    """Copy the tensor of each process to the root's parts."""
    if links.me != root:
        links.send(root, bytes_of(mine))
        return
    assert parts is not None
    for rank in range(links.size):
        if rank != root:
            links.receive(rank, bytes_of(parts[rank]))
    parts[root].copy_(mine)


def scatter(links: Links, mine: Any, parts: Sequence[Any] | None, root: int) -> None:
    """Copy the root's part r to process r."""
    if links.me != root:
        links.receive(root, bytes_of(mine))
        return
    assert parts is not None
    for rank in range(links.size):
        if rank != root:
            links.send(rank, bytes_of(parts[rank]))
    mine.copy_(parts[root])


def all_to_all(links: Links, sent: Sequence[Any], come: Sequence[Any]) -> None:
    """Copy part r of process s to part s of process r."""
    come[links.me].copy_(sent[links.me])
    for step in range(1, links.size):
        to, source = (links.me + step) % links.size, (links.me - step) % links.size
        links.exchange(to, bytes_of(sent[to]), source, bytes_of(come[source]))
