"""Compiled functions where memory changes behind them, of other kinds of tensors and generators."""

import numpy as np
from agreeing import agree, each_way, numbers

import flambeau
import flambeau.nn.functional as F
from flambeau import nn

USES = []


def use(program):
    USES.append(program)
    return program


# ---- memory that is replaced or written to -------------------------------------------------------
@use
def data_is_replaced(compiled, rows):
    x, y = numbers(rows), numbers(rows, 1)

    @compiled
    def work(x, y):
        view = x[1:]
        z = x * 2
        x.data = y * 3
        x.add_(1)
        view.mul_(5)
        return z + x, view
    return [work(x, y) for _ in range(4)], x, y


@use
def data_is_replaced_between_calls(compiled, rows):
    x, leaf = numbers(rows), numbers(rows, 1, requires_grad=True)
    work = compiled(lambda x: (x * 2 + leaf).exp())
    kept = []
    for k in range(6):
        kept.append(work(x))
        x.data = numbers(rows, k)
        leaf.data = leaf.data.t().contiguous().t() if k % 2 else leaf.data * 2
    kept[0].sum().backward()
    return kept, x, leaf


@use
def memory_is_shared_anew(compiled, rows):
    x, y = numbers(rows), numbers(rows, 1)

    @compiled
    def work(x, y):
        z = x + 1
        x.set_(y)
        x.add_(1)
        y.mul_(2)
        x.set_(z.untyped_storage(), 1, (rows, 3), (4, 1))
        x.sub_(1)
        return z, y * 2
    kept = [work(x, y)]
    return kept, x, y


@use
def memory_grows_and_shrinks(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        y = x * 2
        x.resize_(rows + 2, 4)
        x[-2:] = 7
        x.add_(1)
        x.resize_(rows, 2).mul_(3)
        return y, x.clone()
    return [work(x) for _ in range(3)], x


@use
def storages_are_written_to(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        y = x * 2
        x.untyped_storage().fill_(0)
        x.add_(1)
        y.untyped_storage().copy_(x.untyped_storage())
        return y + 1
    return [work(x) for _ in range(3)], x


@use
def arrays_write(compiled, rows):
    x = numbers(rows)
    array = x.numpy()
    over = flambeau.from_numpy(array[:, 1:])

    @compiled
    def work(x):
        x.mul_(2)
        array[0] = 7
        y = x + 1
        np.add(array, 1, out=array)
        over.add_(x[:, :3])
        array[:, 3] *= 2
        z = y * x
        z.numpy()[1] = 0
        return z + over.sum()
    return [work(x) for _ in range(4)], array, over


@use
def arrays_write_between_calls(compiled, rows):
    x = numbers(rows)
    array = x.numpy()
    work = compiled(lambda: (x * 2).exp().add_(x))
    kept = []
    for k in range(5):
        kept.append(work())
        array += k
    return kept


@use
def views_overlap(compiled, rows):
    flat = numbers(rows).view(-1)

    @compiled
    def work(flat):
        one, two = flat[:-1], flat[1:]
        y = one * two
        one.add_(two)
        two.mul_(0.5)
        flat.unfold(0, 3, 1)[:, 1].clone().add_(1)
        flat.as_strided((2, 4), (2, 1)).zero_()
        return y, one + two
    return [work(flat) for _ in range(4)], flat


@use
def shared_memory(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        y = x * 2
        x.add_(1)
        x.share_memory_()
        x.mul_(2)
        y.share_memory_().add_(x)
        return y, x.is_shared()
    return [work(x) for _ in range(4)], x


@use
def hooks_write(compiled, rows):
    leaf, other = numbers(rows, requires_grad=True), numbers(rows, 1)
    leaf.register_hook(lambda g: other.add_(1) * g)
    leaf.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))

    @compiled
    def work():
        y = leaf * other
        y.register_hook(lambda g: other.mul_(2) and None)
        (y.exp() * other).sum().backward()
        return leaf.grad * 2
    return [work() for _ in range(3)], leaf, other


@use
def methods_are_replaced(compiled, rows):
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), numbers(rows)
    work, kept = compiled(lambda x: model(x) * 2), []
    kept += [work(x), work(x), work(x)]
    model[1].forward = lambda a: a + 1
    kept += [work(x), work(x), work(x)]
    before = nn.Linear.forward
    nn.Linear.forward = lambda self, a: before(self, a) * 3
    try:
        kept += [work(x), work(x)]
    finally:
        nn.Linear.forward = before
    kept.append(work(x))
    model[0] = nn.Linear(4, 4, bias=False)
    del model[1].forward
    kept += [work(x), work(x)]
    return kept


# ---- other kinds of tensors and generators -------------------------------------------------------
@use
def sparse_tensors(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        sparse = (x * (x > 0)).to_sparse()
        y = sparse * 2 + sparse
        x.add_(1)
        values = y.coalesce().values().mul_(2)
        return y, values, y @ x[:4].T, (x * 2).to_sparse_csr() @ x[:4].T, y.to_dense() + x
    return [work(x) for _ in range(4)], x


@use
def generators_of_numbers(compiled, rows):
    kept = []
    for algorithm in ("philox", "mt19937"):
        generator = flambeau.Generator(algorithm=algorithm).manual_seed(3)
        x = numbers(rows)

        @compiled
        def work(x):
            y = flambeau.rand(rows, 4, generator=generator) * x  # noqa: B023
            x.normal_(generator=generator)  # noqa: B023
            z = flambeau.bernoulli(x.sigmoid(), generator=generator)  # noqa: B023
            order = flambeau.randperm(5, generator=generator)  # noqa: B023
            return y, z * 2, order, F.dropout(x, 0.5) + flambeau.randn(rows, 4)
        for k in range(5):
            kept.append(work(x))
            state = generator.get_state()
            kept.append(state.clone())
            if k == 2:
                generator.manual_seed(11)
    return kept


@use
def default_generators_like_pytorch(compiled, rows):
    x, before = numbers(rows), flambeau.default_generator.algorithm
    flambeau.random.set_algorithm("mt19937")
    try:
        flambeau.manual_seed(3)
        work = compiled(lambda x: (F.dropout(x * 2, 0.5) + 1, flambeau.randn(rows, 4).exp(),
                                   flambeau.rand(3), x.uniform_()))
        return [work(x) for _ in range(5)], flambeau.get_rng_state()
    finally:
        flambeau.random.set_algorithm(before)


@each_way(USES)
def test_memory_agrees(use, way):
    agree(use, way)
