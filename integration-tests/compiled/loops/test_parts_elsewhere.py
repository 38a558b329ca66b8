"""Results of which compiled calls make some parts, and others are in memory already."""

from __future__ import annotations

import numpy as np

import flambeau as fl


def _bits(results):
    return [(t.dtype, t.shape, t.stride(), t.reshape(-1).view(fl.uint8).numpy().tobytes())
            for t in results]


def _compare(run):
    wanted = _bits(run())
    compiled = fl.compile(run, replay=False)
    for _ in range(4):
        assert _bits(compiled()) == wanted
    return compiled.explain()


def _numbers(*shape):
    return fl.tensor(np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32))


def test_small_parts_that_are_copied_at_once():
    x, small = _numbers(3000, 64), _numbers(3000, 3)
    for inputs in ((small, x), (small, x, small), (x, small), (small, small, x)):
        def run(inputs=inputs):
            joined = fl.cat([each * 2 if each is x else each for each in inputs], 1)
            return [joined.tanh()]
        assert "3000 rows" in _compare(run)


def test_parts_that_are_written_in_place():
    x, small = _numbers(3000, 64), _numbers(3000, 3)

    def run():
        left = fl.empty(3000, 70)
        left[:, 3:] = fl.cat([x * 3, small], 1)
        left[:, :3] = small + 1
        base = fl.zeros(3000, 70)
        base[:, 2:66] = x + 1
        return [left * 2, base.tanh() + 1, base[:, 1:67] * 2]
    _compare(run)


def test_a_gap_between_parts():
    x = _numbers(3000, 32)

    def run():
        joined = fl.zeros(3000, 70)
        fl.mul(x, 2, out=joined[:, :32])
        fl.add(x, 1, out=joined[:, 38:])
        return [joined.tanh()]
    assert "tanh" in _compare(run)
