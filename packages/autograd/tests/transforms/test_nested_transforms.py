"""Derivatives of vectorized derivatives, and the reverse: what a plain loop over samples gives."""

import pytest
from numbers_for_tests import reals
from test_transformed_operators import CALLS, _assert_close, _batches, _call, _stacked

import flambeau
from flambeau import func
from flambeau.core import ops

pytestmark = pytest.mark.filterwarnings("ignore:vmap. .* has no batching rule")
#: Rows that are differentiable once, or whose gradient depends on more than its values.
ONCE = ("ctc_loss", "linalg_svd")


#: Composites that choose between rows, or write to memory that they made.
COMPOSITES = {
    "svdvals": (ops.linalg_svdvals, (2, 3)),
    "eigvalsh": (ops.linalg_eigvalsh, (3, 3)),
    "eigvals": (lambda x: ops.linalg_eigvals(x).abs(), (2, 2)),
    "nuclear norm": (lambda x: ops.linalg_matrix_norm(x, "nuc"), (2, 3)),
    "diag_embed": (ops.diag_embed, (2, 3)),
    "diag": (ops.diag, (3,)),
    "block_diag": (lambda x: flambeau.block_diag(x, x * 2, flambeau.ones(1, 2)), (2, 2)),
    "select_scatter": (lambda x: flambeau.zeros(2, 3, dtype=x.dtype).select_scatter(x, 0, 1), (3,)),
    "slice_scatter": (lambda x: (x * 2).slice_scatter(x[:1], 0, 1, 2), (2, 3)),
}


def _composite(name):
    fn, shape = COMPOSITES[name]
    return lambda: (fn, (reals(*shape),))


ALL = [c for c in CALLS if not c.id.startswith(ONCE)]
ALL += [pytest.param(_composite(name), id=name) for name in COMPOSITES]


def _total(results):
    """A number that tells all elements apart."""
    total = 0
    for y in results:
        if y.is_floating_point() or y.is_complex():
            weights = flambeau.linspace(0.5, 1.5, max(y.numel(), 1), dtype=flambeau.float64)
            total = total + (y.abs() ** 2 * weights[:y.numel()].reshape(y.shape)).sum()
    return total


def _push(fn):
    return lambda *args: func.jvp(fn, args, tuple([0.3 * x.cos() + 0.2 for x in args]))[1]


def _loop(fn):
    return lambda *batches: tuple(_stacked(
        [fn(*[x[i].clone() for x in batches]) for i in range(len(batches[0]))]))


def _grad_of_vmap(vectorize, fn, gradient, every):
    return func.grad(lambda *xs: _total(vectorize(fn)(*xs)), every)


def _grad_of_vmap_of_grad(vectorize, fn, gradient, every):
    return func.grad(lambda *xs: _total(vectorize(gradient)(*xs)), every)


def _vmap_of_grad_of_grad(vectorize, fn, gradient, every):
    return vectorize(func.grad(lambda *xs: _total(gradient(*xs)), every))


def _jvp_of_vmap_of_grad(vectorize, fn, gradient, every):
    return _push(vectorize(gradient))


def _vmap_of_jvp_of_grad(vectorize, fn, gradient, every):
    return vectorize(_push(gradient))


def _vmap_of_grad_of_jvp(vectorize, fn, gradient, every):
    return vectorize(func.grad(lambda *xs: _total(_push(fn)(*xs)), every))


def _grad_of_vmap_of_jvp(vectorize, fn, gradient, every):
    return func.grad(lambda *xs: _total(vectorize(_push(fn))(*xs)), every)


@pytest.mark.parametrize("nest", [
    _grad_of_vmap, _grad_of_vmap_of_grad, _vmap_of_grad_of_grad, _jvp_of_vmap_of_grad,
    _vmap_of_jvp_of_grad, _vmap_of_grad_of_jvp, _grad_of_vmap_of_jvp])
@pytest.mark.parametrize("make", ALL)
def test_nests_are_loops(make, nest):
    fn, inputs = _call(make)
    _, batches = _batches(inputs, 2)
    every = tuple(range(len(inputs)))
    gradient = func.grad(lambda *xs: _total(fn(*xs)), every)
    expected = nest(_loop, fn, gradient, every)(*batches)
    for a, b in zip(nest(func.vmap, fn, gradient, every)(*batches), expected, strict=True):
        _assert_close(a, b, 1e-7)
        assert not a.requires_grad
        assert not b.requires_grad


