"""Losses, means and norms of halves whose sums, counts or squares exceed float16, or are too small
for it: results and gradients are those of float64, on the CPU and on a device.
"""
from __future__ import annotations

import shutil

import numpy as np
import pytest
from device_calls import DEVICE

import flambeau as fl
from flambeau.nn import functional as F

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)

ROWS = 70_000                       # more than the greatest float16
CLASSES = np.random.default_rng(0).integers(0, 3, ROWS)
LABELS = np.random.default_rng(1).integers(1, 5, (2, 20))
TOLERANCES = {"float16": 8e-3, "bfloat16": 6e-2}


def uniform(*shape, low=0.1, high=0.9):
    return np.random.default_rng(len(shape)).uniform(low, high, shape)


def normal(*shape, scale=1.0):
    return np.random.default_rng(len(shape)).standard_normal(shape) * scale


def classes(x, found=CLASSES):
    return fl.from_numpy(found).to(x.device)


def ctc(x):
    lengths = [fl.full((2,), n, device=x.device) for n in (200, 20)]
    return F.ctc_loss(x.log_softmax(2), classes(x, LABELS), *lengths)


def cross_entropy(x, *weight):
    weight, found = weight[0].detach() if weight else None, CLASSES if len(x) == ROWS else [0, 1]
    return F.cross_entropy(x, classes(x, np.array(found)), weight, label_smoothing=0.2)


def bag(table):
    rows = np.tile(np.arange(10), (2, ROWS // 10))
    return F.embedding_bag(classes(table, rows), table, mode="mean")


def segments(x):
    return fl.segment_reduce(x, "mean", lengths=fl.tensor([30_000, 40_000], device=x.device))


CALLS = {
    "cross_entropy": (cross_entropy, normal(ROWS, 3), uniform(3, high=9)),
    "cross_entropy-many-classes": (cross_entropy, normal(2, ROWS)),
    "nll_loss": (lambda x: F.nll_loss(x, classes(x)), normal(ROWS, 3) - 3),
    "nll_loss-weighted": (lambda x, w: F.nll_loss(x, classes(x), w.detach()), normal(ROWS, 3) - 3,
                          uniform(3, high=9)),
    "mse_loss": (lambda x, y, w: F.mse_loss(x, y, weight=w), uniform(ROWS, high=99), normal(ROWS),
                 uniform(ROWS, high=3)),
    "l1_loss": (lambda x, y, w: F.l1_loss(x, y, weight=w), uniform(ROWS, high=99), normal(ROWS),
                uniform(ROWS, high=3)),
    "kl_div": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), -uniform(900, 70, high=99),
               uniform(900, 70)),
    "ctc_loss": (ctc, normal(200, 2, 5)),
    "cosine_embedding_loss": (lambda x, y: F.cosine_embedding_loss(
        x, y, fl.ones(9, device=x.device, dtype=x.dtype)), uniform(9, 64, low=50, high=99),
        uniform(9, 64, low=60, high=99)),
    "nanmean": (lambda x: x.nanmean(0), uniform(ROWS, 2, high=99)),
    "segment_reduce": (segments, uniform(ROWS, high=99)),
    "embedding_bag": (bag, uniform(10, 3)),
    "cov": (fl.cov, uniform(3, ROWS, high=99)),
    "corrcoef": (fl.corrcoef, normal(3, 900, scale=900)),
    "norm-2": (lambda x: x.norm(), normal(8, scale=2e-5)),
    "norm-3": (lambda x: x.norm(3, dim=1), uniform(4, 64, low=100, high=300)),
    "normalize": (lambda x: F.normalize(x, dim=1), normal(3, 8, scale=3e-4)),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y, dim=1),
                          normal(3, 8, scale=3e-4), normal(3, 8)[::-1] * 3e-4),
}


def results(name, dtype, device, rounding):
    """A call's result and gradients, of numbers that `rounding` holds."""
    function, *given = CALLS[name]
    leaves = [fl.from_numpy(np.ascontiguousarray(a)).to(rounding).to(dtype).to(device)
              .requires_grad_() for a in given]
    result = function(*leaves)
    weights = fl.from_numpy(np.full(result.shape, 10.0)).to(dtype).to(device)
    slopes = fl.autograd.grad(result, leaves, weights, allow_unused=True)
    assert result.dtype == dtype and result.device.type == device
    return [t.detach().cpu().double().numpy() for t in (result, *slopes) if t is not None]


@pytest.mark.filterwarnings("ignore:segment_reduce")
@pytest.mark.parametrize("device", ["cpu", DEVICE])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", CALLS)
def test_halves_give_what_float64_does(name, dtype, device):
    half, tolerance = getattr(fl, dtype), TOLERANCES[dtype]
    wanted = results(name, fl.float64, "cpu", half)
    for found, exact in zip(results(name, half, device, half), wanted, strict=True):
        absolute = tolerance * np.abs(exact).max() / 4 + 2.0 ** -24
        np.testing.assert_allclose(found, exact, tolerance, absolute)
