"""Compiled programs do what they do uncompiled: values, memory, history, generators, errors.

Fails by seed; ``print(Program(seed).source())`` shows the program. The session ``programs`` runs
more of them. ``RANDOM_PROGRAMS`` says how many, ``FIRST_PROGRAM`` from which seed on.
"""

from __future__ import annotations

import os
import re

import pytest
from random_programs import WIDE, Program, differences, run, snapshot, world

from flambeau import compiler, jit
from flambeau.jit import bridge, compiling
from flambeau.jit.cache import disk, kernels, plans
from flambeau.jit.deferral import blocks, epilogues, groups
from flambeau.jit.llvm import launch

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "500"))
FIRST = int(os.environ.get("FIRST_PROGRAM", "0"))
BATCH = max(COUNT // 10, 1)
LARGE_COUNT = COUNT // 25
#: Lines that take seconds, or much memory, with thousands of rows.
SLOW = re.compile(
    r"@|outer|linear|unbind|jac|repeat|max\(|for k in|prod|unique|expand|unfold|tolist|str\(|repr|"
    r"in_child|vmap|in \[|multinomial|A == B|float|stack")
#: How a text about a tensor ends where it has history.
NODE = re.compile(r", grad_fn=<\w+>")


@pytest.fixture(autouse=True)
def blocks_of_a_row_or_two(small_kernels_wait, monkeypatch):
    """Plans for small kernels are made anew."""
    monkeypatch.setattr(groups, "FEWEST_ROWS", 2)
    monkeypatch.setattr(blocks, "FEWEST_BLOCKS", 2)
    monkeypatch.setattr(epilogues, "LEAST_CACHES", 0)
    monkeypatch.setattr(plans, "KERNELS", kernels.KernelCache(disk=disk.Disk(None)))


def worlds(seed):
    """Rows and dtype of the inputs: the same twice, then others."""
    return [(3, "float32"), (3, "float32"), (5, "float32"), (3, "float64"), (seed % 2, "float32")]


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_programs(first):
    for seed in range(first, min(first + BATCH, FIRST + COUNT)):
        program = Program(seed, table=WIDE)
        function, compiled = program.function(), jit.compile(program.function(jit.compile))
        for rows, dtype in worlds(seed):
            wanted = snapshot(run(function, world(seed, rows, dtype)))
            found = snapshot(run(compiled, world(seed, rows, dtype)))
            assert not differences(wanted, found), f"seed {seed}, {rows} rows\n{program.source()}"


def test_programs_again():
    """Until calls that gained nothing have stopped waiting."""
    for seed in range(FIRST, FIRST + COUNT // 10):
        program = Program(seed, table=WIDE)
        function, compiled = program.function(), jit.compile(program.function(jit.compile))
        for time in range(5):
            wanted = snapshot(run(function, world(seed, 3)))
            found = snapshot(run(compiled, world(seed, 3)))
            assert not differences(wanted, found), f"seed {seed}, {time}\n{program.source()}"


def from_disk(compiled):
    """Called with nothing in memory but files."""
    compiler.reset()
    return compiled


def measured(compiled):
    """Called by ``explain``, which runs loops several times."""
    return lambda *args: compiled.measure(*args).result


def without_nodes(shot):
    """Leave out the names of nodes: who watches sees ``split`` as the slices it is made of."""
    unnamed = {key: value[:6] + value[7:] if isinstance(value, tuple) and len(value) == 8 else value
               for key, value in shot.items()}
    unnamed["notes"] = [NODE.sub("", note) if isinstance(note, str) else note
                        for note in shot["notes"]]
    return unnamed


@pytest.mark.parametrize("change", [from_disk, measured])
def test_programs_from_disk_and_measured(change, tmp_path, monkeypatch):
    store = kernels.KernelCache(disk=disk.Disk(str(tmp_path / "code")))
    for home in (kernels, plans, launch):
        monkeypatch.setattr(home, "KERNELS", store)
    for seed in range(FIRST, FIRST + COUNT // 20):
        program = Program(seed, table=WIDE)
        function = program.function()
        compiled = jit.compile(function)
        for _ in range(2):
            wanted = snapshot(run(function, world(seed, 3)))
            found = snapshot(run(change(compiled), world(seed, 3)))
            assert not differences(*map(without_nodes, (wanted, found))), (
                f"seed {seed}\n{program.source()}")
    compiler.reset()


def test_large_tensors():
    """Whose kernels wait as a rule, beside small ones that take ways of their own."""
    bridge.configure_deferral(compiling.make_plan)
    table = {kind: (often, tuple(line for line in lines if not SLOW.search(line)))
             for kind, (often, lines) in WIDE.items() if kind != "product"}
    for seed in range(FIRST, FIRST + LARGE_COUNT):
        program = Program(seed, table=table)
        wanted = snapshot(run(program.function(), world(seed, 8200)))
        compiled = jit.compile(program.function(jit.compile))
        found = snapshot(run(compiled, world(seed, 8200)))
        assert not differences(wanted, found), f"seed {seed}\n{program.source()}"


def test_differences_are_seen():
    """The comparison notices a value, a version, a stride and a generator."""
    def one(w, notes):
        return {"a": w.x + 1}

    def other(w, notes):
        w.y.add_(0)
        w.flat = w.flat.view(4, -1).t()
        w.g.manual_seed(w.g.initial_seed() + 1)
        return {"a": w.x + 2}

    first, second = snapshot(run(one, world(0, 3))), snapshot(run(other, world(0, 3)))
    assert set(differences(first, second)) == {"a", "w.y", "w.flat", "generator"}
