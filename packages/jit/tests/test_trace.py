"""Traced functions against eager, on other sizes and values."""

import pytest
from graphs import ops_of
from replay import replay, same

import flambeau
from flambeau import jit
from flambeau.core import ops

X = flambeau.randn(4, 6)


def rows(x):
    return x.view(x.shape[0], 2, -1).sum(2)


def sizes_in_arithmetic(x):
    n, m = x.shape
    return x.reshape(n * m), x.reshape(m, n).expand(2, m, n), flambeau.zeros(2 * n + 1, m + n)


def by_the_batch(x):
    return x.sum(0) / x.shape[0], x.sum(0) * (1 / x.size(0)), x + float(len(x))


def slices(x):
    return x[1:, ::2], x[-1], x[..., None, :3], x[: x.shape[0] - 1], x[:, 1:-1]


def loops(x):
    for i in range(3):
        x = x * i + x.exp().clamp(max=2)
    return x


def joins(x):
    parts = x.split(2, dim=1)
    return flambeau.cat([*parts, x], dim=1), flambeau.stack(parts).mean(0)


def made_inside(x):
    n = x.shape[0]
    steps = flambeau.arange(n).view(n, 1)
    return x + steps, flambeau.ones(n, 2) @ flambeau.eye(2), x.new_full((n,), 3.0)


def chosen(x):
    return flambeau.where(x > 0, x, -x), x.masked_fill(x < 0, 1.5), x.argmax(1), x.max(1).values


def kinds(x):
    return x.long() + 1, x.double().exp(), x > 0, (x > 0) & (x < 1), x.to(flambeau.bfloat16) * 3


def gathers(x):
    order = x.argsort(1)
    return x.gather(1, order), x.index_select(1, flambeau.tensor([2, 0])), x[:, [1, 1]]


def nothing(x):
    return x


def structures(x):
    return {"a": [x + 1, (x * 2, None)], "b": 7, "c": x.sum()}


def transposed(x):
    return (x.t() * 2 + 1).t(), x.transpose(0, 1).exp(), x.permute(1, 0).contiguous().view(-1)


@pytest.mark.parametrize("fn", [
    rows, by_the_batch, slices, loops, joins, made_inside, chosen, kinds, gathers, nothing,
    structures, transposed,
], ids=lambda fn: fn.__name__)
def test_functions(fn):
    replay(fn, X, sizes=(2, 3, 8))


def products(x):
    n, m = x.shape
    return (x.reshape(n * m) + 1).view(m, n), x.new_ones(n * m * 3).sum(), x.sum() / (n * m)


def powers(x):
    n, m = x.shape
    return x.new_ones(n, n).reshape(n * n) * n**3, x.new_ones(2 * m * n * m).sum() + float(m * m)


@pytest.mark.parametrize("fn", [products, powers, sizes_in_arithmetic],
                         ids=lambda fn: fn.__name__)
def test_products_of_sizes(fn):
    program = jit.trace(fn, X, dynamic={0: {0: "N", 1: "M"}})
    for shape in ((1, 1), (2, 5), (5, 2), (7, 3), (4, 20)):
        x = flambeau.randn(*shape)
        for found, wanted in zip(program(x), fn(x), strict=True):
            assert found.shape == wanted.shape
            assert flambeau.equal(found, wanted)


@pytest.mark.parametrize("count", [
    lambda n, m: n * m + n, lambda n, m: n * m * n * m, lambda n, m: 2**n + 3 * m,
    lambda n, m: n * m + 1, lambda n, m: n * m // 2, lambda n, m: n * m % 5 + 1,
])
def test_what_is_no_product_of_sizes_is_refused(count):
    with pytest.raises(jit.TraceError, match="argument 'size' of"):
        jit.trace(lambda x: x.new_ones(count(*x.shape)), X, dynamic={0: {0: "N", 1: "M"}})


