"""Kernels over packs of elements: every length, every alignment, in any order of threads."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau.cuda import source

_CALLS = {"float32": lambda x, y: x * 2.5 + y, "float64": lambda x, y: x.maximum(y),
          "int64": lambda x, y: x // (y.abs() + 1), "bool": lambda x, y: x & y,
          "complex64": lambda x, y: x * y}


@pytest.mark.parametrize("order", ["forward", "shuffled"])
@pytest.mark.parametrize("dtype", _CALLS)
def test_every_length_and_offset(simulated, dtype, order):
    simulated.set_order(order)
    call, made = _CALLS[dtype], (fl.arange(-9, 31).cos() * 7).to(getattr(fl, dtype))
    here = made.to(simulated.name)
    try:
        for length in (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17):
            for first, second in ((0, 0), (1, 0), (0, 3), (2, 2), (4, 8)):
                x, y = (slice(at, at + length) for at in (first, second))
                assert call(here[x], here[y]).cpu().tolist() == call(made[x], made[y]).tolist()
    finally:
        simulated.set_order("forward")


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_masks_and_results_of_another_size(simulated, offset):
    made = fl.arange(23.0) - 11
    x = made.to(simulated.name)[offset:]
    assert fl.where(x > 0, x, -x).cpu().tolist() == made[offset:].abs().tolist()
    assert (x < 2).cpu().tolist() == (made[offset:] < 2).tolist()
    out = fl.zeros(24, device=simulated.name)
    fl.add(x, 1, out=out[1:24 - offset])        # aligned reads, writes that are not
    assert out.cpu().tolist()[1:24 - offset] == (made[offset:] + 1).tolist()
    assert out.cpu().tolist()[24 - offset:] == [0.0] * offset and out[0].item() == 0


def test_long_formulas_take_one_element():
    assert source.pack_width("add", "f32") == 4
    assert source.pack_width("bitwise_and", "bool") == 8
    assert source.pack_width("lgamma", "f32") == 1
