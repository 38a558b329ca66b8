"""Histograms on the simulated device, against the CPU."""
from __future__ import annotations

import shutil

import numpy as np
import pytest

import flambeau as fl

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
DTYPES = ("float16", "bfloat16", "float32", "float64")


def draw(shape, dtype, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return fl.from_numpy(values).to(getattr(fl, dtype))


def same(got, want):
    assert (got.dtype, got.shape) == (want.dtype, want.shape) and got.device.type == "cudasim"
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("limits", [(0, 0), (-1, 1), (-0.5, 0.25), (0.1, 0.1), (1e-9, 2e-9)])
def test_even_bins(simulated, dtype, limits):
    for x in (draw(200, dtype), draw((20, 30), dtype).T[::2], draw((), dtype), draw(0, dtype),
              fl.full((5,), 2.0, dtype=getattr(fl, dtype)), draw(40, dtype).round()):
        for bins in (1, 7, 100):
            same(fl.histc(x.to("cudasim"), bins, *limits), fl.histc(x, bins, *limits))


def test_what_is_not_finite(simulated):
    x = fl.tensor([0.5, float("nan"), float("inf"), -float("inf"), 1.0, -1.0])
    same(fl.histc(x.to("cudasim"), 4, -1, 1), fl.histc(x, 4, -1, 1))
    for values in (x, x[:2], x[2:]):
        messages = []
        for each in (values, values.to("cudasim")):
            with pytest.raises(RuntimeError, match="not finite; give min= and") as caught:
                fl.histc(each, 4)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_edges(simulated, dtype, weighted):
    for x in (draw(300, dtype), draw((15, 20), dtype).T[:, ::2], draw(0, dtype),
              fl.tensor([0.0, 1, 2, 3, float("nan"), 2.5, -1], dtype=getattr(fl, dtype))):
        weight = draw(tuple(x.shape), dtype, 1) if weighted else None
        for edges in ([0.0, 1.0, 2.0, 3.0], [-2.0, -1.9, 0.0, 5.0], [1.0], [1.0, 1.0, 2.0]):
            edges = fl.tensor(edges, dtype=x.dtype)
            got = fl.histogram(*(t.to("cudasim") for t in (x, edges)),
                               weight=None if weight is None else weight.to("cudasim"))
            want = fl.histogram(x, edges, weight=weight)
            same(got.hist, want.hist)
            same(got.bin_edges, want.bin_edges)


@pytest.mark.parametrize("weighted", [False, True])
def test_grids(simulated, weighted):
    x = draw((200, 3), "float64")
    weight = draw(200, "float64", 1) if weighted else None
    for bins in ([3, 4, 2], [fl.tensor([-1.0, 0, 2]).double(), fl.tensor([0.0]).double(),
                             fl.tensor([-3.0, 3]).double()]):
        there = [b if isinstance(b, int) else b.to("cudasim") for b in bins]
        got = fl.histogramdd(x.to("cudasim"), there,
                             weight=None if weight is None else weight.to("cudasim"))
        same(got.hist, fl.histogramdd(x, bins, weight=weight).hist)
    assert fl.histogramdd(x.to("cudasim"), [2, 2, 2]).hist.sum().item() == 200
