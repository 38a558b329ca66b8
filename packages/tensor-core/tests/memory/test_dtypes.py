"""Facts of dtypes, conversions between them, and numbers at the ends of their ranges."""

from __future__ import annotations

import math

import numpy
import pytest
from arrays import DTYPES, FLOATS, INTEGERS, tensor

import flambeau


def _of(name):
    return getattr(flambeau, name)


@pytest.mark.parametrize("name", [d for d in DTYPES if d != "bfloat16"])
def test_sizes_and_kinds(name):
    ours, theirs = _of(name), numpy.dtype(name)
    assert ours.itemsize == theirs.itemsize
    assert ours.is_floating_point == (theirs.kind == "f")
    assert ours.is_complex == (theirs.kind == "c")
    assert ours.is_signed == (theirs.kind in "ifc")


@pytest.mark.parametrize("name", ("float16", "float32", "float64", "complex64", "complex128"))
def test_finfo(name):
    ours, theirs = flambeau.finfo(_of(name)), numpy.finfo(name)
    for key in ("eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(ours, key) == pytest.approx(float(getattr(theirs, key)), rel=1e-3)
    assert ours.bits == theirs.bits


def test_finfo_of_bfloat16():
    facts = flambeau.finfo(flambeau.bfloat16)
    assert (facts.bits, facts.eps, facts.tiny) == (16, 2.0**-7, 2.0**-126)
    assert facts.max == (2 - 2.0**-7) * 2.0**127 == -facts.min


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name):
    ours, theirs = flambeau.iinfo(_of(name)), numpy.iinfo(name)
    assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)


def test_second_names():
    names = {"half": "float16", "float": "float32", "double": "float64", "short": "int16",
             "int": "int32", "long": "int64", "cfloat": "complex64", "cdouble": "complex128"}
    for second, first in names.items():
        assert _of(second) is _of(first)
        assert getattr(flambeau.ones(2), second)().dtype is _of(first)
    for method, name in (("bfloat16", "bfloat16"), ("char", "int8"), ("byte", "uint8"),
                         ("bool", "bool")):
        assert getattr(flambeau.ones(2), method)().dtype is _of(name)


def test_names_of_types():
    x = flambeau.ones(2)
    assert x.type() == "flambeau.FloatTensor"
    assert x.half().type() == "flambeau.HalfTensor"
    assert x.type("torch.LongTensor").dtype is flambeau.int64
    assert x.type("flambeau.ComplexDoubleTensor").dtype is flambeau.complex128
    assert x.type(flambeau.int8).dtype is flambeau.int8
    with pytest.raises(ValueError, match="no type is called 'torch.Float'"):
        x.type("torch.Float")


@pytest.mark.parametrize("name", FLOATS)
def test_default_dtype(name):
    try:
        flambeau.set_default_dtype(_of(name))
        assert flambeau.get_default_dtype() is _of(name)
        for x in (flambeau.tensor(1.5), flambeau.ones(2), flambeau.rand(3), flambeau.tensor(1) / 2,
                  flambeau.tensor([1]) + 1.5, flambeau.tensor(1).sin(), flambeau.linspace(0, 1, 3),
                  flambeau.tensor(2).angle()):
            assert x.dtype is _of(name)
        wide = flambeau.complex128 if name == "float64" else flambeau.complex64
        assert flambeau.tensor(1j).dtype is wide
    finally:
        flambeau.set_default_dtype(flambeau.float32)


# ---- conversions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("default", "wide"), [
    ("float16", "complex64"), ("float32", "complex64"), ("float64", "complex128")])
def test_full_takes_the_kind_of_a_number_and_the_precision_of_the_default(default, wide):
    one = flambeau.ones((), dtype=flambeau.float64)
    flambeau.set_default_dtype(_of(default))
    try:
        for number in (1j, numpy.complex128(1j), one * 1j):
            assert flambeau.full((1,), number).dtype is _of(wide)
        assert flambeau.full((1,), one).dtype is _of(default)
        assert flambeau.full((1,), one.int()).dtype is flambeau.int64
        assert flambeau.full((1,), one.bool()).dtype is flambeau.bool
        assert flambeau.logspace(0, 1j, 2).dtype is _of(wide)
    finally:
        flambeau.set_default_dtype(flambeau.float32)


