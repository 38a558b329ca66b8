"""Edges of the graph in place of tensors, nodes called by hand, and what they kept."""
import gc
import weakref

import pytest

import flambeau
from flambeau.autograd import backward, grad
from flambeau.autograd.graph import GradientEdge, get_gradient_edge


def _leaf(*numbers):
    return flambeau.tensor(numbers, requires_grad=True)


def test_an_edge_stands_for_an_interior_tensor_and_does_not_hold_it():
    x = _leaf(1.0, 2.0)
    y = x * 2
    z = (y * 3).sum()
    edge = get_gradient_edge(y)
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None
    assert edge.output_nr == 0
    assert edge.node.name() == "MulBackward0"
    assert [g.tolist() for g in grad(z, [edge, x])] == [[3, 3], [6, 6]]


def test_an_edge_of_a_leaf():
    x = _leaf(1.0, 2.0)
    edge = get_gradient_edge(x)
    assert grad((x * 5).sum(), edge)[0].tolist() == [5, 5]
    (x * 5).sum().backward(inputs=[edge])
    assert x.grad.tolist() == [5, 5]


def test_edges_of_one_node_with_several_outputs():
    x = _leaf(3.0, 1.0, 2.0)
    values, _ = x.sort()
    first, second = (x * flambeau.tensor([[1.0], [2.0]])).unbind(0)
    edge = get_gradient_edge(second)
    assert edge.output_nr == second.output_nr
    loss = (first * 3 + second * 4 + values).sum()
    assert grad(loss, edge)[0].tolist() == [4, 4, 4]


def test_a_pass_that_starts_at_an_edge():
    x = _leaf(1.0, 2.0)
    edge = get_gradient_edge(x * 3)
    backward(edge, flambeau.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [3, 30]
    assert grad([edge, x * 2], x, [flambeau.ones(2), flambeau.ones(2)])[0].tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="gradient must be given"):
        backward(edge)


def test_refused_edges():
    x = _leaf(1.0)
    with pytest.raises(RuntimeError, match="requires_grad_"):
        get_gradient_edge(flambeau.ones(1))
    with pytest.raises(TypeError, match="y.grad_fn"):
        grad(x * 2, GradientEdge("node", 0))
    unused = get_gradient_edge(x * 7)
    with pytest.raises(RuntimeError, match="element 0 of inputs. Set allow_unused"):
        grad(x * 2, unused, flambeau.ones(1))
    assert grad(x * 2, unused, flambeau.ones(1), allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="no shape to make zeros of"):
        grad(x * 2, unused, materialize_grads=True)


def test_a_node_called_by_hand():
    x, y = _leaf(2.0, 3.0), flambeau.tensor([5.0, 7.0])
    product = (x * y).grad_fn
    assert product(flambeau.ones(2))[0].tolist() == [5, 7]
    assert product(flambeau.ones(2))[1] is None
    assert x.exp().grad_fn(flambeau.zeros(2)).tolist() == [0, 0]
    assert product(None) == (None, None)
    with pytest.raises(TypeError, match="one gradient per output, got 2"):
        product(flambeau.ones(2), flambeau.ones(2))
    with pytest.raises(TypeError, match="gradient 0"):
        product("one")


def test_what_a_node_kept():
    x = _leaf(2.0, 3.0)
    square = x**2
    assert square.grad_fn._saved_self.tolist() == [2, 3]
    assert square.grad_fn._saved_exponent == 2
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    with pytest.raises(AttributeError, match="it keeps _saved_self"):
        square.grad_fn._saved_other  # noqa: B018
    square.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        square.grad_fn._saved_self  # noqa: B018


def test_a_gradient_is_deleted():
    x = _leaf(1.0)
    (x * 2).backward()
    del x.grad
    assert x.grad is None
    assert x.output_nr == 0
