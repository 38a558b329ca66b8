"""Printed tensors, character by character as PyTorch prints them."""

from __future__ import annotations

import itertools

import pytest
from arrays import DTYPES, make, tensor

import flambeau

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:ComplexHalf")]

SHAPES = [(), (1,), (4,), (30,), (3, 4), (2, 3, 4), (2, 2, 2, 2), (0,), (0, 3), (2, 0, 1),
          (1001,), (40, 40), (7, 9, 30), (2000, 2)]
NUMBERS = [
    [1.0, 2.0], [1.5, 1e10], [1e-5, 1.0], [float("nan"), 1.0], [float("inf"), -1.0],
    [float("nan"), float("inf")], [0.0, -0.0], [1e-8, 1e8], [123456.789], [1e30, 1.0],
    [0.1, 0.12345678], [100000.0, 0.5], [1e9, 2e9], [-1.0, 10.0, 100.0], [1e-4, 2e-4],
    [99999.0, 1.0], [3.0e8], [0.00011, 5.0], [1e-40], [999.99996], [float("nan"), 1.5, -1e5],
]


def _same(ours, theirs):
    assert repr(ours) == repr(theirs).replace("torch.", "flambeau.")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape, dtype):
    array = make(shape, dtype)
    _same(tensor(array, dtype), tensor(array, dtype, torch))


@pytest.mark.parametrize("values", NUMBERS, ids=str)
def test_numbers(values):
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        _same(flambeau.tensor(values, dtype=getattr(flambeau, dtype)),
              torch.tensor(values, dtype=getattr(torch, dtype)))
    for value in values:
        _same(flambeau.tensor(value), torch.tensor(value))


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NUMBERS[:8], repeat=2)))
def test_complex(a, b):
    values = [complex(x, y) for x, y in zip(a, b * 2, strict=False)]
    _same(flambeau.tensor(values), torch.tensor(values))


def test_integers():
    for values in ([1, -20, 300], [2 ** 62, -1], [[0, 1], [-5, 100000]], [True, False]):
        _same(flambeau.tensor(values), torch.tensor(values))


def test_views_are_printed_by_value():
    array = make((5, 6))
    _same(tensor(array).t()[1:, ::2], tensor(array, lib=torch).t()[1:, ::2])


@pytest.mark.parametrize("options", [
    {"precision": 2}, {"precision": 8}, {"threshold": 5}, {"edgeitems": 1, "threshold": 3},
    {"linewidth": 40}, {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"},
    {"profile": "full"}, {"precision": 0},
], ids=str)
def test_options(options):
    try:
        flambeau.set_printoptions(**options)
        torch.set_printoptions(**options)
        for shape in ((3,), (30, 40), (5, 6)):
            array = make(shape)
            _same(tensor(array), tensor(array, lib=torch))
        _same(flambeau.tensor([1.0, 2e9]), torch.tensor([1.0, 2e9]))
    finally:
        flambeau.set_printoptions(profile="default")
        torch.set_printoptions(profile="default")
