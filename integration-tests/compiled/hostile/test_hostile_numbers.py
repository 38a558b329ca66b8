"""Compiled functions over strange views, dtypes, strides, sizes and random numbers."""

import random

import numpy as np
from agreeing import agree, each_way, numbers

import flambeau
import flambeau.nn.functional as F
from flambeau import nn

USES = []


def use(program):
    USES.append(program)
    return program


@use
def views_of_views_with_history(compiled, rows):
    leaf = numbers(rows, requires_grad=True)

    @compiled
    def work():
        base = leaf * 2
        one = base.view(-1)[2:]
        two = one[::2]
        three = two.view(-1, 1).expand(-1, 3)
        two.mul_(3)
        base[:, 1].add_(two[0])
        made = three.sum() + base.t()[0].exp().sum()
        one.sub_(1)
        four = base.t().diagonal()
        four.copy_(four.exp())
        five = base.unflatten(-1, (2, 2)).permute(2, 0, 1)[1]
        five.clamp_(-1, 1)
        (made + base.sum() + five.sum()).backward()
        return one, two, three, base, four, five, leaf.grad.clone()
    return [work() for _ in range(3)], leaf


@use
def splits_and_chunks_written(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        a, b = x.chunk(2, -1)
        c = a.unbind(-1)[1]
        y = a * b
        c.mul_(2)
        b.add_(a)
        for part in x.split(1, -1):
            part.sub_(y.sum(-1, keepdim=True) * 0.01)
        d = x.unfold(-1, 2, 2)
        d[..., 0].neg_()
        return y, d, x.flip(0).add_(1), x.roll(1, 0), c
    return [work(x) for _ in range(3)], x


@use
def complex_numbers(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        z = flambeau.view_as_complex(x.view(-1, 2, 2))
        y = z * (1 + 2j) + z.conj()
        z.real.mul_(2)
        flambeau.view_as_real(z)[..., 1].add_(1)
        z.imag[0] = 3
        w = (z.abs() * 2 + z.angle()).exp()
        u = y.conj().clone()
        y.mul_(1j).add_(z)
        return y, w, u, z.conj() * 2, (z.conj() @ z.T.conj()[:, :2]).real, z.conj().imag + 1
    return [work(x) for _ in range(3)], x


@use
def complex_gradients(compiled, rows):
    leaf = flambeau.complex(numbers(rows), numbers(rows, 1)).requires_grad_()

    @compiled
    def work():
        y = (leaf * (2 - 1j)).exp() * leaf.conj()
        (y.abs().sum() + y.real.sum() * 2).backward()
        return y
    return [work() for _ in range(3)], leaf


@use
def integers_and_booleans(compiled, rows):
    x = (numbers(rows) * 1000).to(flambeau.int64)

    @compiled
    def work(x):
        y = x.to(flambeau.int8)
        z = y * y + 100
        u = x.to(flambeau.uint8) - 7
        b = (x > 0) & (y < 3) | ~(u == 5)
        s = (x << 2) ^ (x >> 1)
        x.floor_divide_(3)
        c = b.sum(-1) + b.all(-1) * 2 - b.to(flambeau.int32).prod(-1)
        x.bitwise_xor_(7)
        return y, z, u, b, s, c, x // -3, x % -5, flambeau.fmod(x, 7), x / 3, -b.int(), \
            b.cumsum(0), x.remainder(4), (x.half() + 70000), u.neg(), x.clamp(-3, 9)
    return [work(x) for _ in range(3)], x


@use
def without_dimensions_and_elements(compiled, rows):
    x, zero = numbers(rows), flambeau.tensor(2.0)

    @compiled
    def work(x, zero):
        none = x[:0]
        y = zero * 3
        zero.add_(y)
        y.mul_(zero)
        z = none.sum(0) + y
        none.add_(1)
        k = (none * 2).exp().mean(-1)
        a = x.sum() * zero
        zero.copy_(a.detach() * 0 + 1)
        zero[...] = 4
        total = none.sum() + none.prod()
        c = flambeau.cat([none * 2, x * zero, none])
        return y, z, k, a, total, c, none.softmax(-1), none.T @ none, zero[None].expand(3) + 1, \
            none.reshape(4, 0) * 2, none.any(), F.layer_norm(none, (4,))
    kept = [work(x, zero) for _ in range(3)]
    return kept, x, zero


@use
def errors_of_empty_reductions(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x, first):
        x.mul_(2)
        y = x * 3
        try:
            z = (x[:first] * 2).max()
        except (RuntimeError, IndexError) as error:
            return type(error).__name__, y
        x.add_(1)
        return z, y
    return [work(x, k) for k in (1, 0, 2, 0, 0)], x


@use
def strides_change_between_calls(compiled, rows):
    work = compiled(lambda a, b: ((a * 2 + b).exp().sum(-1), (a + b).softmax(0), a - b, a.clone(),
                                  flambeau.empty_like(a).stride(), (a * b).view(-1)[:3]
                                  if (a * b).is_contiguous() else None))
    x, y = numbers(rows), numbers(rows, 1)
    square = numbers(rows).view(-1)[:rows * 4 // 4 * 4].view(4, -1)
    wide = flambeau.zeros(rows, 8)
    wide[:, ::2] = x
    kept = []
    for a, b in ((x, y), (square.t(), y), (wide[:, ::2], y), (x, y), (x[0].expand(rows, 4), y),
                 (wide[:, 4:], square.t()), (x, x), (x, x[:]), (x, y), (square.t(), square.t()),
                 (x.t().contiguous().t(), y[:1]), (x.flip(0), y)):
        kept.append(work(a, b))
    return kept


@use
def channels_last(compiled, rows):
    x = flambeau.tensor(np.random.default_rng(0).standard_normal((2, 3, 5, rows)).astype("float32"))
    conv, norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)

    @compiled
    def work(x):
        y = norm(conv(x)).relu()
        return (y, y * 2 + 1, F.max_pool2d(y, 2, 1), y.mean((2, 3)),
                y.permute(0, 2, 3, 1) * 2)
    kept = []
    for k in range(5):
        a = x.contiguous(memory_format=flambeau.channels_last) if k % 2 else x
        kept.append(work(a))
        if k == 3:
            norm.eval()
    return kept, norm.running_mean, norm.num_batches_tracked


@use
def numbers_that_are_equal_but_differ(compiled, rows):
    x, n = numbers(rows), (numbers(rows) * 5).to(flambeau.int32)
    work = compiled(lambda k: (x * k, n * k, n + k, flambeau.tensor(k), (n > k).sum(), str(k), x / k
                               if k else x))
    kept = []
    for k in (1, 1.0, True, 1, np.float32(1), np.int64(1), 0.0, -0.0, 0, False, 0.0, float("nan"),
              float("inf"), 2**31 - 1, -1, 1.0, 1, True):
        kept.append(work(k))
    signs = compiled(lambda z: (flambeau.zeros(2) * z, x.abs() * 0 * z))
    kept += [[1 / t for t in signs(z)] for z in (0.0, -0.0, 0, -0.0, 1.0, -1.0)]
    return kept


@use
def out_overlaps(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        y = x * 2
        flambeau.mul(y, x, out=y)
        flambeau.add(y, y.sum(), out=x)
        flambeau.exp(x[:, :2] * 0.1, out=x[:, 2:])
        flambeau.sum(y, -1, out=x[:, 0])
        flambeau.cat([y[:1] * 2, x[1:]], out=y)
        flambeau.where(y > 0, x, y, out=x)
        try:
            flambeau.add(x[:-1], 1, out=x[1:])
        except RuntimeError as error:
            return str(error)[:30], y
        return x, y
    return [work(x * 0.1) for _ in range(4)], x


@use
def deterministic_sorts_and_sets(compiled, rows):
    x = (numbers(rows) * 2).round()

    @compiled
    def work(x):
        v, i = x.sort(-1, stable=True)
        u, inv, c = x.unique(return_inverse=True, return_counts=True)
        t = x.topk(2)
        x.add_(v * 0.5)
        h = flambeau.histc(x, 5, -3, 3)
        m = x.mode(-1)
        s = flambeau.zeros(9).index_add_(0, (x.view(-1) * 0).long() + 3, x.view(-1))
        sc = flambeau.zeros(rows, 4).scatter_reduce_(1, i, x, "amax")
        at = flambeau.tensor([0, 0]), flambeau.tensor([1, 1])
        p = flambeau.zeros(rows, 4).index_put_(at, x[0, :2], accumulate=True)
        return v, i, u, inv, c, t, h, m, s, sc, p
    return [work(x.clone() + k) for k in range(3)]


@use
def loops_of_other_lengths(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(n):
        a = x * 1
        for k in range(n):
            a = a * 0.9 + k
            if k % 7 == 3:
                a.sub_(x)
        return a
    return [work(n) for n in (3, 3, 100, 100, 0, 1, 3, 50, 3, 0)]


@use
def while_values_say(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(limit):
        a, k = x.abs() + 0.1, 0
        while a.sum().item() < limit * rows:
            a = a * 1.5
            k += 1
            if (a > 3).any():
                a[a > 3] = 1
            if k > 20:
                break
        return a, k, a.nonzero().shape, a[a > 1].sum()
    return [work(limit) for limit in (5, 5, 8, 1, 5, 30, 5)]


@use
def random_numbers_of_python_and_numpy(compiled, rows):
    x = numbers(rows)
    rng, pyrng = np.random.default_rng(0), random.Random(3)

    @compiled
    def work():
        k = pyrng.random()
        shift = float(rng.standard_normal())
        noise = flambeau.from_numpy(rng.standard_normal(4).astype("float32"))
        index = pyrng.randrange(3)
        x[index] = k
        return x * k + shift + noise
    return [work() for _ in range(6)], x, rng.standard_normal(), pyrng.random()


@use
def generators_reseeded_inside(compiled, rows):
    x, g = numbers(rows), flambeau.Generator().manual_seed(1)

    @compiled
    def work(k):
        a = flambeau.rand(rows, 4, generator=g) + x
        state = g.get_state()
        b = flambeau.rand(rows, 4, generator=g) * 2
        g.set_state(state)
        c = flambeau.rand(rows, 4, generator=g) * 2
        if k == 2:
            g.manual_seed(int(a.sum().item() * 100) % 1000)
        flambeau.manual_seed(g.initial_seed() + k)
        d = F.dropout(x, 0.3) + flambeau.randn(rows, 4)
        with flambeau.random.fork_rng():
            flambeau.manual_seed(4)
            e = flambeau.rand(3) * 2
        return a, b, c, d, e, flambeau.rand(2), flambeau.initial_seed()
    return [work(k) for k in range(5)], g.get_state()


@use
def errors_that_escape(compiled, rows):
    x, log = numbers(rows), []

    @compiled
    def work(k):
        x.mul_(1.1)
        y = x + 1
        try:
            x.add_(1)
            if k % 2:
                y.view(5, -1, 3, 7)
            flambeau.add(x, y, out=y)
        finally:
            x.sub_(0.5)
            log.append(y)
        return y.index_select(0, flambeau.tensor([k]))
    kept = []
    for k in (0, 1, 2, 10**6, 3, 0):
        try:
            kept.append(work(k))
        except (RuntimeError, IndexError) as error:
            kept.append(type(error).__name__)
        kept.append(x.clone())
    return kept, log


@each_way(USES)
def test_numbers_agree(use, way):
    agree(use, way)
