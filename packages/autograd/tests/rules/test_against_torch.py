"""Gradients against PyTorch: corners, ties, special values, networks, graphs."""

import math

import pytest

import flambeau

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")
INF, NAN = math.inf, math.nan



def _functional(T):
    """What PyTorch has in nn.functional; here without the nn package."""
    return T.nn.functional if T is torch else flambeau.core.ops


#: Name -> (function of the module and its tensors, data of the tensors).
CORNERS = {
    "abs_zero": (lambda T, x: x.abs(), [[-1.0, 0.0, 2.0]]),
    "relu_zero": (lambda T, x: x.relu(), [[-1.0, 0.0, 2.0, NAN]]),
    "maximum_tie": (lambda T, x, y: T.maximum(x, y), [[1.0, 2.0, 3.0], [1.0, 5.0, 0.0]]),
    "minimum_tie": (lambda T, x, y: T.minimum(x, y), [[1.0, 2.0, 3.0], [1.0, 5.0, 0.0]]),
    "fmax_nan": (lambda T, x, y: T.fmax(x, y), [[1.0, NAN, 3.0], [1.0, 5.0, NAN]]),
    "clamp_bounds": (lambda T, x: x.clamp(-1, 1), [[-2.0, -1.0, 0.5, 1.0, 3.0]]),
    "clamp_min_tensor": (lambda T, x, m: x.clamp(min=m), [[1.0, 2.0, 3.0], [1.0, 5.0, 0.0]]),
    "sqrt_zero": (lambda T, x: x.sqrt(), [[0.0, 4.0]]),
    "log_zero": (lambda T, x: x.log(), [[0.0, 4.0]]),
    "pow_zero_base": (lambda T, x: x**2, [[0.0, -3.0]]),
    "pow_zero_exponent": (lambda T, x: x**0, [[0.0, -3.0]]),
    "pow_half": (lambda T, x: x**0.5, [[0.0, 4.0]]),
    "pow_both": (lambda T, x, y: x**y, [[0.0, 0.0, 2.0, 3.0], [0.0, 2.0, 0.0, -1.0]]),
    "pow_number_base": (lambda T, x: 2**x, [[0.0, -3.0]]),
    "pow_zero_number_base": (lambda T, x: 0**x, [[0.0, 3.0]]),
    "div_zero": (lambda T, x, y: x / y, [[0.0, 1.0], [1.0, 0.0]]),
    "amax_ties": (lambda T, x: x.amax(0), [[3.0, 1.0, 3.0]]),
    "amin_ties": (lambda T, x: x.amin(0), [[1.0, 1.0, 3.0]]),
    "max_ties": (lambda T, x: x.max(), [[3.0, 1.0, 3.0]]),
    "max_dim_ties": (lambda T, x: x.max(0)[0], [[3.0, 1.0, 3.0]]),
    "prod_one_zero": (lambda T, x: x.prod(), [[3.0, 0.0, 2.0]]),
    "prod_two_zeros": (lambda T, x: x.prod(), [[3.0, 0.0, 0.0]]),
    "norm_zero": (lambda T, x: x.norm(), [[0.0, 0.0]]),
    "norm": (lambda T, x: x.norm(), [[3.0, -4.0]]),
    "std": (lambda T, x: x.std(), [[3.0, -4.0, 1.0]]),
    "var_of_one": (lambda T, x: x.var(), [[3.0]]),
    "logsumexp_inf": (lambda T, x: x.logsumexp(0), [[-INF, 1.0, 2.0]]),
    "logsumexp_all_inf": (lambda T, x: x.logsumexp(0), [[-INF, -INF]]),
    "softmax_inf": (lambda T, x: x.softmax(0), [[-INF, 1.0, 2.0]]),
    "where_nan": (lambda T, x: T.where(x > 0, x.log(), x * 0), [[1.0, 2.0]]),
    "floor": (lambda T, x: x.floor(), [[1.5, 2.5]]),
    "round_sign": (lambda T, x: x.round() + x.sign(), [[1.5, 0.0]]),
    "remainder": (lambda T, x, y: x % y, [[5.5, -5.5], [2.0, 2.0]]),
    "fmod": (lambda T, x, y: T.fmod(x, y), [[5.5, -5.5], [2.0, 2.0]]),
    "atan2": (lambda T, x, y: T.atan2(x, y), [[1.0, -2.0], [0.5, 0.0]]),
    "hypot": (lambda T, x, y: T.hypot(x, y), [[3.0, -2.0], [4.0, 1.0]]),
    "copysign": (lambda T, x, y: T.copysign(x, y), [[3.0, -2.0, 0.0], [-4.0, 1.0, 1.0]]),
    "lerp": (lambda T, x, y, w: T.lerp(x, y, w), [[3.0, -2.0], [4.0, 1.0], [0.2, 0.9]]),
    "gelu": (lambda T, x: _functional(T).gelu(x), [[-3.0, 0.0, 2.0]]),
    "gelu_tanh": (lambda T, x: _functional(T).gelu(x, approximate="tanh"), [[-3.0, 0.0, 2.0]]),
    "silu": (lambda T, x: _functional(T).silu(x), [[-30.0, 0.0, 2.0]]),
    "softplus": (lambda T, x: _functional(T).softplus(x), [[-30.0, 0.0, 19.0, 25.0]]),
    "elu": (lambda T, x: _functional(T).elu(x), [[-3.0, 0.0, 2.0]]),
    "leaky_relu": (lambda T, x: _functional(T).leaky_relu(x), [[-3.0, 0.0, 2.0]]),
    "hardtanh": (lambda T, x: _functional(T).hardtanh(x), [[-3.0, -1.0, 0.5, 1.0, 2.0]]),
    "logsigmoid": (lambda T, x: _functional(T).logsigmoid(x), [[-300.0, 0.0, 20.0]]),
    "sigmoid_extremes": (lambda T, x: x.sigmoid(), [[-800.0, 0.0, 800.0]]),
    "tanh_extremes": (lambda T, x: x.tanh(), [[-800.0, 0.0, 800.0]]),
    "asin_edge": (lambda T, x: x.asin(), [[-1.0, 0.5]]),
    "rsqrt": (lambda T, x: x.rsqrt(), [[4.0, 0.25]]),
    "sort_ties": (lambda T, x: x.sort(stable=True)[0] * T.arange(4), [[1.0, 0.0, 1.0, 0.0]]),
    "topk": (lambda T, x: x.topk(2)[0], [[1.0, 5.0, 3.0, 0.0]]),
    "cumsum": (lambda T, x: x.cumsum(0) ** 2, [[1.0, 5.0, 3.0]]),
    "stack_unbind": (lambda T, x: T.stack([t * i for i, t in enumerate(x.unbind(0))]),
                     [[[1.0, 2.0], [3.0, 4.0]]]),
    "split": (lambda T, x: T.cat([t * t for t in x.split(2)]), [[1.0, 5.0, 3.0]]),
    "chunk": (lambda T, x: T.cat(list(x.chunk(2))[::-1]) * x, [[1.0, 5.0, 3.0]]),
    "repeat": (lambda T, x: x.repeat(2, 3), [[1.0, 5.0]]),
    "masked_fill": (lambda T, x: x.masked_fill(x > 2, 0.0), [[1.0, 5.0, 3.0]]),
    "movedim_flatten": (lambda T, x: x.movedim(0, 1).flatten() ** 2, [[[1.0, 2.0], [3.0, 4.0]]]),
    "outer_dot": (lambda T, x, y: T.outer(x, y) * T.dot(x, y), [[1.0, 2.0], [3.0, -1.0]]),
    "addmm": (lambda T, m, a, b: T.addmm(m, a, b, beta=0.5, alpha=2),
              [[[1.0, 2.0]], [[3.0, -1.0]], [[1.0, 2.0], [0.5, 1.0]]]),
    "cross_entropy": (lambda T, x: _functional(T).cross_entropy(x, T.tensor([0, 2])),
                      [[[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]]),
    "nll_ignored": (lambda T, x: _functional(T).nll_loss(x, T.tensor([0, -100])),
                    [[[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]]),
    "mse": (lambda T, x, y: _functional(T).mse_loss(x, y), [[1.0, 2.0], [0.5, 4.0]]),
    "l1": (lambda T, x, y: _functional(T).l1_loss(x, y), [[1.0, 2.0, 3.0], [0.5, 4.0, 3.0]]),
    "bce_logits": (lambda T, x, y: _functional(T).binary_cross_entropy_with_logits(x, y),
                   [[1.0, -200.0, 30.0], [0.5, 1.0, 0.0]]),
}


def _run(T, fn, data, order):
    inputs = [T.tensor(d, dtype=T.float64, requires_grad=True) for d in data]
    y = fn(T, *inputs)
    weights = T.linspace(0.5, 1.5, max(y.numel(), 1), dtype=T.float64).reshape(y.shape)
    grads = T.autograd.grad(y, inputs, weights, create_graph=order == 2, allow_unused=True)
    if order == 2:
        total = sum((g * g.cos()).sum() for g in grads if g is not None and g.requires_grad)
        if not hasattr(total, "backward") or not total.requires_grad:
            return []
        grads = T.autograd.grad(total, inputs, allow_unused=True)
    return [None if g is None else (g.detach().reshape(-1) + T.zeros(1)).tolist() for g in grads]


def _same(ours, theirs):
    """Equal up to rounding; a missing gradient counts as zeros."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        size = len(mine or other or [])
        mine, other = mine or [0.0] * size, other or [0.0] * size
        assert mine == pytest.approx(other, rel=1e-9, abs=1e-11, nan_ok=True)



@pytest.mark.filterwarnings("ignore:var\\(\\). degrees of freedom:UserWarning")
@pytest.mark.parametrize("name", CORNERS)
def test_first_order(name):
    fn, data = CORNERS[name]
    _same(_run(flambeau, fn, data, 1), _run(torch, fn, data, 1))


#: Corners at which PyTorch's second derivative is another one, and why.
SECOND_ORDER_DIFFERS = {
    "norm_zero": "nan in PyTorch; here the corner has derivative 0 to every order",
    "pow_zero_number_base": "PyTorch: log(0) * 0 is nan; here the masked branch is not computed",
    "var_of_one": "nan in both; PyTorch's keeps no history",
    "copysign": "PyTorch divides by the input, which is 0 here",
    "elu": "0 lies in the exponential branch here, in neither branch in PyTorch",
}


@pytest.mark.filterwarnings("ignore:var\\(\\). degrees of freedom:UserWarning")
@pytest.mark.parametrize("name", [n for n in CORNERS if n not in SECOND_ORDER_DIFFERS])
def test_second_order(name):
    fn, data = CORNERS[name]
    nothing = [None] * len(data)
    _same(_run(flambeau, fn, data, 2) or nothing, _run(torch, fn, data, 2) or nothing)


def _network(T, activation):
    """A small network with a gradient penalty, every tensor given."""
    x = T.linspace(-1, 1, 12, dtype=T.float64).reshape(4, 3).requires_grad_()
    w = T.linspace(-0.7, 0.9, 15, dtype=T.float64).reshape(3, 5).requires_grad_()
    v = T.linspace(-0.5, 0.6, 5, dtype=T.float64).requires_grad_()
    y = (activation(x @ w) @ v).sum()
    g, = T.autograd.grad(y, x, create_graph=True)
    (y + ((g * g).sum(1).sqrt() - 1).pow(2).mean()).backward()
    return [t.grad.reshape(-1).tolist() for t in (x, w, v)]


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "exp", "sin"])
def test_gradient_penalty(name):
    ours = _network(flambeau, lambda t: getattr(t, name)())
    theirs = _network(torch, lambda t: getattr(t, name)())
    _same(ours, theirs)


def _trace(fn):
    """The graph below a result as nested names."""
    def walk(node):
        if node is None:
            return None
        return (node.name(), [(walk(n), i) for n, i in node.next_functions])
    return walk(fn.grad_fn)


@pytest.mark.parametrize("fn", [
    lambda T, x: (x * 2 + 1).sum(),
    lambda T, x: (x - x.mean()).pow(2).sum(0),
    lambda T, x: T.cat([x, x * 3]).relu(),
    lambda T, x: x.view(3, 1).t()[0].exp(),
    lambda T, x: T.where(x > 0, x, x * 0.1).log_softmax(0),
])
def test_graphs_look_like_pytorchs(fn):
    def graph(T):
        return _trace(fn(T, T.tensor([1.0, 2.0, 3.0], requires_grad=True)))

    def plain(names):
        return str(names).replace("torch::autograd::", "")
    assert plain(graph(flambeau)) == plain(graph(torch))
