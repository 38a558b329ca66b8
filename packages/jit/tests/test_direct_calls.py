"""Compiled calls: arguments, errors and results pass as in a call of the function."""

import pytest

import flambeau as fl
from flambeau.core._core import DeferredCall, call_directly
from flambeau.jit.compiling import Compiled, CompiledWithin


def test_arguments_arrive_as_they_are_given():
    compiled = fl.compile(lambda *args, **kwargs: (args, kwargs))
    assert compiled() == ((), {})
    assert compiled(1, 2, a=3) == ((1, 2), {"a": 3})
    assert compiled(*[1], b=2) == ((1,), {"b": 2})


def test_an_error_leaves_the_call():
    def fails(x):
        y = x * 2
        raise KeyError(y.shape)
    compiled = fl.compile(fails)
    for _ in range(3):
        with pytest.raises(KeyError):
            compiled(fl.ones(300, 300))
        assert not fl.compiler.is_compiling()


def test_a_function_may_replace_itself():
    holder = []

    def run():
        holder.clear()
        return 3
    holder.append(fl.compile(run))
    assert holder[0]() == 3


def test_subclasses_with_a_call_of_their_own_are_called_by_it():
    with pytest.raises(TypeError, match="CompiledWithin has another way to be called"):
        call_directly(CompiledWithin)
    with pytest.raises(TypeError, match="int has another way"):
        call_directly(int)

    class Counted(Compiled):
        calls = 0

        def __call__(self, *args):
            type(self).calls += 1
            return super().__call__(*args)
    counted = Counted(lambda x: x + 1)
    assert counted(1) == 2 and Counted.calls == 1


def test_the_class_itself_can_be_called():
    assert DeferredCall(divmod)(7, 2) == (3, 1)
