"""`__torch_function__` of classes: what is shown to them, and what they give."""
import subprocess
import sys

import pytest

import flambeau
from flambeau import Tensor, overrides
from flambeau.core import _core


class Plain(Tensor):
    """Keeps its type."""


class Log(Tensor):
    """Notes what it is shown."""

    seen: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kinds = [type(value).__name__ for value in args]
        cls.seen.append((func.__name__, [t.__name__ for t in types], kinds))
        return super().__torch_function__(func, types, args, kwargs)


@pytest.fixture
def log():
    Log.seen = []
    return flambeau.tensor([1.0, 2.0, 3.0]).as_subclass(Log)


def test_results_are_of_the_subclass():
    x = flambeau.ones(2, 2).as_subclass(Plain)
    results = (x + 1, 1 - x, x @ x, x.sum(), flambeau.exp(x), x[0], x.T, x.float(), x.detach(),
               x.max(0).values, x.clone(), flambeau.cat([flambeau.ones(2, 2), x]), x.split(1)[0])
    assert {type(y) for y in results} == {Plain}
    assert type(x.max(0)).__name__ == "max"
    assert type(x.shape) is flambeau.Size
    assert [type(row) for row in x] == [Plain, Plain]
    assert type(flambeau.tensor(x)) is Tensor


def test_in_place_and_out():
    x = flambeau.ones(2).as_subclass(Plain)
    y = x
    y += 1
    assert y is x and x.mul_(2) is x and x.tolist() == [4.0, 4.0]
    target = flambeau.empty(2)
    assert flambeau.add(x, 1, out=target).tolist() == target.tolist() == [5.0, 5.0]
    x[0] = 9
    assert x.tolist() == [9.0, 4.0]


@pytest.mark.parametrize(("text", "name", "kinds"), [
    ("x + 1", "add", ["Log", "int"]),
    ("1 + x", "add", ["Log", "int"]),
    ("1 - x", "__rsub__", ["Log", "int"]),
    ("x // 2", "__floordiv__", ["Log", "int"]),
    ("2 ** x", "__rpow__", ["Log", "int"]),
    ("t - x", "sub", ["Tensor", "Log"]),
    ("t < x", "gt", ["Log", "Tensor"]),
    ("x == 1", "__eq__", ["Log", "int"]),
    ("-x", "neg", ["Log"]),
    ("~x.bool()", "__invert__", ["Log"]),
    ("x[0]", "__getitem__", ["Log", "int"]),
    ("t[x.long() - 1]", "__getitem__", ["Tensor", "Log"]),
    ("len(x)", "__len__", ["Log"]),
    ("float(x[0])", "__float__", ["Log"]),
    ("2 in x", "__contains__", ["Log", "int"]),
    ("repr(x)", "__repr__", ["Log"]),
    ("x.size()", "size", ["Log"]),
    ("x.to('cpu')", "to", ["Log", "str"]),
    ("flambeau.stack((t, x))", "stack", ["tuple"]),
    ("flambeau.einsum('i->', x)", "einsum", ["str", "Log"]),
    ("flambeau.linalg.norm(x)", "norm", ["Log"]),
    ("flambeau.numel(x)", "numel", ["Log"]),
    ("x.tolist()", "tolist", ["Log"]),
])
def test_what_is_shown(log, text, name, kinds):
    eval(text, {"x": log, "t": flambeau.ones(3), "flambeau": flambeau})
    assert log.seen[-1] == (name, ["Log"], kinds)


def test_properties_are_shown_by_their_get_and_set(log):
    x = log
    _ = x.shape, x.dtype
    x.data = flambeau.zeros(3)
    assert [name for name, _, _ in Log.seen] == ["__get__", "__get__", "__set__"]

    class Shapes(Plain):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func == Tensor.shape.__get__:
                return "a shape"
            return super().__torch_function__(func, types, args, kwargs)

    assert flambeau.ones(2).as_subclass(Shapes).shape == "a shape"
    assert flambeau.ones(2).shape == (2,)


