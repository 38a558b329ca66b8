"""Modes below autograd: names, arguments, results, nesting."""
import pytest

import flambeau
from flambeau.utils._python_dispatch import TorchDispatchMode

aten = flambeau.ops.aten


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((func, args, kwargs))
        return func(*args, **(kwargs or {}))

    @property
    def names(self):
        return [str(func) for func, _, _ in self.seen]


def test_calls_have_the_names_of_pytorch():
    x, v = flambeau.rand(2, 2), flambeau.rand(2)
    with Log() as log:
        results = (x @ x, x @ v, x + 1, flambeau.add(x, x, alpha=2), x.sum(), x.sum(0), x[0],
                   x < 1, flambeau.softmax(x, 0), x.double(), x.t(), x.reshape(4))
    assert log.names == [
        "aten.mm.default", "aten.mv.default", "aten.add.Tensor", "aten.add.Tensor",
        "aten.sum.default", "aten.sum.dim_IntList", "aten.select.int", "aten.lt.Scalar",
        "aten._softmax.default", "aten._to_copy.default", "aten.t.default", "aten.view.default"]
    assert log.seen[0][0] is aten.mm.default and log.seen[3][2] == {"alpha": 2}
    plain = (x @ x, x @ v, x + 1, flambeau.add(x, x, alpha=2), x.sum(), x.sum(0), x[0], x < 1,
             flambeau.softmax(x, 0), x.double(), x.t(), x.reshape(4))
    assert all(flambeau.equal(a, b) for a, b in zip(results, plain, strict=True))


def test_writes():
    x = flambeau.ones(2)
    y = flambeau.empty(2)
    with Log() as log:
        assert x.add_(1) is x
        flambeau.exp(flambeau.zeros(2), out=y)
    assert "aten.add_.Tensor" in log.names and "aten.exp.out" in log.names
    assert x.tolist() == [2.0, 2.0] and y.tolist() == [1.0, 1.0]


def test_kernels_behind_functions_have_the_names_of_the_functions():
    x = flambeau.tensor([0.25, 0.5, 0.75])
    calls = {"aten.clamp.default": lambda: flambeau.clamp(x, 0.3, 0.6),
             "aten.clamp.Tensor": lambda: flambeau.clamp(x, x / 2, x),
             "aten.clamp_.default": lambda: x.clone().clamp_(0.3, 0.6),
             "aten.angle.default": lambda: flambeau.angle(x),
             "aten.logit.default": lambda: flambeau.logit(x),
             "aten.nextafter.default": lambda: flambeau.nextafter(x.double(), x.double() * 2)}
    for name, call in calls.items():
        with Log() as log:
            found = call()
        assert log.names[-1] == name and found.equal(call())


def test_a_mode_may_change_arguments_and_results():
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.exp.default:
                return func(args[0] * 0)
            return func(*args, **(kwargs or {})) * 2

    x = flambeau.ones(2)
    with Doubles():
        assert (x + 1).tolist() == [4.0, 4.0] and x.exp().tolist() == [1.0, 1.0]


def test_backward_passes_are_seen_and_gradients_recorded():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    w = flambeau.rand(2, 2, requires_grad=True)
    with Log() as log:
        (w @ flambeau.ones(2, 2)).sum().backward()
    assert log.names.count("aten.mm.default") == 2
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_modes_nest():
    outer, inner = Log(), Log()
    x = flambeau.ones(2)
    with outer, inner:
        x.exp()
    assert outer.names == inner.names == ["aten.exp.default"]
    with pytest.raises(NotImplementedError, match="__torch_dispatch__"), TorchDispatchMode():
        x.exp()
    assert x.exp().shape == (2,)


def test_own_operators_have_a_namespace():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x, w = flambeau.rand(1, 1, 4, 4, requires_grad=True), flambeau.rand(1, 1, 3, 3)
    with Log() as log:
        flambeau.conv2d(x, w).sum().backward()
    assert "aten.convolution.default" in log.names
    assert "flambeau.conv2d_input_grad.default" in log.names


def test_the_innermost_mode_is_asked_first():
    seen = []

    class Noted(TorchDispatchMode):
        def __init__(self, name, turn=False):
            super().__init__()
            self.name, self.turn = name, turn

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(f"{self.name} {func}")
            if self.turn and "mul" in str(func):
                return args[0] + args[1]
            return func(*args, **(kwargs or {}))

    x = flambeau.ones(2)
    with Noted("outer"), Noted("inner", turn=True):
        assert (x * 2).tolist() == [3.0, 3.0]
    assert seen == ["inner aten.mul.Tensor", "outer aten.add.Tensor"]
    seen.clear()
    with Noted("outer", turn=True), Noted("inner"):
        assert (x * 2).tolist() == [3.0, 3.0]
    assert seen == ["inner aten.mul.Tensor", "outer aten.mul.Tensor"]


