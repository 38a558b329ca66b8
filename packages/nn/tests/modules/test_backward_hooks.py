"""Hooks around the backward pass, hooks of all modules, and what calls without hooks look at."""

import gc
import warnings
import weakref
from collections import namedtuple

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn.modules import module as everywhere


def leaf(*shape):
    return flambeau.ones(*shape, requires_grad=True)


class TwoToTwo(nn.Module):
    def forward(self, x, y, number=2):
        return x * y, x * number


def test_a_full_hook_sees_both_sides():
    layer = nn.Linear(2, 3, bias=False)
    seen = []
    layer.register_full_backward_hook(lambda *arguments: seen.append(arguments))
    x = leaf(1, 2)
    layer(x).sum().backward()
    ((module, grad_input, grad_output),) = seen
    assert module is layer
    assert grad_output[0].tolist() == [[1, 1, 1]]
    assert flambeau.equal(grad_input[0], layer.weight.sum(0, keepdim=True))
    assert flambeau.equal(x.grad, grad_input[0])


def test_hooks_replace_gradients_in_order():
    layer = nn.Identity()
    layer.register_full_backward_hook(lambda m, given, got: (given[0] + 1,))
    layer.register_full_backward_hook(lambda m, given, got: (given[0] * 10,), prepend=True)
    layer.register_full_backward_pre_hook(lambda m, got: (got[0] + 2,))
    layer.register_full_backward_pre_hook(lambda m, got: got[0] * 3, prepend=True)
    x = leaf(1)
    layer(x).sum().backward()
    assert x.grad.tolist() == [(1 * 3 + 2) * 10 + 1]


def test_what_has_no_gradient_is_none():
    layer = TwoToTwo()
    seen = []
    layer.register_full_backward_hook(lambda m, given, got: seen.append((given, got)))
    x, y = leaf(2), flambeau.ones(2)
    first, _ = layer(x, y, 3)
    first.sum().backward()
    ((given, got),) = seen
    assert [grad is None for grad in given] == [False, True, True]
    assert [grad is None for grad in got] == [False, True]
    assert not layer(flambeau.ones(2), y)[0].requires_grad
    with flambeau.no_grad():
        assert not layer(x, y)[0].requires_grad


def test_without_gradients_of_inputs():
    layer = nn.Embedding(3, 2)
    seen = []
    handle = layer.register_full_backward_hook(lambda m, given, got: seen.append((given, got)))
    layer(flambeau.tensor([1])).sum().backward()
    assert seen[0][0] == (None,)
    assert seen[0][1][0].tolist() == [[1, 1]]
    handle.remove()
    layer.register_full_backward_hook(lambda m, given, got: got)
    with pytest.raises(RuntimeError, match="nothing to replace"):
        layer(flambeau.tensor([1])).sum().backward()


def test_wrong_numbers_of_gradients():
    layer = TwoToTwo()
    handle = layer.register_full_backward_hook(lambda m, given, got: got[:1] * 5)
    with pytest.raises(RuntimeError, match="invalid number of grad_input: 5, where there are 2"):
        sum(layer(leaf(2), leaf(2))).sum().backward()
    handle.remove()
    layer.register_full_backward_pre_hook(lambda m, got: got * 2)
    with pytest.raises(RuntimeError, match="invalid number of grad_output: 4, where there are 2"):
        sum(layer(leaf(2), leaf(2))).sum().backward()


def test_outputs_that_are_no_tuples_of_tensors():
    class Named(nn.Module):
        def forward(self, x):
            return namedtuple("Result", "a b")(x * 2, 5)

    layer = Named()
    layer.register_full_backward_pre_hook(lambda m, got: (got[0] * 10, None))
    x = leaf(1)
    out = layer(x)
    assert (type(out).__name__, out.b) == ("Result", 5)
    out.a.sum().backward()
    assert x.grad.tolist() == [20]

    class Listed(nn.Module):
        def forward(self, x):
            return [x]

    layer = Listed()
    layer.register_full_backward_hook(lambda m, given, got: None)
    with pytest.warns(UserWarning, match="Listed returned list"):
        layer(leaf(1))


def test_second_derivatives_pass_through():
    layer = nn.Tanh()
    calls = []
    layer.register_full_backward_hook(lambda m, given, got: calls.append(1))
    x = flambeau.tensor([0.3], requires_grad=True)
    (slope,) = flambeau.autograd.grad(layer(x).sum(), x, create_graph=True)
    (bend,) = flambeau.autograd.grad(slope.sum(), x)
    t = np.tanh(0.3)
    assert bend.item() == pytest.approx(-2 * t * (1 - t * t), rel=1e-5)
    assert calls


def test_inputs_may_not_be_overwritten_behind_a_hook():
    layer = nn.ReLU(inplace=True)
    layer.register_full_backward_hook(lambda m, given, got: None)
    with pytest.raises(RuntimeError, match="view"):
        layer(leaf(2) * 1)


def test_an_old_name():
    layer = nn.Identity()
    with pytest.warns(FutureWarning, match="register_full_backward_hook"):
        layer.register_backward_hook(lambda m, given, got: (given[0] * 2,))
    x = leaf(1)
    layer(x).sum().backward()
    assert x.grad.tolist() == [2]
    with pytest.warns(FutureWarning, match="register_module_full_backward_hook"):
        handle = everywhere.register_module_backward_hook(lambda m, given, got: None)
    handle.remove()


