"""Masked tensors and reductions over what a mask leaves, against lists of the elements left."""

from __future__ import annotations

import copy
import math
import pickle
import statistics

import pytest

import flambeau
from flambeau import masked

ROWS = [[1.0, -2.0, 3.0, 5.0], [4.0, 0.5, -6.0, 2.0], [7.0, 8.0, 9.0, 1.0]]
MASK = [[True, False, True, True], [True, True, False, True], [False] * 4]
X, M = flambeau.tensor(ROWS), flambeau.tensor(MASK)


def left():
    return [[x for x, m in zip(row, there, strict=True) if m]
            for row, there in zip(ROWS, MASK, strict=True)]


NOTHING = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "amax": -math.inf, "amin": math.inf,
           "var": math.nan, "std": math.nan, "norm": 0.0, "logsumexp": -math.inf}
BY_HAND = {
    "sum": sum, "prod": math.prod, "mean": statistics.fmean, "amax": max, "amin": min,
    "var": statistics.variance, "std": statistics.stdev,
    "norm": lambda row: math.sqrt(sum(x * x for x in row)),
    "logsumexp": lambda row: math.log(sum(map(math.exp, row)))}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("keepdim", (False, True))
def test_reductions(name, keepdim):
    func = getattr(masked, name)
    args = (2.0,) if name == "norm" else ()
    result = func(X, *args, 1, keepdim=keepdim, mask=M)
    assert tuple(result.shape) == ((3, 1) if keepdim else (3,))
    expected = [BY_HAND[name](row) if row else NOTHING[name] for row in left()]
    assert result.flatten().tolist() == pytest.approx(expected, rel=1e-5, nan_ok=True)
    whole = func(X, *args, mask=M)
    assert whole.item() == pytest.approx(BY_HAND[name](sum(left(), [])), rel=1e-5)
    flambeau.testing.assert_close(func(X, *args, 1), func(X, *args, 1,
                                                          mask=flambeau.ones_like(M)))
    of_masked = func(masked.masked_tensor(X, M), *args, 1)
    assert of_masked.get_mask().tolist() == [True, True, False]
    assert of_masked.get_data()[:2].tolist() == pytest.approx(expected[:2], rel=1e-5)


def test_indices_and_medians():
    assert masked.argmax(X, 1, mask=M).tolist() == [3.0, 0.0, 0.0]
    assert masked.argmin(X, 1, mask=M).tolist() == [0.0, 1.0, 0.0]
    assert masked.median(X, 1, mask=M)[:2].tolist() == [3.0, 2.0]
    assert masked.median(X, 1, mask=M)[2].isnan()
    assert masked.amax(X.int(), 1, mask=M).tolist() == [5, 4, -2**31]
    with pytest.raises(ValueError, match="floating input"):
        masked.median(X.int(), mask=M)


def test_along_a_dimension():
    soft = masked.softmax(X, 1, mask=M)
    for row, there, result in zip(ROWS, MASK, soft.tolist(), strict=True):
        total = sum(math.exp(x) for x, m in zip(row, there, strict=True) if m)
        expected = [math.exp(x) / total if m else 0.0 if total else math.nan
                    for x, m in zip(row, there, strict=True)]
        if total:
            assert result == pytest.approx(expected, rel=1e-5)
        else:
            assert all(map(math.isnan, result))
    flambeau.testing.assert_close(masked.log_softmax(X, 1, mask=M)[:2], soft[:2].log())
    flambeau.testing.assert_close(masked.softmin(X, 1, mask=M)[:2],
                                  masked.softmax(-X, 1, mask=M)[:2])
    assert masked.cumsum(X, 1, mask=M)[0].tolist() == [1.0, 1.0, 4.0, 9.0]
    assert masked.cumprod(X, 1, mask=M)[0].tolist() == [1.0, 1.0, 3.0, 15.0]
    length = masked.norm(X, 2, 1, mask=M, keepdim=True)[:2]
    flambeau.testing.assert_close(masked.normalize(X, 2, 1, mask=M)[:2],
                                  (X * M)[:2] / length)


@pytest.mark.parametrize("call", [
    lambda x: x + 1, lambda x: 1 - x, lambda x: x * x, lambda x: x.exp(), lambda x: x > 0,
    lambda x: x ** 2, lambda x: x.t(), lambda x: x[1:], lambda x: x[:, 0], lambda x: x.view(4, 3),
    lambda x: x.unsqueeze(0), lambda x: flambeau.cat([x, x]), lambda x: flambeau.stack([x, x]),
    lambda x: x.double(), lambda x: x.clone(), lambda x: x.flip(0), lambda x: x.clamp(0, 1)],
    ids=range(17))
def test_calls_are_those_of_the_data(call):
    x = masked.masked_tensor(X, M)
    result = call(x)
    assert masked.is_masked_tensor(result)
    flambeau.testing.assert_close(result.get_data(), call(X))
    moved = call(M.double())
    if moved.shape != M.shape or call(X).shape != X.shape:
        assert result.get_mask().tolist() == moved.bool().tolist()


