"""Function transforms, alone and nested, against PyTorch's; values, structure, requires_grad."""

import numpy as np
import pytest

import flambeau
import flambeau.func

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
torch = pytest.importorskip("torch")
_RNG = np.random.default_rng(0)
X, W, V, Y = (_RNG.standard_normal(shape) for shape in ((4, 3), (3, 5), (3,), (4, 5)))


def _tensor(m, array):
    return (flambeau if m is flambeau else torch).from_numpy(array.copy())


def f(m, a):
    return (a.exp() * a.roll(1)).sum()


def g(m, a):
    return m.stack([a.sin().sum(), (a**2).prod(), a[0] * a[1]])


def _writes(a):
    b = a * 2
    b[0] = b[1] * 3
    b.mul_(a)
    c = b[1:]
    c.add_(a[0])
    return (b * b).sum()


def _fills(m, a):
    out = m.zeros(3, dtype=a.dtype)
    out[0] = a[1]
    out[1:] = a[:2] * a[1:]
    return out * out


def _square(x):
    return x[:, :, None] * x[:, None, :]


NESTED = {
    "grad_vmap_grad": lambda m, F, x, w, v, y: F.grad(
        lambda z: F.vmap(F.grad(lambda a: f(m, a)))(z).pow(2).sum())(x),
    "jacrev_jacfwd": lambda m, F, x, w, v, y: F.jacrev(F.jacfwd(lambda a: g(m, a)))(v),
    "jacfwd_jacrev": lambda m, F, x, w, v, y: F.jacfwd(F.jacrev(lambda a: g(m, a)))(v),
    "jacrev_thrice": lambda m, F, x, w, v, y: F.jacrev(F.jacrev(F.jacrev(lambda a: g(m, a))))(v),
    "jacfwd_thrice": lambda m, F, x, w, v, y: F.jacfwd(F.jacfwd(F.jacfwd(lambda a: g(m, a))))(v),
    "vmap_hessian": lambda m, F, x, w, v, y: F.vmap(F.hessian(lambda a: f(m, a)))(x),
    "grad_vmap_jvp": lambda m, F, x, w, v, y: F.grad(lambda z: F.vmap(
        lambda a: F.jvp(lambda b: g(m, b), (a,), (a * 2,))[1])(z).sum())(x),
    "jvp_vmap_grad": lambda m, F, x, w, v, y: F.jvp(
        lambda z: F.vmap(F.grad(lambda a: f(m, a)))(z), (x,), (x * x,)),
    "vmap_jvp_grad": lambda m, F, x, w, v, y: F.vmap(
        lambda a: F.jvp(F.grad(lambda b: f(m, b)), (a,), (a * a,)))(x),
    "jvp_jvp": lambda m, F, x, w, v, y: F.jvp(
        lambda a: F.jvp(lambda b: g(m, b), (a,), (v,))[1], (v,), (v * v,)),
    "vmap_vjp": lambda m, F, x, w, v, y: F.vmap(
        lambda a: F.vjp(lambda b: g(m, b), a)[1](g(m, a)))(x),
    "vmap_vmap": lambda m, F, x, w, v, y: F.vmap(
        F.vmap(lambda a, b: (a * b).sum(), (None, 1)), (0, None))(x, w),
    "vmap_vmap_grad_closure": lambda m, F, x, w, v, y: F.vmap(lambda a: F.vmap(
        lambda b: F.grad(lambda c: ((a * c).sin() * b).sum())(v), 1)(w))(x),
    "per_sample_gradients": lambda m, F, x, w, v, y: F.vmap(
        F.grad(lambda w, a, b: ((a @ w).tanh() - b).pow(2).mean()), (None, 0, 0))(w, x, y),
    "per_sample_classes": lambda m, F, x, w, v, y: F.vmap(
        F.grad(lambda w, a, t: -(a @ w).log_softmax(0).gather(0, t)[0]), (None, 0, 0))(
            w, x, m.tensor([[1], [2], [0], [4]])),
    "inverse": lambda m, F, x, w, v, y: F.vmap(F.grad(
        lambda q: m.linalg.inv(q).sum() + m.linalg.slogdet(q)[1]))(
            _square(x) + m.eye(3, dtype=x.dtype)),
}
FORMS = {
    "aux": lambda m, F, x, w, v, y: F.grad(
        lambda a: ((a * a).sum(), (a * 3, {"k": a.sum()})), has_aux=True)(x),
    "grad_and_value": lambda m, F, x, w, v, y: F.grad_and_value(lambda a: a.sin().sum())(x),
    "argnums": lambda m, F, x, w, v, y: F.grad(
        lambda a, b: (a @ b).sin().sum(), argnums=(0, 1))(x, w),
    "tree": lambda m, F, x, w, v, y: F.grad(
        lambda p: (p["a"] @ p["b"][0]).sin().sum())({"a": x, "b": [w]}),
    "out_dims": lambda m, F, x, w, v, y: F.vmap(
        lambda a, b: (a[:, None] * b).t(), (0, None), out_dims=2)(x, w),
    "out_dims_tree": lambda m, F, x, w, v, y: F.vmap(
        lambda a: (a.sum(), {"z": a * 2}), out_dims=(0, {"z": 1}))(x),
    "in_dims_tree": lambda m, F, x, w, v, y: F.vmap(
        lambda d, c: d["p"] * c, ({"p": 1}, None))({"p": x}, y[:, 0]),
    "chunks": lambda m, F, x, w, v, y: F.vmap(lambda a: a.cumsum(0), chunk_size=3)(x),
    "jacrev_argnums": lambda m, F, x, w, v, y: F.jacrev(
        lambda a, b: (a @ b).sin(), argnums=(0, 1))(x, w),
    "jacfwd_argnums": lambda m, F, x, w, v, y: F.jacfwd(
        lambda a, b: {"o": (a @ b).sin()}, argnums=(1, 0))(x, w),
    "jacrev_chunks": lambda m, F, x, w, v, y: F.jacrev(
        lambda a, b: (a @ b).sin(), chunk_size=3)(x, w),
    "jacrev_rows": lambda m, F, x, w, v, y: F.jacrev(lambda a: (a @ w).sin(), chunk_size=1)(x),
    "hessian_argnums": lambda m, F, x, w, v, y: F.hessian(
        lambda a, b: (a * b).sin().sum(), argnums=(0, 1))(v, v * 2),
    "jvp_trees": lambda m, F, x, w, v, y: F.jvp(
        lambda a, d: {"r": a @ d["w"]}, (x, {"w": w}), (x * 2, {"w": w + 1})),
    "jvp_constant": lambda m, F, x, w, v, y: F.jvp(lambda a: w * 2, (x,), (x,)),
    "grad_constant": lambda m, F, x, w, v, y: F.grad(lambda a: w.sum())(x),
    "autograd_inside": lambda m, F, x, w, v, y: F.grad(lambda a: m.autograd.grad(
        a.sin().sum(), a, create_graph=True)[0].pow(3).sum())(x),
}
WRITING = {
    "grad": lambda m, F, x, w, v, y: F.grad(_writes)(v),
    "vmap_grad": lambda m, F, x, w, v, y: F.vmap(F.grad(_writes))(x),
    "jvp": lambda m, F, x, w, v, y: F.jvp(_writes, (v,), (v * v,)),
    "vmap_jvp": lambda m, F, x, w, v, y: F.vmap(lambda a: F.jvp(_writes, (a,), (a * a,)))(x),
    "hessian": lambda m, F, x, w, v, y: F.hessian(_writes)(v),
    "vmap_hessian": lambda m, F, x, w, v, y: F.vmap(F.hessian(_writes))(x),
    "fill_jvp": lambda m, F, x, w, v, y: F.jvp(lambda a: _fills(m, a), (v,), (v * v,)),
    "fill_jacrev": lambda m, F, x, w, v, y: F.jacrev(lambda a: _fills(m, a))(v),
    "detach": lambda m, F, x, w, v, y: (
        F.grad(lambda z: F.vmap(lambda a: (a * a.detach()).sum())(z).sum())(x),
        F.jvp(lambda a: a * a.detach(), (x,), (x,)),
        F.vmap(F.grad(lambda a: (a * a.detach()).sum()))(x)),
}


