"""Programs on graphs, hooks and custom functions, run in PyTorch and here: the same results."""

import pytest

import flambeau

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")


def leaf(T, *data):
    return T.tensor(list(data), dtype=T.float64, requires_grad=True)


def names(node, depth=0):
    """The graph as nested names."""
    if node is None or depth > 6:
        return None
    return [node.name().replace("struct ", "").rpartition("::")[2],
            [(names(n, depth + 1), k) for n, k in node.next_functions]]


def outcome(fn):
    """A result, or the type of the error."""
    try:
        return fn()
    except Exception as error:
        return type(error).__name__


def unused_and_materialized(T):
    x, y = leaf(T, 1.0), leaf(T, 2.0)
    z = (x * 2).sum()
    return [outcome(lambda: T.autograd.grad(z, [x, y], retain_graph=True)),
            [g if g is None else g.tolist()
             for g in T.autograd.grad(z, [x, y], retain_graph=True, allow_unused=True)],
            [g.tolist() for g in T.autograd.grad(z, [x, y], retain_graph=True,
                                                 materialize_grads=True)],
            outcome(lambda: T.autograd.grad(z, [x], materialize_grads=True, allow_unused=False))]


def backward_into_inputs(T):
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    h = x * y
    z = (h * h).sum()
    z.backward(inputs=[x, h], retain_graph=True)
    first = [x.grad.tolist(), h.grad.tolist(), y.grad]
    z.backward(inputs=y)
    return [*first, y.grad.tolist(), x.grad.tolist(), outcome(lambda: z.backward(inputs=[]))]


def hooks_replace_and_go(T):
    x = leaf(T, 1.0, 2.0)
    order = []
    h = x * 3
    one = h.register_hook(lambda g: order.append("one") or g * 2)
    h.register_hook(lambda g: order.append("two") or g + 1)
    h.retain_grad()
    h.sum().backward(retain_graph=True)
    before = [x.grad.tolist(), h.grad.tolist()]
    one.remove()
    h.sum().backward()
    return [before, x.grad.tolist(), h.grad.tolist(), order]


def node_hooks(T):
    x = leaf(T, 1.0, 2.0)
    y = x * 4
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(
        (inputs[0].tolist(), outputs[0].tolist())) or (inputs[0] * 10, *inputs[1:]))
    (y * 1).sum().backward()
    return [x.grad.tolist(), seen]


def leaf_hooks(T):
    x = leaf(T, 1.0)
    order = []
    x.register_post_accumulate_grad_hook(lambda t: order.append(("post", t.grad.item())))
    x.register_hook(lambda g: order.append(("hook", g.item())) or g * 3)
    record = (x * 1).grad_fn.next_functions[0][0]
    record.register_prehook(lambda g: order.append(("pre", g[0].item())))
    record.register_hook(lambda i, o: order.append(("node", o[0].item(), len(i))))
    ((x * 2) + (x * 5)).sum().backward()
    return [order, x.grad.tolist(), record.variable is x]


def multi_grad(T):
    a, b, c = leaf(T, 1.0), leaf(T, 2.0), leaf(T, 3.0)
    calls = []
    T.autograd.graph.register_multi_grad_hook((a, b, c), lambda gs: calls.append(
        [None if g is None else g.item() for g in gs]))
    (a * 2 + c * 3).sum().backward()
    (a * b * c).sum().backward()
    return calls


def graph_names(T):
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    z = ((x * y).exp() + x.sum()).view(2, 1).t()[0]
    return names(z.grad_fn)


def writes_to_views(T):
    x, y = leaf(T, 1.0, 2.0, 3.0), leaf(T, 5.0, 6.0)
    base = x * 2
    before = base[:2]
    base[1:].mul_(y)
    before.add_(1)
    (base * base).sum().backward()
    return [base.tolist(), before.tolist(), x.grad.tolist(), y.grad.tolist(),
            base.grad_fn.name().rpartition("::")[2]]


def refused_writes(T):
    x = leaf(T, 1.0, 2.0)
    with T.no_grad():
        v = (x * 1)[0:1]
    base = x * 1
    with T.no_grad():
        w = base[0:1]
    return [outcome(lambda: x.add_(1)), outcome(lambda: x[0].add_(1)),
            outcome(lambda: T.add(x, x, out=T.zeros(2, dtype=T.float64))),
            outcome(lambda: w.add_(1)), outcome(lambda: v.add_(1).requires_grad)]


