"""Python's global random stream, temporarily seeded for samples.

``random.getstate`` takes longer than loading a small sample, so it is called only where the program
has drawn since the stream was given back. That shows in its next number, which is known from the
time before; drawing it is undone with everything else when the stream is given back.
"""

from __future__ import annotations

import random
from typing import Any

_WORDS = 624  # of the state of the Mersenne twister
_SHIFT = 397
_TWIST = 0x9908B0DF
_TOP = 0x80000000
_LOW = 0x7FFFFFFF
_DRAWN = 2  # words, for 64 bits


class PythonStream:
    """Saves and restores the state of Python's global stream."""

    def __init__(self) -> None:
        self._state: Any = None
        self._next = -1  # the 64 bits that follow the state

    def save(self) -> None:
        """Note the state; the stream is then anywhere, and to be seeded."""
        if self._state is None:
            self._state = random.getstate()
            self._next = random.getrandbits(64)
            return
        found = random.getrandbits(64)
        gauss = _second_normal()
        if found != self._next:
            version, inner, _ = random.getstate()
            self._state = (version, rewound(inner), gauss)
            self._next = found
        elif gauss != self._state[2]:
            self._state = (*self._state[:2], gauss)

    def restore(self) -> None:
        """Go back to the state that was noted."""
        random.setstate(self._state)


def _second_normal() -> Any:
    """The second of two normal numbers, which ``random.gauss`` keeps for its next call."""
    return random.getstate.__self__.gauss_next  # type: ignore[attr-defined]


def rewound(state: tuple[int, ...]) -> tuple[int, ...]:
    """The state of a Mersenne twister two words before.

    Args:
        state: The words, and how many of them were drawn.

    Source: Matsumoto and Nishimura, *Mersenne Twister* (1998), whose recurrence is solved for the
    oldest word. The low 31 bits of the first word are lost, which no number depends on.
    """
    position = state[-1] - _DRAWN
    if position > 0:
        return (*state[:-1], position)
    return (*_untwisted(list(state[:-1])), position + _WORDS)


def _untwisted(words: list[int]) -> list[int]:
    """The words before they were all replaced by the next ones."""
    for i in range(_WORDS - 1, -1, -1):
        above, _ = _halves(words[i] ^ words[(i + _SHIFT) % _WORDS])
        _, below = _halves(words[i - 1] ^ words[(i + _SHIFT - 1) % _WORDS])
        words[i] = above | below
    return words


def _halves(mixed: int) -> tuple[int, int]:
    """The top bit of one word and the low bits of the next, which were mixed together."""
    odd = mixed >> 31
    pair = (mixed ^ _TWIST if odd else mixed) << 1 | odd
    return pair & _TOP, pair & _LOW
