"""flambeau.array_api: every name of the standard, and what the standard asks beyond PyTorch.

The public suite (``nox -s array_api``) checks the rest.
"""

from __future__ import annotations

import array
import inspect
import subprocess
import sys

import array_api_names
import numpy
import pytest

import flambeau
from flambeau import array_api as xp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _same(x, expected):
    numpy.testing.assert_array_equal(x.numpy(), expected, strict=True)


# ---- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", array_api_names.NAMES)
def test_the_namespace_has_every_name(chapter):
    names = array_api_names.NAMES[chapter].split()
    assert [n for n in names if not hasattr(xp, n)] == []
    assert set(names) <= set(dir(xp)) and set(names) <= set(xp.__all__)


@pytest.mark.parametrize("extension", array_api_names.EXTENSIONS)
def test_extensions_have_every_name(extension):
    names = array_api_names.EXTENSIONS[extension].split()
    assert sorted(getattr(xp, extension).__all__) == sorted(names)
    assert all(callable(getattr(getattr(xp, extension), n)) for n in names)


def test_arrays_have_every_attribute():
    x = xp.ones((2, 2))
    assert [n for n in array_api_names.ARRAY.split() if not hasattr(x, n)] == ["__imatmul__"]


def test_the_namespace_has_nothing_else():
    known = {n for names in array_api_names.NAMES.values() for n in names.split()}
    assert set(xp.__all__) == known


def test_functions_have_texts_and_signatures():
    for name in xp.__all__:
        function = getattr(xp, name)
        if inspect.isfunction(function):
            assert function.__doc__ and function.__name__ == name
    assert str(inspect.signature(xp.add)) == "(x1: 'Any', x2: 'Any', /) -> 'Any'"


def test_it_is_imported_on_first_use():
    code = ("import sys, flambeau; assert 'flambeau.array_api' not in sys.modules; "
            "x = flambeau.zeros(2); assert x.__array_namespace__() is flambeau.array_api")
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- from an array to the namespace --------------------------------------------------------------


def test_array_namespace_knows_versions():
    x = flambeau.zeros(2)
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError, match="version '2020.1' of the array API standard is not"):
        x.__array_namespace__(api_version="2020.1")


def _standardized(x):
    """What code written for any library of the standard looks like."""
    xp = x.__array_namespace__()
    columns = xp.sum(xp.astype(xp.isfinite(x), x.dtype), axis=0)
    x = xp.where(xp.isfinite(x), x, xp.zeros_like(x))
    mean = xp.sum(x, axis=0, keepdims=True) / columns
    return (x - mean) / xp.std(x, axis=0, correction=1, keepdims=True)


def test_code_for_any_library_agrees_with_numpy():
    numbers = numpy.random.default_rng(1).normal(size=(20, 3))
    numbers[3, 1] = numpy.inf
    given = _standardized(flambeau.from_numpy(numbers))
    assert isinstance(given, flambeau.Tensor)
    numpy.testing.assert_allclose(given.numpy(), _standardized(numbers), rtol=1e-12)


def test_info():
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["complex floating"] is flambeau.complex64
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]
    assert info.capabilities()["max dimensions"] == 32
    with pytest.raises(ValueError, match="'floating' is not a kind of dtypes"):
        info.dtypes(kind="floating")


# ---- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", INTEGERS)
@pytest.mark.parametrize("other", INTEGERS)
def test_integers_promote_as_the_standards_table_says(one, other):
    expected = numpy.promote_types(one, other)
    x, y = xp.ones(2, dtype=getattr(xp, one)), xp.ones((), dtype=getattr(xp, other))
    if expected.kind == "f":
        with pytest.raises(TypeError, match="the standard has no promotion for them"):
            xp.add(x, y)
        assert not xp.can_cast(x, y.dtype)
    else:
        assert xp.add(x, y).dtype.name == xp.result_type(x, y).name == expected.name


