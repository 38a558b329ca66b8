"""Random numbers inside datasets: streams that do not depend on who loads what, and when.

The default generator is seeded for every sample, from the seed of the epoch and from the sample's
position in it (number of the batch, position in the batch), so that a sample that is drawn twice is
augmented in two ways. Python's and NumPy's global streams, which take longer to seed, are seeded
for every batch. A stream that ``worker_init_fn`` has seeded is left to the user.

With generators that draw PyTorch's numbers (``flambeau.random.set_algorithm("mt19937")``) streams
are seeded where PyTorch seeds them: once, in worker processes.
"""

from __future__ import annotations

import random
import sys
from typing import Any, NamedTuple

import flambeau
from flambeau.core import draws_like_pytorch, exchange_own_generator

from ._python_stream import PythonStream

_MASK = (1 << 64) - 1
_SEED_MASK = (1 << 63) - 1  # a seed fits into int64: samples put their initial_seed() into tensors
COLLATE = (1 << 32) - 1  # the position of ``collate_fn``, after those of all samples


def mix(seed: int, position: int) -> int:
    """A seed of 64 bits from a seed and a position (splitmix64, Steele et al. 2014)."""
    z = (seed + 0x9E3779B97F4A7C15 * (position + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class SeededStreams(NamedTuple):
    """Which of the streams ``worker_init_fn`` has seeded."""

    generator: bool
    python: bool
    numpy: bool


class Streams:
    """The streams that samples may draw from; ``with`` gives them to the thread that loads.

    Args:
        everywhere: Seed Python's and NumPy's global streams too. Threads cannot: they share
            those with the rest of the program.
        restore: Put the global streams back where they were; a worker process need not.
        generator: The default generator meanwhile; one of its own when left out.
    """

    def __init__(self, everywhere: bool, restore: bool, generator: Any = None) -> None:
        self._generator = flambeau.Generator() if generator is None else generator
        self._here = everywhere and restore
        self._left = SeededStreams(False, False, False)
        self._shared = False
        self._everywhere = everywhere
        self._restore = everywhere and restore
        self._former: Any = None
        self._python = PythonStream()
        self._numpy: Any = None
        self._own_numpy: Any = None
        self._first = 0

    def __enter__(self) -> Streams:
        self._shared = self._here and draws_like_pytorch()  # the program's own streams
        if self._shared:
            return self
        self._former = exchange_own_generator(self._generator)
        if self._restore:
            self._python.save()
            self._numpy = self._exchange_numpy()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shared:
            return
        exchange_own_generator(self._former)
        if self._restore:
            self._python.restore()
            if self._numpy is not None:
                sys.modules["numpy"].random.set_bit_generator(self._numpy)

    def start(self, seed: int, number: int) -> None:
        """Start the streams of a batch in the epoch of this seed."""
        if self._shared:
            return
        self._first = mix(seed, number)
        if self._everywhere and not self._left.python:
            random.seed(self._first)
        if self._everywhere and not self._left.numpy and "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(self._first & 0xFFFFFFFF)

    def position(self, position: int) -> None:
        """Start the stream of a sample in this batch."""
        if not self._left.generator and not self._shared:
            self._generator.manual_seed((self._first + position) & _SEED_MASK)

    def leave(self, seeded: SeededStreams) -> None:
        """Start these streams no more: the user has seeded them."""
        self._left = seeded

    def _exchange_numpy(self) -> Any:
        """Give NumPy's global functions a bit generator of ours; returns the one they had.

        That takes 1 µs, where saving the state takes 50. What is lost is the second half of a
        pair of normal numbers, if the program has drawn an odd number of them.
        """
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        if self._own_numpy is None:
            self._own_numpy = numpy.random.MT19937(0)
        former = numpy.random.get_bit_generator()
        numpy.random.set_bit_generator(self._own_numpy)
        return former
