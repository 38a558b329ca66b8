"""Traced programs do what the function does, on other values, sizes and aliases, or refuse.

Fails by seed. More of them: ``TRACED_PROGRAMS=10000 pytest`` of this file.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from random_programs import Program
from traced_programs import Case, compare

COUNT = int(os.environ.get("TRACED_PROGRAMS", "400"))
BATCH = max(COUNT // 10, 1)


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_programs(first):
    ends: Counter[str] = Counter()
    for seed in range(first, min(first + BATCH, COUNT)):
        end, found = compare(seed)
        ends[end] += 1
        assert not found, f"seed {seed}, {end}: {found}\n{Program(seed, Case(seed).lines).source()}"
    assert ends["equal"] >= BATCH // 5, ends


def test_differences_are_seen(monkeypatch):
    """A program that forgets to write into what was captured is noticed."""
    from flambeau.jit import interpreter
    from flambeau.jit.recording import tracing

    def forget(op, args, outs=None, call=interpreter.bridge.call_ready):
        return call(op, args, outs and [out.clone() for out in outs])

    monkeypatch.setattr(tracing, "verify", lambda *args, **options: None)
    monkeypatch.setattr(interpreter.bridge, "call_ready", forget)
    assert any(compare(seed)[0] == "differs" for seed in range(40))
