"""What happens to saved tensors: hooks, offload, refusal; hooks on several tensors and leaves."""

import threading

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import grad, graph


def network(x, w):
    """Saves inputs, results, constants and a list of indices."""
    h = (x @ w).tanh() * x
    return (h.exp() / h.abs().add(1)).softmax(-1)[flambeau.tensor([0, 1])].pow(2).sum()


def test_gradients_are_the_same_to_the_bit():
    x, w = reals(3, 3), reals(3, 3, seed=1)
    plain = grad(network(x, w), (x, w))
    counts = []
    with graph.saved_tensors_hooks(lambda t: counts.append(1) or t.tolist(),
                                   lambda values: flambeau.tensor(values, dtype=x.dtype)):
        y = network(x, w)
    packed = grad(y, (x, w))
    assert len(counts) > 5
    assert all(flambeau.equal(a, b) for a, b in zip(plain, packed, strict=True))


def test_second_order_through_packed_tensors():
    x, w = reals(3, 3), reals(3, 3, seed=1)

    def second(y):
        first, = grad(y, x, create_graph=True)
        return grad((first * first).sum(), (x, w))

    plain = second(network(x, w))
    with graph.save_on_cpu():
        y = network(x, w)
        packed = second(y)
    assert all(flambeau.allclose(a, b, rtol=1e-12) for a, b in zip(plain, packed, strict=True))


def test_packed_tensors_are_not_held_and_freed_after_backward():
    import gc
    import weakref

    class Box:
        def __init__(self, t):
            self.t = t

    boxes = []
    x = reals(4)
    with graph.saved_tensors_hooks(lambda t: boxes.append(weakref.ref(box := Box(t))) or box,
                                   lambda box: box.t):
        y = (x * x).sum()
    assert all(ref() is not None for ref in boxes)
    y.backward()
    gc.collect()
    assert all(ref() is None for ref in boxes)


def test_the_innermost_block_counts():
    seen = []
    x = reals(2)
    with graph.saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        x.exp()
        with graph.saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["outer", "inner", "outer"]


def test_custom_functions_are_packed_too():
    class Double(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, _ = ctx.saved_tensors
            return 2 * x * g

    seen = []
    x = reals(2)
    with graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = Double.apply(x)
    y.sum().backward()
    assert len(seen) == 2
    assert x.grad.tolist() == (2 * x).tolist()


def test_wrong_hooks():
    x = reals(2)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp().sum()
    with pytest.raises(TypeError, match="the unpack hook must return a Tensor, not int"):
        y.backward()
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), \
            pytest.raises(RuntimeError, match="modifying its input in place"):
        x * x
    with graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t), \
            pytest.raises(ZeroDivisionError):
        x.exp()


def test_refusal():
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), graph.save_on_cpu():
            pass
    with graph.save_on_cpu(), pytest.raises(RuntimeError, match="why"):
        graph.disable_saved_tensors_hooks("why").__enter__()
    with graph.save_on_cpu():
        pass


def test_each_thread_has_its_own_hooks():
    seen = []
    x = reals(2)
    with graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert seen == []


# ---- hooks on several tensors ----------------------------------------------------------
def test_multi_grad_hook_waits_for_what_the_pass_reaches():
    a, b, c = reals(1), reals(1, seed=1), reals(1, seed=2)
    h = a * 2
    calls = []
    with graph.register_multi_grad_hook((h, b, c), lambda gs: calls.append(
            [None if g is None else g.item() for g in gs])):
        (h * 3 + b * 5).sum().backward()
        (c * 7).sum().backward()
        grad((a * 2 + b * 4).sum(), a)
        grad((h * 3 + b * 5).sum(), b)
    (h * 3).sum().backward()
    assert calls == [[3.0, 5.0, None], [None, None, 7.0], [None, 5.0, None]]


def test_multi_grad_hook_any():
    a, b = reals(1), reals(1, seed=1)
    calls = []
    graph.register_multi_grad_hook((a, b), lambda g: calls.append(g.item()), mode="any")
    (a * 3 + b * 3).sum().backward()
    (a * 4).sum().backward()
    assert calls == [3.0, 4.0]
    with pytest.raises(ValueError, match="mode"):
        graph.register_multi_grad_hook((a, b), print, mode="some")


def test_hooks_of_a_leaf_record():
    x = reals(2)
    record = (x * 1).grad_fn.next_functions[0][0]
    seen = []
    before = record.register_prehook(lambda grads: (grads[0] * 2,))
    after = record.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].tolist())))
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert seen == [((), [6.0, 6.0])]
    before.remove()
    after.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]
    assert len(seen) == 1


def test_increment_version():
    x = reals(2)
    y = (x * x).sum()
    graph.increment_version([x])
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()
