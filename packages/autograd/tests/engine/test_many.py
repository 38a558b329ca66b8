"""Wide graphs, cycles, and several threads at once."""

import gc
import threading
import weakref

import pytest

import flambeau
from flambeau.autograd import grad


def test_a_hundred_thousand_branches():
    x = flambeau.ones(1, requires_grad=True)
    h = x * 1
    total = flambeau.stack([h * 2 for _ in range(100_000)]).sum()
    total.backward()
    assert x.grad.item() == 200_000


def test_a_hundred_thousand_leaves():
    leaves = [flambeau.ones(1, requires_grad=True) for _ in range(100_000)]
    total = flambeau.cat(leaves).sum()
    assert all(g.item() == 1 for g in grad(total, leaves, retain_graph=True)[::1000])
    total.backward()
    assert leaves[0].grad.item() == leaves[-1].grad.item() == 1
    del leaves, total
    gc.collect()


class Owner:
    """Holds a tensor, a hook of which holds it."""


def make_tensor_hook(owner):
    x = flambeau.ones(2, requires_grad=True)
    owner.y = x * 2
    owner.y.register_hook(lambda g: owner and None)


def make_node_hook(owner):
    x = flambeau.ones(2, requires_grad=True)
    owner.y = x * 2
    owner.y.grad_fn.register_hook(lambda inputs, outputs: owner and None)


def make_leaf_hook(owner):
    owner.x = flambeau.ones(2, requires_grad=True)
    owner.x.register_hook(lambda g: owner and None)
    owner.x.register_post_accumulate_grad_hook(lambda t: owner and None)


def make_metadata(owner):
    owner.y = flambeau.ones(2, requires_grad=True) * 2
    owner.y.grad_fn.metadata["owner"] = owner


def make_packed(owner):
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: (owner, t), lambda p: p[1]):
        owner.y = flambeau.ones(2, requires_grad=True).exp()


class Keeps(flambeau.autograd.Function):
    """Not local to its test: CPython 3.13 without the GIL never frees a class."""

    @staticmethod
    def forward(ctx, owner, x):
        ctx.owner = owner
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None, g


def make_context(owner):
    owner.y = Keeps.apply(owner, flambeau.ones(2, requires_grad=True))


@pytest.mark.parametrize("make", [make_tensor_hook, make_node_hook, make_leaf_hook, make_metadata,
                                  make_packed, make_context], ids=lambda f: f.__name__)
def test_cycles_are_collected(make):
    owner = Owner()
    make(owner)
    ref = weakref.ref(owner)
    del owner
    gc.collect()
    assert ref() is None


def in_threads(fn, count=6):
    errors = []

    def run():
        try:
            fn()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_backward_from_several_threads_into_one_leaf():
    w = flambeau.ones(20_000, requires_grad=True)
    in_threads(lambda: [(w * 2).sum().backward() for _ in range(20)])
    assert (w.grad == 6 * 20 * 2).all()


def test_one_graph_walked_by_several_threads():
    w = flambeau.ones(5_000, requires_grad=True)
    h = (w * 2).exp().tanh()
    y = (h * h).sum()
    expected, = grad(y, w, retain_graph=True)
    results = []
    in_threads(lambda: results.extend(grad(y, w, retain_graph=True)))
    assert len(results) == 6
    assert all(flambeau.equal(r, expected) for r in results)


def test_modes_and_hooks_of_threads_do_not_meet():
    def work():
        x = flambeau.ones(1000, requires_grad=True)
        seen = []
        for _ in range(20):
            with flambeau.no_grad():
                assert not (x * 2).requires_grad
            with flambeau.autograd.graph.saved_tensors_hooks(
                    lambda t: seen.append(1) or t, lambda t: t):
                y = x.exp().sum()
            with flambeau.autocast("cpu"):
                assert (x[None] @ x[:, None]).dtype == flambeau.bfloat16
            y.backward()
        assert len(seen) == 20

    in_threads(work)
