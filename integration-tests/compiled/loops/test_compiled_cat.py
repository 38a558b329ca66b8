"""Concatenations in compiled calls: what makes an input writes it to its place; the same bits."""

import random

import pytest

import flambeau
from flambeau import compiler, jit
from flambeau.core._core import waiting_calls
from flambeau.jit.deferral.pieces import Piece
from flambeau.nn import functional as F

pytestmark = pytest.mark.usefixtures("small_kernels_wait")

DTYPES = [getattr(flambeau, name) for name in (
    "float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64", "uint64")]


def bits(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.is_floating_point():
        tensor = flambeau.where(tensor.isnan(), flambeau.full_like(tensor, float("nan")), tensor)
    return tensor.view(-1).view(flambeau.uint8)


def same(one, other):
    assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
    assert (one._version, one.requires_grad) == (other._version, other.requires_grad)
    assert flambeau.equal(bits(one), bits(other))


def numbers(shape, dtype, seed=0):
    flambeau.manual_seed(seed)
    x = flambeau.randn(shape) * 3
    if x.numel() > 3:
        x.view(-1)[::5] = float("nan") if dtype.is_floating_point else 2.0
    return (x.abs() if dtype in (flambeau.uint8, flambeau.uint64) else x).to(dtype)


def compare(fn, *args, times=2):
    """Results of a function and of a compiled one, for arguments of their own."""
    compiler.reset()
    compiled = jit.compile(fn)
    for _ in range(times):
        results = [f(*(arg.clone() for arg in args)) for f in (fn, compiled)]
        for one, other in zip(*results, strict=True):
            same(one, other)
    return compiled


SOURCES = {
    "computed": lambda x: x + x,
    "given": lambda x: x,
    "transposed": lambda x: (x.transpose(0, -1) + x.transpose(0, -1)).transpose(0, -1),
    "every second": lambda x: flambeau.stack([x, x], -1)[..., 1] if x.dim() else x,
    "slice": lambda x: flambeau.cat([x + x, x], -1)[..., : x.shape[-1]],
    "expanded": lambda x: (x[:1] + x[:1]).expand(x.shape),
    "reversed": lambda x: x.flip(0) + x,
    "reduced": lambda x: x.amax(0, keepdim=True).expand(x.shape) if not x.is_complex() else x,
}


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 5), (1, 4, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dimension_and_layout(shape, dtype):
    names = list(SOURCES)
    for dim in range(-len(shape), len(shape)):
        for k, name in enumerate(names):
            others = [SOURCES["computed"], SOURCES[name], SOURCES[names[k - 1]]]

            def fn(x, y, others=others, dim=dim):
                parts = [make(z) for make, z in zip(others, (x, y, x), strict=True)]
                joined = flambeau.cat(parts, dim)
                return [joined, joined + joined, *parts]
            compare(fn, numbers(shape, dtype), numbers(shape, dtype, 1))


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_dtypes_are_promoted(one, other):
    def fn(x, y):
        return [flambeau.cat([x + x, y], dim) for dim in (0, 1)] + [
            flambeau.cat([x, y + y, x + x], 1), flambeau.stack([x, y + y], -1)]
    compare(fn, numbers((3, 4), one), numbers((3, 4), other, 1))


def test_sizes_that_differ_and_empty_inputs():
    def fn(x, y):
        nothing = flambeau.empty(0)
        return [flambeau.cat([x * 2, y[:0]]), flambeau.cat([nothing, x * 2, y * 3]),
                flambeau.cat([x[:, :1] * 2, y, x[:, :0], y[:, 1:3].exp()], -1),
                flambeau.cat([x[:0] * 2, y[:0]]), flambeau.cat([nothing, nothing]),
                flambeau.cat([(x * 2)[1:], y.neg()[:1], nothing], -2)]
    compare(fn, numbers((3, 4), flambeau.float32), numbers((3, 4), flambeau.float32, 1))


WRITES = {
    "an input is written to": lambda x, y: (
        lambda a: (flambeau.cat([a, y]), a.zero_(), y.add_(1)))(x * 2),
    "the result is written to": lambda x, y: (
        lambda a: (lambda r: (r.mul_(2), r[0].fill_(7), a + 1, r))(
            flambeau.cat([a, y], -1)))(x * 2),
    "a slice of the result is an input": lambda x, y: (
        lambda r: (r, flambeau.cat([r[:, 1:3], r[:, :2] * 2], 1)))(flambeau.cat([x + y, y], 1)),
    "out": lambda x, y: (
        lambda out: (flambeau.cat([x * 2, y], out=out), out))(x.new_empty(6, 4)),
    "out is strided": lambda x, y: (
        lambda out: (flambeau.cat([x * 2, y], 1, out=out[:, ::2]), out))(x.new_zeros(3, 16)),
    "out is resized": lambda x, y: (
        lambda out: (flambeau.cat([x * 2, y], out=out), out))(x.new_empty(0)),
    "out is what inputs are made of": lambda x, y: (
        lambda out: (flambeau.cat([out[3:] * 2, out[:3].exp()], out=out), out))(
            flambeau.cat([x, y]) + 1),
    "out is read in another order": lambda x, y: (
        lambda out: (flambeau.cat([out[1:4] * 2, out[:3] + 1], out=out), out))(
            flambeau.cat([x, y]) * 1),
    "twice the same": lambda x, y: (lambda a: (flambeau.cat([a, a, a], 1), a))(x * y),
    "in a chain": lambda x, y: (flambeau.cat([flambeau.cat([x * 2, y], 1) + 1,
                                              flambeau.cat([y * 3, x], 1)], 0).relu(),),
    "of rows": lambda x, y: (flambeau.cat([(x * 2).softmax(-1), y], 0).sum(-1),
                             flambeau.cat([(y + x).softmax(-1), x * 2], 1) * 2),
    "of products": lambda x, y: (flambeau.cat([(x @ y.T).relu(), x * 2], 1).exp(),
                                 flambeau.cat([x @ y.T, y @ x.T])),
    "rope": lambda x, y: (lambda h: (x * y + flambeau.cat((-h[:, 2:], h[:, :2]), -1) * y,))(x),
    "many": lambda x, y: (flambeau.cat([x * k for k in range(30)], 1),
                          flambeau.cat([x, *[y] * 9, x * 2], 1)),
    "values are looked at": lambda x, y: (
        lambda r: (flambeau.tensor(r.tolist()), r))(flambeau.cat([x * 2, y])),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16])
