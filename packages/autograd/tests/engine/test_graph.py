"""What the graph looks like from Python: names, edges, leaves, hooks."""

import gc
import weakref

import pytest

import flambeau
from flambeau.autograd.graph import AccumulateGrad, Node


def leaf(*data):
    return flambeau.tensor(list(data), requires_grad=True)


def test_a_node_keeps_its_identity_and_its_type():
    x = leaf(1.0)
    y = x + 1
    z = y * y + x.sum()
    (first, _), (second, _) = z.grad_fn.next_functions
    assert type(first).__name__ == "MulBackward0" and type(second).__name__ == "SumBackward0"
    assert first.next_functions[0][0] is first.next_functions[1][0] is y.grad_fn
    assert y.grad_fn is y.grad_fn and type(y.grad_fn) is type((x + 2).grad_fn)
    assert type(x.sum(dim=0).grad_fn).__name__ == "SumBackward1"
    assert type(second.next_functions[0][0]) is AccumulateGrad


def test_nodes_seen_from_python_compute_as_before():
    x = leaf(1.0, 3.0)
    seen = []
    y = x
    for _ in range(50):
        y = y + x
        seen.append(y.grad_fn)
    y.sum().backward()
    assert x.grad.tolist() == [51.0, 51.0]
    assert all(type(node).__name__ == "AddBackward0" for node in seen)


def test_nodes_seen_from_python_are_freed():
    counts = []
    for _ in range(4):
        for _ in range(500):            # fewer and more than the free list of nodes
            x = leaf(1.0)
            nodes = [(x * x).grad_fn for _ in range(5)]
            nodes[0].register_hook(lambda *args, kept=nodes[0]: None)    # a cycle
        del x, nodes
        gc.collect()
        counts.append(sum(issubclass(type(o), Node) for o in gc.get_objects()))
    assert counts[0] == counts[-1]


def test_a_long_chain_seen_from_python_is_dropped():
    y = leaf(1.0)
    for _ in range(100_000):
        y = y + 1
        y.grad_fn  # noqa: B018
    first = weakref.ref(y)
    del y
    assert first() is None


def test_a_node_made_by_hand_is_empty():
    node = type((leaf(1.0) + 1).grad_fn)()
    assert node.next_functions == () and node.metadata == {} and node._saved_bytes() == 0
    assert "object at" in repr(node)


def test_next_functions():
    x = leaf(1.0)
    y = x * 2
    z = y + x
    (first, n), (second, m) = z.grad_fn.next_functions
    assert first is y.grad_fn and n == m == 0
    assert second.name() == "AccumulateGrad" and second.next_functions == ()
    assert second.variable is x
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_output_numbers():
    values, indices = leaf(3.0, 1.0).sort()
    assert (values * 2).grad_fn.next_functions[0] == (values.grad_fn, 0)
    assert indices.grad_fn is None and not indices.requires_grad


def test_leaves():
    x = leaf(1.0)
    assert x.is_leaf and x.grad_fn is None and x.requires_grad
    y = x * 2
    assert not y.is_leaf and y.requires_grad
    assert flambeau.ones(1).is_leaf and not flambeau.ones(1).requires_grad


def test_requires_grad_setter():
    x = flambeau.ones(2)
    x.requires_grad = True
    assert (x * 2).requires_grad
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="leaf variables.*detach"):
        (leaf(1.0) * 2).requires_grad = False
    with pytest.raises(RuntimeError, match="floating point and complex.*int64"):
        flambeau.tensor([1, 2]).requires_grad_()


def test_results_that_cannot_carry_gradients():
    x = leaf(1.0, 2.0)
    for y in (x > 1, x.argmax(), x.detach(), x.data, x.isnan(), x.to(flambeau.int64)):
        assert not y.requires_grad and y.grad_fn is None


def test_detach_shares_memory():
    x = leaf(1.0)
    y = x * 2
    d = y.detach()
    d.fill_(7.0)
    assert y.item() == 7.0
    y.detach_()
    assert y.is_leaf and not y.requires_grad


def test_detach_of_views_in_place_is_refused():
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (leaf(1.0, 2.0) * 2)[:1].detach_()


def test_grad_setter():
    x = leaf(1.0)
    x.grad = flambeau.ones(1)
    assert x.grad.tolist() == [1.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(RuntimeError, match=r"different size.*\[1\].*\[2\]"):
        x.grad = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="float64"):
        x.grad = flambeau.ones(1, dtype=flambeau.float64)
    with pytest.raises(TypeError):
        x.grad = 1.0


def test_grad_of_a_computed_tensor_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None


def test_retain_grad():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    assert y.retains_grad and y.grad is None
    (y * y).sum().backward()
    assert y.grad.tolist() == [12.0]


def test_retain_grad_follows_a_write():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.mul_(2)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0]


def test_node_metadata():
    y = leaf(1.0) * 2
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}


