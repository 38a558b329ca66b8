"""Layers with weights of int8: sums are exact, whatever instructions compute them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

SIZES = [(1, 5, 3), (3, 64, 4), (7, 130, 9), (64, 384, 100), (1, 1000, 1001), (5, 63, 2), (2, 1, 1),
         (4, 16, 4), (6, 17, 5),
         # what some processors make of tiles
         (8, 32, 5), (15, 36, 16), (16, 60, 31), (17, 64, 32), (33, 100, 33), (100, 1028, 70),
         (31, 768, 64), (40, 66, 20)]


def by_hand(x, weight, scales, bias=None):
    """As the definition says, with integers of 64 bits."""
    most = np.abs(x).max(-1, keepdims=True)
    step = most / np.float32(127)
    zero = step < np.finfo(np.float32).tiny
    whole = np.where(zero, 0, np.rint(x * (np.float32(127) / np.where(zero, 1, most))))
    sums = whole.astype(np.int64) @ weight.astype(np.int64).T
    result = sums.astype(np.float32) * (step * scales)
    return result if bias is None else result + bias


def operands(m, k, n, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((m, k)).astype(np.float32),
            rng.integers(-128, 128, (n, k)).astype(np.int8),
            rng.random(n).astype(np.float32), rng.standard_normal(n).astype(np.float32))


def call(*arrays):
    return ops.quantized_linear(*(None if a is None else flambeau.tensor(a) for a in arrays))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_same_bits_as_sums_of_whole_numbers(size):
    x, weight, scales, bias = operands(*size)
    assert (call(x, weight, scales, bias).numpy() == by_hand(x, weight, scales, bias)).all()
    assert (call(x, weight, scales, None).numpy() == by_hand(x, weight, scales)).all()


def test_the_greatest_sums_fit():
    k = 131072
    x, weight = np.ones((2, k), np.float32), np.full((5, k), -128, np.int8)
    one = np.ones(5, np.float32)
    assert (call(x, weight, one, None).numpy() == by_hand(x, weight, one)).all()
    with pytest.raises(ValueError, match="at most 131072 numbers"):
        call(np.ones((1, k + 1), np.float32), np.ones((1, k + 1), np.int8), one[:1], None)


def test_every_level_of_instructions_gives_the_same_bits():
    program = (
        "import numpy as np, flambeau, sys; from flambeau.core import ops; "
        "r = np.random.default_rng(0); t = flambeau.tensor; "
        "x = t(r.standard_normal((7, 333)).astype('f4')); "
        "w = t(r.integers(-128, 128, (13, 333)).astype('i1')); s = t(r.random(13).astype('f4')); "
        "print(ops.quantized_linear(x, w, s, None).numpy().tobytes().hex())")
    results = {subprocess.run([sys.executable, "-c", program], text=True, check=True,
                              stdout=subprocess.PIPE,
                              env=os.environ | {"FLAMBEAU_ISA": level}).stdout
               for level in ("", "v2", "v3")}
    assert len(results) == 1


@pytest.mark.parametrize("spoilt", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("k", [3, 40])
def test_a_row_that_is_not_finite_gives_nan_and_others_do_not(spoilt, k):
    x, weight, scales, bias = operands(3, k, 4)
    x[1, k - 1] = spoilt
    result = call(x, weight, scales, bias).numpy()
    assert np.isnan(result[1]).all() and np.isfinite(result[[0, 2]]).all()


def test_rows_of_zeros_and_of_numbers_too_small_to_divide_by():
    _, weight, scales, bias = operands(2, 8, 4)
    x = np.zeros((2, 8), np.float32)
    x[1] = 1e-40
    assert (call(x, weight, scales, bias).numpy() == bias).all()


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    x, weight, scales, bias = (flambeau.tensor(a) for a in operands(3, 40, 5))
    half = x.to(dtype)
    want = ops.quantized_linear(half.float(), weight, scales, bias).to(dtype)
    assert flambeau.equal(ops.quantized_linear(half, weight, scales, bias), want)


def test_operands_in_any_order():
    x, weight, scales, bias = (flambeau.tensor(a) for a in operands(6, 16, 8))
    want = ops.quantized_linear(x, weight, scales, bias)
    turned = ops.quantized_linear(x.t().contiguous().t(), weight.t().contiguous().t(),
                                  flambeau.stack([scales, bias], 1)[:, 0],
                                  flambeau.stack([scales, bias], 1)[:, 1])
    assert flambeau.equal(turned, want)
    stack = ops.quantized_linear(x.reshape(2, 3, 16), weight, scales, bias)
    assert flambeau.equal(stack.reshape(6, 8), want)
    assert ops.quantized_linear(x[:0], weight, scales, None).shape == (0, 8)


@pytest.mark.parametrize(("change", "words"), [
    ({0: flambeau.ones(2, 4, dtype=flambeau.float64)}, "float32, float16 or bfloat16, got float64"),
    ({0: flambeau.ones(2, 5)}, "last dimensions must be equal"),
    ({0: flambeau.ones(())}, "last dimensions must be equal"),
    ({1: flambeau.ones(3, 4)}, "matrix of int8"),
    ({2: flambeau.ones(4)}, "scales must be 3 numbers"),
    ({3: flambeau.ones(3, dtype=flambeau.float64)}, "bias must be 3 numbers of float32"),
], ids=["dtype", "columns", "number", "weight", "scales", "bias"])
def test_what_is_refused(change, words):
    args = [flambeau.ones(2, 4), flambeau.ones(3, 4, dtype=flambeau.int8), flambeau.ones(3), None]
    for i, value in change.items():
        args[i] = value
    with pytest.raises((TypeError, ValueError), match=words):
        ops.quantized_linear(*args)