def test_writes(name, dtype):
    compare(WRITES[name], numbers((3, 4), dtype), numbers((3, 4), dtype, 1), times=8)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gradients(dim):
    def fn(x, y):
        x.requires_grad_()
        y.requires_grad_()
        r = flambeau.cat([x * y, x.exp(), y], dim)
        (F.gelu(r) * r).sum().backward()
        same_history = flambeau.stack([x * 2, y * 3], dim)
        same_history.sum().backward()
        return [r, x.grad, y.grad, same_history]
    compare(fn, flambeau.randn(3, 4), flambeau.randn(3, 4))


def test_errors_come_at_their_line_and_leave_what_waits():
    def fn(x):
        y = x * 2
        with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
            flambeau.cat([y, x[:, :1]])
        with pytest.raises(IndexError):
            flambeau.cat([y, x], 5)
        return [y, flambeau.cat([y, x])]
    compare(fn, flambeau.randn(3, 4))


def test_memory_that_others_can_write_to_is_read_at_once():
    array = flambeau.ones(3, 4).numpy()
    x = flambeau.from_numpy(array)

    @jit.compile
    def fn():
        joined = flambeau.cat([x.clone() * 2, x])
        array[:] = 5
        return joined
    assert fn().tolist() == [[2.0] * 4] * 3 + [[1.0] * 4] * 3