class TestHooks:
    def test_hook_replaces(self):
        x = leaf(2.0)
        y = x * 3
        y.register_hook(lambda g: g * 10)
        y.sum().backward()
        assert x.grad.tolist() == [30.0]

    def test_hook_on_a_leaf_sees_the_sum_once(self):
        x = leaf(2.0)
        seen = []
        x.register_hook(lambda g: seen.append(g.tolist()))
        (x * 2 + x * 3).sum().backward()
        assert seen == [[5.0]]
        assert x.grad.tolist() == [5.0]

    def test_removed(self):
        x = leaf(2.0)
        with x.register_hook(lambda g: g * 10):
            (x * 1).sum().backward()
        (x * 1).sum().backward()
        assert x.grad.tolist() == [11.0]

    def test_wrong_shape(self):
        x = leaf(2.0)
        x.register_hook(lambda g: flambeau.ones(2))
        with pytest.raises(RuntimeError, match=r"changed the size.*\[1\].*\[2\]"):
            x.sum().backward()

    def test_nothing_requires_grad(self):
        with pytest.raises(RuntimeError, match="doesn't require gradient"):
            flambeau.ones(1).register_hook(print)

    def test_post_accumulate(self):
        x = leaf(2.0)
        seen = []
        x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
        (x * 2 + x).sum().backward()
        assert seen == [(True, [3.0])]

    def test_post_accumulate_is_for_leaves(self):
        with pytest.raises(RuntimeError, match="non-leaf"):
            (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)

    def test_node_hooks(self):
        x = leaf(2.0)
        y = x * 3
        seen = []
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
        y.sum().backward()
        assert x.grad.tolist() == [6.0]
        (inputs, outputs), = seen
        assert inputs[0].tolist() == [6.0] and inputs[1] is None
        assert outputs[0].tolist() == [2.0]

    def test_hook_of_one_output(self):
        x = leaf(3.0, 1.0)
        values, _ = x.topk(1)
        values.register_hook(lambda g: g * 4)
        values.sum().backward()
        assert x.grad.tolist() == [4.0, 0.0]

    def test_hook_must_be_callable(self):
        with pytest.raises(TypeError, match="callable"):
            leaf(1.0).register_hook(3)


def test_every_tensor_is_a_variable_of_older_programs():
    x = flambeau.autograd.Variable(flambeau.ones(2), requires_grad=True)
    (3 * x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert isinstance(x, flambeau.autograd.Variable)
    assert not isinstance(1.0, flambeau.autograd.Variable)


#: Calls with several results, and the name of the one node they have in PyTorch.
SEVERAL = [
    (lambda x: x.unbind(), "UnbindBackward0"),
    (lambda x: tuple(x), "UnbindBackward0"),
    (lambda x: x.split(1), "SplitBackward0"),
    (lambda x: x.chunk(2), "SplitBackward0"),
    (lambda x: x.split([1, 1]), "SplitWithSizesBackward0"),
    (lambda x: x.split_with_sizes([1, 1]), "SplitWithSizesBackward0"),
    (lambda x: flambeau.var_mean(x), "VarMeanBackward0"),
    (lambda x: flambeau.std_mean(x, dim=0), "StdMeanBackward0"),
    (lambda x: flambeau.aminmax(x), "AminmaxBackward0"),
]


@pytest.mark.parametrize(("fn", "name"), SEVERAL, ids=[f"{i}-{n}" for i, (_, n) in
                                                       enumerate(SEVERAL)])
def test_several_results_of_one_call_have_one_node(fn, name):
    x = leaf(1.0, 2.0)
    first, second = fn(x)
    assert first.grad_fn is second.grad_fn
    assert (first.grad_fn.name(), first.output_nr, second.output_nr) == (name, 0, 1)
    seen = []
    first.register_hook(seen.append)
    first.grad_fn.register_prehook(lambda grads: seen.append([g is None for g in grads]))
    second.sum().backward(retain_graph=True)
    assert seen == [None, [True, False]]
    alone, x.grad = x.grad, None
    (first + second).sum().backward()
    assert seen[2].tolist() == flambeau.ones_like(first).tolist()
    assert seen[3:] == [[False, False]]
    assert alone.shape == x.grad.shape


@pytest.mark.parametrize(("fn", "used", "expected"), [
    (lambda x: x.unbind(1), (0, 2), [[2, 0, 4], [2, 0, 4]]),
    (lambda x: x.unbind(), (1,), [[0, 0, 0], [3, 3, 3]]),
    (lambda x: x.split(2, 1), (1,), [[0, 0, 3], [0, 0, 3]]),
    (lambda x: x.split([1, 0, 2], -1), (0, 1), [[2, 0, 0], [2, 0, 0]]),
    (lambda x: x[:, :0].chunk(2, 1), (0,), [[0, 0, 0], [0, 0, 0]]),
])
def test_what_is_not_used_gets_zeros(fn, used, expected):
    x = flambeau.ones(2, 3, requires_grad=True)
    parts = fn(x)
    sum((parts[i] * (i + 2)).sum() for i in used).backward()
    assert x.grad.tolist() == expected


@pytest.mark.parametrize("compute", [
    lambda x: 2 * x, lambda x: x * 2, lambda x: 1 + x, lambda x: 2 - x, lambda x: 2.0 / x,
    lambda x: 2**x, lambda x: 1j * x])
def test_numbers_are_behind_tensors_among_what_a_node_came_from(compute):
    x = flambeau.ones(2, requires_grad=True)
    node = compute(x.sin()).grad_fn
    while node.name() != "SinBackward0":
        node = node.next_functions[0][0]
    y = flambeau.ones(2) * x        # a tensor that needs no gradient keeps its place
    assert [each is None for each, _ in y.grad_fn.next_functions] == [True, False]
