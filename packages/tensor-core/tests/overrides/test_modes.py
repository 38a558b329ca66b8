"""Modes, and the list of what can be shown."""
import threading

import pytest

import flambeau
from flambeau import Tensor, overrides
from flambeau.overrides import BaseTorchFunctionMode, TorchFunctionMode


class Names(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_all_calls():
    with Names() as names:
        x = flambeau.ones(2)
        y = flambeau.tensor([1.0]) + x
        y[0]
        _ = y.shape
        y.tolist()
        flambeau.einsum("i->", y)
    y.exp()
    assert names.seen == ["ones", "tensor", "add", "__getitem__", "__get__", "tolist", "einsum"]


def test_modes_nest_and_errors_leave_them():
    outer, inner = Names(), Names()
    with outer, inner:
        flambeau.ones(1)
        assert overrides._get_current_function_mode() is inner
    assert outer.seen == inner.seen == ["ones"]
    with pytest.raises(RuntimeError), Names():
        flambeau.ones(2).reshape(5)
    assert overrides._get_current_function_mode_stack() == []


def test_a_mode_is_of_its_thread():
    with Names() as names:
        thread = threading.Thread(target=lambda: flambeau.ones(1))
        thread.start()
        thread.join()
    assert names.seen == []


def test_a_mode_is_asked_before_classes():
    class Mine(Tensor):
        pass

    class Answer(BaseTorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is flambeau.exp:
                return types
            return super().__torch_function__(func, types, args, kwargs)

    x = flambeau.ones(1).as_subclass(Mine)
    with Answer():
        assert flambeau.exp(x) == (Mine,)
        assert type(x + 1) is Mine


def test_a_mode_without_the_method_says_so():
    with pytest.raises(NotImplementedError, match="__torch_function__"), TorchFunctionMode():
        flambeau.ones(1)


def test_lists_of_functions():
    spaces = overrides.get_overridable_functions()
    assert flambeau.add in spaces[flambeau] and flambeau.ones not in spaces[flambeau]
    assert Tensor.shape.__get__ in spaces[Tensor] and Tensor.size in spaces[Tensor]
    assert flambeau.ones in overrides.get_ignored_functions()
    assert overrides.resolve_name(flambeau.cat) == "flambeau.cat"
    assert overrides.resolve_name(Tensor.size) == "flambeau.Tensor.size"
    assert overrides.resolve_name(3) is None
    assert overrides.is_tensor_method_or_property(Tensor.shape.__get__)
    assert overrides.is_tensor_method_or_property(Tensor.add)
    assert not overrides.is_tensor_method_or_property(flambeau.einsum)
    assert overrides.get_testing_overrides()[flambeau.add](1, 2) == -1
    assert Tensor._base.__get__ in overrides.get_default_nowrap_functions()


def test_every_shown_method_and_function_reaches_a_class():
    """Each is called once with an object of a class that answers all calls."""
    class All:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "answered"

    import inspect
    silent = []
    for function, stand_in in overrides.get_testing_overrides().items():
        names = list(inspect.signature(stand_in).parameters.values())
        count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
                    for p in names) or 1
        if getattr(function, "__name__", "").startswith("__"):
            continue            # slots want a tensor first
        try:
            answer = function(*[All()] * count)
        except Exception as error:
            answer = error
        if answer != "answered":
            silent.append((overrides.resolve_name(function), answer))
    assert silent == []


class Indented(TorchFunctionMode):
    """Enters itself again while it answers, so that it sees the calls inside as well."""

    def __init__(self):
        self.seen = []
        self.depth = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((self.depth, func.__name__))
        self.depth += 1
        with self:
            result = overrides.redispatch_function(func, types, args, kwargs)
        self.depth -= 1
        return result


def scaled(a, b):
    if overrides.has_torch_function((a, b)):
        return overrides.handle_torch_function(scaled, (a, b), a, b)
    return a * b + 1


def test_a_mode_may_enter_itself_while_it_answers():
    a = flambeau.ones(2)
    with Indented() as mode:
        results = [scaled(a, a) for _ in range(2)]
    assert [x.tolist() for x in results] == [[2, 2]] * 2
    assert mode.seen == [(0, "scaled"), (1, "mul"), (1, "add")] * 2
    assert overrides._get_current_function_mode_stack() == []


def test_a_class_runs_a_call_and_sees_those_inside_it():
    seen = []

    class Logged(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return overrides.redispatch_function(func, types, args, kwargs)

    x = flambeau.ones(2).as_subclass(Logged)
    seen.clear()
    result = scaled(x, x)
    assert seen == ["scaled", "mul"]
    assert type(result) is Tensor
    assert type(x.exp()) is Tensor
    assert seen == ["scaled", "mul", "exp"]
