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


def test_hooks_are_given_inputs_themselves_and_outputs_without_history():
    x, w = reals(3, 3), reals(3, 3, seed=1)
    given = []
    with graph.saved_tensors_hooks(lambda t: given.append(t) or t, lambda t: t):
        h = x * w
        y = h.exp() * h
    assert given[0] is w or given[0] is x
    assert given[1] is x or given[1] is w
    assert any(t is h for t in given)
    results = [t for t in given if not t.requires_grad]
    assert [t.data_ptr() for t in results] == [t.data_ptr() for t in given[2:3]]
    grads = grad(y.sum(), (x, w))
    again = x * w
    expected = grad((again.exp() * again).sum(), (x, w))
    assert all(flambeau.equal(a, b) for a, b in zip(grads, expected, strict=True))


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


class TestRegisterHooks:
    def test_an_input(self):
        a = flambeau.tensor([1.0, 2.0], requires_grad=True)
        y = a * a
        y.grad_fn._raw_saved_self.register_hooks(lambda t: 3 * t, lambda t: t)
        assert y.grad_fn._saved_self.tolist() == [3, 6]
        y.sum().backward()
        assert a.grad.tolist() == [4, 8]

    def test_a_result_keeps_its_history(self):
        a = flambeau.tensor([0.0, 0.0], requires_grad=True)
        y = a.exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), flambeau.tensor)
        assert y.grad_fn._saved_result.grad_fn is y.grad_fn
        first, = grad(y.sum(), a, create_graph=True)
        assert grad(first.sum(), a)[0].tolist() == [1, 1]

    def test_one_of_a_list(self):
        a = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = a[:, flambeau.tensor([1, 1])]
        none, index = y.grad_fn._raw_saved_indices
        index.register_hooks(lambda t: t - 1, lambda t: t)
        with pytest.raises(RuntimeError, match="None is forbidden"):
            none.register_hooks(lambda t: t, lambda t: t)
        y.sum().backward()
        assert a.grad.tolist() == [[2, 0], [2, 0]]

    def test_of_a_custom_function(self):
        class Square(flambeau.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, None)
                return x * x

            @staticmethod
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors[0]

        a = flambeau.tensor(3.0, requires_grad=True)
        y = Square.apply(a)
        saved = y.grad_fn._raw_saved_tensors
        assert all(isinstance(s, flambeau.autograd.SavedTensor) for s in saved)
        saved[0].register_hooks(lambda t: t + 1, lambda t: t)
        with pytest.raises(RuntimeError, match="None is forbidden"):
            saved[1].register_hooks(lambda t: t, lambda t: t)
        y.backward()
        assert a.grad.item() == 8
        with pytest.raises(RuntimeError, match="already been freed"):
            y.grad_fn._raw_saved_tensors  # noqa: B018

    def test_refusals(self):
        a = flambeau.tensor([1.0, 2.0], requires_grad=True)
        y = a * a
        saved = y.grad_fn._raw_saved_self
        with pytest.raises(TypeError, match="pack_hook and unpack_hook"):
            saved.register_hooks(1, 1)
        saved.register_hooks(lambda t: t, lambda t: t)
        with pytest.raises(RuntimeError, match="already been set"):
            saved.register_hooks(lambda t: t, lambda t: t)
        y.sum().backward()
        with pytest.raises(RuntimeError, match="after it has been freed"):
            saved.register_hooks(lambda t: t, lambda t: t)
        with pytest.raises(RuntimeError, match="modifying its input in place"):
            (a * a).grad_fn._raw_saved_self.register_hooks(
                lambda t: t.detach().mul_(2), lambda t: t)
        with pytest.raises(RuntimeError, match="from Python is forbidden"):
            flambeau.autograd.SavedTensor()

    def test_a_tensor_that_was_written_to(self):
        b = flambeau.tensor([1.0, 2.0], requires_grad=True).clone()
        y = b * b
        b.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


class Twice(flambeau.autograd.Function):
    """Two outputs."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h


def test_hooks_of_outputs_without_a_gradient_are_given_none():
    first, second = Twice.apply(flambeau.tensor(1.0, requires_grad=True))
    seen = []
    first.register_hook(seen.append)
    second.backward(retain_graph=True)
    assert seen == [None]
    first.register_hook(lambda g: flambeau.ones(()))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        second.backward()


def test_several_hooks_wait_for_outputs_without_a_gradient():
    first, second = Twice.apply(flambeau.tensor(1.0, requires_grad=True))
    seen = []
    graph.register_multi_grad_hook((first, second), seen.append)
    (2 * second).backward()
    assert [[None, 2.0]] == [[g if g is None else g.item() for g in grads] for grads in seen]


def test_backward_hooks_as_a_dict():
    x = flambeau.tensor(1.0, requires_grad=True)
    x._backward_hooks = {"double": lambda g: 2 * g}
    (3 * x).backward()
    assert x.grad.item() == 6
    x._backward_hooks = None
    (3 * x).backward()
    assert x.grad.item() == 9
    with pytest.raises(RuntimeError, match="can not be deleted"):
        del x._backward_hooks
    with pytest.raises(RuntimeError, match="can not be deleted"):
        del x.requires_grad
