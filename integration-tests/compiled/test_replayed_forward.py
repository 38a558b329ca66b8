"""Functions that are replayed while the backward pass runs outside, as training loops have it."""

from __future__ import annotations

import copy

import pytest
from test_replayed_steps import FAMILIES

import flambeau
from flambeau import nn, optim
from flambeau.jit.replay.call import Replayed


def same(one, other) -> None:
    assert (one is None) == (other is None)
    assert one is None or (one.dtype, one.shape, one.tolist()) == (
        other.dtype, other.shape, other.tolist())


def both(fn, *tensors, calls=6, backward=lambda y: y.sum().backward()):
    """Replay a function of tensors and run it as it is; values and gradients are the same."""
    replayed = Replayed(fn, 0)
    for k in range(calls):
        found = []
        for run in (fn, replayed):
            flambeau.manual_seed(k)
            given = [t.detach().add(0.25 * k).requires_grad_() for t in tensors]
            result = run(*given)
            shown = (type(result.grad_fn).__name__, result._version, result.stride())
            backward(result)
            found.append((shown, result, *(t.grad for t in given)))
        assert found[0][0] == found[1][0]
        for one, other in zip(found[0][1:], found[1][1:], strict=True):
            same(one, other)
    assert replayed.earned() >= calls - 2, replayed.explain()