def test_what_it_is():
    x = masked.masked_tensor(X[:2, :2], M[:2, :2])
    assert isinstance(x, flambeau.Tensor) and x.shape == (2, 2) and not x.requires_grad
    assert repr(x) == ("MaskedTensor(\n  [\n    [  1.0000,       --],\n    [  4.0000,   0.5000]"
                       "\n  ]\n)")
    assert repr(x[0, 0]) == "MaskedTensor(  1.0000, True)"
    assert repr(x[0, 1]) == "MaskedTensor(--, False)"
    assert repr(x[0].int()) == "MaskedTensor(\n  [1,       --]\n)"
    assert x.to_tensor(9.0).tolist() == [[1.0, 9.0], [4.0, 0.5]]
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert repr(other) == repr(x)
    assert bool((x == x).all()) and repr((x > 100).any()) == "MaskedTensor(False, True)"
    shared = X.clone()
    view = masked.as_masked_tensor(shared, M)
    view.add_(1)
    assert shared.equal(X + 1)
    chosen = flambeau.where(X > 0, masked.masked_tensor(X, M), masked.masked_tensor(-X, ~M))
    assert chosen.get_mask().equal(flambeau.where(X > 0, M, ~M))


def test_what_is_refused():
    x = masked.masked_tensor(X, M)
    with pytest.raises(ValueError, match="Input masks must match"):
        x + masked.masked_tensor(X, ~M)
    with pytest.raises(NotImplementedError, match="not implemented for masked tensors"):
        x.sort()
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        masked.masked_tensor(X, M.int())
    with pytest.raises(ValueError, match=r"data.dim\(\) must equal"):
        masked.masked_tensor(X, M[0])
    with pytest.raises(ValueError, match=r"data.size\(\) must equal"):
        masked.masked_tensor(X, M[:2])
    with pytest.raises(TypeError, match="data must be a Tensor"):
        masked.masked_tensor(ROWS, M)
    for call in (x.tolist, x.numpy):
        with pytest.raises(RuntimeError, match="not supported for MaskedTensor"):
            call()
    with pytest.raises(TypeError, match="it is of bool"):
        masked.sum(X, mask=M.int())


@pytest.mark.parametrize("name", ("sum", "prod", "amax", "mean", "std"))
@pytest.mark.parametrize(("dim", "error"), [(2, IndexError), (-3, IndexError),
                                            ((0, 0), RuntimeError)])
def test_dimensions_that_are_not_there_are_refused(name, dim, error):
    with pytest.raises(error, match="Dimension out of range|appears multiple times"):
        getattr(masked, name)(X, dim, mask=M)


def test_gradients_reach_what_counts():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = masked.masked_tensor(X, M, requires_grad=True)
    (x * x).sum().backward()
    assert masked.is_masked_tensor(x.grad) and x.grad.get_mask().equal(M)
    assert x.grad.get_data().equal(2 * X * M)
    y = X.clone().requires_grad_()
    masked.mean(y, 1, mask=M)[:2].sum().backward()
    assert y.grad.equal((M / M.sum(1, keepdim=True)).nan_to_num())


@pytest.mark.oracle
@pytest.mark.parametrize("name", (*BY_HAND, "argmax", "argmin", "median", "softmax", "softmin",
                                  "log_softmax", "cumsum", "cumprod", "normalize"))
def test_pytorch_gives_the_same(name):
    torch = pytest.importorskip("torch")
    reference = pytest.importorskip("torch.masked")
    args = (2.0, 1) if name in ("norm", "normalize") else (1,)
    theirs = getattr(reference, name)(torch.tensor(ROWS), *args, mask=torch.tensor(MASK))
    ours = getattr(masked, name)(X, *args, mask=M)
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    flambeau.testing.assert_close(ours, flambeau.tensor(theirs.tolist()), equal_nan=True)


def test_the_class_makes_one_with_a_copy():
    data = X.clone()
    made = masked.MaskedTensor(data, M)
    data.zero_()
    assert made.sum().item() == sum(map(sum, left()))
    assert masked.is_masked_tensor(made)
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    leaf = masked.MaskedTensor(X, M, requires_grad=True)
    leaf.sum().backward()
    assert leaf.grad.to_tensor(0.0).tolist() == M.float().tolist()


def test_the_variance_of_complex_numbers_is_complex():
    x = flambeau.tensor([1 + 2j, 3 + 0j, 9j])
    mask = flambeau.tensor([True, True, False])
    found = flambeau.masked.var(x, unbiased=False, mask=mask)
    assert (found.dtype, found.item()) == (flambeau.complex64, 2 + 0j)
    assert flambeau.masked.std(x, mask=mask).item() == 2 + 0j