def test_subclasses_are_asked_before_their_bases_and_others_by_position():
    order = []

    def made(name, base):
        def method(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented
        return type(name, base, {"__torch_function__": classmethod(method)})

    Base = made("Base", ())
    Derived, Other = made("Derived", (Base,)), made("Other", ())
    with pytest.raises(TypeError, match="no implementation found for 'flambeau.cat'"):
        flambeau.cat([Other(), Base(), Derived(), Base(), flambeau.ones(1)])
    assert order == ["Other", "Derived", "Base"]


class Duck:
    """No tensor."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args), kwargs

    def __float__(self):
        return 1.0


def test_any_object_can_take_part():
    x = flambeau.ones(2)
    assert flambeau.add(x, Duck()) == ("add", 2, {})
    assert flambeau.add(Duck(), 1, alpha=2) == ("add", 2, {"alpha": 2})
    assert x + Duck() == ("add", 2, {}) and Duck() + x == ("add", 2, {})
    assert x.add_(Duck()) == ("add_", 2, {})
    assert flambeau.cat([x, Duck()]) == ("cat", 1, {})
    assert flambeau.sum(Duck(), dim=0) == ("sum", 1, {"dim": 0})
    with pytest.raises(TypeError, match="must be Tensor"):
        flambeau.exp("text")


def test_nobody_has_an_answer():
    class Silent:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="no implementation found for 'flambeau.exp'"):
        flambeau.exp(Silent())
    with pytest.raises(TypeError, match="unsupported operand"):
        flambeau.ones(1) + Silent()


def test_blocks_without_overrides(log):
    with _core.DisableTorchFunctionSubclass():
        assert type(log + 1) is Tensor and not Log.seen
        with overrides.enable_reentrant_dispatch():
            assert type(log + 1) is Log
    assert type(log + 1) is Log

    class Quiet(Tensor):
        __torch_function__ = _core.no_override

    assert type(flambeau.ones(1).as_subclass(Quiet) + 1) is Tensor


def test_an_error_leaves_nothing_off(log):
    with pytest.raises(RuntimeError):
        log.reshape(7)
    assert type(log + 1) is Log


def test_copies_text_and_pickles():
    import copy
    x = flambeau.tensor([1.5]).as_subclass(Plain)
    assert type(copy.copy(x)) is type(copy.deepcopy(x)) is Plain
    assert repr(x) == "Plain([1.5000])"


def test_functions_of_programs_can_take_part(log):
    @overrides.wrap_torch_function(lambda x, y: (x, y))
    def joined(x, y):
        return flambeau.cat([x, y])

    assert type(joined(log, flambeau.ones(1))) is Log and Log.seen[0][0] == "joined"
    assert overrides.has_torch_function((log,)) and not overrides.has_torch_function((1,))
    assert overrides.has_torch_function_unary(Duck())


def test_gradients_pass_and_are_plain():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.ones(2, requires_grad=True)
    y = (x.as_subclass(Plain) * 3).sum()
    assert type(y) is Plain
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]
    leaf = flambeau.ones(2).as_subclass(Plain).requires_grad_()
    (leaf * 2).sum().backward()
    assert type(leaf.grad) is Tensor
    with pytest.raises(TypeError, match="as_subclass"):
        x.as_subclass(int)


def test_operators_have_the_attributes_of_functions():
    assert flambeau.add.__module__ == "flambeau" and flambeau.add.__name__ == "add"
    assert flambeau.linalg.norm.__module__ == "flambeau.linalg"
    assert type(flambeau.add).__module__ == "flambeau.core._core"


def test_functions_of_python_are_shown_to_a_class_that_is_no_tensor():
    """`einsum` and the like do not look at classes until the first call was shown."""
    program = """
import flambeau
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args)
print(flambeau.add(Duck(), 1), flambeau.einsum("i,i->", Duck(), Duck()),
      flambeau.einsum("i,i->", [Duck(), Duck()]), flambeau.is_floating_point(Duck()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    assert done.stdout.strip() == (
        "('add', 2) ('einsum', 3) ('einsum', 3) ('is_floating_point', 1)")


def test_operators_take_attributes_as_functions_do():
    flambeau.relu.noted = 3
    assert flambeau.relu.noted == 3 and flambeau.relu.__name__ == "relu"
    del flambeau.relu.noted
    assert not hasattr(flambeau.relu, "noted")


def test_attributes_of_a_tensor_are_replaced_at_once():
    x = Plain([1.0, 2.0])
    x.noted = 3
    y = x * 2
    y.__dict__ = {**x.__dict__, "more": 4}
    assert (y.noted, y.more) == (3, 4) and y.tolist() == [2.0, 4.0] and not hasattr(x, "more")


def _asking(name, module):
    """A function of another library, which asks tensors as PyTorch's functions do."""
    def function(*args, **kwargs):
        return type(args[0]).__torch_function__(function, (type(args[0]),), args, kwargs)

    function.__name__, function.__module__ = name, module
    return function


def test_functions_of_another_library_call_the_one_of_their_name():
    x, y = flambeau.ones(2, 3), flambeau.arange(3.0)
    assert flambeau.equal(_asking("add", None)(x, y, alpha=2), x + 2 * y)
    assert flambeau.equal(_asking("norm", "other.linalg")(y), flambeau.linalg.norm(y))
    with pytest.raises(TypeError, match="another library's function"):
        _asking("no_such_function", "other")(x, y)
    with pytest.raises(TypeError, match="not str"):     # its errors stay its own
        _asking("add", "other")(x, "a")
