"""Derivatives of addmm and baddbmm in half precision, whose product is one of float32 inside."""

import pytest

import flambeau
from flambeau import func

HALVES = {flambeau.bfloat16: 2.0**-7, flambeau.float16: 2.0**-10}


def made(dtype, *shape):
    return flambeau.randn(*shape).to(dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("lead", [(), (3,)], ids=str)
def test_gradients_and_tangents(dtype, lead):
    flambeau.manual_seed(0)
    call = flambeau.baddbmm if lead else flambeau.addmm
    values = made(dtype, 7), made(dtype, *lead, 5, 32), made(dtype, *lead, 32, 7)
    tangents = tuple(made(dtype, *v.shape) for v in values)
    g = made(dtype, *lead, 5, 7)

    def both(cast):
        leaves = [cast(v).clone().requires_grad_() for v in values]
        call(*leaves, beta=0.5).backward(cast(g))
        _, tangent = func.jvp(lambda *given: call(*given, beta=0.5), tuple(map(cast, values)),
                              tuple(map(cast, tangents)))
        return [*(leaf.grad for leaf in leaves), tangent]

    for given, exact in zip(both(lambda v: v), both(lambda v: v.double()), strict=True):
        assert given.dtype is dtype
        away = (given.double() - exact).abs()
        assert bool((away <= HALVES[dtype] * (exact.abs() + exact.abs().amax())).all())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_samples_of_a_batch(dtype):
    x, a, b = made(dtype, 4, 5, 7), made(dtype, 4, 5, 32), made(dtype, 32, 7)
    found = func.vmap(flambeau.addmm, (0, 0, None))(x, a, b)
    for k in range(4):
        assert flambeau.equal(found[k], flambeau.addmm(x[k], a[k], b))
