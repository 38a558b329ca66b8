"""Reductions and order statistics beyond plain calls: accuracy, out=, names, errors."""

from __future__ import annotations

import math

import numpy
import pytest
from checks import bits

import flambeau


def test_long_sums_are_as_accurate_as_pairwise_ones():
    rng = numpy.random.default_rng(0)
    x = rng.random(1 << 24, dtype=numpy.float32)
    exact = math.fsum(x.tolist())
    t = flambeau.from_numpy(x)
    for total in (t.sum(), t.nansum(), t.view(-1, 1 << 12).sum(0).sum(), t.norm(1)):
        assert abs(float(total) - exact) / exact < 2e-7
    assert abs(float(t.norm()) / math.sqrt(float((x.astype(float) ** 2).sum())) - 1) < 2e-7
    assert abs(float(t.cumsum(0)[-1]) - exact) / exact < 1e-7


def test_results_have_names():
    x = flambeau.tensor([[3.0, 1.0, 2.0]])
    for name, fields in (("median", ("values", "indices")), ("mode", ("values", "indices")),
                         ("cummax", ("values", "indices"))):
        result = getattr(x, name)(1)
        assert type(result)._fields == fields
    assert x.aminmax()._fields == ("min", "max")
    assert type(flambeau.var_mean(x)) is type(flambeau.std_mean(x, 1)) is tuple    # as PyTorch
    assert x.histogram(3)._fields == ("hist", "bin_edges")
    assert flambeau.histogramdd(x.t(), 2)._fields == ("hist", "bin_edges")


def test_out_of_several_results():
    x = flambeau.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
    low, high = flambeau.empty(0), flambeau.empty(2)
    result = flambeau.aminmax(x, dim=1, out=(low, high))
    assert result.min is low and result.max is high
    assert low.tolist() == [1.0, 4.0] and high.tolist() == [3.0, 6.0]
    values, indices = flambeau.empty(0), flambeau.empty(0, dtype=flambeau.int64)
    flambeau.median(x, 1, out=(values, indices))
    assert values.tolist() == [2.0, 5.0] and indices.tolist() == [2, 1]
    with pytest.warns(UserWarning, match="was resized"):
        assert flambeau.aminmax(x, dim=1, out=(flambeau.empty(3), high)).min.shape == (2,)
    with pytest.raises(RuntimeError, match="cast"):
        flambeau.quantile(x, 0.5, out=flambeau.empty(0, dtype=flambeau.int64))


def test_a_tensor_is_an_operand_where_a_dimension_could_stand():
    x = flambeau.tensor([1, 5])
    assert flambeau.max(x, flambeau.tensor(3)).tolist() == [3, 5]
    assert x.min(flambeau.tensor(2)).tolist() == [1, 2]


@pytest.mark.parametrize("name", ("cumsum", "cumprod"))
def test_scans_in_place(name):
    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
    expected = getattr(x, name)(0)
    assert getattr(x, name + "_")(0) is x
    assert bits(x.contiguous()) == bits(expected.contiguous())
    y = flambeau.tensor([1, 2, 3], dtype=flambeau.int32)
    assert getattr(y, name + "_")(0).dtype is flambeau.int32


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: x.kthvalue(9), "k=9"), (lambda x: x.kthvalue(0), "counts from 1"),
    (lambda x: x[:, :0].median(1), "non-zero size"), (lambda x: x[:0].mode(0), "non-zero size"),
    (lambda x: (x > 0).median(), "bool"), (lambda x: x.quantile(1.5), r"\[0, 1\]"),
    (lambda x: x.int().quantile(0.5), "float"), (lambda x: x.quantile(0.5, 7), "dim=7"),
    (lambda x: x.quantile(0.5, interpolation="cubic"), "interpolation"),
    (lambda x: x.norm("max"), "'fro'"), (lambda x: x.int().norm(), "float"),
    (lambda x: x[:0].norm(math.inf, 0), "empty"), (lambda x: x.renorm(0, 0, 1), "p must"),
    (lambda x: x.renorm(2, 0, -1), "maxnorm"), (lambda x: x[0].renorm(2, 0, 1), "two dim"),
    (lambda x: x[0].trace(), "matrix"), (lambda x: x.expand(2, 2, 3).cov(), "two or fewer"),
    (lambda x: x.diff(-1), "non-negative"), (lambda x: x.sum_to_size(7), "expandable"),
    (lambda x: x.histc(0), "bins"), (lambda x: x.histc(3, 2, 1), "max"),
    (lambda x: (x / 0).histc(3), "finite"), (lambda x: x.bincount(), "integers"),
    (lambda x: flambeau.tensor([1, -1]).bincount(), "non-negative integers"),
    (lambda x: x.histogram(3, range=(1.0,)), "range"),
    (lambda x: flambeau.gradient(x, spacing=[1.0]), "spacing"),
    (lambda x: flambeau.gradient(x, edge_order=3), "edge_order"),
    (lambda x: flambeau.gradient(x[:, :1]), "dimension"),
    (lambda x: flambeau.trapezoid(x, flambeau.ones(7)), "x value"),
    (lambda x: x.int().nanmean(), "float"), (lambda x: x.int().logcumsumexp(0), "float"),
    (lambda x: x.cummax(2), "dim"), (lambda x: x[:0].aminmax(), "identity")])
