"""Groups of processes, and the one of all."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .links import Links
from .mail import Mail
from .store import HashStore, PrefixStore, Store
from .work import Line, Work

DEFAULT_TIMEOUT = timedelta(minutes=30)


class ProcessGroup:
    """Processes that call the same functions in the same order.

    Args:
        name: What no other group is called.
        ranks: The numbers of its processes among all.
        rank: The number of this process in the group.
        backend: What the program asked for.
        store: Where its processes find each other.
        timeout: How long a process waits for another.
    """

    def __init__(self, name: str, ranks: Sequence[int], rank: int, backend: str,
                 store: Store | None = None, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        self.group_name = name
        self.ranks = list(ranks)
        self.backend = backend
        self.timeout = timeout
        self.store = PrefixStore(name, store if store is not None else HashStore())
        self._rank = rank
        self._line = Line()
        self.store.set_timeout(timeout)
        seconds = timeout.total_seconds()
        self.links = Links(self.store, rank, self.size(), "collectives", seconds)
        self.links.publish()
        self.mail = Mail(Links(self.store, rank, self.size(), "mail", seconds))

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """What the program asked for."""
        return self.backend

    def local_rank(self, rank: int) -> int:
        """The number in the group of a process.

        Raises:
            ValueError: The process is not in the group.
        """
        if rank not in self.ranks:
            raise ValueError(f"rank {rank} is not in the group of ranks {self.ranks}")
        return self.ranks.index(rank)

    def named(self, what: str, rank: int | None, group_rank: int | None) -> int:
        """The number in the group of a process that is named by either number; 0 by default.

        Raises:
            ValueError: There is no such process, or both numbers were given.
        """
        if rank is not None and group_rank is not None:
            raise ValueError(f"{what}(): name the process by its rank among all or by its rank in "
                             "the group, not by both")
        found = group_rank if rank is None else self.local_rank(rank)
        if not 0 <= (found or 0) < self.size():
            raise ValueError(f"{what}(): the group has {self.size()} processes, and no rank "
                             f"{found}")
        return found or 0

    def run(self, what: str, call: Callable[[], Any], async_op: bool, result: Any,
            kind: Any = "") -> Work | None:
        """Run a call behind the group's others; with ``async_op`` return at once.

        Args:
            what: The function that the program called.
            call: What it does.
            async_op: Whether the program goes on.
            result: The tensors that are written to.
            kind: What all processes have to agree in, besides the size.
        """
        def told() -> None:
            try:
                self.links.begin(f"{what} {kind}")
                call()
            except (OSError, TimeoutError) as error:
                raise RuntimeError(
                    f"{what}(): rank {self.ranks[self._rank]} of {self.ranks}: {error}; another "
                    "process has failed, or did not call the same function: see what it wrote"
                ) from error

        if async_op:
            return self._line.later(told, result)
        self._line.now(told)
        return None

    def close(self) -> None:
        """End the connections."""
        self._line.close()
        self.links.close()
        self.mail.close()

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r}, rank {self._rank} of {self.size()}>"


def done(result: Any) -> Work:
    """A call that is done."""
    work = Work(result)
    work._run(lambda: None)
    return work


class GroupMember:
    """Where the group of all processes is found."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


#: Groups that were made, by name.
made: dict[str, ProcessGroup] = {}


def resolve(group: Any) -> ProcessGroup:
    """The group that was given, or that of all processes.

    Raises:
        ValueError: There is none, or this process is not in it.
    """
    if group is None:
        if GroupMember.WORLD is None:
            raise ValueError("Default process group has not been initialized, please make sure to "
                             "call init_process_group.")
        return GroupMember.WORLD
    if not isinstance(group, ProcessGroup):
        raise ValueError("this process is not in the group; only its members may call it")
    return group
