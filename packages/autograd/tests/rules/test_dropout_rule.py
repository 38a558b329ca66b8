"""The gradient of dropout as one operator: by the elements that were kept."""

import pytest

import flambeau
from flambeau.core import _core

DROP = _core.operators()["native_dropout"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0,), (4, 5)])
def test_gradients_come_through_what_was_kept(dtype, shape):
    x = flambeau.ones(shape, dtype=getattr(flambeau, dtype), requires_grad=True)
    result, kept = DROP(x, 0.5, 2.0, generator=flambeau.Generator().manual_seed(3))
    (result * 3).sum().backward()
    assert flambeau.equal(x.grad, kept.to(x.dtype) * 6)
    assert not kept.requires_grad and kept.dtype is flambeau.bool


def test_gradients_have_gradients():
    x = flambeau.randn(6, dtype=flambeau.float64, requires_grad=True)

    def f(x):
        return DROP(x, 0.5, 2.0, generator=flambeau.Generator().manual_seed(3))[0] ** 3

    assert flambeau.autograd.gradcheck(f, (x,)) and flambeau.autograd.gradgradcheck(f, (x,))
