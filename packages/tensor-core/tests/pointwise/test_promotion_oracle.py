"""Type promotion against PyTorch: every pair of dtypes as tensors, 0-d tensors and numbers."""

from __future__ import annotations

import itertools

import pytest
from arrays import DTYPES, name_of

import flambeau

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:ComplexHalf")]

#: PyTorch's experimental dtype of float16 with a complex number; here the result is complex64.
HALF_COMPLEX = "complex32"

#: PyTorch does not promote uint16, uint32 and uint64.
EVERY = tuple(d for d in DTYPES if d not in ("uint16", "uint32", "uint64"))
NUMBERS = (True, 2, 2.5, 1 + 2j)
FORMS = list(itertools.product(("tensor", "0-d"), repeat=2))
OPERATORS = ("add", "mul", "div", "maximum", "eq", "where", "pow", "atan2")


def _pair(lib, a, b, forms):
    shapes = {"tensor": (2,), "0-d": ()}
    return [lib.ones(shapes[f], dtype=getattr(lib, d)) for f, d in zip(forms, (a, b), strict=True)]


def _apply(lib, name, x, y):
    if name == "where":
        return lib.where(lib.tensor([True, False]), x, y)
    return getattr(lib, name)(x, y)


def _compare(name, ours, theirs):
    try:
        expected = _apply(torch, name, *theirs)
    except (RuntimeError, TypeError):
        return
    if name_of(expected) == HALF_COMPLEX:
        return
    try:
        given = _apply(flambeau, name, *ours)
    except RuntimeError as error:
        assert "not implemented for dtype" in str(error)
        return
    assert name_of(given) == name_of(expected)


@pytest.mark.parametrize("forms", FORMS, ids="-".join)
@pytest.mark.parametrize("name", OPERATORS)
def test_tensors(name, forms):
    for a, b in itertools.product(EVERY, repeat=2):
        _compare(name, _pair(flambeau, a, b, forms), _pair(torch, a, b, forms))


@pytest.mark.parametrize("form", ("tensor", "0-d"))
@pytest.mark.parametrize("name", OPERATORS)
def test_numbers(name, form):
    for dtype, number in itertools.product(EVERY, NUMBERS):
        ours = _pair(flambeau, dtype, dtype, (form, form))[0]
        theirs = _pair(torch, dtype, dtype, (form, form))[0]
        _compare(name, (ours, number), (theirs, number))
        if name not in ("maximum", "eq", "add", "mul", "div"):
            _compare(name, (number, ours), (number, theirs))


def test_promote_types_and_can_cast():
    for a, b in itertools.product(EVERY, repeat=2):
        ours = getattr(flambeau, a), getattr(flambeau, b)
        theirs = getattr(torch, a), getattr(torch, b)
        assert flambeau.promote_types(*ours).name == str(torch.promote_types(*theirs))[6:]
        assert flambeau.can_cast(*ours) == torch.can_cast(*theirs)


def test_result_type():
    for dtype, number in itertools.product(EVERY, NUMBERS):
        for shape in ((), (2,)):
            ours = flambeau.ones(shape, dtype=getattr(flambeau, dtype))
            theirs = torch.ones(shape, dtype=getattr(torch, dtype))
            expected = str(torch.result_type(theirs, number))[6:]
            if expected != HALF_COMPLEX:
                assert flambeau.result_type(ours, number).name == expected


def test_default_dtype_changes_promotion():
    try:
        flambeau.set_default_dtype(flambeau.float64)
        torch.set_default_dtype(torch.float64)
        assert name_of(flambeau.tensor(1) / 2) == name_of(torch.tensor(1) / 2) == "float64"
        assert name_of(flambeau.tensor(1) + 2.5) == name_of(torch.tensor(1) + 2.5)
        assert name_of(flambeau.tensor(1) * 1j) == name_of(torch.tensor(1) * 1j)
    finally:
        flambeau.set_default_dtype(flambeau.float32)
        torch.set_default_dtype(torch.float32)


def test_sums_of_integers_are_int64():
    for dtype in EVERY:
        for name in ("sum", "prod", "cumsum"):
            dims = (0,) if name == "cumsum" else ()
            ours = getattr(flambeau.ones(3, dtype=getattr(flambeau, dtype)), name)(*dims)
            theirs = getattr(torch.ones(3, dtype=getattr(torch, dtype)), name)(*dims)
            assert name_of(ours) == name_of(theirs)