@pytest.mark.parametrize("family", FAMILIES)
def test_networks_of_which_the_backward_pass_is_outside(family):
    make, data, loss_of = FAMILIES[family]
    flambeau.manual_seed(0)
    model = make()
    twin = copy.deepcopy(model)
    x, target = data()
    replayed = Replayed(twin, 0)
    optimizers = [optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (model, twin)]
    for k in range(6):
        losses = []
        for run, optimizer in zip((model, replayed), optimizers, strict=True):
            flambeau.manual_seed(k)
            optimizer.zero_grad()
            loss = loss_of(run(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        same(*losses)
        for one, other in zip(model.state_dict().values(), twin.state_dict().values(),
                              strict=True):
            same(one, other)
    assert replayed.earned() == 4, replayed.explain()


FUNCTIONS = {
    "product": lambda a, b: (a @ b).tanh() * a,
    "views": lambda a, b: (a * b).t().reshape(-1)[1:].view(5, 3),
    "results saved twice": lambda a, b: (a.exp() * a.exp() + b.exp().square()),
    "lists": lambda a, b: flambeau.cat([a, b * a, a])[[0, 2, 5]],
    "in place": lambda a, b: a.mul(2).add_(b).relu_(),
    "masks": lambda a, b: flambeau.nn.functional.dropout(a, 0.5) * b.clamp(-0.5, 0.5),
    "detached": lambda a, b: a * (a * b).detach() + b,
    "one argument": lambda a, b: a.sin(),
    "reductions": lambda a, b: a.softmax(-1).amax(0) - b.var(1).mean(),
    "under no_grad": lambda a, b: _without(a) * b,
}


def _without(a):
    with flambeau.no_grad():
        scale = a.exp()
    return a * scale


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_that_require_grad(name):
    flambeau.manual_seed(0)
    both(FUNCTIONS[name], flambeau.randn(4, 4), flambeau.randn(4, 4))


def test_arguments_in_the_middle_of_a_graph():
    layer, first = nn.Linear(3, 3), nn.Linear(3, 3)
    both(lambda a: layer(a).relu(), flambeau.randn(2, 3))
    replayed, x, found = Replayed(layer, 0), flambeau.randn(2, 3), []
    for run in (layer, replayed, replayed, replayed, replayed):
        first.zero_grad()
        run(first(x).relu()[:1]).sum().backward()
        found.append(first.weight.grad)
    for each in found:
        same(found[0], each)
    assert replayed.earned() == 2


def test_second_derivatives():
    def twice(y):
        (first,) = flambeau.autograd.grad(y.sum(), leaf, create_graph=True)
        first.square().sum().backward()

    leaf = flambeau.randn(3, requires_grad=True)
    replayed, found = Replayed(lambda: leaf.exp() * leaf.sin(), 0), []
    for _ in range(5):
        leaf.grad = None
        twice(replayed())
        found.append(leaf.grad)
    leaf.grad = None
    twice(leaf.exp() * leaf.sin())
    for each in found:
        same(leaf.grad, each)
    assert replayed.earned() == 3


def test_graphs_of_several_calls_are_kept_apart():
    w = flambeau.randn(3, requires_grad=True)
    replayed = Replayed(lambda x: (w * x).exp(), 0)
    xs = [flambeau.randn(3) for _ in range(6)]
    results = [replayed(x) for x in xs]
    assert replayed.earned() == 4
    for x, y in zip(xs, results, strict=True):
        (got,) = flambeau.autograd.grad(y.sum(), w)
        (wanted,) = flambeau.autograd.grad((w * x).exp().sum(), w)
        same(got, wanted)
    with pytest.raises(RuntimeError, match="second time"):
        flambeau.autograd.grad(results[0].sum(), w)


def test_writes_to_what_was_saved_are_found():
    w, scale = flambeau.randn(3, requires_grad=True), flambeau.ones(3)
    replayed = Replayed(lambda x: w * scale * x, 0)
    for _ in range(4):
        y = replayed(flambeau.ones(3))
        scale.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    x = flambeau.ones(3)
    y = replayed(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert replayed.earned() == 3


def test_buffers_that_the_call_writes_after_saving_them():
    w, buffer = flambeau.randn(3, requires_grad=True), flambeau.zeros(3)

    def fn():
        buffer.add_(1)
        return w * buffer

    replayed, found = Replayed(fn, 0), []
    for _ in range(5):
        w.grad = None
        replayed().sum().backward()
        found.append(w.grad.tolist())
    assert found == [[k] * 3 for k in range(1, 6)] and replayed.earned() == 3


def test_a_backward_pass_inside_that_reaches_an_argument_is_not_replayed():
    def fn(x):
        y = (x * 2).sum()
        y.backward()
        return y.detach()

    replayed = Replayed(fn, 0)
    for _ in range(4):
        x = flambeau.ones(2, requires_grad=True)
        x.grad = flambeau.ones(2)
        replayed(x)
        assert x.grad.tolist() == [3, 3]
    assert replayed.earned() == 0 and "reach an argument" in replayed.explain()


def test_a_graph_that_is_walked_inside_and_outside():
    w = flambeau.randn(3, requires_grad=True)

    def fn(x):
        y = (w * x).exp().sum()
        y.backward(retain_graph=True)
        return y

    replayed, found = Replayed(fn, 0), []
    for run in (fn, replayed, replayed, replayed, replayed):
        w.grad = None
        run(flambeau.ones(3)).backward()
        found.append(w.grad)
    for each in found:
        same(found[0], each)
    assert replayed.earned() == 2, replayed.explain()


def test_gradients_that_add_up_between_calls():
    model = nn.Linear(3, 2)
    twin = copy.deepcopy(model)
    replayed, x = Replayed(twin, 0), flambeau.randn(4, 3)
    for k in range(9):
        for each, run in ((model, model), (twin, replayed)):
            if k % 3 == 0:
                each.zero_grad()
            run(x).square().sum().backward()
        same(model.weight.grad, twin.weight.grad)
    assert replayed.earned() == 7, replayed.explain()


def test_gradients_that_are_clipped_inside_are_guarded():
    w = flambeau.ones(3, requires_grad=True)

    def fn():
        nn.utils.clip_grad_norm_([w], 1.0)
        return w * 2

    replayed = Replayed(fn, 0)
    for k in range(5):
        w.grad = flambeau.full((3,), float(k + 1))
        replayed()
        wanted = flambeau.full((3,), float(k + 1))
        same(w.grad, wanted * flambeau.clamp(1.0 / (wanted.norm() + 1e-6), max=1.0))


def test_comparisons_with_a_generator():
    g = flambeau.Generator().manual_seed(1)
    replayed = Replayed(lambda: flambeau.rand(3, generator=g), 2)
    found = [replayed().tolist() for _ in range(9)]
    g.manual_seed(1)
    assert found == [flambeau.rand(3, generator=g).tolist() for _ in range(9)]


def test_memory_that_arrays_share():
    flambeau.manual_seed(0)
    start, worlds = flambeau.randn(8), []
    for replay in (False, True):
        x = start.clone()
        y = flambeau.from_numpy(x.numpy())

        def fn(x=x, y=y):
            x.mul_(1.5)
            y.add_(1)
            x.add_(y)
            y.mul_(0.5)
            x.sub_(0.25)

        run = Replayed(fn, 0) if replay else fn
        for _ in range(4):
            run()
        worlds.append(x)
    same(*worlds)


def test_arguments_that_share_memory_with_an_array():
    def fn(a, b):
        a.mul_(2)
        b.add_(1)
        a.add_(b)
        return a * b

    replayed, x = Replayed(fn, 0), flambeau.ones(4)
    for _ in range(4):
        replayed(flambeau.ones(4), flambeau.ones(4))
    y = flambeau.from_numpy(x.numpy())
    same(replayed(x, y), fn(*[flambeau.from_numpy(flambeau.ones(4).numpy())] * 2))
