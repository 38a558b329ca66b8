"""Large graphs and many tensors: deep chains run and are dropped, memory stays flat."""

from __future__ import annotations

from pathlib import Path

import pytest

import flambeau

PAGE = 4096
MEGABYTE = 1 << 20


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def chain(x, length: int):
    """Return x after a number of additions."""
    for _ in range(length):
        x = x + 1
    return x


def test_a_million_nodes_run_backwards():
    x = flambeau.tensor(2.0, requires_grad=True)
    y = chain(x * 3, 1_000_000)
    y.backward()
    assert x.grad.item() == 3


def test_a_million_nodes_are_dropped():
    x = flambeau.tensor(2.0, requires_grad=True)
    chain(x, 1_000_000)
    before = resident()
    chain(x, 1_000_000)
    assert resident() - before < 20 * MEGABYTE


def test_a_second_backward_says_how_to_keep_the_graph():
    x = flambeau.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="second time.*retain_graph=True"):
        y.backward()


def make_and_drop(count: int) -> int:
    """Make and drop tensors; return by how many bytes the process has grown since a start."""
    ones = flambeau.ones(8)
    for _ in range(50_000):
        ones + 1
    before = resident()
    for _ in range(count):
        ones + 1
    return resident() - before


def test_a_million_small_tensors():
    assert make_and_drop(1_000_000) < MEGABYTE


@pytest.mark.slow
def test_ten_million_small_tensors():
    assert make_and_drop(10_000_000) < MEGABYTE
