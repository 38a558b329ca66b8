"""backward, grad: results, graph lifetime, accumulation."""

import gc

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import backward, grad


def leaf(*data):
    return flambeau.tensor(list(data), requires_grad=True)


class TestBackward:
    def test_polynomial(self):
        x = flambeau.tensor(2.0, requires_grad=True)
        y = x**2 + 3 * x + 1
        y.backward()
        assert repr(x.grad) == "tensor(7.)"

    def test_gradients_add_up(self):
        x = leaf(1.0, 2.0)
        (x * x).sum().backward()
        first = x.grad
        (x * 3).sum().backward()
        assert x.grad is first
        assert x.grad.tolist() == [5.0, 7.0]

    def test_a_tensor_used_twice(self):
        x = leaf(3.0)
        y = x * 2
        (y * y + y).sum().backward()
        assert x.grad.tolist() == [4 * 2 * 3.0 + 2]

    def test_gradient_argument(self):
        x = leaf(1.0, 2.0)
        (x * x).backward(flambeau.tensor([1.0, 10.0]))
        assert x.grad.tolist() == [2.0, 40.0]

    def test_gradient_argument_is_not_taken_over(self):
        x = leaf(1.0, 2.0)
        g = flambeau.tensor([1.0, 10.0])
        x.backward(g)
        x.grad.add_(1)
        assert g.tolist() == [1.0, 10.0]

    def test_two_leaves_do_not_share_a_gradient(self):
        a, b = leaf(1.0), leaf(2.0)
        (a + b).sum().backward()
        a.grad.add_(5)
        assert b.grad.tolist() == [1.0]

    def test_gradient_of_a_leaf_is_contiguous(self):
        x = flambeau.ones(2, 3, requires_grad=True)
        x.sum().backward()
        assert x.grad.is_contiguous() and x.grad.stride() == (3, 1)

    def test_backward_of_a_leaf(self):
        x = flambeau.tensor(2.0, requires_grad=True)
        x.backward()
        assert x.grad.item() == 1.0

    def test_several_tensors(self):
        x = leaf(2.0)
        backward([x * 2, x * x], [flambeau.ones(1), flambeau.ones(1)])
        assert x.grad.tolist() == [6.0]

    def test_inputs(self):
        a, b = leaf(1.0), leaf(2.0)
        (a * b).sum().backward(inputs=[a])
        assert a.grad.tolist() == [2.0]
        assert b.grad is None

    def test_inputs_may_be_computed(self):
        a = leaf(3.0)
        y = a * a
        (y * 2).sum().backward(inputs=[y])
        assert y.grad.tolist() == [2.0]
        assert a.grad is None

    def test_lower_precision_on_the_way(self):
        x = leaf(1.0, 2.0)
        y = x.to(flambeau.bfloat16) * 3
        y.sum().backward()
        assert x.grad.dtype is flambeau.float32
        assert x.grad.tolist() == [3.0, 3.0]

    def test_zero_dimensional_operand(self):
        scale = flambeau.tensor(2.0, requires_grad=True)
        x = flambeau.ones(3, 4)
        (x * scale).sum().backward()
        assert scale.grad.shape == ()
        assert scale.grad.item() == 12.0


class TestGraphLifetime:
    def test_second_backward_says_what_to_write(self):
        x = leaf(1.0)
        y = (x * x).sum()
        y.backward()
        with pytest.raises(RuntimeError, match="a second time.*MulBackward0.*retain_graph=True"):
            y.backward()

    def test_retain_graph(self):
        x = leaf(1.0)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.tolist() == [4.0]

    def test_nothing_saved_may_run_twice(self):
        x = leaf(1.0)
        y = (x + 1).sum()
        y.backward()
        y.backward()
        assert x.grad.tolist() == [2.0]

    def test_saved_memory_is_given_up(self):
        x = flambeau.ones(100, requires_grad=True)
        y = x * 2.0 * x
        node = y.grad_fn
        assert node._saved_bytes() == 800
        y.sum().backward()
        assert node._saved_bytes() == 0

    def test_nothing_is_kept_after_the_result(self):
        gc.collect()
        gc.disable()
        try:
            x = leaf(1.0, 2.0)
            before = len([o for o in gc.get_objects() if type(o).__name__ == "Node"])
            for _ in range(10):
                y = (x.relu() * x).softmax(0)
                del y
            after = len([o for o in gc.get_objects() if type(o).__name__ == "Node"])
        finally:
            gc.enable()
        assert after == before

    def test_cycles_through_attributes_are_collected(self):
        import weakref

        x = leaf(1.0)
        y = x * 2
        x.result = y
        seen = weakref.ref(x)
        del x, y
        gc.collect()
        assert seen() is None


class TestGrad:
    def test_leaves_and_computed(self):
        x = leaf(3.0)
        y = x * x
        z = (y * 2).sum()
        gx, gy = grad(z, [x, y])
        assert gx.tolist() == [12.0] and gy.tolist() == [2.0]
        assert x.grad is None

    def test_create_graph(self):
        x = flambeau.tensor(2.0, requires_grad=True)
        g, = grad(x**3, x, create_graph=True)
        gg, = grad(g, x, create_graph=True)
        ggg, = grad(gg, x)
        assert (g.item(), gg.item(), ggg.item()) == (12.0, 12.0, 6.0)

    def test_unused(self):
        x, other = leaf(1.0), leaf(2.0)
        with pytest.raises(RuntimeError, match="not have been used in the graph.*allow_unused"):
            grad(x.sum(), [x, other])
        assert grad(x.sum(), [x, other], allow_unused=True)[1] is None
        assert grad(x.sum(), [x, other], materialize_grads=True)[1].tolist() == [0.0]

    def test_output_as_input(self):
        x = leaf(1.0)
        y = x * 3
        assert grad(y.sum(), [y])[0].tolist() == [1.0]
        assert grad(y, [y], flambeau.tensor([5.0]))[0].tolist() == [5.0]

    def test_batched(self):
        x = leaf(1.0, 2.0)
        rows = flambeau.tensor([[1.0, 0.0], [0.0, 1.0]])
        jacobian, = grad(x * x, x, rows, is_grads_batched=True)
        assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]

    def test_only_what_leads_to_the_input_runs(self):
        x, other = leaf(1.0), leaf(2.0)
        seen = []
        side = other * 3
        side.register_hook(seen.append)
        grad((x * 2 + side).sum(), x)
        assert seen == []


