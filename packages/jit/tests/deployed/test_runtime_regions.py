"""Regions of pointwise operators, which the runtime computes part by part: bits of Python's."""

from __future__ import annotations

from typing import Any

import pytest
from runtime import RuntimeProgram, open_library

import flambeau as fl
from flambeau import jit
from flambeau.core import ops
from flambeau.jit import bridge

LIBRARY = open_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")

SIX, ROW, COUNT = fl.tensor(6.0), fl.tensor([0.5, -2.0, 3.0]), fl.tensor(3)


def swish(x: Any, y: Any) -> Any:
    return x * (x + 3).clamp(0, SIX) / SIX + y


def check(path: Any, fn: Any, *given: Any, **settings: Any) -> RuntimeProgram:
    with bridge.no_grad():
        program = jit.freeze(jit.trace(fn, given, **settings), optimize_numerics=False)
        expected = fn(*given)
    assert any(node.body for node in program.graph.nodes), "nothing is a region"
    program.save(path / "a.program")
    runtime = RuntimeProgram(LIBRARY, path / "a.program")
    room = fl.full(expected.shape, 7, dtype=expected.dtype)
    for [result] in (runtime(*given), runtime(*given), runtime(*given, into=[room])):
        assert result.shape == expected.shape and result.dtype == expected.dtype
        assert bridge.same_bits(result, expected)
    return runtime


@pytest.mark.parametrize("size", [0, 1, 3, 511, 512, 513, 100_003])
@pytest.mark.parametrize("threads", [1, 3])
def test_parts_of_all_lengths(tmp_path: Any, size: int, threads: int) -> None:
    LIBRARY.flambeau_set_threads(threads)
    fl.manual_seed(size)
    check(tmp_path, swish, fl.randn(size), fl.randn(size), dynamic=False)
    LIBRARY.flambeau_set_threads(1)


def test_sizes_that_vary(tmp_path: Any) -> None:
    runtime = check(tmp_path, swish, fl.randn(5, 700), fl.randn(5, 700), dynamic={0: {0: "N"},
                                                                                 1: {0: "N"}})
    for count in (1, 40):
        x, y = fl.randn(count, 700), fl.randn(count, 700)
        [result] = runtime(x, y)
        assert result.shape == x.shape and bridge.same_bits(result, swish(x, y))


@pytest.mark.parametrize("special", [float("nan"), float("inf"), -0.0, 1e-45, 3e38])
def test_special_numbers(tmp_path: Any, special: float) -> None:
    x = fl.randn(600)
    x[[0, 17, 599]] = special
    check(tmp_path, swish, x, fl.full((600,), special))


@pytest.mark.parametrize("fn", [
    lambda x: (x.double() * 2 + 1).exp().float(), lambda x: (x * ROW + 1).tanh(),
    lambda x: (x * COUNT + 1).tanh(), lambda x: (x > 0) & (x * 2 < 1),
    lambda x: fl.where(x > 0, x * 2, x - 1), lambda x: x.t() * 2 + x.t().exp() - 1,
    lambda x: x.t() * 2 + ops.reshape(x, (3, -1)), lambda x: x[:, :1] * 2 + x[:, 1:2].exp() - SIX,
    lambda x: (x[:1, :1] * SIX + 1).exp() + x * 2, lambda x: (x / 0 + 1) * 2,
    lambda x: ((x * 2).round() + 1).to(fl.int64) * 2 + 1,
], ids=range(11))
def test_what_is_computed_as_a_whole(tmp_path: Any, fn: Any) -> None:
    fl.manual_seed(1)
    check(tmp_path, fn, fl.randn(250, 3), dynamic=False)


def test_a_region_that_others_read_twice(tmp_path: Any) -> None:
    def fn(x: Any) -> Any:
        y = x * 2 + SIX
        return (y.sum() + y.exp() * y - 1).sqrt()

    check(tmp_path, fn, fl.rand(700))
