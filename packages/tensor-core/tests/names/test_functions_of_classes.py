"""Functions of the library that classes of programs have as attributes."""
import pickle
import types

import flambeau


class Holds:
    """A class with functions for what it does."""

    act = flambeau.tanh
    join = flambeau.cat

    def __call__(self, x):
        return self.join([self.act(x), self.act(self=x)])


def test_functions_are_not_called_with_the_object():
    x = flambeau.arange(3.0)
    assert flambeau.equal(Holds()(x), flambeau.cat([x.tanh(), x.tanh()]))
    assert Holds().act is Holds.act is flambeau.tanh


def test_methods_of_tensors_are():
    x = flambeau.arange(3.0)
    bound = x.tanh
    assert isinstance(bound, types.MethodType) and flambeau.equal(bound(), flambeau.tanh(x))
    assert flambeau.equal(flambeau.Tensor.tanh(x), bound())
    assert isinstance(flambeau.Tensor.tanh, type(flambeau.tanh))
    assert pickle.loads(pickle.dumps(flambeau.Tensor.tanh)) is flambeau.Tensor.tanh
    assert repr(flambeau.Tensor.tanh) == "<method tanh>"
    assert repr(flambeau.tanh) == "<operator tanh>"
    assert x.add_(1) is x and x.tolist() == [1, 2, 3]


def test_classes_of_tensors_see_both():
    class Seen(flambeau.Tensor):
        act = flambeau.tanh
        called: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.called.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = flambeau.arange(3.0).as_subclass(Seen)
    x.tanh(), x.act(x), Holds().act(x)
    assert Seen.called == [flambeau.Tensor.tanh, flambeau.tanh, flambeau.tanh]
