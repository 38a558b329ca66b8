"""How processes come together, and part."""
from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from . import groups
from .groups import DEFAULT_TIMEOUT, GroupMember, ProcessGroup, resolve
from .store import FileStore, HashStore, Store


def init_process_group(backend: str | None = None, init_method: str | None = None,
                       timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
                       store: Store | None = None, group_name: str = "", pg_options: Any = None,
                       device_id: Any = None) -> None:
    """Meet the other processes of a program; with none, begin a world of one.

    Tensors travel through the memory of the CPU and sockets, whatever the backend is called.

    Args:
        backend: Remembered for `get_backend`.
        init_method: ``"env://"``, which reads ``MASTER_ADDR``, ``MASTER_PORT``, ``RANK`` and
            ``WORLD_SIZE``, ``"tcp://host:port"``, or ``"file://path"`` of a file that all see.
        timeout: How long a process waits for another, 30 minutes by default.
        world_size: How many processes there are; else ``WORLD_SIZE``, else 1.
        rank: The number of this process, from 0; else ``RANK``, else 0.
        store: Where the processes meet, instead of ``init_method``.
        group_name: Accepted for compatibility.
        pg_options: Accepted for compatibility.
        device_id: Accepted for compatibility.

    Raises:
        ValueError: It was called before, or the rank or the address is missing or wrong.
        DistStoreError: The others did not come in time.

    Example:
        >>> from flambeau import distributed
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> distributed.get_rank(), distributed.get_world_size()
        (0, 1)
        >>> distributed.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("init_process_group(): trying to initialize the default process group "
                         "twice; call destroy_process_group() before")
    query = parse_qs(urlsplit(init_method or "").query)
    size = _number(world_size, query.get("world_size"), "WORLD_SIZE", 1)
    number = _number(rank, query.get("rank"), "RANK", 0)
    if not 0 <= number < size:
        raise ValueError(f"init_process_group(): rank {number} of {size} processes; ranks are from "
                         f"0 to {size - 1}")
    timeout = timeout or DEFAULT_TIMEOUT
    if store is None:
        store = _meeting(init_method or "env://", number, size, timeout)
    GroupMember.WORLD = _made("world", range(size), number, backend or "undefined", store, timeout)


def _number(given: int, asked: list[str] | None, variable: str, default: int) -> int:
    if given >= 0:
        return given
    return int(asked[0] if asked else os.environ.get(variable, default))


def _meeting(method: str, rank: int, size: int, timeout: timedelta) -> Store:
    """The store that a URL names."""
    url = urlsplit(method)
    if url.scheme not in ("env", "tcp", "file"):
        raise ValueError(f"init_process_group(): init_method {method!r} is not known; write "
                         "'env://', 'tcp://host:port' or 'file:///path'")
    if size == 1:
        return HashStore()
    if url.scheme == "file":
        return FileStore(url.netloc + url.path, size, timeout)
    from .tcp_store import TCPStore

    if url.scheme == "tcp":
        if not url.hostname or not url.port:
            raise ValueError(f"init_process_group(): {method!r} lacks a host or a port")
        return TCPStore(url.hostname, url.port, size, rank == 0, timeout)
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise ValueError(
            f"init_process_group(): Error initializing torch.distributed using env:// rendezvous: "
            f"environment variable {missing[0]} expected, but not set; set it, as in "
            "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500, or start with torchrun")
    return TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, rank == 0,
                    timeout)


def _made(name: str, ranks: Sequence[int], rank: int, backend: str, store: Store | None,
          timeout: timedelta) -> ProcessGroup:
    made = groups.made[name] = ProcessGroup(name, ranks, rank, backend, store, timeout)
    return made


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None,
              backend: str | None = None, pg_options: Any = None,
              use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: Any = None) -> ProcessGroup | int:
    """Make a group of some processes; all processes call it, in the same order.

    Args:
        ranks: Their numbers; all of them by default.
        timeout: As for `init_process_group`.
        backend: Remembered for `get_backend`.
        pg_options: Accepted for compatibility.
        use_local_synchronization: Whether only members call it.
        group_desc: Accepted for compatibility.
        device_id: Accepted for compatibility.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER`` in a process that is not in it.

    Raises:
        ValueError: A rank is not that of a process, or occurs twice.
    """
    world = resolve(None)
    chosen = sorted(world.ranks if ranks is None else ranks)
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(world.ranks):
        raise ValueError(f"new_group(): ranks {chosen} are not different ones of {world.ranks}")
    _counts[0] += 1
    # Members alone count differently from others, so their ranks name the group.
    name = f"group/{'-'.join(map(str, chosen))}/{_local(chosen)}" if use_local_synchronization \
        else f"group/{_counts[0]}"
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    return _made(name, chosen, chosen.index(world.rank()), backend or world.backend,
                 world.store, timeout or world.timeout)


#: How many groups there were; and by ranks, of those that only members make.
_counts: list[int] = [0]
_local_counts: dict[tuple[int, ...], int] = {}


def _local(ranks: list[int]) -> int:
    _local_counts[tuple(ranks)] = _local_counts.get(tuple(ranks), 0) + 1
    return _local_counts[tuple(ranks)]


def new_subgroups(group_size: int | None = None, group: Any = None,
                  timeout: timedelta | None = None, backend: str | None = None,
                  pg_options: Any = None,
                  group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Divide all processes into groups of neighbours.

    Args:
        group_size: How many processes a group has.
        group: Accepted for compatibility.
        timeout: As for `init_process_group`.
        backend: Remembered for `get_backend`.
        pg_options: Accepted for compatibility.
        group_desc: Accepted for compatibility.

    Returns:
        This process's group, and all groups.

    Raises:
        ValueError: The processes cannot be divided so.
    """
    size = resolve(None).size()
    if not group_size or size % group_size:
        raise ValueError(f"new_subgroups(): {size} processes cannot be divided into groups of "
                         f"{group_size}")
    lists = [list(range(i, i + group_size)) for i in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: Sequence[Sequence[int]],
                                 timeout: timedelta | None = None, backend: str | None = None,
                                 pg_options: Any = None,
                                 group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Divide processes into groups.

    Args:
        ranks_per_subgroup_list: The ranks of each group.
        timeout: As for `init_process_group`.
        backend: Remembered for `get_backend`.
        pg_options: Accepted for compatibility.
        group_desc: Accepted for compatibility.

    Returns:
        This process's group, or None, and all groups.

    Raises:
        ValueError: A process is in two groups.
    """
    every = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(every)) != len(every):
        raise ValueError("new_subgroups_by_enumeration(): a rank is in two groups")
    made = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    mine = next((each for each in made if isinstance(each, ProcessGroup)), None)
    return mine, made


def destroy_process_group(group: Any = None) -> None:
    """End a group; all groups and the world when left out.

    Args:
        group: The group.

    Raises:
        ValueError: There is no world.
    """
    ended = resolve(group)
    if ended is not GroupMember.WORLD:
        groups.made.pop(ended.group_name, None)
        ended.close()
        return
    for each in reversed(list(groups.made.values())):
        each.close()
    groups.made.clear()
    _counts[0] = 0
    _local_counts.clear()
    GroupMember.WORLD = None
