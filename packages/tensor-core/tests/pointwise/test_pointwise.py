"""Pointwise operators against NumPy's float64, over dtypes, layouts, shapes and special values."""

from __future__ import annotations

import numpy
import pytest
import references
from arrays import (
    DTYPES,
    FLOATS,
    INTEGERS,
    KIND,
    LAYOUTS,
    SHAPES,
    carrier,
    lay_out,
    make,
    tensor,
    values,
)
from checks import bits, close, within_ulps
from pointwise_opdefs import POINTWISE, operands, operator, supports

OPDEFS_BY_KEY = {opdef.key: opdef for opdef in POINTWISE}
#: Definitions whose expected values are in test_pointwise_oracle.py alone, or in the named test.
ELSEWHERE = {"addcdiv", "lerp", "relu_grad", "floor_divide", "trunc_divide", "remainder", "fmod",
             "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "nextafter_narrow",
             "angle_of_complex", "nextafter_wide"}
DOMAIN = {"pow": (0.1, 3.0), "div": (0.5, 3.0)}


def _inputs(opdef, shape, dtype):
    domain = DOMAIN.get(opdef.key, opdef.domain)
    made = [make(shape, "bool", seed=9) if p.role == "Mask" else
            make(shape, dtype, domain, seed=i) for i, p in enumerate(opdef.operands)]
    if opdef.refuses_integer_zeros and made[1].dtype.kind in "iu":
        made[1][made[1] == 0] = 3
    return made


def _has_mask(opdef):
    return any(p.role == "Mask" for p in opdef.operands)


def _call(opdef, arrays, dtype):
    kinds = ["bool" if p.role == "Mask" else dtype for p in opdef.operands]
    return operator(opdef)(*[tensor(a, d) for a, d in zip(arrays, kinds, strict=True)])


def _expected(key, arrays):
    wide = [a if a.dtype == bool else a.astype("float64") for a in arrays]
    with numpy.errstate(all="ignore"):
        return references.FLOAT[key](*wide)


def test_every_pointwise_row_has_a_reference():
    known = set(references.FLOAT) | set(references.INT) | ELSEWHERE
    assert set(OPDEFS_BY_KEY) <= known, "give new definitions a reference in references.py"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("key", [k for k in OPDEFS_BY_KEY if k in references.FLOAT])
def test_floats(key, dtype):
    opdef = OPDEFS_BY_KEY[key]
    for shape in SHAPES:
        arrays = _inputs(opdef, shape, dtype)
        given, expected = _call(opdef, arrays, dtype), _expected(key, arrays)
        assert tuple(given.shape) == shape
        if opdef.rule == "bool":
            assert given.dtype.name == "bool"
            numpy.testing.assert_array_equal(values(given), expected)
            continue
        assert given.dtype.name == dtype
        if key in references.CANCELLING:
            close(values(given), expected, dtype, 2)
        else:
            within_ulps(values(given), expected, dtype)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 20.0, -88.5, 89.0, 1e-30, numpy.inf, -numpy.inf,
           numpy.nan]


@pytest.mark.parametrize("key", [k for k in OPDEFS_BY_KEY
                                 if k in references.FLOAT and not _has_mask(OPDEFS_BY_KEY[k])])
