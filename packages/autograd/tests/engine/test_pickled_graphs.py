"""Pickles of tensors that require grad: what goes along, what is refused, what is warned of."""

import copy
import pickle
import warnings
from multiprocessing.reduction import ForkingPickler

import pytest

import flambeau


def _double(grad):
    return grad * 2


def test_leaves_stay_leaves():
    x = flambeau.ones(2, requires_grad=True)
    for dumps in (pickle.dumps, ForkingPickler.dumps):
        y = pickle.loads(dumps(x))
        assert (y.requires_grad, y.is_leaf, y.grad) == (True, True, None)


def test_computed_tensors_do_not_cross_processes():
    y = flambeau.ones(2, requires_grad=True) * 2
    assert pickle.loads(pickle.dumps(y)).is_leaf
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps({"loss": y})
    assert pickle.loads(ForkingPickler.dumps(y.detach())).tolist() == [2, 2]


def test_hooks_stay_behind_with_a_warning():
    x = flambeau.ones(2, requires_grad=True)
    handle = x.register_hook(_double)
    with pytest.warns(UserWarning, match="backward hook .*_double.* will not be serialized"):
        assert pickle.loads(pickle.dumps(x))._backward_hooks is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.deepcopy(x)
        _double.__flambeau_unserializable__ = True
        pickle.dumps(x)
        del _double.__flambeau_unserializable__
        handle.remove()
        pickle.dumps(x)


def test_hooks_of_tensors():
    x = flambeau.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    assert (x * 2)._backward_hooks is None
    for t in (x, x * 2):
        handle = t.register_hook(_double)
        assert t._backward_hooks == {handle.id: _double}


@pytest.mark.parametrize("name", ["MulBackward0", "AccumulateGrad"])
def test_graphs_are_refused(name):
    node = (flambeau.ones(2, requires_grad=True) * 2).grad_fn
    if name == "AccumulateGrad":
        node = node.next_functions[0][0]
    with pytest.raises(TypeError, match=f"cannot pickle '{name}' object"):
        pickle.dumps(node)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_inside_functions_that_are_differentiated(copied):
    """They would have no history, and the gradient would be zero."""
    x, constant = flambeau.ones(3), flambeau.ones(3, requires_grad=True)
    with pytest.raises(NotImplementedError, match="inside vmap, grad, jvp or another transform"):
        flambeau.func.grad(lambda x: (copied(x), x.sum())[1])(x)
    with pytest.raises(NotImplementedError, match="inside vmap, grad, jvp"):
        flambeau.func.vjp(lambda x: (copied(x * 2), x)[1], x)
    flambeau.func.grad(lambda x: (copied(constant), copied(x.detach()), x.sum())[2])(x)


def test_modes_and_handles_can_be_pickled_and_what_nodes_hold_cannot():
    x = flambeau.ones(2, requires_grad=True)
    with pickle.loads(pickle.dumps(flambeau.no_grad())):
        assert not (x * 2).requires_grad
    handle = copy.deepcopy(x.register_hook(_double))
    handle.remove()
    node = (x * 2).sum().grad_fn.next_functions[0][0]
    for held in (node, node._raw_saved_self):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(held)