@pytest.mark.parametrize("by", ["input", "weight"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_gradient_by_a_weight_depends_on_the_input(by, shared):
    """Of norms, whose kernels return statistics that have no history."""
    x, w = reals(2, 3, 4, 5).detach(), reals(2, 4).detach()
    w = w[0] if shared else w
    inner = func.grad(lambda x, w: (ops.group_norm(x, 2, w).sin()).sum(), 1)
    dims = (0, None if shared else 0)

    def vectorized(x, w):
        return (func.vmap(inner, dims)(x, w) ** 2).sum()

    def looped(x, w):
        return sum([(inner(x[i], w if shared else w[i]) ** 2).sum() for i in range(2)])
    which = ["input", "weight"].index(by)
    _assert_close(func.grad(vectorized, which)(x, w), func.grad(looped, which)(x, w))


# ---- memory made for samples ---------------------------------------------------------------------
def _zeros(x):
    r = x.new_zeros(3)
    r.copy_(x.sin())
    return r


def _empty(x):
    r = x.new_empty(3)
    r[0] = x[1]
    r[1:] = x[1:] ** 2
    return r


def _ones(x):
    return x.new_ones(3).mul_(x).add_(x[0])


def _full_view(x):
    r = x.new_full((2, 3), 2.0)
    r[0].copy_(x ** 2)
    return r


def _strided(x):
    r = x.new_empty_strided((2, 3), (1, 2))
    r[0], r[1] = x * x, x
    return r


def _turned(x):
    r = flambeau.zeros_like(x.expand(2, 3).t())
    r[0] = x[:2] ** 2
    return r


def _detached(x):
    return x.detach().clone().mul_(x)


def _chain(x):
    return (x * 1).mul_(x).add_(1).sin_()


@pytest.mark.parametrize("fn", [_zeros, _empty, _ones, _full_view, _strided, _turned, _detached,
                                _chain])
def test_memory_made_in_a_function_is_each_sample_s(fn):
    batches = (reals(2, 3).detach(),)
    gradient = func.grad(lambda x: _total([fn(x)]))
    for nest in (lambda v: v(fn), lambda v: v(gradient), lambda v: v(_push(fn)),
                 lambda v: lambda x: _push(v(fn))(x),
                 lambda v: func.grad(lambda x: _total([v(fn)(x)])),
                 lambda v: func.grad(lambda x: _total([v(_push(fn))(x)]))):
        _assert_close(nest(func.vmap)(*batches), nest(_loop_of_one)(*batches))


def _loop_of_one(fn):
    return lambda x: flambeau.stack([fn(row.clone()) for row in x])


def test_memory_made_beside_samples_is_refused():
    def f(x):
        flambeau.zeros(3).copy_(x)
        return x.sum()
    for fn in (f, func.grad(f)):
        with pytest.raises(RuntimeError, match="inplace arithmetic is not possible here"):
            func.vmap(fn)(flambeau.ones(2, 3))


@pytest.mark.parametrize("dtype", [flambeau.float64, flambeau.int64])
def test_index_fill_of_samples(dtype):
    x = flambeau.arange(6).reshape(2, 3).to(dtype)
    index = flambeau.tensor([[0, 0], [1, -1]])
    got = func.vmap(lambda x, i: x.index_fill(0, i, 2.5))(x, index)
    low = 2.5 if dtype.is_floating_point else 2
    assert got.tolist() == [[low, 1, 2], [3, low, low]]


# ---- tangents in other layouts -------------------------------------------------------------------
@pytest.mark.parametrize("view", [
    lambda x: x.view(6), lambda x: x.as_strided((2, 2), (1, 2)),
    lambda x: x.as_strided((2, 2), (1, 2), 1), lambda x: x.view(3, 2)[1:].as_strided((2,), (1,))])
@pytest.mark.parametrize("layout", [
    lambda t: t.t().contiguous().t(), lambda t: flambeau.stack([t, t], -1)[..., 0],
    lambda t: flambeau.cat([t, t])[2:]])
def test_views_of_tangents_with_other_strides(view, layout):
    x, t = reals(2, 3).detach(), reals(2, 3, seed=1).detach()
    assert func.jvp(view, (x,), (layout(t),))[1].tolist() == view(t).tolist()


# ---- what is not implemented ---------------------------------------------------------------------
def _loss(weight):
    return ops.cross_entropy(flambeau.ones(2, 3), flambeau.tensor([0, 1]), weight)


@pytest.mark.parametrize(("fn", "name"), [
    (lambda a: ops.igamma(a, flambeau.tensor(2.0)), "self"),
    (lambda a: ops.igammac(a, flambeau.tensor(2.0)), "self"),
    (lambda a: ops.zeta(a + 1, 2.0), "self"), (_loss, "weight"),
    (lambda a: ops.batch_norm(flambeau.ones(2, 3), a, a, training=False), "running_mean")])
@pytest.mark.parametrize("transform", [func.grad, lambda f: lambda x: func.jvp(f, (x,), (x,))])
def test_missing_derivatives_are_no_zeros(fn, name, transform):
    with pytest.raises(NotImplementedError, match=f"argument '{name}' is not implemented"):
        transform(lambda a: fn(a).sum())(flambeau.tensor([0.5, 1.5, 2.0]))