class TestErrors:
    def test_not_a_scalar(self):
        with pytest.raises(RuntimeError, match="only for scalar outputs.*shape \\[2\\].*y.sum"):
            (leaf(1.0, 2.0) * 2).backward()

    def test_nothing_requires_grad(self):
        with pytest.raises(RuntimeError, match="does not require grad.*requires_grad=True"):
            flambeau.ones(()).backward()

    def test_shape_of_the_gradient(self):
        with pytest.raises(RuntimeError, match=r"Mismatch in shape.*\[3\].*\[2\]"):
            (leaf(1.0, 2.0) * 2).backward(flambeau.ones(3))

    def test_input_without_grad(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="element 0 of inputs.*requires_grad_"):
            grad(x.sum(), flambeau.ones(1))

    @pytest.mark.parametrize("value", [3, "x", None])
    def test_not_a_tensor(self, value):
        with pytest.raises((TypeError, RuntimeError)):
            grad([value], [leaf(1.0)])
        with pytest.raises(TypeError):
            flambeau.Tensor.requires_grad_(value)

    def test_an_error_leaves_the_engine_usable(self):
        x = leaf(1.0)
        y = x * 2
        handle = y.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            (y * 3).sum().backward(retain_graph=True)
        handle.remove()
        (y * 3).sum().backward()
        assert x.grad.tolist() == [6.0]


class TestParts:
    """Rows, slices and diagonals of one tensor share one gradient."""

    def test_all_kinds_together(self):
        def fn(x):
            y = x * 1
            parts = [y[0], y[1], y[:, 1:], y.narrow(1, 0, 2), y.diagonal(), y[-1, ::2], y[0]]
            return sum((p * (i + 1)).sum() for i, p in enumerate(parts)) * y.sum()
        assert flambeau.autograd.gradcheck(fn, reals(3, 4))
        assert flambeau.autograd.gradgradcheck(fn, reals(3, 4))

    def test_parts_of_a_leaf(self):
        x = leaf(1.0, 2.0, 3.0)
        (x[0] * 2 + x[1:].sum() * 3 + x[0]).backward()
        assert x.grad.tolist() == [3.0, 3.0, 3.0]

    def test_a_kept_gradient_is_not_written_to(self):
        x = leaf(1.0, 2.0)
        y = x * 1
        seen = []
        a, b = y[0], y[0]
        y.register_hook(seen.append)
        (a * 2 + b * 3 + y[1]).backward()
        assert [g.tolist() for g in seen] == [[5.0, 1.0]]
        assert x.grad.tolist() == [5.0, 1.0]

    def test_many_parts_take_one_pass(self):
        """2,000 rows of 1,000 numbers: 16 GB of zeros if each row made its own."""
        x = flambeau.ones(2000, 1000, requires_grad=True)
        y = x * 2
        flambeau.stack([row * i for i, row in enumerate(y)]).sum().backward()
        assert x.grad[1999, 0].item() == 3998.0


class TestOrder:
    def test_diamonds(self):
        """Every node runs once, after all that lead to it: 2**20 paths, 20 nodes."""
        x = flambeau.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(20):
            y = y + y
        y.backward()
        assert x.grad.item() == 2.0**20

    def test_many_branches(self):
        x = flambeau.ones(4, requires_grad=True)
        flambeau.stack([x * i for i in range(1000)]).sum().backward()
        assert x.grad.tolist() == [sum(range(1000))] * 4

    def test_backward_inside_a_hook(self):
        x, inner = leaf(1.0), leaf(2.0)

        def hook(g):
            with flambeau.enable_grad():
                (inner * inner).sum().backward()
            return g * 2

        y = x * 3
        y.register_hook(hook)
        y.sum().backward()
        assert x.grad.tolist() == [6.0]
        assert inner.grad.tolist() == [4.0]

    def test_backward_through_the_same_graph_inside_a_hook(self):
        x = leaf(2.0)
        y = x * x
        z = y * 3

        def hook(g):
            y.backward(flambeau.ones(1), retain_graph=True)

        z.register_hook(hook)
        z.sum().backward()
        assert x.grad.tolist() == [4.0 + 12.0]

    def test_threads(self):
        from threading import Thread

        w = flambeau.ones(1 << 17, requires_grad=True)

        def work():
            for _ in range(5):
                (w * 2).sum().backward()

        threads = [Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert w.grad[0].item() == 40.0 and w.grad.sum().item() == 40.0 * (1 << 17)


def test_second_order_of_a_network():
    """A gradient penalty: the derivative of a gradient's norm, against finite differences."""
    w = reals(3, 2)
    x = reals(4, 3, seed=1)

    def penalty(w):
        y = ((x @ w).relu() ** 2).sum()
        g, = grad(y, x, create_graph=True)
        return g.square().sum()

    assert flambeau.autograd.gradcheck(penalty, w)
