"""Which recorder hears a thread's calls. Apart, so that who asks imports no recorder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.jit.recording.recorder import Recorder

_thread = threading.local()


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Have this thread's branches and loops on values recorded."""
    before = getattr(_thread, "recorder", None)
    _thread.recorder = recorder
    try:
        yield
    finally:
        _thread.recorder = before


def current() -> Recorder | None:
    """What records this thread's calls without computing them; ``None``: nothing does."""
    found: Recorder | None = getattr(_thread, "recorder", None)
    return None if found is None or found.busy or found.compute else found