def _with_outer_tape(transform):
    """Gradients through a transform, by a tensor that requires grad outside."""
    def run(m, F, x, w, v, y):
        x, w = x.requires_grad_(), w.requires_grad_()
        result = transform(m, F, x, w)
        return result, m.autograd.grad(result.pow(2).sum(), (x, w), allow_unused=True)[1]
    return run


TAPES = {
    "grad": _with_outer_tape(lambda m, F, x, w: F.grad(lambda a: (a @ w).sin().sum())(x)),
    "vmap_grad": _with_outer_tape(
        lambda m, F, x, w: F.vmap(F.grad(lambda a: (a @ w).sin().sum()))(x)),
    "vmap_jvp": _with_outer_tape(lambda m, F, x, w: F.vmap(
        lambda a: F.jvp(lambda b: (b @ w).sin(), (a,), (a,))[1])(x)),
    "vmap_jvp_of_a_row_without_a_rule": _with_outer_tape(lambda m, F, x, w: F.vmap(
        lambda a: F.jvp(lambda b: (b @ w).std(), (a,), (a,))[1])(x)),
    "jacrev": _with_outer_tape(lambda m, F, x, w: F.jacrev(lambda a: (a @ w).sin())(x[0])),
}
ALL = {f"{group}-{name}": call for group, table in (
    ("nested", NESTED), ("forms", FORMS), ("writing", WRITING), ("tapes", TAPES))
       for name, call in table.items()}