def test_batch_of_one_is_replayed():
    replay(rows, X, sizes=(1,))
    replay(rows, X[:1], sizes=(1, 2, 7))


def test_several_inputs_share_the_batch():
    replay(lambda x, y, s: (x * y).sum(1) + s, X, X + 1, flambeau.tensor(2.0))


def test_named_sizes():
    fn = lambda x, y: (x @ y).relu().sum(0)  # noqa: E731
    program = jit.trace(fn, (X, flambeau.randn(6, 5)),
                        dynamic={0: {0: "N", 1: "K"}, 1: {0: "K", 1: "M"}})
    assert str(program.graph).startswith("graph(%0: float32[N, K], %1: float32[K, M])")
    for n, k, m in ((1, 1, 1), (2, 3, 4), (7, 2, 1)):
        x, y = flambeau.randn(n, k), flambeau.randn(k, m)
        assert same(program(x, y), fn(x, y))


def test_fixed_sizes():
    program = jit.trace(lambda x: x * (0.3 / x.shape[0]), X, dynamic=False)
    assert same(program(X), X * (0.3 / 4))
    with pytest.raises(jit.ProgramError, match=r"argument 0 must be float32\[4, 6\]"):
        program(flambeau.randn(5, 6))


# ---- writing in place ----


def writes_views(x):
    y = x.clone()
    y[:, 0] = 1
    y[1:, 1:3] *= 2
    y.t()[2].add_(5)
    return y, y[0]


def writes_seen_through_views(x):
    y = x * 2
    column = y[:, 1]
    tail = column[1:]
    y.add_(1)
    tail.mul_(3)
    return y, column, tail


def writes_with_other_dtypes(x):
    y = flambeau.zeros(x.shape[0], 6, dtype=flambeau.float64)
    y += x
    z = x.to(flambeau.bfloat16)
    z.add_(x)
    return y, z


def writes_by_index(x):
    y = x.clone()
    y[flambeau.tensor([0, 0]), 1] = 7.0
    y.index_add_(1, flambeau.tensor([0, 2]), flambeau.ones(x.shape[0], 2))
    return y.masked_fill_(y > 1, 0.0)


def writes_out(x):
    y = flambeau.empty(x.shape[0], 6)
    flambeau.mul(x, 2, out=y)
    resized = flambeau.empty(0)
    flambeau.add(y, 1, out=resized)
    return y, flambeau.exp(y, out=y), resized * 2


def old_values_stay(x):
    before = x * 1
    copy = before.clone()
    before.zero_()
    return before, copy


def writes_the_input(x):
    x.mul_(2)
    x[:, 0] = 0
    return x.sum()


@pytest.mark.parametrize("fn", [
    writes_views, writes_seen_through_views, writes_with_other_dtypes, writes_by_index, writes_out,
    old_values_stay, writes_the_input,
], ids=lambda fn: fn.__name__)
def test_writing_in_place(fn):
    replay(fn, X, sizes=(2, 5))


def test_captured_tensors_are_written_at_the_end():
    state, twin = flambeau.zeros(6), flambeau.zeros(6)

    def count(into, x):
        into.add_(x.sum(0))
        return into * 2

    program = jit.trace(lambda x: count(state, x), X)
    assert state.tolist() == [0] * 6, "tracing must not write"
    for n in (3, 5):
        x = flambeau.randn(n, 6)
        assert same(program(x), count(twin, x))
        assert same(state, twin)


def test_swapped_captures():
    a, b = flambeau.ones(3), flambeau.zeros(3)

    def swap(x):
        old = a.clone()
        a.copy_(b)
        b.copy_(old)
        return x + a

    program = jit.trace(swap, flambeau.zeros(2, 3))
    program(flambeau.zeros(4, 3))
    assert (a.tolist(), b.tolist()) == ([0] * 3, [1] * 3)
    assert program(flambeau.zeros(1, 3)).tolist() == [[1] * 3]


