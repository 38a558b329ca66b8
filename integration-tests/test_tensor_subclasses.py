"""Classes of tensors with `__torch_dispatch__` in networks: gradients, parameters, optimizers."""
import copy

import pytest

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.utils._python_dispatch import return_and_correct_aliasing
from flambeau.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

aten = flambeau.ops.aten


class Two(Tensor):
    """Two tensors that everything happens to."""

    @staticmethod
    def __new__(cls, a, b):
        return Tensor._make_wrapper_subclass(cls, a.shape, strides=a.stride(), dtype=a.dtype,
                                             requires_grad=a.requires_grad)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __repr__(self):
        return f"Two({self.a}, {self.b})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        parts = [tree_map_only(Two, lambda x, part=part: getattr(x, part), (args, kwargs or {}))
                 for part in ("a", "b")]
        first, second = (func(*given, **named) for given, named in parts)
        leaves, spec = tree_flatten(first)
        found = [cls(x, y) if isinstance(x, Tensor) else x
                 for x, y in zip(leaves, tree_leaves(second), strict=True)]
        return return_and_correct_aliasing(func, args, kwargs, tree_unflatten(found, spec))


class Int8(Tensor):
    """A weight of bytes, with a factor for each row."""

    @staticmethod
    def __new__(cls, q, scale):
        return Tensor._make_wrapper_subclass(cls, q.shape, dtype=scale.dtype)

    def __init__(self, q, scale):
        self.q, self.scale = q, scale

    @classmethod
    def of(cls, w):
        scale = w.abs().amax(1) / 127
        return cls((w / scale[:, None]).round().to(flambeau.int8), scale)

    def dequantize(self):
        return self.q.to(self.scale.dtype) * self.scale[:, None]

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        x, kwargs = args[0], kwargs or {}
        if func in (aten.detach.default, aten.clone.default):
            return cls(func(x.q), func(x.scale))
        if func is aten._to_copy.default:
            return cls(x.q, x.scale.to(kwargs["dtype"]))
        if func is aten.copy_.default and isinstance(x, Int8):
            source = args[1] if isinstance(args[1], Int8) else Int8.of(args[1])
            x.q.copy_(source.q)
            x.scale.copy_(source.scale)
            return x
        return func(*[y.dequantize() if isinstance(y, Int8) else y for y in args], **kwargs)


def _two(scale=2.0):
    a = flambeau.arange(6.0).view(2, 3) / 7 + 0.1
    return Two(a, a * scale)


def test_gradients_are_of_the_class():
    x = _two().requires_grad_()
    y = (x.sin() * x).sum()
    y.backward()
    assert type(y) is Two and type(x.grad) is Two
    for part, grad in ((x.a, x.grad.a), (x.b, x.grad.b)):
        assert flambeau.allclose(grad, part.cos() * part + part.sin())
    y = (x.sin() * x).sum()
    y.backward()
    assert flambeau.allclose(x.grad.a, 2 * (x.a.cos() * x.a + x.a.sin()))


def test_second_derivatives():
    x = _two().requires_grad_()
    g, = flambeau.autograd.grad((x ** 3).sum(), x, create_graph=True)
    h, = flambeau.autograd.grad(g.sum(), x)
    assert type(h) is Two and flambeau.allclose(h.b, 6 * x.b)


def test_views_and_writes_are_recorded():
    x = _two().requires_grad_()
    y = x * 1
    y[0].mul_(3)
    y.view(-1)[1:].sum().backward()
    plain = x.a.clone().requires_grad_()
    z = plain * 1
    z[0].mul_(3)
    z.view(-1)[1:].sum().backward()
    assert type(x.grad) is Two and x.grad.a.tolist() == plain.grad.tolist()


def _network():
    flambeau.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    other = copy.deepcopy(net)
    for layer in (other[0], other[2]):
        for name in ("weight", "bias"):
            w = getattr(layer, name).detach()
            setattr(layer, name, nn.Parameter(Two(w.clone(), w * 2)))
    return net, other


def test_parameters_keep_their_class():
    net, other = _network()
    p = other[0].weight
    assert type(p) is Two and isinstance(p, nn.Parameter) and p.requires_grad
    assert not isinstance(Two(p.a, p.b), nn.Parameter) and not isinstance(p, nn.Buffer)
    assert len(list(other.parameters())) == 4
    x = flambeau.ones(5, 3)
    assert flambeau.equal(other(x).a, net(x))
    other(x).sum().backward()
    net(x).sum().backward()
    assert flambeau.equal(p.grad.a, net[0].weight.grad)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"])
