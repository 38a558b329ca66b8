"""Loops over operands that lie in another order are compiled as if they did not: the same bits."""

import itertools

import pytest

import flambeau
from flambeau import compiler, jit

pytestmark = pytest.mark.usefixtures("small_kernels_wait")

DTYPES = [getattr(flambeau, name) for name in (
    "float32", "float64", "float16", "bfloat16", "int64", "int16", "uint8", "bool", "complex64",
    "complex128")]
#: Rows longer and shorter than a vector, and more elements than are moved at once, and than one
#: thread takes.
SHAPES = [(700, 3), (3, 700), (90, 37), (5, 6, 7), (60, 50, 3), (9000, 5)]


def numbers(shape, dtype, seed=0):
    flambeau.manual_seed(seed)
    x = flambeau.randn(*shape) * 3
    if dtype.is_floating_point:
        x.view(-1)[::7] = float("nan")
    return (x.abs() if dtype == flambeau.uint8 else x).to(dtype)


def held(x, layout):
    """The same numbers in another order, or others that are broadcast to the shape."""
    if layout == "apart":
        wide = flambeau.zeros(*x.shape[:-1], x.shape[-1] + 3, dtype=x.dtype)
        wide[..., 1:-2] = x
        return wide[..., 1:-2]
    if layout == "third":
        wide = flambeau.zeros(*x.shape[:-1], 3 * x.shape[-1], dtype=x.dtype)
        wide[..., ::3] = x
        return wide[..., ::3]
    if layout == "transposed":
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "row":
        return x[:1].clone()
    if layout == "column":
        return x[..., :1].clone()
    if layout == "expanded":
        return x[..., :1].clone().expand(x.shape)
    if layout == "number":
        return x.view(-1)[1].clone()
    return x


LAYOUTS = ("dense", "apart", "third", "transposed", "row", "column", "expanded", "number")


def same(one, other):
    assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
    assert one._version == other._version
    nan = one.isnan() & other.isnan() if not one.dtype == flambeau.bool else one & other
    assert ((one == other) | nan).all()


def compare(fn, *make):
    compiler.reset()
    compiled = jit.compile(fn)
    for _ in range(2):
        results = [f(*(each() for each in make)) for f in (fn, compiled)]
        for one, other in zip(*results, strict=True):
            same(one, other)
    return compiled


def chain(a, b):
    c = a * b + a
    return c, c - b if c.dtype != flambeau.bool else c ^ b


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_of_layouts(shape, dtype):
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    every = 1 if dtype == flambeau.float32 else 7
    for number, (one, other) in enumerate(itertools.product(LAYOUTS, LAYOUTS)):
        if number % every == 0:
            compare(chain, lambda one=one: held(x, one), lambda other=other: held(y, other))


def into(target, x):
    target.mul_(x)
    target.add_(x)
    return (target,)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", LAYOUTS[:4])
@pytest.mark.parametrize("dtype", (flambeau.float32, flambeau.int16, flambeau.complex128))
def test_results_are_moved_back(shape, layout, dtype):
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    for other in LAYOUTS[::2]:
        compare(into, lambda: held(x.clone(), layout), lambda other=other: held(y, other))


def beside(target, x):
    """Two results in one memory, every second element each."""
    target[..., ::2] = x * 2 + 1
    target[..., 1::2] = x.exp() - x
    return (target,)


@pytest.mark.parametrize("shape", SHAPES)
def test_results_that_fill_gaps(shape):
    x = numbers(shape, flambeau.float32)
    compare(beside, lambda: flambeau.zeros(*shape[:-1], 2 * shape[-1]), lambda: x)


def shifted(x):
    x[:, 1:].mul_(2).add_(x[:, :1])
    y = x[1:] + x[:-1] * 2
    return x, y.exp()


@pytest.mark.parametrize("shape", [(700, 3), (40, 70), (3, 700)])
def test_memory_that_is_read_and_written(shape):
    x = numbers(shape, flambeau.float64)
    compare(shifted, x.clone)
    compare(lambda z: shifted(z.t()), lambda: x.clone().t().contiguous())


def test_what_is_said():
    x, y = numbers((700, 3), flambeau.float32), numbers((3,), flambeau.float32)
    text = str(jit.compile(chain).explain(x, y))
    assert "mul add" in text