def function_class(T):
    class Both(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, factor):
            ctx.factor = factor
            ctx.save_for_backward(x, y)
            ctx.set_materialize_grads(False)
            return x * y * factor, x.argmax()

        @staticmethod
        def backward(ctx, g, g_place):
            x, y = ctx.saved_tensors
            return (g * y * ctx.factor if ctx.needs_input_grad[0] else None,
                    g * x * ctx.factor if ctx.needs_input_grad[1] else None, None)

    return Both


def custom_function(T):
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    z, index = function_class(T).apply(x, y, 3)
    first = T.autograd.grad(z.sum(), [x, y], create_graph=True)
    second = T.autograd.grad((first[0] * first[1]).sum(), [x, y])
    return [[g.tolist() for g in first], [g.tolist() for g in second], index.requires_grad,
            z.grad_fn.name().rpartition("::")[2], z.grad_fn.needs_input_grad]


def dirty_views(T):
    class Triple(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = leaf(T, 1.0, 2.0, 3.0)
    base = x * 1
    part = Triple.apply(base[1:])
    (base.sum() * 2 + part.sum()).backward()
    return [x.grad.tolist(), base.tolist(), outcome(lambda: Triple.apply(x)),
            outcome(lambda: Triple.apply(x[1:]))]


def wrong_functions(T):
    def made(result):
        class Wrong(T.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, g):
                return result(g)

        x = leaf(T, 1.0, 2.0)
        return outcome(lambda: Wrong.apply(x, 2).sum().backward())

    return [made(lambda g: g), made(lambda g: (g, None, None)), made(lambda g: (g[:1], None)),
            made(lambda g: (g, None, g))]


def packed(T):
    x = leaf(T, 1.0, 2.0)
    seen = []
    with T.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t,
                                              lambda t: t * 2):
        y = x * x
    y.sum().backward()
    return [seen, x.grad.tolist()]


def second_pass(T):
    x = leaf(T, 1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    z = (x + 1).sum()
    z.backward()
    z.backward()
    return [x.grad.tolist(), outcome(y.backward)]


def modes(T):
    x = leaf(T, 1.0)
    results = []
    with T.inference_mode():
        made = T.ones(1, dtype=T.float64)
        results.append([made.requires_grad, T.is_grad_enabled(), T.is_inference_mode_enabled()])
        with T.inference_mode(False):
            results.append([T.is_grad_enabled(), T.is_inference_mode_enabled()])
    results += [outcome(lambda: (x * made).requires_grad), outcome(lambda: made.add_(1).tolist()),
                outcome(lambda: (made + 1).requires_grad), outcome(lambda: made.requires_grad_())]
    with T.set_grad_enabled(False), T.enable_grad():
        results.append((x * 2).requires_grad)
    return results


def names_of_products(T):
    def ones(*shape):
        return T.ones(*shape, requires_grad=True)

    linear = ones(4, 3), ones(4)
    return [y.grad_fn.name() for y in (
        ones(3) @ ones(3), ones(2, 3) @ ones(3), ones(2, 3) @ ones(3, 4),
        T.mm(ones(2, 3), ones(3, 4)), T.mv(ones(2, 3), ones(3)), T.dot(ones(3), ones(3)),
        T.bmm(ones(5, 2, 3), ones(5, 3, 4)), T.matmul(ones(2, 3), ones(3, 4)),
        T.linalg.matmul(ones(2, 3), ones(3, 4)),
        T.nn.functional.linear(ones(2, 3), *linear), T.nn.functional.linear(ones(2, 3), linear[0]),
        T.nn.Linear(3, 4)(T.ones(2, 3)), T.nn.Linear(3, 4, bias=False)(T.ones(2, 3)),
        ones(2, 3).clone().fill_(3.0), ones(2, 3).clone().fill_(T.tensor(3.0)),
        T.where(T.ones(3) > 0, ones(3), 0.0))]


PROGRAMS = [unused_and_materialized, backward_into_inputs, hooks_replace_and_go, node_hooks,
            leaf_hooks, multi_grad, graph_names, writes_to_views, refused_writes, custom_function,
            dirty_views, wrong_functions, packed, second_pass, modes, names_of_products]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_same_as_in_pytorch(program):
    assert program(flambeau) == program(torch)
