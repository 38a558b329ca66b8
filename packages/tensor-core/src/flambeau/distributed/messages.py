"""Messages from one process to another."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau

from .groups import ProcessGroup, done, resolve
from .plain import Plain, flat
from .work import Line, Work

Group = ProcessGroup | int | None


class P2POp:
    """A message to send or receive, for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: The tensor.
        peer: The other process, by its number among all.
        group: The group; all by default.
        tag: What messages are distinguished by.
        group_peer: The other process, by its number in the group.

    Raises:
        ValueError: Another function was given.
    """

    def __init__(self, op: Callable[..., Any], tensor: Any, peer: int | None = None,
                 group: Group = None, tag: int = 0, group_peer: int | None = None) -> None:
        if op not in (isend, irecv):
            raise ValueError("P2POp(): op is flambeau.distributed.isend or irecv")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer


def _peer(what: str, group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    if (rank is None) == (group_rank is None):
        raise ValueError(f"{what}(): name the other process by its rank among all or by its rank "
                         "in the group")
    peer = group.local_rank(rank) if rank is not None else group_rank
    assert peer is not None
    if peer == group.rank() or not 0 <= peer < group.size():
        raise ValueError(f"{what}(): the other process is rank {peer} of the group, this one rank "
                         f"{group.rank()} of {group.size()}")
    return peer


def send(tensor: Any, dst: int | None = None, group: Group = None, tag: int = 0,
         group_dst: int | None = None) -> None:
    """Send a tensor to a process.

    Args:
        tensor: The tensor.
        dst: The process, by its number among all.
        group: The group; all by default.
        tag: What messages are distinguished by.
        group_dst: The process, by its number in the group.

    Raises:
        ValueError: There is no such process.
        RuntimeError: The process is gone.
    """
    _started(tensor, dst, group, tag, group_dst)()


def _started(tensor: Any, dst: int | None, group: Group, tag: int,
             group_dst: int | None) -> Callable[[], None]:
    """The rest of `send`, of what the tensor holds now."""
    from .rings import bytes_of

    members = resolve(group)
    peer = _peer("send", members, dst, group_dst)
    content = bytes_of(flat(tensor).clone())

    def call() -> None:
        try:
            members.mail.send(peer, tag, content)
        except OSError as error:
            raise RuntimeError(f"send(): rank {members.ranks[peer]}: {error}") from error

    return call


def isend(tensor: Any, dst: int | None = None, group: Group = None, tag: int = 0,
          group_dst: int | None = None) -> Work:
    """Send a tensor while the program goes on; as `send`, but gives a `Work` to wait for."""
    return _line(_sending, group).later(_started(tensor, dst, group, tag, group_dst), [tensor])


#: The line in which a group's messages wait to be sent, or to be received.
_sending: dict[str, Line] = {}
_receiving: dict[str, Line] = {}


def _line(lines: dict[str, Line], group: Group) -> Line:
    return lines.setdefault(resolve(group).group_name, Line())


def recv(tensor: Any, src: int | None = None, group: Group = None, tag: int = 0,
         group_src: int | None = None) -> int:
    """Wait for a tensor of a process.

    Args:
        tensor: Where its elements go.
        src: The process, by its number among all; any by default.
        group: The group; all by default.
        tag: What messages are distinguished by.
        group_src: The process, by its number in the group.

    Returns:
        The number of the process among all.

    Raises:
        ValueError: There is no such process.
        RuntimeError: It is gone, sent nothing in time, or another number of elements.
    """
    members = resolve(group)
    if members.size() == 1:
        raise ValueError("recv(): the group has no other process that could send")
    peer = None if src is None and group_src is None else _peer("recv", members, src, group_src)
    try:
        sender, content = members.mail.receive(peer, tag, members.timeout.total_seconds())
    except (OSError, TimeoutError) as error:
        raise RuntimeError(f"recv(): {error}") from error
    if len(content) != tensor.numel() * tensor.element_size():
        raise RuntimeError(
            f"recv(): {len(content)} bytes came from rank {members.ranks[sender]}, but the tensor "
            f"of shape {tuple(tensor.shape)} and {tensor.dtype} has "
            f"{tensor.numel() * tensor.element_size()}")
    target = Plain(tensor)
    if content:
        target.flat.copy_(flambeau.frombuffer(content, dtype=tensor.dtype))
    target.write_back()
    return members.ranks[sender]


def irecv(tensor: Any, src: int | None = None, group: Group = None, tag: int = 0,
          group_src: int | None = None) -> Work:
    """Wait for a tensor while the program goes on; as `recv`, but gives a `Work` to wait for."""
    def call() -> None:
        recv(tensor, src, group, tag, group_src)

    return _line(_receiving, group).later(call, [tensor])


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Send and receive several messages while the program goes on.

    Args:
        p2p_op_list: The messages.

    Returns:
        A `Work` for each.
    """
    works = []
    for each in p2p_op_list:
        peer = {"group_dst" if each.op is isend else "group_src": each.group_peer}
        works.append(each.op(each.tensor, each.peer, each.group, each.tag, **peer))
    return works or [done(None)]
