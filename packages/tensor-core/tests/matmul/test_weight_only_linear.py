"""Layers with weights in few bits: near the product in float64, of a few rows the same bits
everywhere."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

SIZES = [(1, 5, 3, 0), (3, 64, 4, 32), (7, 130, 9, 64), (64, 384, 100, 128), (1, 1000, 101, 32),
         (5, 63, 2, 0), (2, 1, 1, 0), (4, 32, 4, 32), (6, 33, 5, 32), (0, 40, 3, 0),
         (20, 4100, 70, 32), (16, 1, 5, 0), (17, 45, 66, 32)]
KINDS = ["int8", "int4", "float16", "bfloat16"]


def packed(whole):
    """Numbers from 0 to 15, one after the other by the rule."""
    n, k = whole.shape
    to = np.zeros((n, -(-k // 32) * 16), np.uint8)
    for j, q in itertools.product(range(n), range(k)):
        block, at = divmod(q, 32)
        to[j, block * 16 + at % 16] |= whole[j, q] << (4 if at >= 16 else 0)
    return to


def operands(m, k, n, group, kind, shift, seed=0, factors=np.float32):
    """Arguments, and the matrix that the weight stands for in float64."""
    rng = np.random.default_rng(seed)
    x, bias = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (n,)))
    if kind in ("float16", "bfloat16"):
        weight = flambeau.tensor(rng.standard_normal((n, k))).to(getattr(flambeau, kind))
        return (flambeau.tensor(x), weight, None, None, flambeau.tensor(bias), 0,
                weight.double().numpy())
    groups = -(-k // group) if group else 1
    scales, offsets = (rng.standard_normal((n, groups)).astype(factors) for _ in range(2))
    if kind == "int8":
        whole = rng.integers(-128, 128, (n, k)).astype(np.int8)
        weight = whole
    else:
        whole = rng.integers(0, 16, (n, k))
        weight = packed(whole)
        whole = whole - (0 if shift else 8)
    values = whole.astype(np.float64)
    values = values * np.repeat(scales.astype(np.float64), group or k, 1)[:, :k]
    if shift:
        values = values + np.repeat(offsets.astype(np.float64), group or k, 1)[:, :k]
    return (*(flambeau.tensor(a) for a in (x, weight, scales)),
            flambeau.tensor(offsets) if shift else None, flambeau.tensor(bias), group, values)


@pytest.mark.parametrize("shift", [False, True], ids=["", "offsets"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_near_the_product_in_float64(size, kind, shift):
    *args, values = operands(*size, kind, shift)
    x, bias = args[0].numpy(), args[4].numpy()
    want = x.astype(np.float64) @ values.T + bias
    bound = 1e-6 * (np.abs(x) @ np.abs(values).T + np.abs(bias) + 1)
    assert (np.abs(ops.weight_only_linear(*args).numpy() - want) <= bound).all()
    args[4] = None
    assert (np.abs(ops.weight_only_linear(*args).numpy() - (want - bias)) <= bound).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_bits_alone_and_among_others(kind):
    *args, _ = operands(11, 200, 7, 64, kind, kind != "int8")
    many = ops.weight_only_linear(*args)
    for i in range(11):
        assert flambeau.equal(ops.weight_only_linear(args[0][i], *args[1:]), many[i])


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import flambeau
from test_weight_only_linear import KINDS, operands
from flambeau.core import ops
flambeau.set_num_threads(int(sys.argv[2]))
for kind in KINDS:
    for m in (1, 9):
        for shift in (False, True):
            for k, group in ((330, 32), (1100, 32), (330, 64)):
                *args, _ = operands(m, k, 301, group, kind, shift)
                sys.stdout.buffer.write(ops.weight_only_linear(*args).numpy().tobytes())
"""


