"""Which recorder hears a thread's calls. Apart, so that who asks imports no recorder."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flambeau.jit.recording.recorder import Recorder

_thread = threading.local()


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Have this thread's branches and loops on values recorded."""
    before = getattr(_thread, "recorder", None)
    _thread.recorder = recorder
    _thread.answers = []
    if sequences := sys.modules.get("flambeau.nn.utils._masked_sequence"):
        sequences.values_are_unknown = is_unknown  # type: ignore[attr-defined]
    try:
        yield
    finally:
        _thread.recorder = before


def current() -> Recorder | None:
    """What records this thread's calls without computing them; ``None``: nothing does."""
    found: Recorder | None = getattr(_thread, "recorder", None)
    return None if found is None or found.busy or found.compute else found


def is_unknown(tensor: Any) -> bool:
    """Whether a tensor is one of a program that is being recorded, with values in its runs only."""
    recorder = current()
    if recorder is None:
        return next(getattr(_thread, "repeated", iter(())), False)
    _thread.answers.append(recorder.events.is_unknown(tensor))
    return bool(_thread.answers[-1])


@contextmanager
def repeating_answers() -> Iterator[None]:
    """``is_unknown`` says what it said in the last recording, so that a function does the same."""
    _thread.repeated = iter(getattr(_thread, "answers", ()))
    try:
        yield
    finally:
        del _thread.repeated
