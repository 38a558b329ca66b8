"""Kernels over rows give the same bits whatever rows they are given with, as definitions say.

Chains of compiled calls run them a few rows at a time (``rows`` of a definition).
"""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import jit, nn
from flambeau.core.opdefs import OPDEFS
from flambeau.jit import bridge
from flambeau.jit.deferral import blocks, emit, groups

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64")
SHAPES = ((5, 7), (3, 4, 130), (6, 5, 3), (4, 1, 9), (3, 1), (2, 5000), (3, 20, 200))
IN_ROWS = [opdef.key for opdef in OPDEFS if opdef.rows == "dim" and opdef.key != "log_softmax_at"]


@pytest.fixture(autouse=True)
def blocks_of_a_row(monkeypatch, new_plans):
    """Everything waits, and blocks have as few rows as possible."""
    monkeypatch.setattr(groups, "FEWEST_ROWS", 2)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    monkeypatch.setattr(emit, "add_fused", lambda *args: False)     # see test_fused_rows.py


def _numbers(shape, dtype, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 3
    values.flat[:: 17] = -0.0
    if dtype in ("float32", "float64", "float16", "bfloat16"):
        values.flat[5::23] = np.nan
    return flambeau.tensor(values).to(getattr(flambeau, dtype))


def _views(x):
    """The same shape in several geometries."""
    wide = flambeau.stack([x, x], -1)[..., 0]
    gaps = flambeau.cat([x, x], -1)[..., : x.shape[-1]]
    return [x, wide, gaps, x.transpose(0, 1), x[1:]]


def _same(one, other):
    assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
    one, other = (t.float() if t.dtype == flambeau.bfloat16 else t for t in (one, other))
    one, other = one.numpy(), other.numpy()
    if one.dtype.kind in "fc":
        one, other = (np.where(np.isnan(a), np.array(np.nan, a.dtype), a) for a in (one, other))
    return one.tobytes() == other.tobytes()


def _call(key, x, dim):
    """The operator on a tensor, its other tensors that tensor as well; a list of results."""
    opdef = next(opdef for opdef in OPDEFS if opdef.key == key)
    args = []
    for param in opdef.params:
        if param.role == "Tensor":
            args.append(x)
        elif param.name == "dim":
            args.append([dim] if param.role == "Dims" else dim)
        else:
            args.append({"p": 2.0, "correction": 1}.get(param.name, None if param.optional
                                                        else param.default))
    return bridge.call(key, args)


@pytest.mark.parametrize("key", IN_ROWS)
def test_reductions(key):
    joined = 0
    for dtype in DTYPES:
        for shape in SHAPES:
            for x in _views(_numbers(shape, dtype)):
                joined += _compare(key, x, -1) + _compare(key, x, 1)
    assert joined > 20


def _compare(key, x, dim):
    def run(x):
        return [r + r if r.dtype != flambeau.bool else ~r for r in _call(key, x + x, dim)]

    try:
        wanted = run(x)
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return 0
    compiled = jit.compile(run)
    found = compiled(x)
    assert all(map(_same, wanted, found)), (key, x.dtype, x.shape, x.stride(), dim)
    return "at a time" in compiled.explain()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_layer_norm(dtype):
    for shape in SHAPES:
        x = _numbers(shape, dtype)
        w = _numbers(shape[-1:], dtype, 1)

        def run(x, w=w):
            out, mean, rstd = bridge.call("native_layer_norm", [x * 2, 1, w, None, 1e-5])
            return [out + x, mean * 2, rstd]

        compiled = jit.compile(run)
        assert all(map(_same, run(x), compiled(x)))
        assert "at a time" in compiled.explain()


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_numbers(dtype):
    """Drawn from the middle of a Philox block on they are the same, and generators move at once."""
    kinds = {"bernoulli_": [0.3], "random_": [0, 2]}
    if dtype not in ("int64", "uint8", "bool"):
        kinds |= {"uniform_": [0.0, 2.0], "normal_": [1.0, 2.0]}
    for key, args in kinds.items():
        for shape in ((), (1,), (7,), (3, 21), (4, 1, 257)):
            def run(x, key=key, args=args):
                made = flambeau.empty_like(x)
                other = flambeau.Generator().manual_seed(1)
                getattr(made, key)(*args)
                states = [flambeau.get_rng_state()]
                total = made + x
                getattr(x[..., :1], key)(*args, generator=other)
                return [total, made, *states, other.get_state(), flambeau.rand(3)]

            compiled = jit.compile(run)
            x = _numbers(shape or (1,), dtype).reshape(shape or ())
            results = []
            for each in (run, compiled):
                flambeau.manual_seed(7)
                try:
                    results.append(each(x.clone()[None]))
                except RuntimeError as error:
                    results.append([flambeau.tensor(list(str(error).encode()))])
            assert all(map(_same, *results)), (key, shape)
            if shape == (3, 21) and dtype != "complex64":
                assert "63 rows, 1 at a time" in compiled.explain()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_targets_of_log_softmax(dtype):
    for shape in ((6, 3), (40, 7), (9, 200)):
        x, target = _numbers(shape, dtype), flambeau.arange(shape[0]) % shape[1]

        def run(x, target=target):
            return [nn.functional.cross_entropy(x * 2, target, reduction="none")]

        compiled = jit.compile(run)
        assert all(map(_same, run(x), compiled(x)))
        assert "at a time" in compiled.explain()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("key", ["sum", "mean", "amax", "amin", "prod"])
def test_totals(key, dtype):
    """Reductions of all elements are computed piece by piece, as the core cuts them."""
    def run(x, y):
        product = x * y
        total = getattr(product, key)()
        over = getattr(x.view(-1) + 1, key)(0, keepdim=True)
        x.add_(y)
        crossed = getattr(x.transpose(0, -1), key)()
        return [total, over, getattr(x, key)() + y, crossed, product[..., :2]]

    for shape in ((8192,), (8193,), (3, 5001), (4, 4096), (2, 1, 40000)):
        x, y = _numbers(shape, dtype), _numbers(shape, dtype, 1)
        x.view(-1)[::17] += 1
        if key == "mean" and dtype == "int64":
            return
        if shape == (3, 5001):
            flambeau.nan_to_num_(x)
        compiled = jit.compile(run)
        assert all(map(_same, run(x.clone(), y), compiled(x.clone(), y))), shape
        if x.numel() > 8192 and dtype != "bfloat16":
            assert f"add; {key}" in compiled.explain()


def test_what_rows_share_is_seen():
    """Rows that meet in memory, or that one operand crosses, are not run apart."""
    def shifted(x):
        y = x * 2
        z = y.sum(-1, keepdim=True)
        return y[1:].softmax(-1) + y[:-1] * z[1:]

    def transposed(x):
        y = x.softmax(-1)
        y.mul_(y.sum(-1, keepdim=True))
        return y + y.t().softmax(-1)

    def in_place(x):
        y = x.clone()
        y[1:].copy_(y[:-1] * y.sum(-1, keepdim=True)[1:])
        return y.cumsum(-1) * y[:, :1]

    for function in (shifted, transposed, in_place):
        for size in (3, 64):
            x = _numbers((size, size), "float32")
            assert _same(function(x), jit.compile(function)(x))
