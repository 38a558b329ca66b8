"""Products and convolutions in compiled calls, with loops over what they make: the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import jit
from flambeau.jit import bridge, compiling
from flambeau.jit.deferral import epilogues
from flambeau.nn import functional as F


@pytest.fixture(autouse=True)
def small_products_wait(monkeypatch):
    """As those do that do not fit the caches."""
    monkeypatch.setattr(epilogues, "LEAST_CACHES", 0)
    failures = []

    def make_plan(calls, needed, key):
        try:
            return compiling.make_plan(calls, needed, b"")
        except Exception as error:
            failures.append(error)
            raise

    bridge.configure_deferral(make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)
    assert not failures


def bits(t):
    """The bits, of which any NaN is NaN."""
    array = t.detach().contiguous().numpy()
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).tobytes()


def numbers(*shape, dtype=flambeau.float32, seed=0):
    values = np.random.default_rng(seed + sum(shape)).standard_normal(shape)
    values.flat[:: 29] = -0.0
    values.flat[7 :: 101] = np.nan
    return flambeau.tensor(values).to(dtype)


def conv(x, w, dtype, bias=False, finite=False, **options):
    x, w = numbers(*x, dtype=dtype), numbers(*w, dtype=dtype, seed=1)
    if finite:
        x = x.nan_to_num()
    b = numbers(w.shape[0], dtype=dtype, seed=2) if bias else None
    return lambda: F.conv2d(x, w, b, **options)


def matmul(a, b, dtype, turned=False):
    a, b = numbers(*a, dtype=dtype), numbers(*b, dtype=dtype, seed=1)
    return lambda: a @ (b.mT if turned else b)


def linear(x, w, dtype, bias=True):
    x, w = numbers(*x, dtype=dtype), numbers(*w, dtype=dtype, seed=1)
    b = numbers(w.shape[0], dtype=dtype, seed=2) if bias else None
    return lambda: F.linear(x, w, b)


#: Every way in which they are cut: tiles, swapped sides, dot products, small ones, batches; bands
#: of rows, several images, parts of the channels, strips gathered apart, groups, depthwise;
#: Winograd's tiles, which NaN in the input keeps out.
PRODUCTS = {
    "tiles": lambda d: matmul((400, 70), (70, 1100), d),
    "slabs": lambda d: matmul((130, 700), (700, 40), d),
    "few columns": lambda d: matmul((500, 90), (90, 7), d),
    "one column": lambda d: matmul((500, 90), (90, 1), d),
    "vector": lambda d: matmul((50, 90), (90,), d),
    "few rows": lambda d: matmul((5, 300), (300, 600), d),
    "dot": lambda d: matmul((5, 300), (600, 300), d, turned=True),
    "small": lambda d: matmul((6, 5), (5, 7), d),
    "one product": lambda d: matmul((3,), (3,), d),
    "batch": lambda d: matmul((6, 40, 30), (6, 30, 50), d),
    "two batches": lambda d: matmul((3, 1, 40, 30), (4, 30, 50), d),
    "linear": lambda d: linear((3, 50, 40), (60, 40), d),
    "linear alone": lambda d: linear((70, 40), (60, 40), d, bias=False),
    "linear row": lambda d: linear((40,), (60, 40), d),
    "convolution": lambda d: conv((2, 3, 40, 41), (9, 3, 3, 3), d, padding=1),
    "images": lambda d: conv((20, 8, 7, 6), (70, 8, 3, 3), d, padding=1, bias=True),
    "channels": lambda d: conv((2, 40, 9, 9), (300, 40, 3, 3), d),
    "winograd": lambda d: conv((3, 20, 13, 61), (40, 20, 3, 3), d, True, finite=True, padding=1),
    "points": lambda d: conv((2, 20, 30, 31), (40, 20, 1, 1), d, bias=True),
    "groups": lambda d: conv((3, 12, 33, 20), (18, 4, 3, 3), d, groups=3, stride=2),
    "depthwise": lambda d: conv((3, 10, 70, 40), (10, 1, 3, 3), d, groups=10, padding=1),
    "one image": lambda d: conv((3, 30, 30), (5, 3, 5, 5), d, dilation=2),
}


def epilogue(name, y, other):
    column = flambeau.arange(y.shape[-1], dtype=y.dtype) if y.dim() else y * 0
    loops = {
        "relu": lambda: y.relu(),
        "gelu": lambda: F.gelu(y) * 0.5,
        "residual": lambda: (y + other).relu() + other,
        "column": lambda: y * column + 1,
        "in place": lambda: y.mul_(2).add_(other).relu_(),
        "two results": lambda: (y.relu(), y * 2),
        "held": lambda: (y, y.sigmoid()),
        "into another": lambda: other.copy_(y.exp()),
        "of another dtype": lambda: (y * 2).to(flambeau.float64) + 1,
        "flat": lambda: y.reshape(-1) * 3 + 1,
        "mask": lambda: flambeau.where(y > 0, y, other),
        "sum": lambda: (y + y.sum()) * 2,
        "softmax": lambda: (y * 2).softmax(-1) if y.dim() else y.exp(),
    }
    made = loops[name]()
    return made if isinstance(made, tuple) else (made,)


LOOPS = ("relu", "gelu", "residual", "column", "in place", "two results", "held", "into another",
         "of another dtype", "flat", "mask", "sum", "softmax")


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
def test_bits(product, dtype):
    make = PRODUCTS[product](dtype)
    shape = make().shape
    for name in LOOPS:
        found = []
        for wrap in (lambda f: f, jit.compile):
            other = numbers(*shape, dtype=dtype, seed=3)
            results = wrap(lambda name=name, other=other: epilogue(name, make(), other))()
            found.append([*map(bits, results), bits(other)])
        assert found[0] == found[1], name


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads):
    before = flambeau.get_num_threads()
    make = PRODUCTS["tiles"](flambeau.float32)
    wanted = bits(F.silu(make()))
    flambeau.set_num_threads(threads)
    assert bits(jit.compile(lambda: F.silu(make()))()) == wanted
    flambeau.set_num_threads(before)


def lines(function, *args):
    compiled = jit.compile(function)
    compiled(*args)
    return [line.strip() for line in compiled.explain().splitlines() if line.startswith(" ")]


A, B, W = numbers(4, 5, seed=1), numbers(4, 5, seed=2), numbers(5, 5, seed=3)


def test_loops_run_over_what_is_made():
    norm = flambeau.nn.BatchNorm2d(3).eval().requires_grad_(False)
    x, w = numbers(2, 3, 5, 5), numbers(3, 3, 3, 3)
    made = lines(lambda x: (norm(F.conv2d(x, w, padding=1)) + x).relu(), x)
    assert made == ["conv2d, and over what it makes [2, 3, 5, 5]: channel_affine add relu"]
    assert lines(lambda a: F.linear(a, W).relu_(), A) == [
        "linear, and over what it makes [4, 5]: relu"]
    assert lines(lambda a: (a + 1) @ W * 2 + 1, A) == [
        "[4, 5]: add; reads 1, writes 1", "matmul, and over what it makes [4, 5]: mul add"]


def test_loops_that_need_more_run_afterwards():
    """Other elements of the product, its result as well, or memory that it reads."""
    def writes_operand(a):
        return a.add_(a @ W)

    def overwrites_operand(a):
        return flambeau.exp(a @ W, out=a)

    def overwrites_part_of_operand(a):
        return flambeau.exp(a[:3] @ W, out=a[1:])

    def reads_row(a):
        y = a @ W
        return y + y[0]

    def reads_one_row(a):
        return B + (a @ W)[:1]

    def reads_as_two(a):
        y = a[:1] @ W
        return y.relu() + y.as_strided((1, 5), (99, 1))

    def holds(a):
        y = a @ W
        return y, y * 2

    for function in (writes_operand, overwrites_operand, overwrites_part_of_operand,
                     reads_row, reads_one_row, reads_as_two, holds):
        wanted = function(A.clone())
        assert not any("over what it makes" in line for line in lines(function, A.clone()))
        found = jit.compile(function)(A.clone())
        pairs = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
        assert all(bits(one) == bits(other) for one, other in pairs)


def test_what_is_written_meanwhile():
    """Operands after the call, and the weight of the next."""
    def step(a, b, w):
        a, b, w = a.clone(), b.clone(), w.clone()
        y = a @ w
        a.zero_()
        z = (y + b).relu()
        w.mul_(2)
        v = b @ w
        b.fill_(1)
        return y, z, v - b, a, w

    wanted, found = step(A, B, W), jit.compile(step)(A, B, W)
    assert list(map(bits, wanted)) == list(map(bits, found))


def test_the_result_lies_where_the_program_says():
    """In part of a larger tensor, between other elements."""
    def step(a, out):
        flambeau.relu(a @ W, out=out[1:5])
        out[5:].copy_(a @ W * 2)
        return out

    wanted, found = (wrap(step)(A, flambeau.zeros(9, 5)) for wrap in (lambda f: f, jit.compile))
    assert bits(wanted) == bits(found)


def test_gradients():
    def step(a, w):
        a, w = (t.nan_to_num().requires_grad_() for t in (a, w))
        F.gelu(F.linear(a, w, w[0])).mul(2).sum().backward()
        F.linear(a, w).relu().square().sum().backward()
        return a.grad, w.grad

    wanted, found = step(A, W), jit.compile(step)(A, W)
    assert list(map(bits, wanted)) == list(map(bits, found))


def test_other_dtypes_empty_and_nothing_to_add():
    for dtype in (flambeau.float16, flambeau.bfloat16, flambeau.int64, flambeau.complex64):
        a, w = ((t.nan_to_num() * 4).to(dtype) for t in (A, W))
        wanted, found = (a @ w) * 2 + a, jit.compile(lambda a, w: (a @ w) * 2 + a)(a, w)
        assert wanted.dtype == found.dtype and flambeau.equal(wanted, found)
    for m, k, n in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
        a, b = flambeau.ones(m, k), flambeau.ones(k, n)
        found = jit.compile(lambda a, b: (a @ b + 1).relu())(a, b)
        assert flambeau.equal(found, (a @ b + 1).relu()) and found.shape == (m, n)
