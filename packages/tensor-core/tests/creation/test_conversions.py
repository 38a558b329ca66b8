"""Whole tensors converted from one dtype to another, contiguous and not, against NumPy."""

from __future__ import annotations

import itertools
import warnings

import numpy
import pytest
from arrays import DTYPES

import flambeau

#: More than what goes element by element, in no integer of vectors.
ELEMENTS = 40001
NAMES = [name for name in DTYPES if name != "bfloat16"]


def _numbers(name):
    rng = numpy.random.default_rng(0)
    kind = numpy.dtype(name).kind
    if kind in "iu":
        facts = numpy.iinfo(name)
        array = rng.integers(facts.min, facts.max, ELEMENTS, dtype=name, endpoint=True)
        array[:3] = facts.min, facts.max, facts.max // 3
        return array
    if kind == "b":
        return rng.random(ELEMENTS) > 0.5
    return (rng.standard_normal(ELEMENTS) * 50).astype(name)


def _fits(source, target):
    """NumPy leaves open what a number out of range becomes, and we do too."""
    whole = numpy.dtype(target).kind in "iu"
    return not (whole and source.dtype.kind in "fc")


@pytest.mark.parametrize("source, target", list(itertools.permutations(NAMES, 2)))
def test_conversion(source, target):
    array = _numbers(source)
    if not _fits(array, target):
        array = numpy.abs(array).astype(source)
        array = numpy.where(array < 100, array, 1).astype(source)
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
        halfway = "float32" if target == "float16" else target  # as in PyTorch
        expected = array.astype(halfway).astype(target)
    x = flambeau.from_numpy(array)
    dtype = getattr(flambeau, target)
    numpy.testing.assert_array_equal(x.to(dtype).numpy(), expected)
    numpy.testing.assert_array_equal(x[::3].to(dtype).numpy(), expected[::3])
    numpy.testing.assert_array_equal(x[1:].to(dtype).numpy(), expected[1:])


@pytest.mark.parametrize("source", NAMES)
def test_conversion_to_bfloat16(source):
    x = flambeau.from_numpy(_numbers(source))
    few = [x[i:i + 200].to(flambeau.bfloat16) for i in range(0, ELEMENTS, 200)]
    assert flambeau.equal(x.to(flambeau.bfloat16), flambeau.cat(few))
    assert flambeau.equal(x.bfloat16().float(), x.float().bfloat16().float())


@pytest.mark.parametrize("source", ("float16", "float32", "float64", "complex64"))
@pytest.mark.parametrize("count", (1, 100))
def test_numbers_that_int32_does_not_hold_become_its_least(source, count):
    """As the processor's own conversion has it, and so NumPy and PyTorch."""
    least, most = -2**31, 2**31 - 1
    given = [float("nan"), float("inf"), -float("inf"), -1.5]
    wanted = [least, least, least, -1]
    if source != "float16":
        given += [3e9, -3e9, 2.0**31, -2.0**31]
        wanted += [least, least, least, least]
    if source == "float64":
        given += [2.0**31 - 0.5, -2.0**31 - 0.5]
        wanted += [most, least]
    x = flambeau.tensor(given * count, dtype=getattr(flambeau, source))
    assert x.to(flambeau.int32).tolist() == wanted * count


def test_arrays_of_one_element_within_lists_are_rows():
    for data in ([[[numpy.array([2.0])]]], [numpy.array([2.0])], [[numpy.ones((1, 1))]]):
        x = flambeau.tensor(data)
        assert x.tolist() == numpy.array(data).tolist() and x.dtype == flambeau.float64