def test_special_values(key):
    """NaN, infinities, signed zeros, overflow and underflow, in every combination."""
    opdef = OPDEFS_BY_KEY[key]
    grid = numpy.meshgrid(*[numpy.array(SPECIAL, "float64")] * operands(opdef), indexing="ij")
    arrays = [g.ravel() for g in grid]
    given = values(_call(opdef, arrays, "float64"))
    expected = _expected(key, arrays)
    if given.dtype == bool:
        numpy.testing.assert_array_equal(given, expected)
        return
    numpy.testing.assert_allclose(given, expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("key", [k for k in OPDEFS_BY_KEY if k in references.INT])
def test_integers(key, dtype):
    opdef = OPDEFS_BY_KEY[key]
    for shape in SHAPES:
        arrays = _inputs(opdef, shape, dtype)
        given = _call(opdef, arrays, dtype)
        with numpy.errstate(all="ignore"):
            expected = references.INT[key](*arrays)
        assert given.dtype.name == ("bool" if opdef.rule == "bool" else dtype)
        numpy.testing.assert_array_equal(values(given), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("key", references.INT_DIVISION)
def test_integer_division(key, dtype):
    a, b = make((2, 3, 37), dtype), make((2, 3, 37), dtype, seed=5)
    b[b == 0] = 3
    given = operator(OPDEFS_BY_KEY[key])(tensor(a), tensor(b))
    numpy.testing.assert_array_equal(values(given), references.INT_DIVISION[key](a, b))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around(dtype):
    limits = numpy.iinfo(dtype)
    a = numpy.array([limits.max, limits.min, limits.max], dtype)
    b = numpy.array([1, limits.max, limits.max], dtype)
    with numpy.errstate(all="ignore"):
        for key in ("add", "sub", "mul"):
            given = operator(OPDEFS_BY_KEY[key])(tensor(a), tensor(b))
            numpy.testing.assert_array_equal(values(given), references.INT[key](a, b))
        numpy.testing.assert_array_equal(values(-tensor(a)), -a)


@pytest.mark.parametrize("key", ("floor_divide", "remainder", "fmod", "trunc_divide"))
def test_integer_division_that_overflows_gives_values(key):
    """Nothing is undefined: no trap, the same value every time."""
    least = numpy.iinfo("int64").min
    a, b = tensor(numpy.array([1, -1, 0, least])), tensor(numpy.array([1, 2, -1, -1]))
    function = operator(OPDEFS_BY_KEY[key])
    assert function(a, b).tolist() == function(a, b).tolist()


def test_a_zero_remainder_has_the_sign_of_the_dividend():
    a, b = tensor(numpy.array([-0.0, 0.0, -4.0, 4.0])), tensor(numpy.array([2.0, -2.0, 2.0, -2.0]))
    zeros = a % b
    assert zeros.signbit().tolist() == [True, False, True, False]


@pytest.mark.parametrize("key", references.COMPLEX)
def test_complex(key):
    opdef = OPDEFS_BY_KEY[key]
    for shape in SHAPES:
        arrays = _inputs(opdef, shape, "complex64")
        given = _call(opdef, arrays, "complex64")
        wide = [a if a.dtype == bool else a.astype("complex128") for a in arrays]
        with numpy.errstate(all="ignore"):
            expected = references.COMPLEX[key](*wide)
        name = {"bool": "bool", "real": "float32"}.get(opdef.rule, "complex64")
        assert given.dtype.name == name
        close(values(given), expected, name, 2)


@pytest.mark.parametrize("key", OPDEFS_BY_KEY)
def test_layouts_agree_to_the_bit(key):
    """Strides, offsets and broadcasting change where elements lie, never their values."""
    opdef = OPDEFS_BY_KEY[key]
    for dtype in DTYPES:
        if not supports(opdef, KIND[dtype]):
            continue
        arrays = _inputs(opdef, (3, 5, 7), dtype)
        kinds = ["bool" if p.role == "Mask" else dtype for p in opdef.operands]
        inputs = [tensor(a, d) for a, d in zip(arrays, kinds, strict=True)]
        expected = bits(operator(opdef)(*inputs))
        for i in range(len(LAYOUTS)):
            moved = [lay_out(x, LAYOUTS[(i + j) % len(LAYOUTS)]) for j, x in enumerate(inputs)]
            assert bits(operator(opdef)(*moved)) == expected, (dtype, i)


@pytest.mark.parametrize("key", [k for k in OPDEFS_BY_KEY if operands(OPDEFS_BY_KEY[k]) > 1])
def test_broadcasting(key):
    opdef = OPDEFS_BY_KEY[key]
    shapes = [(4, 1, 7), (5, 1), ()][:operands(opdef)]
    dtype = "int32" if "float" not in opdef.formulas else "float32"
    arrays = [_inputs(opdef, shape, dtype)[i] for i, shape in enumerate(shapes)]
    full = numpy.broadcast_arrays(*arrays)
    given, expected = _call(opdef, arrays, dtype), _call(opdef, [f.copy() for f in full], dtype)
    assert tuple(given.shape) == full[0].shape
    assert bits(given) == bits(expected)
    expanded = [tensor(a).expand(f.shape) for a, f in zip(arrays, full, strict=True)]
    assert bits(operator(opdef)(*expanded)) == bits(expected)


@pytest.mark.parametrize("key", OPDEFS_BY_KEY)
def test_what_a_row_is_not_defined_for_is_refused(key):
    opdef = OPDEFS_BY_KEY[key]
    for dtype in ("bool", "int64", "float32", "complex64"):
        if supports(opdef, KIND[dtype]) or _has_mask(opdef):
            continue
        arrays = [make((3,), dtype, seed=i) for i in range(operands(opdef))]
        refusal = rf"{opdef.name}\(\): (not implemented for dtype|For int)|^Integer division"
        with pytest.raises(RuntimeError, match=refusal):
            _call(opdef, arrays, dtype)


def test_halves_round_like_numpy():
    x = numpy.array([0.1, 1 / 3, 65504.0, 1e-7, 6e-8, 70000.0, numpy.nan], "float32")
    with numpy.errstate(over="ignore"):
        expected = x.astype("float16")
    numpy.testing.assert_array_equal(tensor(x).half().numpy(), expected)


def test_bfloat16_rounds_to_nearest_even():
    numbers = numpy.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF], "uint32")
    expected = numpy.array([0x3F800000, 0x3F820000, 0x3F810000, 0x7F800000], "uint32")
    given = tensor(numbers.view("float32")).bfloat16().float().numpy()
    numpy.testing.assert_array_equal(given.view("uint32"), expected)
    assert carrier("bfloat16") == "float32"
