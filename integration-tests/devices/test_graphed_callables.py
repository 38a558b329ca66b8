"""Graphs of a forward and a backward pass, on streams that do nothing before somebody waits."""
from __future__ import annotations

import gc
import shutil

import pytest
from device_calls import DEVICE

import flambeau as fl
from flambeau import cuda
from flambeau.cuda import _launch

if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)


@pytest.fixture
def device(on_cuda):
    fl.manual_seed(0)
    return DEVICE


def leaf(*shape, device="cpu"):
    return fl.randn(*shape).to(device).requires_grad_()


def with_grads(function, args):
    """Results and gradients, as lists."""
    for x in args:
        x.grad = None
    out = function(*args)
    (out * out).sum().backward()
    return [out.tolist(), *(None if x.grad is None else x.grad.tolist() for x in args)]


def test_results_without_gradients(device):
    f = cuda.make_graphed_callables(lambda a, b: (a * b, {"sum": a + b}), (
        fl.ones(2, device=device), fl.ones(2, device=device)))
    for k in (2.0, 3.0):
        product, more = f(fl.full((2,), k, device=device), fl.ones(2, device=device))
        assert (product.tolist(), more["sum"].tolist()) == ([k, k], [k + 1, k + 1])
    assert f(*[fl.ones(5, device=device)] * 2)[1]["sum"].tolist() == [2.0] * 5


def test_gradients_are_those_of_the_function(device):
    weight = leaf(3, 3, device=device)

    def function(x, y):
        return (x @ weight).tanh() * y.exp()

    f = cuda.make_graphed_callables(function, (leaf(4, 3, device=device), leaf(3, device=device)))
    for _ in range(3):
        args = [leaf(4, 3, device=device), leaf(3, device=device)]
        want = with_grads(function, [*args])
        weight.grad = None
        assert with_grads(f, args) == want and weight.grad is None      # it is no argument


def module(device):
    layers = fl.nn.Sequential(fl.nn.Linear(4, 5), fl.nn.BatchNorm1d(5), fl.nn.ReLU(),
                              fl.nn.Linear(5, 2))
    return layers.to(device)


def test_modules(device):
    graphed, plain = module(device), module(device)
    x = leaf(6, 4, device=device)
    kept = cuda.make_graphed_callables(graphed, (x,))
    plain.load_state_dict(graphed.state_dict())
    assert kept is graphed
    for _ in range(3):
        found = []
        x = leaf(6, 4, device=device)
        for each in (graphed, plain):
            each.zero_grad()
            found.append([with_grads(each, [x]), *(p.grad.tolist() for p in each.parameters()),
                          *(b.tolist() for b in each.buffers())])
        assert found[0] == found[1]
        with fl.no_grad():
            for p, q in zip(graphed.parameters(), plain.parameters(), strict=True):
                p -= 0.1 * p.grad
                q -= 0.1 * q.grad
    graphed.eval()
    plain.eval()
    assert graphed(x).tolist() == plain(x).tolist()     # of no graph: another mode
    graphed.train()
    plain.train()
    with fl.no_grad():
        graphed[0].weight.data = plain[0].weight.data = fl.zeros(5, 4, device=device)
    assert graphed(x).tolist() == plain(x).tolist()     # nor where weights lie elsewhere


def test_kept_results_and_gradients_stay(device):
    f = cuda.make_graphed_callables(lambda x: x * 2, (leaf(2, device=device),))
    results, grads = [], []
    for k in (1.0, 2.0, 3.0):
        x = fl.full((2,), k, device=device, requires_grad=True)
        results.append(f(x))
        (results[-1] * k).sum().backward()
        grads.append(x.grad)
    assert [y.tolist() for y in results] == [[2.0] * 2, [4.0] * 2, [6.0] * 2]
    assert [g.tolist() for g in grads] == [[2.0] * 2, [4.0] * 2, [6.0] * 2]


def test_gradients_add_up(device):
    f = cuda.make_graphed_callables(lambda x: x * x, (leaf(2, device=device),))
    x = leaf(2, device=device)
    for k in (1, 2, 3):
        f(x).sum().backward()
        assert x.grad.tolist() == (2 * k * x).tolist()


def test_a_call_between_is_an_error(device):
    f = cuda.make_graphed_callables(lambda x: x * x, (leaf(2, device=device),))
    first = f(leaf(2, device=device))
    second = f(leaf(2, device=device))
    with pytest.raises(RuntimeError, match="called again before the backward pass"):
        first.sum().backward()
    second.sum().backward()


def test_callables_in_any_order(device):
    functions = [lambda x: (x.exp() * x).tanh(), lambda x: (x.cos() + x).exp()]
    graphed = cuda.make_graphed_callables(tuple(functions), ((leaf(50, device=device),),) * 2)
    x = [leaf(50, device=device) for _ in range(2)]
    want = [with_grads(f, [each]) for f, each in zip(functions, x, strict=True)]
    for order in ((0, 1), (1, 0)):
        results = {k: graphed[k](x[k]) for k in order}
        for each in x:
            each.grad = None
        for k in order:
            (results[k] * results[k]).sum().backward()
        assert [[results[k].tolist(), x[k].grad.tolist()] for k in range(2)] == want


