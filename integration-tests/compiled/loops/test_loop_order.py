"""Which loops are one: numbers and what nobody needs part none, and rows are shared."""

from __future__ import annotations

import numpy as np
import pytest
from seen_bits import bits

import flambeau as fl

pytestmark = pytest.mark.usefixtures("new_plans")
LAYOUTS = {
    "dense": lambda t: t,
    "transposed": lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
    "every second": lambda t: t.repeat_interleave(2, -1)[..., ::2],
    "expanded": lambda t: t[:1].expand(t.shape),
}


def _compare(run):
    wanted = bits(run())
    compiled = fl.compile(run)
    for _ in range(4):
        assert bits(compiled()) == wanted
    return compiled.explain()


def _numbers(*shape, dtype="float32"):
    drawn = np.random.default_rng(sum(shape)).standard_normal(shape)
    drawn.flat[:3] = np.nan, -0.0, np.inf
    return fl.tensor(drawn).to(getattr(fl, dtype))


def test_a_number_made_between_parts_no_loop():
    x, n = _numbers(40, 64), fl.tensor(3.0)

    def run():
        first = (x * 2).exp()
        scale = n / 7 + 1
        return [first * scale - x]
    assert "[40, 64]: mul exp mul sub" in _compare(run)


def test_a_number_is_made_after_what_it_is_made_of():
    x = _numbers(40, 64)

    def run():
        first = (x * 2).tanh()
        scale = first.nan_to_num().sum() / 7
        other = scale + 1
        scale.mul_(2)
        return [first * other - x, x + scale, other]
    _compare(run)


def test_what_nobody_needs_is_not_made():
    x = _numbers(40, 64)

    def run():
        y = x * 2
        (y.exp().sum() / 3).sqrt()
        unused = (x + 1).log()
        unused += 1
        return [y + 1]
    found = _compare(run)
    assert "exp" not in found and "sqrt" not in found and "log" not in found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "complex64"])
def test_halves_that_change_places(dtype, layout):
    x, cos = LAYOUTS[layout](_numbers(20, 30, 32, dtype=dtype)), _numbers(30, 32, dtype=dtype)

    def run():
        turned = fl.cat([-x[..., 16:], x[..., :16]], -1)
        third = fl.cat([x[..., :5] * 2, x[..., 5:]], -1)
        return [x * cos + turned * cos, turned * 2, third - cos, fl.cat([-x, x * 2], 0) + cos[0]]
    _compare(run)


def test_halves_that_change_places_are_not_in_memory():
    x, cos = _numbers(20, 30, 32), _numbers(30, 32)

    def run():
        return [x * cos + fl.cat([-x[..., 16:], x[..., :16]], -1) * cos]
    assert "600 rows" in _compare(run)
