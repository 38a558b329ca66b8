"""Functions over whole rows give the bits of uncompiled calls, whatever they are made of."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import flambeau as fl
import flambeau.nn.functional as F
from flambeau import jit
from flambeau.core import _core
from flambeau.jit import bridge

LENGTHS = (16, 17, 63, 64, 65, 100, 128, 250, 1000, 1024, 1040, 1500, 2048, 4096, 4100, 8192)
DTYPES = ("float32", "float64", "bfloat16", "float16")
ROWS = 19
FUSED = "each at once"

VECTORS = (
    "A + B", "A - B", "A * B", "A * 0.5", "A + 1", "-A", "A.exp()", "A.tanh()", "A.relu()",
    "F.gelu(A)", "A.sigmoid()", "A * w", "A + b", "A * S", "A - T", "fl.where(A > B, A, B)",
    "A.abs().sqrt()", "fl.rsqrt(A * A + 1)", "A.clone()", "A.float().to(A.dtype)",
    "(A * B).softmax(-1)", "(A + B).log_softmax(-1)", "(A * 0.1).softmax(-1)",
    "F.layer_norm(A, (n,), w, b)", "F.layer_norm(A * B, (n,))", "F.layer_norm(A, (n,), w)",
    "F.rms_norm(A, (n,), w)", "A.maximum(B)", "A.clamp(-1, 1)", "A / (B.abs() + 1)",
    "A.view(R, n)", "A.view(-1).view(R, n)")
COLUMNS = (
    "A.mean(-1, keepdim=True)", "A.sum(-1, keepdim=True)", "A.amax(-1, keepdim=True)",
    "A.amin(-1, keepdim=True)", "(A * A).mean(-1).unsqueeze(-1)", "A.var(-1, keepdim=True)",
    "A.std(-1, keepdim=True, correction=0)", "(A * B).logsumexp(-1, keepdim=True)", "S + T",
    "A.norm(dim=-1, keepdim=True)", "A.norm(1, -1, True)", "A.norm(float('inf'), -1, True)",
    "F.normalize(A, dim=-1).sum(-1, keepdim=True)", "A.norm(3, -1, True)",
    "fl.rsqrt(S.abs() + 1e-6)", "S * 2", "(S * 0.01).exp()", "(S * 0.1).tanh()")


@pytest.fixture(autouse=True)
def small_kernels_wait(new_plans):
    """And no plan comes from the cache."""


def needs_fma():
    return pytest.mark.skipif(_core.isa_level() not in ("v3", "v4"),
                              reason="functions over rows need a processor with FMA")


def numbers(shape, dtype, seed, odd):
    values = np.random.default_rng(seed).standard_normal(shape) * 2
    if odd:
        values.flat[::17] = -0.0
        values.flat[7::301] = np.inf
        values.flat[11::503] = -np.inf
        values.flat[5::977] = np.nan
    return fl.tensor(values).to(getattr(fl, dtype))


def program(seed):
    """Lines of Python over rows ``A`` and ``B`` and columns ``s`` and ``t``, and what they give."""
    choose = random.Random(seed)
    rows, columns, lines = ["x", "y"], ["p", "q"], []
    for k in range(choose.randint(3, 9)):
        table, known = (COLUMNS, columns) if choose.random() < 0.35 else (VECTORS, rows)
        names = {"A": choose.choice(rows[-3:]), "B": choose.choice(rows),
                 "S": choose.choice(columns[-2:]), "T": choose.choice(columns)}
        text = re.sub(r"\b[ABST]\b", lambda name, names=names: names[name[0]], choose.choice(table))
        lines.append(f"v{k} = {text}")
        known.append(f"v{k}")
    results = [choose.choice(rows[2:] or rows), choose.choice(columns)]
    return [*lines, f"return {', '.join([*results, lines[-1].split(' ')[0]])}"]


def function(lines):
    space = {"fl": fl, "F": F}
    exec("def run(x, y, p, q, w, b, n, R):\n    " + "\n    ".join(lines), space)
    return space["run"]


def same(one, other):
    assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
    one, other = (t.float() if t.dtype == fl.bfloat16 else t for t in (one, other))
    one, other = one.numpy(), other.numpy()
    if one.dtype.kind == "f":
        one, other = (np.where(np.isnan(a), np.array(np.nan, a.dtype), a) for a in (one, other))
    return one.tobytes() == other.tobytes()


def arguments(n, dtype, seed, odd):
    shapes = ((ROWS, n), (ROWS, n), (ROWS, 1), (ROWS, 1), (n,), (n,))
    made = [numbers(shape, dtype, 7 * seed + k, odd and k < 2) for k, shape in enumerate(shapes)]
    return [*made, n, ROWS]


def compare(lines, args, what):
    run = function(lines)
    compiled = jit.compile(run)
    wanted, found = run(*args), compiled(*args)
    text = "\n".join(lines)
    assert all(map(same, wanted, found)), f"{what}\n{text}\n{compiled.explain()}"
    return FUSED in compiled.explain()


@needs_fma()
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_programs(first):
    fused = 0
    for seed in range(first, first + 10):
        choose = random.Random(seed)
        for dtype in DTYPES:
            n = choose.choice(LENGTHS)
            args = arguments(n, dtype, seed, odd=seed % 2)
            fused += compare(program(seed), args, f"seed {seed}, {n} of {dtype}")
    assert fused > 10


KERNELS = ("(A * 2).softmax(-1)", "(A * 2).log_softmax(-1)", "(A * 2).logsumexp(-1)",
           "(A * A).mean(-1)", "(A + 1).sum(-1)", "(A + 1).amax(-1)", "(A + 1).amin(-1)",
           "(A + 1).var(-1)", "(A + 1).std(-1)", "F.layer_norm(A * 2, (n,), w, b)")


@needs_fma()
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_of_all_lengths(kernel):
    for dtype in DTYPES:
        for n in LENGTHS:
            lines = [f"r = {kernel.replace('A', 'x')}", "return [r]"]
            assert compare(lines, arguments(n, dtype, n, odd=False), f"{n} of {dtype}")


@needs_fma()
def test_gradients():
    for key in ("softmax_grad", "log_softmax_grad"):
        for dtype in DTYPES:
            x, y = arguments(300, dtype, 1, odd=True)[:2]

            def run(x, y, key=key):
                return [r + x for r in bridge.call(key, [x * 2, y, -1])]

            compiled = jit.compile(run)
            assert all(map(same, run(x, y), compiled(x, y)))
            assert FUSED in compiled.explain()


@needs_fma()
@pytest.mark.parametrize("scores", ["x * 1.5", "x.exp()", "x + p", "F.gelu(x) * w + y"])
@pytest.mark.parametrize("more", ["", "weight=w", "ignore_index=3", "reduction='none'",
                                  "weight=w, reduction='sum', ignore_index=5",
                                  "label_smoothing=0.1"])
def test_cross_entropy(scores, more):
    for dtype in DTYPES:
        for n in (16, 100, 1000):
            args = arguments(n, dtype, n, odd=n == 16)
            target = fl.tensor(np.random.default_rng(n).integers(0, n, ROWS))
            run = function([f"return [F.cross_entropy({scores}, R, {more})]"])
            compiled = jit.compile(run)
            args[-1] = target
            assert all(map(same, run(*args), compiled(*args))), compiled.explain()
            assert FUSED in compiled.explain()
            kept = args[0].clone().requires_grad_()
            assert same(run(kept, *args[1:])[0].detach(), run(*args)[0])


@needs_fma()
def test_classes_out_of_range():
    run = function(["return [F.cross_entropy(x * 2, R)]"])
    args = arguments(64, "float32", 1, odd=False)
    for wrong in (-1, 64, 1 << 40):
        args[-1] = fl.full((ROWS,), 5, dtype=fl.int64)
        args[-1][7] = wrong
        for each in (run, jit.compile(run)):
            with pytest.raises(IndexError, match=rf"Target {wrong} \(element 7\)"):
                each(*args)


@needs_fma()
@pytest.mark.parametrize("line", [
    "return [(x.exp().double() + 1).sum(-1), x + 1]", "return [x.exp().sum(-1, dtype=fl.float64)]",
    "return [x.double().exp().float().softmax(-1)]", "return [x.bfloat16().exp().softmax(-1)]",
    "return [x.double().var(-1), (x * 2).softmax(-1)]"])
def test_mixed_dtypes(line):
    for n in (64, 200):
        compare([line], arguments(n, "float32", n, odd=True), line)


@needs_fma()
def test_other_rows():
    x = numbers((6, 5, 4, 32), "float32", 0, odd=True)

    def run(x):
        y = x * 2
        return [y - y.mean((-2, -1), keepdim=True), y.flatten(2).softmax(-1) + 1]

    compiled = jit.compile(run)
    assert all(map(same, run(x), compiled(x)))
    assert FUSED in compiled.explain()
    gaps = fl.cat([x, x], -1)[..., :32]
    assert all(map(same, run(gaps), compiled(gaps)))


@pytest.mark.parametrize("line", [
    "x.mul_(2); return [x.softmax(-1), x]", "x.copy_((x * 2).softmax(-1)); return [x]",
    "x[:, 1:].mul_(y[:, :-1]); return [(x + 1).softmax(-1), x]",
    "y = x[1:] * 2; x[:-1].copy_(y.softmax(-1)); return [x, y]",
    "p.copy_((x * 2).sum(-1, keepdim=True)); return [x + p, p]",
    "r = (x * 2).softmax(-1); r.add_(1); return [r]",
    "r = (x * 2).softmax(-1); r[:, 3].add_(1); return [r + 1]",
    "r = (x * 2).softmax(-1).t(); return [r + 1]",
    "return [(x * 2).softmax(-1).view(-1, 4).sum(-1)]",
    "return [(x * 2).view(R, 8, -1).softmax(1).view(R, n) + y]",
    "return [(x * 2).sum(-1, dtype=fl.float64), (x * 2).sum(-1)]",
    "return [(x > 0).sum(-1), (x * 2).argmax(-1)]"])
def test_memory(line):
    for n in (64, 200):
        run, compiled = function([line]), jit.compile(function([line]))
        wanted = [t.clone() for t in run(*arguments(n, "float32", 3, odd=False))]
        found = compiled(*arguments(n, "float32", 3, odd=False))
        assert all(map(same, wanted, found)), compiled.explain()


@needs_fma()
def test_streamed_results(monkeypatch):
    monkeypatch.setattr(bridge, "cache_bytes", lambda: 1)
    for n in (64, 100, 1000):
        lines = ["r = (x * 2).softmax(-1)", "return [r, F.layer_norm(x, (n,)) + r]"]
        assert compare(lines, arguments(n, "float32", n, odd=False), n)


MASKS = {(5, -1): True, (2, 1, 1, -1): True, (3, 5, -1): True, (2, 1, 5, -1): False,
         (1, 3, 1, -1): False, (2, 3, 1, -1): True, (3, 1, 1): False, (5, 1): True,
         (2, 1, 1, 1): True, (2, 3, 5, 1): True, (1, 1, 1, 1): True, (-1,): True}


@needs_fma()
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", MASKS)
def test_operands_that_are_broadcast_over_some_rows(shape, dtype):
    """Causal masks, masks of keys, biases of heads: rows that are met again and again."""
    for n in (16, 65, 128):
        own = tuple(n if size < 0 else size for size in shape)
        x, bias = numbers((2, 3, 5, n), dtype, n, True), numbers(own, dtype, n + 1, False)
        mask = bias > 0.3
        wide = fl.cat([bias, bias], -1)[..., : own[-1]]

        def run(x, mask, bias):
            y = fl.where(mask, x, float("-inf")).softmax(-1)
            return [y, (x * 0.5 + bias).log_softmax(-1) * y, (y - bias).norm(dim=-1)]
        compiled = jit.compile(run)
        for each in (bias, wide):
            wanted, found = (f(x, mask, each) for f in (run, compiled))
            assert all(map(same, wanted, found)), (n, compiled.explain())
        if MASKS[shape]:
            assert compiled.explain().count(FUSED), compiled.explain()


@needs_fma()
def test_norms_of_several_powers_are_several_plans():
    x = numbers((ROWS, 64), "float32", 1, True)
    compiled = jit.compile(lambda x, p: (x * 2).norm(p, -1) + 1, replay=False)
    for p in (2, 1, 3.0, float("inf"), 2, 0.5, 0, float("-inf"), 1):
        assert same((x * 2).norm(p, -1) + 1, compiled(x, p)), p
    assert FUSED in (compiled(x, 2), compiled.explain())[1]
    assert FUSED not in (compiled(x, 3), compiled.explain())[1]