def test_optimizers(kind):
    net, other = _network()
    x = flambeau.ones(5, 3)
    for module in (net, other):
        stepper = getattr(optim, kind)(module.parameters(), lr=0.1, weight_decay=0.1)
        for _ in range(2):
            stepper.zero_grad()
            loss = module(x).square().sum()
            loss.backward()
            stepper.step()
    assert type(other[0].weight) is Two
    assert flambeau.allclose(other[0].weight.a, net[0].weight, atol=1e-6)


def test_scaled_gradients():
    net, other = _network()
    for module in (net, other):
        scaler = flambeau.amp.GradScaler("cpu", init_scale=8.0)
        stepper = optim.SGD(module.parameters(), lr=0.1)
        scaler.scale(module(flambeau.ones(5, 3)).square().sum()).backward()
        scaler.unscale_(stepper)
        scaler.step(stepper)
    assert flambeau.allclose(other[0].weight.grad.a, net[0].weight.grad)
    assert flambeau.allclose(other[0].weight.a, net[0].weight, atol=1e-6)


def test_state_and_copies():
    _, other = _network()
    state = other.state_dict()
    assert type(state["0.weight"]) is Two
    copied = copy.deepcopy(other)
    assert isinstance(copied[0].weight, nn.Parameter) and copied[0].weight.requires_grad
    with flambeau.no_grad():
        copied[0].weight.zero_()
    assert other[0].weight.a.any()
    copied.load_state_dict(state)
    assert flambeau.equal(copied[0].weight.b, other[0].weight.b)
    copied.double()
    assert type(copied[0].weight) is Two and copied[0].weight.a.dtype is flambeau.float64


def test_quantized_weights():
    layer, x = nn.Linear(8, 4), flambeau.linspace(-1, 1, 24).view(3, 8)
    expected = layer(x)
    layer.weight = nn.Parameter(Int8.of(layer.weight.detach()), requires_grad=False)
    assert flambeau.allclose(layer(x), expected, atol=0.05)
    assert (layer.weight * 2).shape == (4, 8)
    layer.bfloat16()
    assert layer.weight.dtype is layer.weight.scale.dtype is flambeau.bfloat16
    layer.weight.requires_grad_()
    layer(x.bfloat16()).sum().backward()
    assert type(layer.weight.grad) is Tensor and layer.weight.grad.shape == (4, 8)


def test_detach_must_keep_the_class():
    class Losing(Two):
        @classmethod
        def __torch_dispatch__(cls, func, types, args, kwargs=None):
            return args[0].a

    with pytest.raises(RuntimeError, match="detach"):
        nn.Parameter(Losing(flambeau.ones(1), flambeau.ones(1)))


def test_compiled_functions_run_it():
    jit = pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    run = jit.compile(lambda x, y: (x * 2 + y).sum())
    for _ in range(3):
        x = _two()
        found = run(x, x)
        assert type(found) is Two and flambeau.allclose(found.b, (x.b * 3).sum())


class Named(flambeau.Tensor):
    """A class that keeps what calls give, as PyTorch's default does."""


def test_parameters_of_plain_classes():
    given = flambeau.ones(2, 2).as_subclass(Named)
    weight = nn.Parameter(given)
    assert type(weight) is Named and isinstance(weight, nn.Parameter) and weight.requires_grad
    assert weight.data_ptr() == given.data_ptr() and not isinstance(given, nn.Parameter)
    layer = nn.Linear(2, 2, bias=False)
    layer.weight = weight
    y = layer(flambeau.ones(1, 2))
    assert type(y) is Named
    y.sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    flambeau.optim.SGD(layer.parameters(), lr=0.5).step()
    assert weight.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    twin = copy.deepcopy(layer)
    assert type(twin.weight) is Named and isinstance(twin.weight, nn.Parameter)
    assert [name for name, _ in twin.double().named_parameters()] == ["weight"]


def test_a_class_of_parameters_stays_one():
    class Scaled(nn.Parameter):
        pass

    assert type(Scaled(flambeau.ones(2))) is Scaled
    assert type(nn.Parameter(Scaled(flambeau.ones(2)))) is nn.Parameter
