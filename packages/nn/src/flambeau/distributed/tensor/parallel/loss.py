"""Losses of logits that processes share along the classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A block in which ``cross_entropy`` may be given logits that are cut along the classes.

    It may be given them outside, too: the logits are joined for the loss, and the gradient is cut.
    """
    yield