def test_hooks_of_all_modules():
    net = nn.Sequential(nn.Identity(), nn.Identity())
    order = []
    net[0].register_forward_hook(lambda *_: order.append("own"))
    handles = [
        everywhere.register_module_forward_pre_hook(lambda m, args: order.append("pre")),
        everywhere.register_module_forward_hook(
            lambda m, args, kwargs, out: order.append("after"), with_kwargs=True
        ),
        everywhere.register_module_full_backward_pre_hook(lambda m, got: order.append("back")),
        everywhere.register_module_full_backward_hook(
            lambda m, given, got: order.append(type(m).__name__)
        ),
    ]
    net(leaf(1)).sum().backward()
    for handle in handles:
        handle.remove()
    forward = ["pre", "pre", "after", "own", "pre", "after", "after"]
    backward = ["back", "back", "Identity", "back", "Identity", "Sequential"]
    assert order == forward + backward
    order.clear()
    nn.Identity()(1)
    assert order == []


def test_hooks_of_all_assignments():
    seen = []
    kinds = ("parameter", "buffer", "module")
    handles = [
        getattr(everywhere, f"register_module_{kind}_registration_hook")(
            lambda module, name, value, kind=kind: seen.append((kind, name))
        )
        for kind in kinds
    ]
    net = nn.Sequential(nn.BatchNorm1d(2))
    net.scale = nn.Parameter(flambeau.ones(1))
    for handle in handles:
        handle.remove()
    names = [("parameter", "weight"), ("parameter", "bias")]
    names += [("buffer", n) for n in ("running_mean", "running_var", "num_batches_tracked")]
    assert sorted(seen) == sorted([*names, ("module", "0"), ("parameter", "scale")])
    replace = everywhere.register_module_parameter_registration_hook(
        lambda module, name, value: nn.Parameter(value.detach() * 0 + 7)
    )
    with replace:
        layer = nn.Module()
        layer.p = nn.Parameter(flambeau.ones(2))
    assert layer.p.tolist() == [7, 7]


def test_hooks_that_always_run():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    def broken(module, args, output):
        raise KeyError("mine")

    layer, seen = Fails(), []
    layer.register_forward_hook(broken, always_call=True)
    layer.register_forward_hook(
        lambda module, args, kwargs, output: seen.append(kwargs), always_call=True, with_kwargs=True
    )
    with (
        everywhere.register_module_forward_hook(lambda *_: seen.append("all"), always_call=True),
        pytest.warns(UserWarning, match="KeyError"),
        pytest.raises(ValueError, match="no"),
    ):
        layer(x=1)
    assert seen == ["all", {"x": 1}]


def test_hooks_leave_nothing_behind():
    layer = nn.Identity()
    with layer.register_forward_hook(lambda *_: None):
        assert layer._hook_table is not None
    assert layer._hook_table is None
    handle = layer.register_full_backward_hook(lambda *_: None)
    x = leaf(1)
    layer(x).sum().backward()
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None
    handle.remove()


def test_a_call_without_hooks_looks_for_none(monkeypatch):
    """The fast path: with no hooks registered, nothing but ``forward`` runs."""
    monkeypatch.setattr(everywhere, "call_with_hooks", None)
    monkeypatch.setattr(everywhere, "call_in_scope", None)
    assert nn.Sequential(nn.Identity())(3) == 3


@pytest.mark.oracle
def test_against_torch():
    torch = pytest.importorskip("torch")
    logs = []
    for package in (flambeau, torch):
        log = []

        def note(module, *grads, log=log):
            shapes = [[g is None or tuple(g.shape) for g in side] for side in grads]
            log.append((type(module).__name__, shapes))

        net = package.nn.Sequential(
            package.nn.Linear(3, 4), package.nn.Tanh(), package.nn.Linear(4, 2)
        )
        for module in net.modules():
            module.register_full_backward_pre_hook(note)
            module.register_full_backward_hook(note)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net(package.ones(5, 3)).sum().backward()
            net(package.ones(5, 3, requires_grad=True)).sum().backward()
        logs.append(log)
    assert logs[0] == logs[1]


@pytest.mark.parametrize("kinds", [("", "full_"), ("full_", "")])
def test_a_module_has_one_kind_of_backward_hooks(kinds):
    layer = nn.Linear(2, 2)
    first, second = (getattr(layer, f"register_{kind}backward_hook") for kind in kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        first(lambda *_: None).remove()
        first(lambda *_: None)
        with pytest.raises(RuntimeError, match="both regular backward hooks and full"):
            second(lambda *_: None)


class Boxed(nn.Module):
    def forward(self, x):
        return {"count": 1, "double": x * 2}


def test_the_first_output_in_a_dict_for_hooks_of_the_older_kind():
    seen, module = [], Boxed()
    with pytest.warns(FutureWarning):
        module.register_backward_hook(lambda module, grad_in, grad_out: seen.append(grad_out))
    module(flambeau.ones(2, requires_grad=True))["double"].sum().backward()
    assert seen[0][0].tolist() == [1, 1]


def test_full_hooks_warn_of_dicts():
    module = Boxed()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        module(flambeau.ones(2, requires_grad=True))
