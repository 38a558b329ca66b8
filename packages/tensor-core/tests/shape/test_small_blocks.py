"""Matrices and blocks with nothing, or too little, in them."""

from __future__ import annotations

from math import inf

import pytest

import flambeau
from flambeau.core import ops

ZERO_NORMS = [
    ((0, 3), (2, inf, 1, -1, "nuc", "fro")),
    ((3, 0), (2, inf, -inf, 1, "nuc", "fro")),
    ((0, 0), (2, inf, 1, "nuc", "fro")),
]
NO_NORMS = [((0, 3), (-2, -inf)), ((3, 0), (-2, -1)), ((0, 0), (-2, -inf, -1))]


def _each(cases):
    return [(shape, ord) for shape, orders in cases for ord in orders]


@pytest.mark.parametrize(("shape", "ord"), _each(ZERO_NORMS))
@pytest.mark.parametrize("norm", ["norm", "matrix_norm"])
def test_norms_of_empty_matrices_are_zero(norm, shape, ord):
    result = getattr(flambeau.linalg, norm)(flambeau.empty(shape), ord)
    assert result.shape == ()
    assert result.item() == 0.0


@pytest.mark.parametrize(("shape", "ord"), _each(NO_NORMS))
def test_the_least_of_no_values_is_refused(shape, ord):
    with pytest.raises(IndexError, match=r"ord=.* is the least of no values: x has shape"):
        flambeau.linalg.matrix_norm(flambeau.empty(shape), ord)


def test_norms_of_stacks_of_empty_matrices():
    x = flambeau.empty(2, 0, 3)
    assert flambeau.linalg.matrix_norm(x, 2).tolist() == [0.0, 0.0]
    assert flambeau.linalg.matrix_norm(x, inf, keepdim=True).shape == (2, 1, 1)


@pytest.mark.parametrize("dim", [(), (0, 1, 2)])
@pytest.mark.parametrize("ord", [None, 2, "fro"])
def test_norm_is_that_of_vectors_or_matrices(dim, ord):
    with pytest.raises(RuntimeError, match="must be of length 1 or 2"):
        flambeau.linalg.norm(flambeau.ones(2, 3, 4), ord, dim=dim)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(("size", "padding"), [(3, 0), ((1, 1, 3), 0), (3, 1)])
def test_means_of_blocks_refuse_windows_that_are_larger(size, padding, ceil):
    x = flambeau.ones(1, 1, 2, 2, 2)
    for each in (x, x.long()):
        with pytest.raises(RuntimeError, match=r"avg_pool3d\(\): .*smaller than the window"):
            ops.avg_pool3d(each, size, 1, padding, ceil_mode=ceil)
    with pytest.raises(RuntimeError, match=r"lp_pool3d\(\): .*smaller than the window"):
        ops.lp_pool3d(x, 2, size, ceil_mode=ceil)


def test_windows_that_reach_over_the_end_remain():
    x = flambeau.ones(1, 1, 3, 3, 3)
    assert ops.avg_pool3d(x, 2, ceil_mode=True).tolist() == [[[[[1.0] * 2] * 2] * 2]]
    assert ops.avg_pool2d(x[0, 0, :1, :2, :2], 3, ceil_mode=True).item() == 1.0
