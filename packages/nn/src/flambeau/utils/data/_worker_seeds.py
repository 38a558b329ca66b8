"""The random streams of a worker while ``worker_init_fn`` runs: which of them it seeds."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau.core import draws_like_pytorch

from ._seeding import SeededStreams, mix

Words = tuple[int, ...]  # the state of a Mersenne twister: 624 words, and how many were drawn
_WORDS = 624
_ROUNDS = 64  # of all words; who draws more than this has seeded, for all we can tell


def start_process(seed: int, worker: int, init: Callable[[int], Any] | None) -> None:
    """Seed all global streams of a worker process.

    Python's and NumPy's get another seed than the default generator, as long as that does not draw
    PyTorch's numbers, so that a function that seeds them with ``initial_seed()`` is seen to do so.
    """
    if init is not None and importlib.util.find_spec("numpy") is not None:
        importlib.import_module("numpy")  # which the function may import, to seed it
    flambeau.manual_seed(seed)
    alike = draws_like_pytorch()
    random.seed(seed if alike else mix(seed, 0))
    if "numpy" in sys.modules:
        stream = sys.modules["numpy"].random
        # Its lock may have been held by another thread when this process was forked, and nobody
        # would open it here: a new generator has a new lock.
        stream.set_bit_generator(stream.MT19937(0))
        stream.seed(_numpy_seed(seed, worker) if alike else mix(seed, 0) & 0xFFFFFFFF)


def _numpy_seed(seed: int, worker: int) -> Any:
    """The seed of NumPy's stream in PyTorch's workers."""
    base = seed - worker
    words = [worker, base & 0xFFFFFFFF, base >> 32, 0]
    return sys.modules["numpy"].random.SeedSequence(words).generate_state(4)


def initialize(init: Callable[[int], Any], worker: int, everywhere: bool) -> SeededStreams:
    """Call ``worker_init_fn`` and see which streams it seeds.

    Args:
        init: The function.
        worker: Its argument.
        everywhere: Whether Python's and NumPy's streams are this worker's own.
    """
    has_numpy = everywhere and "numpy" in sys.modules
    seed = flambeau.initial_seed()
    python = random.getstate()[1] if everywhere else ()
    numpy = _numpy_words() if has_numpy else ()
    try:
        init(worker)
    except Exception as error:
        error.add_note(f"in worker_init_fn({worker})")
        raise
    return SeededStreams(
        flambeau.initial_seed() != seed,
        everywhere and not _only_drawn(python, random.getstate()[1]),
        has_numpy and not _only_drawn(numpy, _numpy_words()),
    )


def _numpy_words() -> Words:
    _, words, position, *_ = sys.modules["numpy"].random.get_state()
    return (*words.tolist(), int(position))


def _only_drawn(before: Words, after: Words) -> bool:
    """Whether drawing alone leads from one state to the other."""
    stream = random.Random()
    stream.setstate((3, before, None))
    for _ in range(_ROUNDS):
        if stream.getstate()[1][:_WORDS] == after[:_WORDS]:
            return True
        stream.getrandbits(32 * _WORDS)
    return False
