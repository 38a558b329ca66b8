"""Arguments under the names that PyTorch gives them."""

from __future__ import annotations

import pytest

import flambeau

X = flambeau.tensor([[4.0, 1.0], [1.0, 3.0]])
CASES = {
    "split": (flambeau.split, (X, 1), {"tensor": X, "split_size_or_sections": 1}),
    "tensordot": (flambeau.tensordot, (X, X), {"a": X, "b": X}),
    "lstsq": (flambeau.linalg.lstsq, (X, X), {"input": X, "b": X}),
    "pinv": (flambeau.linalg.pinv, (X,), {"input": X}),
    "cholesky_solve": (flambeau.cholesky_solve, (X, X), {"input": X, "input2": X}),
    "add": (flambeau.add, (X, X), {"a": X, "b": X}),
}


def plain(found):
    return [each.tolist() for each in found] if isinstance(found, tuple) else found.tolist()


@pytest.mark.parametrize("name", list(CASES))
def test_names_of_arguments(name):
    function, args, names = CASES[name]
    assert plain(function(**names)) == plain(function(*args))


def test_what_copies_are_of():
    assert flambeau.equal(X.clone().copy_(other=2 * X), 2 * X)


def test_names_that_are_not_known():
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        flambeau.add(X, c=X)
    with pytest.raises(TypeError, match="multiple values for argument 'self'"):
        flambeau.add(X, a=X, b=X)


def test_names_of_dtypes():
    low, high = flambeau.int32, flambeau.float64
    assert flambeau.promote_types(type1=low, type2=high) == high
    assert flambeau.result_type(tensor1=flambeau.ones(1, dtype=high), tensor2=X) == high
    with pytest.raises(TypeError, match="type2"):
        flambeau.promote_types(low, 3)
