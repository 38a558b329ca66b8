"""Cross entropy of class numbers as one operator: beside the CPU's, and beside its parts."""
from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import bits, check, random, views

import flambeau as fl
from flambeau.core import _core

DTYPES = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 4e-2}


def targets(classes, *shape, ignored=-100, dtype="int64"):
    """Classes, of which every third one is ignored."""
    found = np.random.default_rng(1).integers(0, classes, shape).astype(dtype)
    found.reshape(-1)[1::3] = ignored
    return fl.from_numpy(found)


def check_both(simulated, x, target, weight, reduction, smoothing, ignored=-100, tolerance=2e-5):
    """The operator and its gradient, whose arguments are the CPU's results."""
    rest = [target, weight, reduction, ignored, smoothing]
    check(simulated, "cross_entropy_rows", [x, *rest], tolerance)
    results = _core.call("cross_entropy_rows", [x, *rest])
    grad = random(*results[0].shape, seed=3, dtype=x.dtype.name)
    check(simulated, "cross_entropy_grad", [x, grad, *rest, *results[1:]], tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_beside_the_cpu(simulated, reduction, smoothing, dtype):
    weight = random(7, seed=2, dtype=dtype).abs()
    for shape in ((5, 7), (2, 7, 3, 2), (7,)):
        target = targets(7, *shape[:1], *shape[2:]) if len(shape) > 1 else fl.tensor(3)
        for w in (weight, None, weight[:1].expand(7)):
            check_both(simulated, random(*shape, dtype=dtype), target, w, reduction, smoothing,
                       tolerance=DTYPES[dtype])


def test_views_and_rows_of_any_length(simulated):
    for shape in ((4, 1), (3, 31), (3, 600), (2, 3001)):
        target = targets(shape[1], shape[0], ignored=0, dtype="int32")
        for x in views(*shape):
            for smoothing in (0.0, 0.1):
                check_both(simulated, x, target, random(shape[1], seed=2).abs(), 1, smoothing, 0,
                           1e-4)


def test_few_long_rows(simulated):
    for rows, length in ((1, 40_001), (3, 16_384)):
        x = random(rows, length)
        for smoothing in (0.0, 0.1):
            check_both(simulated, x, targets(length, rows), random(length, seed=2).abs(), 0,
                       smoothing, tolerance=2e-4)
    for kernel in ("cross_entropy", "cross_entropy_grad"):
        assert simulated.launches(kernel, "float32", f"{kernel}_joined_float32")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_infinities_and_nan(simulated, smoothing):
    inf, nan = float("inf"), float("nan")
    rows = random(8, 70)
    rows[0, 3] = -inf
    rows[1] = -inf
    rows[2, 40] = inf
    rows[3, 60] = nan
    rows[4, :69] = -inf
    rows[5] = nan
    rows[6] = inf
    target = fl.tensor([3, 1, 5, 2, 69, -100, 4, 2])
    for reduction in (0, 1):
        check_both(simulated, rows, target, None, reduction, smoothing)
    every = fl.full((8,), -100)
    check_both(simulated, random(8, 70), every, None, 1, smoothing)


def loss_and_slope(x, grad, target):
    loss, *rest = _core.call("cross_entropy_rows", [x, target, None, 1, -100, 0.1])
    return loss, _core.call("cross_entropy_grad", [x, grad, target, None, 1, -100, 0.1, *rest])


def test_scores_far_from_zero(simulated):
    """Log-probabilities are as exact as differences of scores."""
    x = random(6, 50).double() * 3
    for far in (1e4, -3e5):
        scores, target, grad = (x + far).float(), targets(50, 6), fl.tensor(1.0)
        loss, slope = loss_and_slope(*[t.to("cudasim") for t in (scores, grad, target)])
        exact, want = loss_and_slope(scores.double(), grad.double(), target)
        np.testing.assert_allclose(loss.item(), exact.item(), rtol=2e-6)
        np.testing.assert_allclose(slope.cpu().numpy(), want.numpy(), rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_sums_of_many_rows(simulated, reduction):
    """Several blocks each have a part of the rows, the same in every order of threads."""
    x, target = random(20_001, 3), targets(3, 20_001)
    weight = random(3, seed=2).abs()
    check(simulated, "nll_loss_rows", [x, target, weight, reduction, -100], 1e-4)
    check(simulated, "cross_entropy_rows", [x, target, weight, reduction, -100, 0.1], 1e-4)
    assert simulated.launches("nll_loss", "float32", "nll_sums_joined_float32")
    assert simulated.launches("cross_entropy", "float32", "cross_entropy_sums_joined_float32")


def test_bits_do_not_depend_on_where_rows_lie(simulated):
    x = random(5, 2500).to("cudasim")
    target, weight = targets(2500, 5).to("cudasim"), random(2500, seed=1).abs().to("cudasim")
    shifted = fl.empty(x.numel() + 1, device="cudasim")[1:].view(5, 2500).copy_(x)
    found = []
    for each in (x, shifted, x.t().contiguous().t()):
        rest = [target, weight, 1, -100, 0.1]
        results = _core.call("cross_entropy_rows", [each, *rest])
        slope = _core.call("cross_entropy_grad", [each, fl.tensor(0.5).to("cudasim"), *rest,
                                                  *results[1:]])
        found.append([bits(t.cpu()) for t in (*results, slope)])
    assert all(each == found[0] for each in found)


def test_more_rows_than_halves_count(simulated):
    """A mean over more targets than the greatest float16 has a gradient."""
    x, target = random(70_000, 2, dtype="float16"), fl.zeros(70_000, dtype=fl.int64)
    total = _core.call("cross_entropy_rows", [x.to("cudasim"), target.to("cudasim")])[1]
    assert total.dtype == fl.float32 and total.item() == 70_000


@pytest.mark.parametrize("weight", [None, 3.0, 3e4])
def test_more_weight_than_halves_hold(simulated, weight):
    """The same of nll_loss: the gradient is that of float32."""
    x, target = random(70_000, 2, dtype="float16"), fl.zeros(70_000, dtype=fl.int64)
    rest = [target, weight and fl.full((2,), weight, dtype=fl.float16), 1, -100]
    check(simulated, "nll_loss_rows", [x, *rest], 2e-3)
    there = [t.to("cudasim") if fl.is_tensor(t) else t for t in (x, *rest)]
    total = _core.call("nll_loss_rows", there)[1]
    assert total.dtype == fl.float32 and total.item() == 70_000 * (weight or 1)
    grad = fl.tensor(30_000.0, dtype=fl.float16).to("cudasim")
    slope = _core.call("nll_loss_grad", [grad, *there, total])
    np.testing.assert_allclose(slope.cpu().numpy()[:, 0], -3 / 7, rtol=1e-3)


def test_a_target_outside_of_the_classes_is_an_error(simulated):
    x, target = random(3, 4).to("cudasim"), fl.tensor([0, 4, 1]).to("cudasim")
    with pytest.raises(RuntimeError, match="target 4 is out of bounds for 4 classes"):
        _core.call("cross_entropy_rows", [x, target])


def test_the_function_is_one_operator(simulated):
    functional = pytest.importorskip("flambeau.nn.functional", reason="needs flambeau-nn")
    x = random(6, 5).to("cudasim").requires_grad_()
    before = simulated.launches("cross_entropy_grad", "float32", "cross_entropy_grad_warp_float32")
    parts = simulated.launches("log_softmax", "float32", "log_softmax_warp_float32")
    functional.cross_entropy(x, targets(5, 6).to("cudasim"), label_smoothing=0.1).backward()
    assert simulated.launches("cross_entropy_grad", "float32",
                              "cross_entropy_grad_warp_float32") == before + 1
    assert simulated.launches("log_softmax", "float32", "log_softmax_warp_float32") == parts
