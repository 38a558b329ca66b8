"""The checker itself."""

import pytest
from numbers_for_tests import complexes, reals

import flambeau
from flambeau.autograd import GradcheckError, gradcheck


def test_nothing_to_check():
    with pytest.raises(ValueError, match="none of the inputs requires grad"):
        gradcheck(lambda x: x, reals(2, grad=False))


def test_single_precision_is_refused():
    with pytest.raises(ValueError, match="input 0 is flambeau.float32.*double"):
        gradcheck(lambda x: x, flambeau.ones(2, requires_grad=True))


def test_detached_parts_are_caught():
    with pytest.raises(GradcheckError, match=r"output 0 \(component 0\) by input 0"):
        gradcheck(lambda x: x * x.detach(), reals(2))


def test_without_exception():
    assert gradcheck(lambda x: x * x.detach(), reals(2), raise_exception=False) is False


def test_layout_of_the_input_is_kept():
    strides = []

    def fn(x):
        strides.append(x.stride())
        return x * 2

    gradcheck(fn, reals(2, 3).t())
    assert set(strides) == {(1, 3)}


def test_several_outputs_and_constants():
    assert gradcheck(lambda x, n: (x * n, x > 0, x.sum()), (reals(3), 4))


def test_complex():
    assert gradcheck(lambda z: (z * z.conj()).real if hasattr(z, "real") else z, complexes(2))
    with pytest.raises(GradcheckError):
        gradcheck(lambda z: z * flambeau.conj(z.detach()), complexes(2))