def test_functions_promote_by_dtype_alone():
    x, y = xp.ones(2, dtype=xp.float32), xp.ones((), dtype=xp.float64)
    assert xp.add(x, y).dtype is xp.where(x > 0, x, y).dtype is xp.float64
    assert xp.concat([x, xp.reshape(y, (1,))]).dtype is xp.float64
    assert (x + y).dtype is xp.float32, "operators are PyTorch's"


def test_functions_of_two_tensors_take_numbers_on_either_side():
    x = flambeau.tensor([1, 5], dtype=flambeau.int8)
    assert xp.maximum(x, 2).tolist() == xp.maximum(2, x).tolist() == [2, 5]
    assert xp.logical_and(x, False).tolist() == [False, False]
    assert xp.less(2, x).tolist() == xp.greater(x, 2).tolist() == [False, True]
    assert xp.equal(300, x).tolist() == [False, False]


def test_numbers_take_the_arrays_dtype():
    x = xp.ones(2, dtype=xp.float32)
    assert xp.add(x, 1.5).dtype is xp.maximum(2, x).dtype is xp.logaddexp(x, 1).dtype is xp.float32
    assert xp.multiply(x, 1j).dtype is xp.complex64
    assert xp.result_type(xp.int8, 3) is xp.int8
    with pytest.raises(TypeError, match="at least one array is needed"):
        xp.add(1, 2)


def test_operators_by_the_standards_rule(standard_operators):
    x, y = xp.ones(2, dtype=xp.float32), xp.ones((), dtype=xp.float64)
    assert (x + y).dtype is (y ** x).dtype is xp.float64
    assert (x + 1.5).dtype is (1 - x).dtype is xp.float32
    assert flambeau.get_promotion() == "array_api"
    assert flambeau.ones(2, device="ref").add(flambeau.ones((), dtype=flambeau.float64)).dtype \
        is flambeau.float64


def test_unknown_promotion_is_refused():
    with pytest.raises(ValueError, match="expected 'pytorch' or 'array_api', got 'numpy'"):
        flambeau.set_promotion("numpy")
    assert flambeau.get_promotion() == "pytorch"


def test_dtypes_are_told_apart():
    assert xp.isdtype(xp.uint8, ("signed integer", xp.uint8))
    assert not xp.isdtype(xp.bool, "numeric")
    assert xp.finfo(xp.ones(1, dtype=xp.complex128)).dtype is xp.float64
    assert xp.iinfo(xp.uint64).max == 2**64 - 1
    with pytest.raises(TypeError, match="choose a part with real"):
        xp.astype(xp.ones(1, dtype=xp.complex64), xp.float32)


# ---- creation ------------------------------------------------------------------------------------


def test_asarray_copies_as_asked():
    x = xp.ones(2)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    source = array.array("d", [1.0, 2.0])
    shared = xp.asarray(source, copy=False)
    source[0] = 5.0
    _same(shared, numpy.array([5.0, 2.0]))
    for refused in ({"dtype": xp.float64}, {}):
        with pytest.raises(ValueError, match="copy=False was given"):
            xp.asarray(x if refused else [1.0], copy=False, **refused)


def test_creation_takes_the_standards_arguments():
    _same(xp.arange(3, 0), numpy.arange(3, 0))
    _same(xp.arange(5.0, step=2, dtype=xp.float64), numpy.arange(0, 5.0, 2))
    _same(xp.eye(3, 4, k=1, dtype=xp.float64), numpy.eye(3, 4, k=1))
    _same(xp.eye(2, k=5, dtype=xp.float64), numpy.eye(2, k=5))
    _same(xp.linspace(0, 1, 4, endpoint=False, dtype=xp.float64),
          numpy.linspace(0, 1, 4, endpoint=False))
    assert xp.linspace(0, 1j, 2).dtype is xp.complex64
    assert xp.zeros(3).shape == (3,)
    assert xp.meshgrid() == ()