def _flat(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in _flat(part)]
    if isinstance(tree, dict):
        return [leaf for key in tree for leaf in _flat(tree[key])]
    return [tree]


@pytest.mark.parametrize("call", ALL.values(), ids=ALL)
def test_against_torch(call):
    ours = _flat(call(flambeau, flambeau.func, *[_tensor(flambeau, a) for a in (X, W, V, Y)]))
    theirs = _flat(call(torch, torch.func, *[_tensor(torch, a) for a in (X, W, V, Y)]))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.array(a.detach().tolist()), b.detach().numpy(),
                                   rtol=1e-7, atol=1e-10)
        assert tuple(a.shape) == tuple(b.shape)
        assert a.requires_grad == b.requires_grad


# ---- autograd.functional -----------------------------------------------------------------------
def _two(a, b):
    return (a @ b).sin(), a.sum(1)


def _one(a, b):
    return ((a @ b).sin() * b.sum()).sum()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian",
                                  "jacobian-vectorized", "hessian-vectorized"])
def test_functional(name, create_graph):
    def run(m):
        x, w, y = _tensor(m, X).requires_grad_(), _tensor(m, W), _tensor(m, Y)
        short, _, vectorized = name.partition("-")
        options = {"create_graph": create_graph} | ({"vectorize": True} if vectorized else {})
        vectors = {"vjp": (y, x[:, 0].detach())}.get(short, (x.detach() * 2, w))
        rest = (vectors,) if short in ("vjp", "jvp", "vhp", "hvp") else ()
        function = _two if short in ("vjp", "jvp", "jacobian") else _one
        return getattr(m.autograd.functional, short)(function, (x, w), *rest, **options)
    for a, b in zip(_flat(run(flambeau)), _flat(run(torch)), strict=True):
        np.testing.assert_allclose(np.array(a.detach().tolist()), b.detach().numpy(),
                                   rtol=1e-7, atol=1e-10)


def test_functional_forward_mode():
    def run(m):
        x, w = _tensor(m, X), _tensor(m, W)
        A = m.autograd.functional
        return (A.jacobian(_two, (x, w), vectorize=True, strategy="forward-mode"),
                A.hessian(_one, (x, w), vectorize=True, outer_jacobian_strategy="forward-mode"))
    for a, b in zip(_flat(run(flambeau)), _flat(run(torch)), strict=True):
        np.testing.assert_allclose(np.array(a.detach().tolist()), b.detach().numpy(),
                                   rtol=1e-7, atol=1e-10)


# ---- forward_ad --------------------------------------------------------------------------------
def _forward(m, x):
    ad = m.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(x, x * 2)
        return ad.unpack_dual((dual.sin() * dual).cumsum(0))


def _forward_over_reverse(m, x):
    ad, x = m.autograd.forward_ad, x.requires_grad_()
    with ad.dual_level():
        dual = ad.make_dual(x, (x * 2).detach())
        grad, = m.autograd.grad((dual.sin() * dual).sum(), x, create_graph=True)
        return tuple(ad.unpack_dual(grad))


def _reverse_over_forward(m, x):
    ad, x = m.autograd.forward_ad, x.requires_grad_()
    with ad.dual_level():
        dual = ad.make_dual(x, (x * 2).detach())
        return m.autograd.grad(ad.unpack_dual(dual.sin() * dual).tangent.sum(), x)


@pytest.mark.parametrize("run", [_forward, _forward_over_reverse, _reverse_over_forward])
def test_forward_ad(run):
    for a, b in zip(run(flambeau, _tensor(flambeau, X)), run(torch, _tensor(torch, X)),
                    strict=True):
        np.testing.assert_allclose(np.array(a.detach().tolist()), b.detach().numpy(), rtol=1e-8)


def test_batched_gradients():
    def run(m):
        x, w = _tensor(m, X).requires_grad_(), _tensor(m, W).requires_grad_()
        y = (x @ w).sin()
        seeds = m.stack([y.detach(), y.detach() * 2, y.detach() ** 2])
        return m.autograd.grad((y,), (x, w), (seeds,), is_grads_batched=True)
    for a, b in zip(run(flambeau), run(torch), strict=True):
        np.testing.assert_allclose(np.array(a.tolist()), b.numpy(), rtol=1e-8)
