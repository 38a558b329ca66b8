"""Functions whose arguments are also captured, replayed and as they are.

Fails by seed; ``Captured(seed)`` has the source and the steps between calls. A quarter as many
as ``RANDOM_PROGRAMS`` says, from ``FIRST_PROGRAM`` on.
"""

from __future__ import annotations

import os
from functools import partial

import pytest
from captured_programs import Captured

import flambeau

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "500")) // 4
FIRST = int(os.environ.get("FIRST_PROGRAM", "0"))
BATCH = max(COUNT // 5, 1)
WAYS = {"by_itself": flambeau.compile,
        "asked": partial(flambeau.compile, replay=True, check_every=10**9),
        "compared": partial(flambeau.compile, replay=True, check_every=2)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_captured_programs(first, way, at_once):
    for seed in range(first, min(first + BATCH, FIRST + COUNT)):
        program = Captured(seed)
        wanted = program.run(lambda function: function)
        assert program.run(WAYS[way]) == wanted, f"seed {seed}\n{program.source}\n{program.steps}"


def test_programs_are_replayed(at_once):
    """Enough of them to prove something."""
    kept = []

    def watched(function):
        kept.append(flambeau.compile(function, replay=True))
        return kept[-1]

    for seed in range(100):
        Captured(seed).run(watched)
    assert sum(each.earned() > 0 for each in kept) > 30
