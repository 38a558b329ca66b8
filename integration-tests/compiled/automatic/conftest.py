"""What tests of calls that are replayed unasked share."""

from __future__ import annotations

import pytest

from flambeau.jit import compiling
from flambeau.jit.replay import automatic


@pytest.fixture
def at_once(monkeypatch):
    """The first call is recorded, and every replay is kept."""
    monkeypatch.setattr(compiling, "CALLS_BEFORE_REPLAYS", 1)
    monkeypatch.setattr(automatic, "CALLS_BEFORE", 1)
    monkeypatch.setattr(automatic, "TRIALS", 0)
    monkeypatch.setattr(automatic, "MOST_TRIALS", 0)
    monkeypatch.setattr(automatic, "MOST_OF_TIME", float("inf"))
    monkeypatch.setattr(automatic, "MOST_MISSES", 10**6)
    monkeypatch.setattr(automatic, "MOST_FAILURES", 10**6)
    monkeypatch.setattr(automatic, "MOST_DOUBLINGS", 0)