def test_errors_say_what_is_wrong(call, text):
    x = flambeau.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
    with pytest.raises((RuntimeError, IndexError), match=text):
        call(x)


def test_gradients_at_corners_are_pytorchs():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    torch = pytest.importorskip("torch")
    calls = [lambda lib, x: x.std(), lambda lib, x: x.norm(), lambda lib, x: x.norm(1),
             lambda lib, x: x.norm(3), lambda lib, x: x.norm(0.5), lambda lib, x: x.norm(1.5),
             lambda lib, x: x.norm(math.inf), lambda lib, x: x.amax(), lambda lib, x: x.median(),
             lambda lib, x: x.cumprod(0).sum(), lambda lib, x: x.logcumsumexp(0).sum(),
             lambda lib, x: x.cummax(0)[0].sum(), lambda lib, x: lib.dist(x, x.detach(), 2),
             lambda lib, x: x.renorm(2, 0, 1.0).sum() if x.ndim > 1 else x.max()]
    for values in ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 0.0, 3.0, 0.0, -1.0], [[0.0, 0.0]]):
        for call in calls:
            grads = []
            for lib in (flambeau, torch):
                x = lib.tensor(values, requires_grad=True)
                (call(lib, x).sum() * 1.5).backward()
                grads.append(numpy.asarray(x.grad.tolist()))
            numpy.testing.assert_allclose(*grads, rtol=1e-5, atol=1e-6)


def test_mean_in_the_dtype_of_out():
    x = flambeau.tensor([2.0**24, 1, 1, 1])
    assert flambeau.mean(x, 0, out=flambeau.zeros((), dtype=flambeau.float64)) == 4194304.75
    with pytest.raises(RuntimeError, match="dtype=float64 but out is float32"):
        flambeau.mean(x, 0, dtype=flambeau.float64, out=flambeau.zeros(()))
    with pytest.raises(RuntimeError, match="infer output dtype"):
        flambeau.mean(x.long(), 0, out=flambeau.zeros(()))


def test_edges_of_nothing_go_from_zero_to_one():
    assert flambeau.histogram(flambeau.zeros(0), 2).bin_edges.tolist() == [0.0, 0.5, 1.0]
    edges = flambeau.histogramdd(flambeau.zeros(0, 2), [1, 2]).bin_edges
    assert [e.tolist() for e in edges] == [[0.0, 1.0], [0.0, 0.5, 1.0]]


@pytest.mark.parametrize("q", [[0.5, 1.1], [-0.5], [float("nan")]])
@pytest.mark.parametrize("x", [[1.0], [1.0, 2.0, 3.0]])
def test_quantiles_outside_are_refused(x, q):
    for function in (flambeau.quantile, flambeau.nanquantile):
        with pytest.raises(RuntimeError, match=r"in the range \[0, 1\]"):
            function(flambeau.tensor(x), flambeau.tensor(q))


def test_a_grid_without_dimensions():
    for weight in (None, flambeau.ones(5)):
        hist, edges = flambeau.histogramdd(flambeau.zeros(5, 0), [], weight=weight)
        assert (hist.shape, hist.item(), edges) == ((), 0.0, ())
    hist, edges = flambeau.histogramdd(flambeau.zeros(0, 2), [2, 3])
    assert hist.tolist() == flambeau.zeros(2, 3).tolist()