def test_inputs_of_one_shape_and_the_copies_are_one_loop():
    for dim in (0, 1):
        step = jit.compile(lambda x, dim=dim: flambeau.cat([x.relu(), x.tanh(), x], dim))
        step(flambeau.randn(4, 6))
        assert "[4, 6]: relu tanh clone clone clone; reads 1, writes 3" in step.explain()
    step = jit.compile(lambda x: flambeau.stack([x.relu(), x.tanh()], 1))
    step(flambeau.randn(4, 6))
    assert "[4, 6]: relu tanh clone clone; reads 1, writes 2" in step.explain()


def test_results_between_others_are_in_the_loop_that_makes_them():
    step = jit.compile(lambda x: flambeau.stack([x.relu(), x.tanh()], -1))
    step(flambeau.randn(4, 6))
    assert [line.split(";")[0].strip() for line in step.explain().splitlines()[1:]] == [
        "[4, 6]: relu tanh clone clone"]


def test_one_that_gains_nothing_runs_at_once():
    """Columns share no rows with the copy of the result, nor does a copy of what is given."""
    def fn(x):
        y = (x * 2).softmax(0)
        before = waiting_calls()
        joined = flambeau.cat([y, x], 1)
        waited.append(waiting_calls() > before)
        return joined
    waited, compiled, x = [], jit.compile(fn), flambeau.randn(40, 64)
    for _ in range(60):
        assert flambeau.equal(fn(x), compiled(x))
    assert waited[1] and not any(waited[-2:])


def bytes_of(piece):
    found = set()
    for number in range(flambeau.Size(piece.shape).numel()):
        at = piece.start
        for size, stride in zip(reversed(piece.shape), reversed(piece.strides), strict=True):
            at += number % size * stride * piece.size
            number //= size
        found.update(range(at, at + piece.size))
    return found


def random_piece(draw):
    """A slice of a tensor, of which some dimensions are permuted, merged or stepped through."""
    size = draw.choice((1, 2, 4, 8))
    shape = [draw.randint(1, 4) for _ in range(draw.randint(0, 3))]
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n if draw.random() < 0.8 else n + 1
    start = draw.randint(0, 6) * draw.choice((1, size))
    for k in range(len(shape)):
        kind = draw.random()
        if kind < 0.5:
            first = draw.randrange(shape[k])
            start += first * strides[k] * size
            shape[k] = draw.randint(1, shape[k] - first)
        elif kind < 0.6:
            strides[k] = draw.choice((0, 1, 2, 3))
    if draw.random() < 0.2:
        order = draw.sample(range(len(shape)), len(shape))
        shape, strides = [shape[k] for k in order], [strides[k] for k in order]
    return Piece(0, "float32", tuple(shape), tuple(strides), start, size)


def test_pieces_that_are_said_to_lie_apart_do():
    draw = random.Random(1)
    apart = beside = 0
    for _ in range(20_000):
        one, other = random_piece(draw), random_piece(draw)
        meet = bool(bytes_of(one) & bytes_of(other))
        assert one.overlaps(other) == other.overlaps(one)
        assert one.overlaps(other) or not meet, (one, other)
        apart += not meet
        beside += not one.overlaps(other) and one.start < other.end and other.start < one.end
    assert apart > 1000 and beside > 150


def test_halves_of_rows_lie_apart_and_wholes_do_not():
    left, right = (Piece(0, "float32", (8, 5), (10, 1), start, 4) for start in (0, 20))
    whole = Piece(0, "float32", (8, 10), (10, 1), 0, 4)
    assert not left.overlaps(right) and left.overlaps(whole) and right.overlaps(whole)
    assert left.overlaps(Piece(0, "float32", (80,), (1,), 0, 4))
    assert left.overlaps(left) and not left.overlaps(Piece(1, "float32", (8, 5), (10, 1), 0, 4))
