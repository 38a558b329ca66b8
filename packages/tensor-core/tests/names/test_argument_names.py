"""Names that PyTorch gives to arguments, where this library has others or needs none."""

from __future__ import annotations

import pytest

import flambeau


def test_bounds_of_random_numbers():
    x = flambeau.zeros(1000)
    assert 2 <= x.uniform_(**{"from": 2.0, "to": 3.0}).min() and x.max() < 3
    assert x.uniform_(-1.0, to=-0.5).max() < -0.5
    assert set(x.random_(**{"from": 3, "to": 5}).tolist()) == {3, 4}
    assert set(x.random_(3, to=5).tolist()) == {3, 4}
    assert set(x.random_(to=2).tolist()) == set(x.random_(2).tolist()) == {0, 1}
    for call in (x.uniform_, x.random_):
        with pytest.raises(TypeError, match="unexpected keyword argument 'until'"):
            call(until=3)


def test_a_broadcast_that_is_implicit():
    assert flambeau.ones(1).expand(3, implicit=True).tolist() == [1, 1, 1]
    assert flambeau.ones(1).expand(size=(2,), implicit=False).tolist() == [1, 1]
    with pytest.raises(TypeError, match="implicit"):
        flambeau.ones(1).permute(0, implicit=True)


def test_the_operands_of_result_type():
    x = flambeau.ones(1, dtype=flambeau.float16)
    for call in (lambda: flambeau.result_type(tensor=x, other=1.5),
                 lambda: flambeau.result_type(scalar=1, tensor=x),
                 lambda: flambeau.result_type(1, tensor=x),
                 lambda: flambeau.result_type(tensor1=x, tensor2=2)):
        assert call() is flambeau.float16
    assert flambeau.result_type(scalar1=1, scalar2=2.0) is flambeau.float32
    for arguments, names in (((x,), {}), ((x, x, x), {}), ((x,), {"third": x})):
        with pytest.raises(TypeError, match=r"result_type\(\)"):
            flambeau.result_type(*arguments, **names)