def test_weights_are_shared():
    w = flambeau.ones(6)
    program = jit.trace(lambda x: x * w, X)
    w.fill_(3)
    assert same(program(X), X * 3)


def test_results_share_nothing_with_each_other_or_with_constants():
    program = jit.trace(lambda x: (x + 1, x + 1, flambeau.ones(3)), X)
    a, b, c = program(X)
    a.zero_()
    c.zero_()
    assert same(b, X + 1)
    assert program(X)[2].tolist() == [1, 1, 1]


# ---- random numbers ----


def test_random_numbers_are_drawn_as_in_eager():
    def noisy(x):
        unused = flambeau.rand_like(x)
        a = x + flambeau.randn_like(x)
        b = ops.dropout(x, 0.5, True)
        return a, b, unused.mul_(0) + a

    program = replay(noisy, X, sizes=(2, 5))
    assert sum(op.startswith("random") for op in ops_of(program.graph)) == 3


def test_tracing_draws_nothing():
    before = flambeau.get_rng_state().tolist()
    jit.trace(lambda x: x + flambeau.randn_like(x), X)
    assert flambeau.get_rng_state().tolist() == before


# ---- reading ----


def test_reading_what_was_captured_is_allowed():
    scale = flambeau.tensor(3.0)
    replay(lambda x: x * scale.item() if scale.item() > 2 else x, X)


def test_allow_reads_keeps_what_the_example_gave():
    state = flambeau.zeros(1)

    def fn(x):
        state.add_(1)
        return x * 2 if x.sum() > 0 else x - state

    x = flambeau.ones(2, 3)
    program = jit.trace(fn, x, dynamic=False, allow_reads=True)
    assert state.item() == 0
    assert same(program(x), x * 2)
    assert program(-x).tolist() == [[-2.0] * 3] * 2


def test_check():
    jit.trace(writes_views, X, check=True)
    calls = []

    def unsteady(x):
        calls.append(1)
        return x * (2 if len(calls) < 6 else 3)

    with pytest.raises(jit.TraceError, match="differs from the function's"):
        jit.trace(unsteady, X, check=True)


# ---- calling ----


def test_arguments_are_checked():
    program = jit.trace(lambda x, n: x * n, (X, 3))
    assert same(program(X, 3), X * 3)
    for bad, words in [
        ((X, 4), "not built like the example"),
        ((X,), "not built like the example"),
        ((X.double(), 3), r"argument 0 must be float32\[N, 6\], got float64\[4, 6\]"),
        ((X[:, :5], 3), r"float32\[N, 6\], got float32\[4, 5\]"),
        ((X[0], 3), r"float32\[N, 6\], got float32\[6\]"),
    ]:
        with pytest.raises(jit.ProgramError, match=words):
            program(*bad)


def test_sizes_must_agree():
    program = jit.trace(lambda x, y: x + y, (X, X))
    with pytest.raises(jit.ProgramError, match="argument 1 must be"):
        program(X, X[:2])


def test_another_path_for_one_row_is_remembered():
    """Python squeezes single rows: the program refuses them instead of guessing."""
    program = jit.trace(lambda x: x.squeeze(0) if x.shape[0] == 1 else x * 2, X)
    assert same(program(X[:2]), X[:2] * 2)
    with pytest.raises(jit.ProgramError, match="N is 1, but the program was traced for N from 2: "):
        program(X[:1])


def test_modules_give_names():
    class Scale:
        def __init__(self):
            self.weight = flambeau.ones(6)

        def named_parameters(self):
            return [("layer.weight", self.weight)]

        def __call__(self, x):
            return x * self.weight

    assert "%layer.weight: float32[6] captured" in str(jit.trace(Scale(), X).graph)


def test_explain():
    text = jit.trace(lambda x: (x.exp() + 1).sum(1), X).explain()
    assert "3 operators, 2 of them in 1 fused loops (LLVM); 1 run one by one" in text
    assert "N may be any size from 1" in text
