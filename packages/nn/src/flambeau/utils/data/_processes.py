"""Worker processes as the main process sees them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import select
import socket
import sys
import time
import warnings
import weakref
from collections import deque
from typing import Any

from ._ahead import describe_exit
from ._channel import Channel
from ._pool import Message, Setup
from ._process import FIELDS, work
from ._shared import Slot

UNDER_WAY = 32  # messages on their way to a worker at most, so that sending never waits
_KEPT = 16  # slots of a worker that tensors may occupy; further batches are copied out
_PATIENCE = 0.5  # seconds to end by themselves


class ProcessPool:
    """Processes that make batches.

    Args:
        setup: What every worker needs to know.
        context: A ``multiprocessing`` context or the name of a start method; ``None``: default.
    """

    kind = "process"

    def __init__(self, setup: Setup, context: Any = None) -> None:
        if sys.platform == "win32":
            raise RuntimeError(
                "worker processes pass open files, which Windows cannot; pass "
                "DataLoader(..., workers='thread')"
            )
        context = find_context(context)
        count = setup.count
        self._board = context.RawArray("q", [0, -1, -1, 0] * count)
        self._channels: list[Channel] = []
        self._processes: list[Any] = []
        self._slots: list[dict[int, Slot]] = [{} for _ in range(count)]
        self._sizes: list[dict[int, int]] = [{} for _ in range(count)]
        self._free: list[deque[int]] = [deque() for _ in range(count)]
        self._inbox: deque[Message] = deque()
        self._poll = select.poll()
        self._by_handle: dict[int, int] = {}
        self._lost: set[int] = set()
        args = (os.getpid(), self._processes, self._channels, self._board)
        self.close = weakref.finalize(self, _stop, *args)
        try:
            for worker in range(count):
                self._start(worker, context, setup)
        except BaseException:
            self.close()
            raise

    def _start(self, worker: int, context: Any, setup: Setup) -> None:
        ours, theirs = socket.socketpair()
        self._channels.append(Channel(ours))
        forks = context.get_start_method() == "fork"
        others = [channel.socket for channel in self._channels] if forks else []
        args = (worker, theirs, others, self._board, setup)
        process = context.Process(
            target=work, args=args, name=f"flambeau-data-{worker}", daemon=True
        )
        try:
            with warnings.catch_warnings():
                # Our own threads survive a fork: the pool of the core is built anew in the child.
                warnings.filterwarnings("ignore", "This process .* is multi-threaded")
                process.start()
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            if not forks:
                error.add_note(
                    "the start method "
                    f"{context.get_start_method()!r} pickles dataset, collate_fn and "
                    "worker_init_fn: define them at the top of a module, or pass "
                    "workers='thread' or multiprocessing_context='fork' to DataLoader"
                )
            raise
        finally:
            theirs.close()
        self._processes.append(process)
        ours.settimeout(20)
        self._by_handle[ours.fileno()] = worker
        self._poll.register(ours.fileno(), select.POLLIN)

    def send(self, worker: int, job: Any) -> None:
        """Give a worker one more job, and a free slot for what it makes."""
        if worker in self._lost:
            return
        free = self._free[worker].pop() if self._free[worker] else None
        drop = self._too_small(worker, free)
        if hasattr(job.indices, "numpy"):
            job = job._replace(indices=bytes(memoryview(job.indices.contiguous())))
        try:
            self._channels[worker].send((job, free, drop))
        except (OSError, ValueError):
            self._lose(worker)

    def _too_small(self, worker: int, free: int | None) -> list[int]:
        """Free slots to give up: those that are smaller than the one in use."""
        sizes, idle = self._sizes[worker], self._free[worker]
        if free is None or not idle:
            return []
        small = [slot for slot in list(idle) if sizes[slot] < sizes[free]]
        for slot in small:
            idle.remove(slot)
            del sizes[slot], self._slots[worker][slot]
        return small

    def receive(self, seconds: float) -> Message | None:
        """What some worker has made; ``None`` after so many seconds without anything."""
        if not self._inbox:
            for handle, _ in self._poll.poll(seconds * 1000):
                self._take(self._by_handle[handle])
        return self._inbox.popleft() if self._inbox else None

    def _take(self, worker: int) -> None:
        try:
            message, handle = self._channels[worker].receive()
        except (EOFError, OSError):
            self._lose(worker)
            return
        epoch, number, structure, used, slot, size = message
        if handle is not None:
            self._slots[worker][slot] = Slot(handle, size)
            self._sizes[worker][slot] = size
        outcome = self._read(worker, structure, used, slot)
        self._inbox.append(Message(epoch, number, worker, outcome))

    def _read(self, worker: int, structure: bytes, used: int, slot: int | None) -> Any:
        if slot is None:
            return pickle.loads(structure)
        free = self._free[worker]
        occupied = len(self._slots[worker]) - len(free)
        memory = self._slots[worker][slot]
        return memory.read(structure, used, occupied <= _KEPT, lambda: free.append(slot))

    def _lose(self, worker: int) -> None:
        """Wait no more for a worker that has closed its end."""
        if worker not in self._lost:
            self._lost.add(worker)
            self._poll.unregister(self._channels[worker].fileno())

    def position(self, worker: int) -> tuple[int, int, int]:
        """How often a worker has got on, at which batch and position it is."""
        first = worker * FIELDS
        ticks, number, position = self._board[first : first + 3]
        return ticks, number, position

    def name(self, worker: int) -> str:
        """What errors call a worker."""
        return f"worker (pid {self._processes[worker].pid})"

    def check(self, worker: int) -> str | None:
        """Why a worker is no more; ``None`` while it is there."""
        process = self._processes[worker]
        if worker in self._lost:
            process.join(2)
        elif process.is_alive():
            return None
        return describe_exit(process.exitcode)


def find_context(context: Any) -> Any:
    """The multiprocessing context that an argument names.

    Raises:
        ValueError: There is no such start method here.
        TypeError: It is neither a context nor a name.
    """
    if context is None or isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context is not None and context not in methods:
            raise ValueError(
                f"multiprocessing_context={context!r} is not a start method here; there are "
                f"{', '.join(methods)}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context is a start method's name or a context from "
            f"multiprocessing.get_context(), not {type(context).__name__}"
        )
    return context


def _stop(owner: int, processes: list[Any], channels: list[Channel], board: Any) -> None:
    """End all workers and wait until they are gone: they would be zombies otherwise."""
    if os.getpid() != owner:
        return
    for worker in range(len(channels)):
        board[worker * FIELDS + 3] = 1
    for channel in channels:
        channel.say_goodbye()
    deadline = time.monotonic() + _PATIENCE
    for end in ("join", "terminate", "kill"):
        for process in processes:
            if process.is_alive():
                if end != "join":
                    getattr(process, end)()
                process.join(max(0.05, deadline - time.monotonic()))
        deadline = time.monotonic() + _PATIENCE
    for process in processes:
        process.join(5)
        if process.exitcode is not None:
            process.close()
