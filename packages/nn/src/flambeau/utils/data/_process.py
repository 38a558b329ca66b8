"""What runs inside a worker process."""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import traceback
from typing import Any

import flambeau
from flambeau.core import draws_like_pytorch

from ._channel import Channel
from ._fetch import Job
from ._info import WorkerInfo, set_worker_info
from ._pool import Abandoned, Failure, Setup
from ._seeding import SeededStreams, Streams
from ._shared import Packed, make_file, map_file
from ._worker_seeds import initialize, start_process

FIELDS = 4  # numbers per worker on the board: ticks, batch, position, whether to stop
_STEP = 1 << 16  # sizes of slots are multiples of this, so that similar batches fit the same


def work(worker: int, end: Any, others: list[Any], board: Any, setup: Setup) -> None:
    """The life of a worker process.

    Args:
        worker: Its number.
        end: Its end of the channel.
        others: Ends of the main process that were inherited; closed, so that all notice its end.
        board: Numbers that the main process reads.
        setup: What it is to do.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides what an interrupt ends
    for other in others:
        other.close()
    try:
        _Worker(worker, Channel(end), board, setup).run()
    except (EOFError, ConnectionError, Abandoned):
        pass  # the main process wants no more


class _Worker:
    def __init__(self, worker: int, channel: Channel, board: Any, setup: Setup) -> None:
        self.worker = worker
        self.channel = channel
        self.board = memoryview(board).cast("B").cast("q")
        self.setup = setup
        self.first = worker * FIELDS
        self.slots: dict[int, mmap.mmap] = {}
        self.made = 0
        self.failure: Failure | None = None

    def run(self) -> None:
        """Start, then answer jobs until the main process or this one ends."""
        parent = os.getppid()  # with a fork server this is the server, which ends with the main one
        poll = select.poll()
        poll.register(self.channel.fileno(), select.POLLIN)
        default = flambeau.default_generator
        with Streams(everywhere=True, restore=False, generator=default) as streams:
            self._start(streams)
            while True:
                while not poll.poll(1000):
                    if os.getppid() != parent:
                        return
                message, _ = self.channel.receive()
                if message is None:
                    return
                job, free, drop = message
                self._drop(drop)
                self._answer(job, free, streams)

    def _start(self, streams: Streams) -> None:
        setup = self.setup
        seed = setup.seed + self.worker
        flambeau.set_num_threads(1)
        start_process(seed, self.worker, setup.init)
        dataset = setup.fetcher.dataset
        set_worker_info(WorkerInfo(self.worker, setup.told_count, seed, dataset, "process"))
        self.tick(-1)
        if draws_like_pytorch():
            streams.leave(SeededStreams(True, True, True))
        if setup.init is not None:
            try:
                seeded = initialize(setup.init, self.worker, everywhere=True)
                if not draws_like_pytorch():
                    streams.leave(seeded)
            except Exception as error:
                self.failure = self._failure(error)

    def tick(self, position: int) -> None:
        """Tell the main process how far this worker is."""
        board, first = self.board, self.first
        board[first + 2] = position
        board[first] += 1
        if board[first + 3]:
            raise Abandoned

    def _answer(self, job: Job, free: int | None, streams: Streams) -> None:
        self.board[self.first + 1] = job.number
        try:
            outcome = self.failure or self.setup.fetcher.load(job, streams, self.tick)
        except Exception as error:
            outcome = self._failure(error)
        self.tick(-1)
        try:
            packed = Packed(outcome)
        except Exception as error:
            error.add_note(
                f"the batch, a {type(outcome).__name__}, cannot be sent to the main process; let "
                "collate_fn return tensors, or pass workers='thread'"
            )
            packed = Packed(self._failure(error))
        self._send(job, packed, free)

    def _send(self, job: Job, packed: Packed, free: int | None) -> None:
        """Put the numbers into a slot, the free one if they fit, and tell."""
        handle = None
        slot = None
        size = 0
        if packed.size:
            slot = free
            if free is None or len(self.slots[free]) < packed.size:
                slot, size, handle = self._make_slot(packed.size)
            assert slot is not None
            packed.write(self.slots[slot])
        try:
            message = (job.epoch, job.number, packed.structure, packed.size, slot, size)
            self.channel.send(message, handle)
        finally:
            if handle is not None:
                os.close(handle)

    def _make_slot(self, wanted: int) -> tuple[int, int, int]:
        size = -(-wanted // _STEP) * _STEP
        handle = make_file(size)
        slot = self.made
        self.slots[slot] = map_file(handle, size)
        self.made += 1
        return slot, size, handle

    def _drop(self, slots: list[int]) -> None:
        for slot in slots:
            del self.slots[slot]

    def _failure(self, error: Exception) -> Failure:
        """An exception in a form that survives the way to the main process."""
        text = "".join(traceback.format_exception(error))
        notes = getattr(error, "__notes__", [])
        error.add_note(f"in DataLoader worker {self.worker} (process {os.getpid()})")
        try:
            bare = pickle.loads(pickle.dumps(error))
            if type(bare) is not type(error):
                raise TypeError
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
            for note in notes:
                error.add_note(note)
        error.__traceback__ = None
        error.__cause__ = error.__context__ = None
        return Failure(error, text)