def test_a_mode_that_has_no_answer():
    class Silent(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = flambeau.ones(2)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'aten.abs.default'"), \
            Silent():
        x.abs()


def test_linear_is_a_product_and_gradients_stay_right():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x, w, b = (flambeau.randn(s, requires_grad=True) for s in ((3, 4), (5, 4), (5,)))
    flambeau.core.ops.linear(x, w, b).relu().square().sum().backward()
    wanted = [t.grad for t in (x, w, b)]
    for t in (x, w, b):
        t.grad = None
    with Log() as log:
        flambeau.core.ops.linear(x, w, b).relu().square().sum().backward()
    assert "aten.mm.default" in log.names and "aten.threshold_backward.default" in log.names
    assert not any("linear" in name for name in log.names)
    for t, grad in zip((x, w, b), wanted, strict=True):
        assert flambeau.equal(t.grad, grad)


@pytest.mark.parametrize("order", [0, 0.0, 1, 2, 3.5, "fro", float("inf"), -float("inf"), None])
@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_norms_are_called_again_with_their_order(order, dim):
    x = flambeau.tensor([[1.0, -2.0, 0.0], [0.5, 0.0, 3.0]])
    for function in (flambeau.norm, flambeau.linalg.vector_norm):
        for keepdim in (False, True):
            if (order is None or order == "fro") and function is not flambeau.norm:
                continue
            with Log() as log:
                found = function(x, order, dim, keepdim)
            assert found.equal(function(x, order, dim, keepdim)) and log.seen


def test_formulas_are_called_again_with_their_numbers():
    x, target = flambeau.tensor([0.0, 0.25, 1.0]), flambeau.tensor([0.0, 0.5, 1.0])
    loss = flambeau.core.functional.binary_cross_entropy
    with Log() as log:
        found = loss(x, target, reduction="none")
    assert found.tolist() == loss(x, target, reduction="none").tolist() and len(log.seen) > 1


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
@pytest.mark.parametrize("dtype", [flambeau.int64, flambeau.uint8, flambeau.float32])
def test_divisions_are_called_again_with_their_rounding(mode, dtype):
    x = flambeau.tensor([7, 3, 100], dtype=dtype)
    y = flambeau.tensor([2, 5, 7], dtype=dtype)
    large = flambeau.tensor([2**53 + 1, -7, 9])
    for a, b in ((x, y), (x, 2), (large, flambeau.tensor([1, 2, -2])), (large, 3)):
        for divide in (flambeau.div, lambda a, b, rounding_mode: a.clone().div_(
                b, rounding_mode=rounding_mode)):
            if mode is None and divide is not flambeau.div:
                continue
            with Log() as log:
                found = divide(a, b, rounding_mode=mode)
            expected = divide(a, b, rounding_mode=mode)
            assert found.dtype is expected.dtype and found.equal(expected)
        if mode == "trunc":
            assert log.names and str(log.seen[-1][1][0].dtype) == str(a.dtype)


@pytest.mark.parametrize("function", [
    flambeau.floor, flambeau.sign, lambda x: flambeau.lerp(x, x * 2, 0.4),
    lambda x: flambeau.lerp(x, x * x, 0.7), lambda x: flambeau.copysign(flambeau.ones(3, 1), x),
    lambda x: flambeau.linalg.vector_norm(x, 0),
    lambda x: flambeau.quantile(x, 0.5, interpolation="midpoint")])
def test_gradients_of_constants_and_numbers_are_called_again(function):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.tensor([1.5, -2.0, 0.25], requires_grad=True)

    def slope():
        return flambeau.autograd.grad(function(x).sum(), x)[0]

    with Log() as log:
        found = slope()
    assert found.equal(slope()) and log.seen


def test_classes_are_shown_what_they_are_to_show():
    names = []

    class Held(flambeau.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = flambeau.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            names.append(str(func))
            func(args[0].inner, *args[1:], **(kwargs or {}))
            return args[0]

    x = Held(flambeau.ones(3))
    for arguments, shown in (((flambeau.zeros(2),), [0, 0]), ((), []),
                             ((flambeau.arange(6.0).untyped_storage(), 1, (2,), (2,)), [1, 3]),
                             ((flambeau.arange(6.0).untyped_storage(), 2, (2,)), [2, 3]),
                             ((flambeau.ones(2).untyped_storage(),), [1, 1])):
        assert x.set_(*arguments) is x
        assert x.inner.tolist() == shown
    storage = "aten.set_.source_Storage"
    assert names == ["aten.set_.source_Tensor", "aten.set_.default", f"{storage}_storage_offset",
                     f"{storage}_storage_offset", storage]