def test_streams_that_nobody_ordered(device):
    """A backward pass on another stream, which the next call does not wait for by itself."""
    f = cuda.make_graphed_callables(lambda x: (x * 3 + 1).sin(), (leaf(100, device=device),))
    first, second = cuda.Stream(), cuda.Stream()
    inputs = [leaf(100, device=device) for _ in range(4)]
    weights = [fl.full((100,), float(k), device=device) for k in range(4)]
    cuda.synchronize()
    results = []
    for x, weight in zip(inputs, weights, strict=True):
        with cuda.stream(first):
            y = f(x)
        second.wait_stream(first)
        with cuda.stream(second):
            y.backward(weight)
            fl.zeros(1000, device=device)       # takes memory that was just given back
        results.append((y, x.grad))
    first.synchronize()
    second.synchronize()
    for x, weight, (y, grad) in zip(inputs, weights, results, strict=True):
        plain = x.detach().cpu().requires_grad_()
        want = (plain * 3 + 1).sin()
        want.backward(weight.cpu())
        fl.testing.assert_close(y.cpu(), want)
        fl.testing.assert_close(grad.cpu(), plain.grad)


def test_other_calls_run_as_they_are(device):
    seen = []

    def function(x, y):
        seen.append(x.shape)
        return x * y

    f = cuda.make_graphed_callables(function, (fl.ones(2, device=device), leaf(2, device=device)))
    seen.clear()
    a, b = fl.ones(2, device=device), leaf(2, device=device)
    f(a, b)
    with fl.no_grad():
        f(leaf(2, device=device), b)
    assert not seen
    for args in ((a[:1], b), (a.double(), b), (leaf(2, device=device), b)):
        f(*args)
    with fl.autocast(device, dtype=fl.bfloat16):
        f(a, b)
    assert len(seen) == 4


def test_what_is_refused(device):
    x = leaf(2, device=device)
    with pytest.raises(TypeError, match="tensors only, got float"):
        cuda.make_graphed_callables(lambda x, k: x * k, (x, 2.0))
    with pytest.raises(TypeError, match="returns a float"):
        cuda.make_graphed_callables(lambda x: (x, 2.0), (x,))
    with pytest.raises(RuntimeError, match="writes to its arguments"):
        cuda.make_graphed_callables(lambda x: x.add_(1), (x.detach(),))
    with pytest.raises(RuntimeError, match="not have been used|unused"):
        cuda.make_graphed_callables(lambda x, y: x * 2, (x, leaf(2, device=device)))
    f = cuda.make_graphed_callables(lambda x, y: x * 2, (x, leaf(2, device=device)),
                                    allow_unused_input=True)
    y = leaf(2, device=device)
    f(x, y).sum().backward()
    assert y.grad is None and x.grad.tolist() == [2.0, 2.0]
    layers = module(device)
    layers.register_forward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="hooks"):
        cuda.make_graphed_callables(layers, (leaf(6, 4, device=device),))


def test_random_numbers_go_on(device):
    """Each replay draws what the uncaptured function would have drawn then."""
    def function(x):
        return x + fl.rand(5, device=device) + fl.randn(7, device=device).sum()

    x = fl.zeros(5, device=device)
    f = cuda.make_graphed_callables(function, (x,))
    want, got = [], []
    for found, each in ((want, function), (got, f)):
        fl.manual_seed(3)
        for _ in range(3):
            found.append(each(x).tolist())
            found.append(fl.rand(1, device=device).tolist())
    assert got == want and want[0] != want[2]


def test_dropout_in_both_passes(device):
    f = cuda.make_graphed_callables(lambda x: fl.nn.functional.dropout(x, 0.5),
                                    (leaf(40, device=device),))
    masks = []
    for _ in range(3):
        x = fl.ones(40, device=device, requires_grad=True)
        y = f(x)
        y.sum().backward()
        assert y.tolist() == x.grad.tolist()
        masks.append(y.tolist())
    assert masks[0] != masks[1] != masks[2]


def test_memory_is_given_back(device):
    def reserved():
        gc.collect()
        cuda.synchronize()
        cuda.empty_cache()
        return sum(row[1] for row in _launch.snapshot(*cuda.current_stream()._at))

    before = reserved()
    f = cuda.make_graphed_callables(lambda x: (x.exp() * x).tanh(), (leaf(1000, device=device),))
    f(leaf(1000, device=device)).sum().backward()
    assert reserved() > before
    del f
    assert reserved() == before


def test_a_function_that_is_gone_before_its_work(device):
    f = cuda.make_graphed_callables(lambda x: (x * 3 + 1).exp(), (leaf(100, device=device),))
    x, side = leaf(100, device=device), cuda.Stream()
    cuda.synchronize()
    with cuda.stream(side):
        y = f(x)
    del f
    gc.collect()
    for _ in range(4):
        fl.full((100,), 7.0, device=device)
    side.synchronize()
    assert y.tolist() == (x * 3 + 1).exp().tolist()
