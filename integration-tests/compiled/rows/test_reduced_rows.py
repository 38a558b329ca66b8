"""Reductions over leading dimensions join loops, to the bits of uncompiled calls."""

from __future__ import annotations

import random

import numpy as np
import pytest

import flambeau as fl
import flambeau.nn.functional as F
from flambeau import jit

pytestmark = pytest.mark.usefixtures("small_kernels_wait")

#: Of whole pieces of 512 rows and not; few columns, which the core reduces otherwise; views.
SHAPES = ((1024, 20), (2048, 17), (2051, 33), (1024, 16), (5, 410, 19), (4, 256, 3, 7), (600, 40))
DTYPES = ("float32", "float64", "bfloat16", "int64")
LOOPS = ("A + B", "A * B", "A * 2", "A - w", "(A * 0.5).to(A.dtype)", "fl.where(A > B, A, B)",
         "A.relu()", "A.abs() + w", "A.clone()", "-A", "A.add_(1)", "A.mul_(B)")
REDUCED = ("A.sum(0)", "A.sum(L)", "A.mean(L)", "A.amax(L)", "A.amin(L, keepdim=True)",
           "A.prod(L)", "(A + B).sum(L, keepdim=True)", "A.sum()", "A[1:].sum(0)",
           "A.transpose(0, -1).sum(-1)", "A.sum(-1)", "A.sum(L).mul_(2)", "A + A.sum(L)")


def numbers(shape, dtype, seed):
    values = np.random.default_rng(seed).standard_normal(shape) * 2
    if dtype != "int64" and seed % 3 == 0:
        values.flat[::17] = -0.0
        values.flat[7::3001] = np.inf
        values.flat[5::9077] = np.nan
    return fl.tensor(values).to(getattr(fl, dtype))


def program(seed, dims):
    """A function of ``x`` and ``y`` of several loops and reductions, and what it is made of."""
    choose = random.Random(seed)
    known, lines = ["x", "y"], []
    for k in range(choose.randint(2, 7)):
        reduces = choose.random() < 0.4
        text = choose.choice(REDUCED if reduces else LOOPS)
        for letter in "AB":
            text = text.replace(letter, choose.choice(known[-3:]))
        lines.append(f"    v{k} = {text.replace('L', str(dims))}")
        if not reduces:
            known.append(f"v{k}")
    results = [line.split()[0] for line in lines if choose.random() < 0.7] or [known[-1]]
    text = "\n".join(["def run(x, y, w):", "    x, y = x + 0, y + 0", *lines,
                      f"    return {', '.join(results)},"])
    names = {"fl": fl, "F": F}
    exec(text, names)
    return names["run"], text


def bits(t):
    array = np.array((t.float() if t.dtype == fl.bfloat16 else t).numpy())
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return tuple(t.shape), t.stride(), str(t.dtype), array.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_programs(shape, dtype):
    dims = tuple(range(len(shape) - (1 if len(shape) < 4 else 2)))
    for seed in range(12):
        run, text = program(seed, dims)
        x, y = numbers(shape, dtype, seed), numbers(shape, dtype, seed + 1)
        w = numbers(shape[-1:], dtype, seed + 2)
        wanted = run(x, y, w)
        found = jit.compile(run)(x, y, w)
        assert [bits(t) for t in found] == [bits(t) for t in wanted], text


@pytest.mark.parametrize("op", ["sum", "mean", "amax", "amin"])
def test_a_loop_and_a_reduction_of_its_rows_are_one(op):
    x = numbers((4096, 64), "float32", 0)
    compiled = jit.compile(lambda x: getattr((x * 2).tanh(), op)(0))
    compiled(x)
    assert "tanh; " in compiled.explain()


def test_uneven_rows_are_not_reduced_by_one_thread():
    """600 rows are two pieces, of which one has nearly all rows."""
    threads = fl.get_num_threads()
    fl.set_num_threads(2)
    try:
        compiled = jit.compile(lambda x: (x * 2).tanh().sum(0))
        compiled(numbers((600, 64), "float32", 0))
        assert "sum: as it stands" in compiled.explain()
    finally:
        fl.set_num_threads(threads)


def test_functions_over_rows_stay_functions():
    def run(x):
        y = x.softmax(-1) * 2
        return y, y.sum(0)
    x = numbers((4096, 64), "float32", 1)
    compiled = jit.compile(run)
    assert [bits(t) for t in compiled(x)] == [bits(t) for t in run(x)]
    assert "each at once" in compiled.explain()


def test_gradients_of_a_bias_join_that_of_the_activation():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")

    def step(x, w, b):
        x = F.gelu(F.linear(x, w, b))
        (x * x).sum().backward()

    def gradients(wrap):
        fl.manual_seed(0)
        x, w = fl.randn(2048, 24), fl.randn(40, 24, requires_grad=True)
        b = fl.randn(40, requires_grad=True)
        call = wrap(step)
        call(x, w, b)
        return bits(w.grad), bits(b.grad)
    assert gradients(jit.compile) == gradients(lambda f: f)
