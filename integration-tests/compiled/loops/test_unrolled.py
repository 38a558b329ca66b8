"""Reductions of a few elements in compiled calls are formulas over them: the same bits."""

import itertools

import pytest

import flambeau
from flambeau import compiler, jit

pytestmark = pytest.mark.usefixtures("small_kernels_wait")

DTYPES = [getattr(flambeau, name) for name in (
    "float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64")]
OPS = ("sum", "mean", "prod", "amax", "amin")
#: Seven elements and fewer are taken apart.
SHAPES = [(5, 3), (3, 5), (50, 7), (50, 8), (4, 6, 2), (2, 1, 4), (1, 3), (900, 3), (3, 40, 5)]


def numbers(shape, dtype=flambeau.float32, seed=0):
    flambeau.manual_seed(seed)
    x = flambeau.randn(*shape) * 3
    if dtype.is_floating_point:
        for step, value in ((7, float("nan")), (5, -0.0), (11, 0.0), (13, float("inf"))):
            x.view(-1)[step % 3 :: step] = value
    return x.to(dtype)


def bits(x):
    if x.dtype.is_floating_point:
        x = flambeau.where(x.isnan(), flambeau.full_like(x, float("nan")), x)
    return x.contiguous().view(-1).view(flambeau.uint8)


def compare(fn, *args):
    compiler.reset()
    compiled = jit.compile(fn)
    for _ in range(2):
        results = [f(*(arg.clone() for arg in args)) for f in (fn, compiled)]
        for one, other in zip(*results, strict=True):
            assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape,
                                                            other.stride())
            assert flambeau.equal(bits(one), bits(other))
    return compiled


def reduced(op, x, dim, keepdim):
    if op in ("amax", "amin") and x.is_complex() or op == "mean" and not (
            x.is_floating_point() or x.is_complex()):
        return x.sum(dim, keepdim=keepdim)
    return getattr(x, op)(dim, keepdim=keepdim)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_reduction(shape, dtype):
    x = numbers(shape, dtype)
    for op, dim, keepdim in itertools.product(OPS, range(len(shape)), (False, True)):
        compare(lambda x, op=op, dim=dim, keep=keepdim: (reduced(op, x, dim, keep),), x)
        compare(lambda x, op=op, dim=dim, keep=keepdim:
                (reduced(op, x * x, dim, keep) + 1,), x)


def test_zeros_that_are_negative():
    x = flambeau.full((40, 3), -0.0)
    for op, dim in itertools.product(OPS, (0, 1)):
        compare(lambda x, op=op, dim=dim: (reduced(op, x, dim, False), reduced(op, -x, dim, True)),
                x if dim else x.t().contiguous())


def distances(a, b):
    return ((a[:, None] - b) ** 2).sum(-1).sqrt(),


def held_as_well(a, b):
    difference = a[:, None] - b
    return (difference * difference).sum(-1), difference


def of_two_dimensions(a, b):
    product = a[:, None] * b
    return product.sum(-1), product.sum(0), product.amax(-1, keepdim=True)


def twice(a, b):
    difference = a[:, None] - b
    square = difference * difference
    return square.sum(-1), (difference * 2).amin(-1), square.mean(-1)


def normalized(a, b):
    length = (a * a).sum(-1, keepdim=True).sqrt()
    return a / length, (b / (b * b).sum(-1, keepdim=True)).sum(-1)


def written_before(a, b):
    c = a * 2
    c += 1
    c[:, -1] = 5
    return c.sum(-1), (b.t() * 2).t().sum(-1)


def converted(a, b):
    return (a.double() * 2).sum(-1), (a.half().float() * a).sum(-1), b.long().float().sum(-1)


def of_a_reduction(a, b):
    return (a[:, None] - b).abs().sum(-1).amin(1), (a[:, None] * b).sum(-1).softmax(-1)


def several_of_one(a, b):
    x = (a[:, None] + b).view(len(a), len(b), -1, 1).expand(-1, -1, -1, 2)
    return x.sum(-1), x.sum(-2)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 9])
@pytest.mark.parametrize("fn", [distances, held_as_well, of_two_dimensions, twice, normalized,
                                converted, of_a_reduction, several_of_one, written_before])
def test_programs(fn, width):
    for rows in (4, 5, 300):
        compare(fn, numbers((rows, width)), numbers((6, width), seed=1))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_images(dim):
    shape = [16, 17, 18]
    shape[dim] = 3
    x = numbers(shape)

    def fn(x):
        high, low = x.amax(dim, keepdim=True), x.amin(dim, keepdim=True)
        return (high - low) / high, x.mean(dim), (x - low).sum(dim)

    compare(fn, x)
    compare(fn, x.transpose(0, 2).contiguous().transpose(0, 2))


def test_gradients():
    a, b = numbers((60, 3)), numbers((7, 3), seed=1)

    def fn(a, b):
        a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
        loss = (((a[:, None] - b) ** 2).sum(-1) + 1).rsqrt().sum()
        loss.backward()
        return loss.detach(), a.grad, b.grad

    compare(fn, a, b)


def test_what_is_not_taken_apart_is_said():
    x = numbers((50, 3))
    text = str(jit.compile(lambda x: (x * x).sum(-1)).explain(x))
    assert "mul mul mul sum" in text, text
    text = str(jit.compile(lambda x: (x * x).sum(-1)).explain(numbers((50, 8))))
    assert "mul mul" not in text, text
