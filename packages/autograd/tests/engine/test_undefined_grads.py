"""Where a function gives no gradient: what runs below it, and what hooks there are told.

The expected values are those of PyTorch 2.13.
"""
import pytest

import flambeau
from flambeau.autograd import Function
from flambeau.autograd.graph import Node, register_multi_grad_hook


class Blocks(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None


class Zeroed(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Bare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


def ones():
    return flambeau.ones(2, requires_grad=True)


@pytest.mark.parametrize(("function", "grad"), [
    (Zeroed.apply, [0.0, 0.0]), (Bare.apply, None), (lambda x: x * 2, None)])
def test_functions_below_run_without_a_gradient(function, grad):
    x = ones()
    Blocks.apply(function(x)).sum().backward()
    assert (None if x.grad is None else x.grad.tolist()) == grad
    found, = flambeau.autograd.grad(Blocks.apply(function(x)).sum(), x, allow_unused=True)
    assert (None if found is None else found.tolist()) == grad


def test_all_hooks_hear_of_it():
    seen = []
    x = ones()
    x.register_hook(lambda g: seen.append(("leaf", g)))
    x.register_post_accumulate_grad_hook(lambda x: seen.append(("stored", x.grad)))
    y = x.exp()
    y.register_hook(lambda g: seen.append(("tensor", g)))
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: seen.append(("before", g)))
    y.grad_fn.register_hook(lambda given, got: seen.append(("after", given, got)))
    Blocks.apply(y).sum().backward()
    assert seen == [("tensor", None), ("before", (None,)), ("after", (None,), (None,)),
                    ("leaf", None), ("stored", None)]
    assert x.grad is None
    assert y.grad is None


def test_hooks_of_the_leaf_record():
    seen = []
    x = ones()
    record = x.view_as(x).grad_fn.next_functions[0][0]
    record.register_prehook(lambda g: seen.append(("before", g)))
    record.register_hook(lambda given, got: seen.append(("after", given, got)))
    Blocks.apply(x).sum().backward()
    assert seen == [("before", (None,)), ("after", (), (None,))]


def test_nothing_can_not_be_replaced():
    y = ones() * 1
    y.register_hook(lambda g: flambeau.ones(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        Blocks.apply(y).sum().backward()


@pytest.mark.parametrize(("mode", "seen"), [("all", [[None, [1, 1]]]), ("any", [[1, 1]])])
def test_multi_grad_hooks(mode, seen):
    found = []
    x, y = ones(), ones()

    def note(given):
        found.append([g if g is None else g.tolist() for g in given] if mode == "all"
                     else given.tolist())

    register_multi_grad_hook((x, y), note, mode=mode)
    (Blocks.apply(x) + y).sum().backward()
    assert found == seen


def test_node_is_a_virtual_base_class():
    y = Zeroed.apply(ones().exp())
    for node in (y.grad_fn, y.grad_fn.next_functions[0][0],
                 y.grad_fn.next_functions[0][0].next_functions[0][0]):
        assert isinstance(node, Node)
        assert issubclass(type(node), Node)
        assert Node not in type(node).mro()
    assert issubclass(flambeau.autograd.graph.AccumulateGrad, Node)
    assert issubclass(Node, Node)
    assert not any(isinstance(value, Node) for value in (None, 1, Node, ones()))


def test_a_ctx_is_a_node():
    class Asks(Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, Node)
            return x

        @staticmethod
        def backward(ctx, grad):
            assert isinstance(ctx, Node)
            return grad

    Asks.apply(ones()).sum().backward()


def test_hooks_of_nodes_that_are_no_functions_raise_when_called():
    y = ones().exp()
    handle = y.grad_fn.register_hook(3)
    with pytest.raises(TypeError, match="not callable"):
        y.sum().backward()
    handle.remove()
    flambeau.autograd.graph.register_multi_grad_hook((y,), len).remove()