def test_levels_with_fused_multiply_add_and_threads_give_the_same_bits():
    def result(level, threads):
        made = subprocess.run([sys.executable, "-c", PROGRAM, os.path.dirname(__file__), threads],
                              check=True, stdout=subprocess.PIPE,
                              env=os.environ | {"FLAMBEAU_ISA": level}).stdout
        return np.frombuffer(made, np.float32)

    one = result("", "1")
    for how in (("", "2"), ("v3", "3")):
        np.testing.assert_array_equal(result(*how).view(np.int32), one.view(np.int32))
    np.testing.assert_allclose(result("v2", "1"), one, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("factors", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_factors_in_half_precision(kind, factors):
    *args, _ = operands(3, 70, 9, 32, kind, True)
    half = getattr(flambeau, factors)
    args[2], args[3] = args[2].to(half), args[3].to(half)
    wide = [args[0], args[1], args[2].float(), args[3].float(), *args[4:]]
    assert flambeau.equal(ops.weight_only_linear(*args), ops.weight_only_linear(*wide))


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_inputs_in_half_precision_are_computed_in_float32(dtype):
    *args, _ = operands(3, 70, 9, 32, "int4", False)
    half = args[0].to(dtype)
    want = ops.weight_only_linear(half.float(), *args[1:]).to(dtype)
    assert flambeau.equal(ops.weight_only_linear(half, *args[1:]), want)


def test_operands_in_any_order():
    def turned(t):
        return t if t is None or t.ndim < 2 else t.t().contiguous().t()

    for kind in KINDS:
        *args, _ = operands(6, 96, 8, 32, kind, True)
        want = ops.weight_only_linear(*args)
        strided = flambeau.stack([args[4], args[4]], 1)[:, 0]
        views = [*(turned(t) for t in args[:4]), strided, args[5]]
        assert flambeau.equal(ops.weight_only_linear(*views), want)
        stack = ops.weight_only_linear(args[0].reshape(2, 3, 96), *args[1:])
        assert flambeau.equal(stack.reshape(6, 8), want)


def test_what_is_not_finite_stays_in_its_row():
    *args, _ = operands(6, 70, 9, 32, "int4", True)
    args[0][1, 69], args[0][4, 0] = float("nan"), float("inf")
    finite = ops.weight_only_linear(*args).isfinite()
    assert finite[[0, 2, 3, 5]].all() and not finite[[1, 4]].any()


FOURS = flambeau.zeros(3, 32, dtype=flambeau.uint8)


@pytest.mark.parametrize(("change", "words"), [
    ({0: flambeau.ones(2, 64).double()}, "float32, float16 or bfloat16, got float64"),
    ({0: flambeau.ones(2, 65)}, "each 32 columns take 16 bytes"),
    ({0: flambeau.ones(())}, "each 32 columns take 16 bytes"),
    ({1: flambeau.ones(3, 63, dtype=flambeau.int8)}, "last dimensions must be equal"),
    ({1: flambeau.ones(3, 64)}, "weight must be a matrix of int8"),
    ({1: flambeau.ones(3, 64).half()}, "has no scales"),
    ({2: None}, "needs scales"),
    ({2: flambeau.ones(3, 3)}, r"scales must be .* of shape \[3, 2\]"),
    ({3: flambeau.ones(2, 2)}, r"offsets must be .* of shape \[3, 2\]"),
    ({4: flambeau.ones(3, dtype=flambeau.float64)}, "bias must be 3 numbers of float32"),
    ({5: 20}, "group must be a multiple of 32"),
    ({5: -32}, "group must be a multiple of 32"),
], ids=["dtype", "columns", "number", "bytes", "floats", "halves", "none", "scales", "offsets",
        "bias", "group", "negative"])
def test_what_is_refused(change, words):
    args = [flambeau.ones(2, 64), FOURS, flambeau.ones(3, 2), None, None, 32]
    for i, value in change.items():
        args[i] = value
    with pytest.raises((TypeError, ValueError), match=words):
        ops.weight_only_linear(*args)
