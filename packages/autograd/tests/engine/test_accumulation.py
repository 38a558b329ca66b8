"""What happens at leaves: the layout of gradients, and the hooks that run there."""

import pytest

import flambeau


class TestLayout:
    @pytest.mark.parametrize("create_graph", [False, True])
    @pytest.mark.parametrize(("leaf", "strides"), [
        (lambda: flambeau.zeros(3, 4).t(), (1, 4)),
        (lambda: flambeau.zeros(2, 3, 4, 5).to(memory_format=flambeau.channels_last),
         (60, 1, 15, 3)),
        (lambda: flambeau.zeros(6)[::2], (1,)),
        (lambda: flambeau.zeros(2, 1).expand(2, 3), (3, 1)),
        (lambda: flambeau.zeros(3, 4), (4, 1)),
        (lambda: flambeau.zeros(3, 1, 2).transpose(0, 2), (1, 2, 2)),
    ], ids=["transposed", "channels last", "strided", "expanded", "plain", "size one"])
    @pytest.mark.parametrize("function", [
        lambda x: x.sum(), lambda x: (x * flambeau.ones(x.shape)).sum(), lambda x: x.exp().sum(),
        lambda x: x.movedim(0, -1).contiguous().sum(),
    ], ids=["sum", "mul", "exp", "moved"])
    def test_strides(self, leaf, strides, create_graph, function):
        x = leaf().requires_grad_()
        function(x).backward(create_graph=create_graph)
        kept = [n == 1 or a == b for n, a, b in zip(x.shape, x.grad.stride(), strides, strict=True)]
        assert all(kept), x.grad.stride()
        assert x.grad.tolist() == flambeau.ones(x.shape).tolist()

    def test_a_gradient_that_is_there_keeps_its_strides(self):
        x = flambeau.zeros(3, 4).t().requires_grad_()
        x.grad = flambeau.zeros(4, 3)
        x.sum().backward()
        assert x.grad.stride() == (3, 1) and x.grad.tolist() == [[1.0] * 3] * 4

    def test_layout_with_create_graph_is_differentiable(self):
        x = flambeau.full((3, 4), 2.0).t().requires_grad_()
        (x ** 3).sum().backward(create_graph=True)
        second, = flambeau.autograd.grad(x.grad.sum(), x)
        assert second.tolist() == [[12.0] * 3] * 4


class TestHooks:
    def made(self):
        log = []
        x = flambeau.ones(2, requires_grad=True)
        y = x * 2
        record = y.grad_fn.next_functions[0][0]
        record.register_prehook(lambda grads: log.append("record pre"))
        record.register_hook(lambda inputs, outputs: log.append("record post"))
        x.register_post_accumulate_grad_hook(lambda leaf: log.append("stored"))
        x.register_hook(lambda grad: log.append("tensor"))
        return log, x, y

    def test_grad_stores_nothing(self):
        log, x, y = self.made()
        flambeau.autograd.grad(y.sum(), x)
        assert log == ["tensor"]

    @pytest.mark.parametrize("named", [False, True])
    def test_order(self, named):
        log, x, y = self.made()
        y.sum().backward(inputs=[x] if named else None)
        assert log == ["tensor", "record pre", "stored", "record post"]

    def test_prehook_replaces_what_is_stored(self):
        x = flambeau.ones(2, requires_grad=True)
        y = x * 2
        seen = []
        record = y.grad_fn.next_functions[0][0]
        record.register_prehook(lambda grads: (grads[0] * 10,))
        handle = record.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
        y.sum().backward(retain_graph=True)
        assert x.grad.tolist() == [20.0, 20.0] and seen == [[20.0, 20.0]]
        handle.remove()
        y.sum().backward()
        assert len(seen) == 1

    @pytest.mark.parametrize(("walk", "expected"), [
        (lambda z, x, y: flambeau.autograd.grad(z, y), ["tensor"]),
        (lambda z, x, y: z.backward(inputs=[y]), ["tensor", "pre", "post"]),
        (lambda z, x, y: flambeau.autograd.grad(z, (x, y)), ["tensor", "pre", "post"]),
    ], ids=["grad", "backward", "grad of both"])
    def test_node_that_is_the_end(self, walk, expected):
        log = []
        x = flambeau.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: log.append("tensor"))
        y.grad_fn.register_prehook(lambda grads: log.append("pre"))
        y.grad_fn.register_hook(lambda inputs, outputs: log.append("post"))
        walk((y * 3).sum(), x, y)
        assert log == expected

    def test_hooks_see_every_output(self):
        x = flambeau.tensor([3.0, 1.0], requires_grad=True)
        seen = []
        q, r = flambeau.linalg.qr(x.reshape(2, 1))
        q.grad_fn.register_prehook(lambda grads: seen.append([g is None for g in grads]))
        r.sum().backward()
        assert seen == [[True, False]]


class TestDepth:
    """Passes that begin inside functions of other passes."""

    def function(self):
        class Countdown(flambeau.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with flambeau.enable_grad():
                    ctx.x = x.detach().requires_grad_() - 1
                return ctx.x.detach()

            @staticmethod
            def backward(ctx, g):
                if ctx.x < 0:
                    return g * 0
                with flambeau.enable_grad():
                    Countdown.apply(ctx.x).sum().backward()
                return g

        return Countdown

    def test_thousands(self):
        x = flambeau.tensor(3000.0, requires_grad=True)
        self.function().apply(x).sum().backward()
        assert x.grad.item() == 1.0

    def test_mode_and_errors_travel(self):
        class Deeper(flambeau.autograd.Function):
            @staticmethod
            def forward(ctx, x, depth):
                ctx.depth = depth
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                if ctx.depth == 0:
                    raise KeyError("the bottom")
                assert not flambeau.is_grad_enabled()
                with flambeau.enable_grad():
                    x = flambeau.ones(1, requires_grad=True)
                    Deeper.apply(x, ctx.depth - 1).backward()

        with pytest.raises(KeyError, match="the bottom"):
            Deeper.apply(flambeau.ones(1, requires_grad=True), 100).backward()
        assert flambeau.is_grad_enabled()


class Both(flambeau.autograd.Function):
    """Hands one gradient to two inputs."""

    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, grad):
        Both.address = grad.data_ptr()
        return grad, grad


def test_one_of_two_leaves_keeps_the_gradient_of_a_custom_function():
    a, b = (flambeau.ones(3, requires_grad=True) for _ in range(2))
    (Both.apply(a, b) * 2).sum().backward()
    addresses = {a.grad.data_ptr(), b.grad.data_ptr()}
    assert len(addresses) == 2 and Both.address in addresses
    assert a.grad.tolist() == b.grad.tolist() == [2, 2, 2]


def test_a_gradient_that_the_function_keeps_is_not_written_to():
    kept = []

    class Keeps(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, grad):
            kept.append(grad * 3)
            return kept[-1]

    a = flambeau.ones(2, requires_grad=True)
    (Keeps.apply(a) + Keeps.apply(a)).sum().backward()
    assert [grad.tolist() for grad in kept] == [[3, 3], [3, 3]]
    assert a.grad.tolist() == [6, 6]
    a.grad.zero_()
    assert kept[0].tolist() == kept[1].tolist() == [3, 3]
