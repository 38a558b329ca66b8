"""flambeau.func over autograd.functional, and functional calls of modules."""

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau import func


class TestFunctional:
    def test_strict(self):
        from flambeau.autograd import functional as A

        x = reals(2).detach()
        with pytest.raises(RuntimeError, match="does not require gradients"):
            A.vjp(lambda x: flambeau.ones(1), x, flambeau.ones(1), strict=True)
        with pytest.raises(RuntimeError, match="independent of input 1"):
            A.jacobian(lambda a, b: a * 2, (x, x), strict=True)
        with pytest.raises(RuntimeError, match="not supported together"):
            A.jacobian(lambda a: a, x, strict=True, vectorize=True)
        with pytest.raises(RuntimeError, match="a single element"):
            A.hvp(lambda a: a * 2, x, x)


class _Shift:
    """A module of one parameter and one tensor that is none."""

    def __init__(self):
        self._parameters = {"by": flambeau.ones(1)}
        self.extra = flambeau.zeros(1)

    def named_parameters(self, remove_duplicate=True):
        return self._parameters.items()

    def named_buffers(self, remove_duplicate=True):
        return ()

    def __call__(self, x):
        return x + self._parameters["by"] + self.extra


def test_functional_call_takes_names_that_the_module_lacks():
    module, x = _Shift(), flambeau.ones(1)
    values = {"nothing": x, "extra": 5 * x}
    assert flambeau.func.functional_call(module, values, (x,)).tolist() == [7.0]
    assert module(x).tolist() == [2.0]
    assert not hasattr(module, "nothing")
    with pytest.raises(RuntimeError, match="unexpected"):
        flambeau.func.functional_call(module, values, (x,), strict=True)
    with pytest.raises(TypeError, match="'named_buffers' is given a tensor, but in _Shift"):
        flambeau.func.functional_call(module, {"named_buffers": x}, (x,))
    with pytest.raises(AttributeError, match="inner"):
        flambeau.func.functional_call(module, {"inner.weight": x}, (x,))


@pytest.mark.parametrize("name", ["grad", "grad_and_value", "value_and_grad", "vjp", "jvp",
                                  "jacrev", "jacfwd", "hessian", "linearize", "vmap"])
def test_what_cannot_be_called_is_named(name):
    more = ((flambeau.ones(1),), (flambeau.ones(1),)) if name == "jvp" else ()
    with pytest.raises(TypeError, match=rf"{name}\(\): argument 'func' must be a function"):
        getattr(func, name)(3, *more)