def test_every_pair_of_dtypes_converts():
    numbers = {"bool": [True, False], **dict.fromkeys(DTYPES[1:], [0, 1, 100])}
    for source in DTYPES:
        x = flambeau.tensor(numbers[source], dtype=_of(source))
        for target in DTYPES:
            y = x.to(_of(target))
            assert y.dtype is _of(target)
            if target == "bool":
                expected = [v != 0 for v in numbers[source]]
            else:
                expected = [int(v) for v in numbers[source]]
            assert y.tolist() == expected, (source, target)


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_wrap_into_narrower_ones(source, target):
    limits = numpy.iinfo(source)
    a = numpy.array([limits.min, limits.max, limits.max // 3 * 2 + 1], source)
    assert tensor(a).to(_of(target)).tolist() == a.astype(target).tolist()


@pytest.mark.parametrize("source", ("float32", "float64"))
def test_floats_out_of_range_have_one_meaning(source):
    """The least int64 or int32 stands for NaN and what does not fit; others go through int64."""
    x = flambeau.tensor([math.nan, math.inf, -math.inf, 1e30, -1e30, -1.9, 300.5],
                        dtype=_of(source))
    least = -2**63
    assert x.long().tolist() == [least] * 5 + [-1, 300]
    assert x.int().tolist() == [-2**31] * 5 + [-1, 300]
    assert x.char().tolist() == [0] * 5 + [-1, 44]
    assert x.byte().tolist() == [0] * 5 + [255, 44]
    assert x.bool().tolist() == [True] * 7


def test_uint64_to_floats_and_back():
    a = numpy.array([0, 1, 2**53 + 1, 2**63, 2**63 + 1025, 2**64 - 1], "uint64")
    for name in ("float32", "float64", "complex64"):
        numpy.testing.assert_array_equal(tensor(a).to(_of(name)).numpy(), a.astype(name))
    x = flambeau.tensor([2.0**63, 2.0**64 - 2048, 5.0], dtype=flambeau.float64)
    assert x.to(flambeau.uint64).tolist() == [2**63, 2**64 - 2048, 5]


def test_half_subnormals_and_rounding():
    bits = numpy.arange(0x10000, dtype="uint16")
    halves = bits.view("float16")
    numpy.testing.assert_array_equal(tensor(halves).float().numpy(), halves.astype("float32"))
    back = tensor(halves.astype("float32")).half().numpy()
    numbers = ~numpy.isnan(halves)
    numpy.testing.assert_array_equal(back.view("uint16")[numbers], bits[numbers])
    finite = halves[numpy.isfinite(halves)].astype("float32")
    middle = (finite[:-1] + finite[1:]) / 2
    with numpy.errstate(over="ignore"):
        expected = middle.astype("float16")
    numpy.testing.assert_array_equal(tensor(middle).half().numpy(), expected)


# ---- uint64: beyond what int64 holds -------------------------------------------------------------

BIG = [0, 1, 2, 3, 7, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1]


def _big_pairs():
    a, b = (g.ravel() for g in numpy.meshgrid(numpy.array(BIG, "uint64"),
                                              numpy.array(BIG, "uint64")))
    return a.copy(), b.copy()


@pytest.mark.parametrize(("name", "function"), (
    ("lt", numpy.less), ("le", numpy.less_equal), ("gt", numpy.greater),
    ("ge", numpy.greater_equal), ("eq", numpy.equal), ("ne", numpy.not_equal),
    ("maximum", numpy.maximum), ("minimum", numpy.minimum), ("fmax", numpy.fmax),
    ("fmin", numpy.fmin), ("add", numpy.add), ("sub", numpy.subtract), ("mul", numpy.multiply),
    ("bitwise_xor", numpy.bitwise_xor)))
def test_uint64_order_and_arithmetic(name, function):
    a, b = _big_pairs()
    given = getattr(flambeau, name)(tensor(a), tensor(b))
    with numpy.errstate(over="ignore"):
        numpy.testing.assert_array_equal(given.numpy(), function(a, b))


def test_uint64_order_statistics():
    x = numpy.array([[1, 2**63 + 5, 3], [7, 2**63, 2], [7, 2**63, 2]], "uint64")
    ordered, given = numpy.sort(x, 1), tensor(x)
    assert given.kthvalue(2, 1)[0].tolist() == ordered[:, 1].tolist()
    assert given.median(1)[0].tolist() == given.nanmedian(1)[0].tolist() == ordered[:, 1].tolist()
    assert given.median().item() == given.nanmedian().item() == 7
    assert given.mode(0)[0].tolist() == [7, 2**63, 2]
    assert given.cummax(1)[0].tolist() == numpy.maximum.accumulate(x, 1).tolist()
    assert given.cummin(1)[0].tolist() == numpy.minimum.accumulate(x, 1).tolist()
    assert given.unique(dim=0).tolist() == numpy.unique(x, axis=0).tolist()
    assert given.unique(dim=1).tolist() == numpy.unique(x, axis=1).tolist()


@pytest.mark.parametrize(("name", "function"), (
    ("floor_divide", lambda a, b: a // b), ("remainder", lambda a, b: a % b),
    ("fmod", lambda a, b: a % b)))
def test_uint64_division(name, function):
    a, b = _big_pairs()
    a, b = a[b != 0], b[b != 0]
    given = getattr(flambeau, name)(tensor(a), tensor(b)).tolist()
    assert given == [function(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    quotient = flambeau.div(tensor(a), tensor(b), rounding_mode="trunc").tolist()
    assert quotient == [int(x) // int(y) for x, y in zip(a, b, strict=True)]


def test_float_power_in_place_needs_double_precision():
    x = flambeau.tensor([2.0, 3.0], dtype=flambeau.float64)
    assert x.float_power_(flambeau.tensor([2, 1])).tolist() == [4.0, 3.0]
    z = flambeau.tensor([2j])
    assert z.to(flambeau.complex128).float_power_(2).tolist() == [-4]
    for wrong, exponent in ((x.float(), 2), (x.long(), 2), (x, 2j), (z, 2)):
        with pytest.raises(RuntimeError, match="float_power_ has dtype"):
            wrong.float_power_(exponent)


def test_uint64_powers_wrap_around():
    bases, exponents = (0, 1, 2, 3, 2**64 - 1), (0, 1, 70, 2**63, 2**63 + 1, 2**64 - 1)
    x = flambeau.tensor(bases, dtype=flambeau.uint64)[:, None]
    y = flambeau.tensor(exponents, dtype=flambeau.uint64)
    assert flambeau.pow(x, y).tolist() == [[pow(a, b, 2**64) for b in exponents] for a in bases]


def test_products_of_integers_scaled_by_fractions_stay_integers():
    x, m = flambeau.tensor([[5, 7]]), flambeau.tensor([[2, 0], [0, 3]])
    assert flambeau.addmm(x, x, m, beta=1.9, alpha=-2.9).tolist() == [[5 - 20, 7 - 42]]
    with pytest.raises(RuntimeError, match="argument beta must not be a floating point number"):
        flambeau.addr(m, m[0], m[1], beta=0.5)


@pytest.mark.parametrize("name", ("float16", "bfloat16"))
def test_half_precision_rounds_once(name):
    dtype = getattr(flambeau, name)
    big = 1.0 / flambeau.finfo(dtype).eps
    x = flambeau.tensor([[-big]], dtype=dtype)
    row = flambeau.tensor([[big, 0.5, 0.25]], dtype=dtype)
    assert flambeau.addmm(x, row, flambeau.ones(3, 1, dtype=dtype)).item() == 0.75
    assert flambeau.addbmm(x, row[None], flambeau.ones(1, 3, 1, dtype=dtype)).item() == 0.75


@pytest.mark.parametrize("name", ("float16", "bfloat16"))
@pytest.mark.parametrize("wide", ("float32", "float64"))
def test_next_number_is_one_of_the_results_dtype(name, wide):
    narrow = getattr(flambeau, name)
    x, step = flambeau.ones(2, dtype=narrow), flambeau.finfo(narrow).eps
    y = flambeau.nextafter(x, flambeau.tensor(3.0, dtype=getattr(flambeau, wide)))
    assert y.dtype is x.dtype
    assert y.tolist() == [1 + step] * 2
    z = flambeau.nextafter(flambeau.tensor(1.0, dtype=getattr(flambeau, wide)), x * 0)
    assert z.tolist() == [1 - step / 2] * 2


@pytest.mark.parametrize("name", ("float16", "bfloat16"))
def test_quotient_of_half_precision_is_rounded_before_it_is_cut(name):
    dtype = getattr(flambeau, name)
    below = flambeau.nextafter(flambeau.tensor(9.0, dtype=dtype), flambeau.tensor(0.0, dtype=dtype))
    three = flambeau.tensor(flambeau.finfo(dtype).eps, dtype=dtype) + 1
    assert (below / three).item() != (below.item() / three.item())
    for other in (three, below):
        quotient = flambeau.div(below, other, rounding_mode="trunc")
        assert quotient.item() == math.trunc((below / other).item())


def test_uint64_has_no_sign():
    x = flambeau.tensor(BIG, dtype=flambeau.uint64)
    assert x.abs().tolist() == BIG
    assert x.sign().tolist() == x.sgn().tolist() == [int(v > 0) for v in BIG]
    assert not x.signbit().any()
    assert x.relu().tolist() == BIG
    assert x.clamp(min=3).tolist() == [max(v, 3) for v in BIG]


def test_uint64_beside_negative_numbers():
    x = flambeau.tensor(BIG, dtype=flambeau.uint64)
    assert (x > -1).all() and (x != -1).all()
    assert not (x < -1).any() and not (x == -1).any()
    with pytest.raises(RuntimeError, match="uint64 and signed integers have no common"):
        flambeau.lt(x, flambeau.tensor([-1]))


def test_uint64_order_in_reductions_and_sorting():
    order = numpy.random.default_rng(3).permutation(len(BIG))
    a = numpy.array(BIG, "uint64")[order]
    x = tensor(a)
    assert x.amax().item() == x.max().item() == 2**64 - 1
    assert x.amin().item() == 0
    assert x.argmax().item() == a.argmax() and x.argmin().item() == a.argmin()
    assert x.sort()[0].tolist() == BIG
    assert x.sort(descending=True)[0].tolist() == BIG[::-1]
    assert x.argsort().tolist() == a.argsort().tolist()
    assert x.topk(3)[0].tolist() == BIG[:-4:-1]
    table = tensor(a.reshape(2, 5)).t()
    assert table.max(0)[0].tolist() == a.reshape(2, 5).max(1).tolist()
    assert table.min(0)[1].tolist() == a.reshape(2, 5).argmin(1).tolist()


def test_uint64_prints_as_it_is():
    x = flambeau.tensor([2**64 - 1], dtype=flambeau.uint64)
    assert "18446744073709551615" in repr(x)
    assert x.item() == 2**64 - 1


# ---- numbers that do not fit ---------------------------------------------------------------------


def test_negative_numbers_count_down_in_unsigned_dtypes():
    for name in ("uint8", "uint16", "uint32", "uint64"):
        top = flambeau.iinfo(_of(name)).max
        assert flambeau.tensor([-1, -2], dtype=_of(name)).tolist() == [top, top - 1]
        assert flambeau.full((1,), -1, dtype=_of(name)).tolist() == [top]


@pytest.mark.parametrize(("name", "number"), (
    ("int8", 128), ("int8", -129), ("uint8", 256), ("uint8", -256), ("int16", 40000),
    ("uint16", 1 << 16), ("int32", 1 << 31), ("uint64", 1 << 64)))
def test_numbers_out_of_range_are_refused(name, number):
    with pytest.raises((RuntimeError, OverflowError)):
        flambeau.tensor([number], dtype=_of(name))
    with pytest.raises((RuntimeError, OverflowError)):
        flambeau.zeros(2, dtype=_of(name)).fill_(number)


def test_fill_says_what_fits():
    with pytest.raises(RuntimeError, match="value 200 does not fit int8, which holds -128 to 127"):
        flambeau.zeros(2, dtype=flambeau.int8).fill_(200)
    with pytest.raises(RuntimeError, match="does not fit float16"):
        flambeau.zeros(2, dtype=flambeau.float16).fill_(1e6)
    assert flambeau.zeros(2, dtype=flambeau.float16).fill_(math.inf).tolist() == [math.inf] * 2


def test_complex_numbers_as_python_numbers():
    z = flambeau.tensor(3 + 0j)
    assert float(z) == 3.0 and int(z) == 3 and complex(z) == 3
    with pytest.raises(RuntimeError, match="has an imaginary part"):
        float(flambeau.tensor(1j))


def test_a_false_alpha_leaves_booleans():
    x, y = flambeau.tensor([False, True]), flambeau.tensor([[True], [False]])
    assert x.add(y, alpha=False).tolist() == [[False, True]] * 2
    assert x.add(True, alpha=False).tolist() == [False, True]
    assert x.add(y, alpha=True).tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize(("python", "name"), [
    (float, "float64"), (complex, "complex128"), (int, "int64"), (bool, "bool")])
def test_python_types_stand_for_the_dtypes_they_are(python, name):
    wanted = getattr(flambeau, name)
    x = flambeau.ones(2)
    assert flambeau.ones(2, dtype=python).dtype is wanted
    assert flambeau.tensor([1], dtype=python).dtype is wanted
    assert x.sum(dtype=python).dtype is wanted
    assert x.to(python).dtype is wanted
    assert x.to(dtype=python).dtype is wanted
    y = flambeau.ones(2, dtype=wanted)
    assert y.to(python) is y


def test_random_numbers_take_a_python_type():
    assert flambeau.rand(2, dtype=float).dtype is flambeau.float64
    assert flambeau.randn(2, dtype=complex).dtype is flambeau.complex128
