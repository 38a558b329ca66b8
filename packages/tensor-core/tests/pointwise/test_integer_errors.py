"""Integers divided by zero or raised to negative powers are errors, and nothing is written."""
import operator
import pickle

import pytest

import flambeau

DIVISIONS = {
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "fmod": flambeau.fmod,
    "div": lambda a, b: flambeau.div(a, b, rounding_mode="trunc"),
    "floor": lambda a, b: flambeau.div(a, b, rounding_mode="floor"),
}
ALL = pytest.mark.parametrize("divide", DIVISIONS.values(), ids=DIVISIONS)
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")


def whole(values, dtype="int64"):
    return flambeau.tensor(values, dtype=getattr(flambeau, dtype))


@ALL
@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_zero_among_the_divisors_is_an_error_that_says_where(divide, dtype):
    a, b = whole([[5, 6], [7, 8]], dtype), whole([[1, 1], [0, 1]], dtype)
    with pytest.raises(RuntimeError, match=rf"ZeroDivisionError.*'other' \({dtype}\) is 0 at index "
                                           r"\[1, 0\].*flambeau.where"):
        divide(a, b)
    with pytest.raises(ZeroDivisionError):
        divide(a, b)
    assert divide(a, whole([[1, 1], [2, 1]], dtype)).tolist()[0] in ([5, 6], [0, 0])


@ALL
@pytest.mark.parametrize("zero", (0, False, flambeau.tensor(0), flambeau.tensor([True, False])))
def test_numbers_bools_and_broadcast_divisors(divide, zero):
    with pytest.raises(ZeroDivisionError):
        divide(whole([3, 4]), zero)


@ALL
def test_numbers_divided_by_tensors(divide):
    with pytest.raises(ZeroDivisionError, match=r"index \[1\]"):
        divide(flambeau.tensor(5), whole([1, 0]))
    with pytest.raises(ZeroDivisionError):
        flambeau.remainder(5, whole([1, 0]))
    with pytest.raises(ZeroDivisionError):
        5 // whole([1, 0])


@ALL
@pytest.mark.parametrize(("view", "first"), (
    (lambda t: t.t(), [5, 7]), (lambda t: t[:, ::2], [0, 19]),
    (lambda t: t[0].expand(3, 100), [0, 38]), (lambda t: t[:, 5], [7]),
))
def test_zeros_are_found_in_strided_divisors(divide, view, first):
    b = flambeau.ones(40, 100, dtype=flambeau.int32)
    assert (divide(view(b) * 7, view(b)) >= 0).all()
    b[0, 38] = b[7, 5] = 0
    with pytest.raises(ZeroDivisionError) as caught:
        divide(view(b) * 7, view(b))
    assert f"at index {first}," in str(caught.value)


@ALL
@pytest.mark.parametrize("index", (0, 511, 512, 40_000, 99_999))
@pytest.mark.parametrize("dtype", ("uint8", "int16", "int64"))
def test_zeros_are_found_in_long_divisors(divide, index, dtype):
    b = flambeau.ones(100_000, dtype=getattr(flambeau, dtype))
    b[index] = 0
    with pytest.raises(ZeroDivisionError, match=rf"index \[{index}\]"):
        divide(b, b)


@pytest.mark.parametrize("name", ("floor_divide_", "remainder_", "fmod_"))
def test_nothing_is_written_in_place(name):
    a = whole([4, 5, 6])
    version = a._version
    with pytest.raises(ZeroDivisionError):
        getattr(a, name)(whole([2, 2, 0]))
    assert a.tolist() == [4, 5, 6]
    assert a._version == version
    out = whole([7, 7, 7])
    with pytest.raises(ZeroDivisionError):
        getattr(flambeau, name[:-1])(a, 0, out=out)
    assert out.tolist() == [7, 7, 7]


@ALL
def test_floats_and_empty_results_divide_by_zero(divide):
    assert divide(flambeau.tensor([1.0]), 0).shape == (1,)
    assert divide(flambeau.tensor([1.0]), whole([0])).dtype == flambeau.float32
    assert divide(whole([1]), 0.0).dtype == flambeau.float32
    assert divide(whole([]), 0).shape == (0,)
    assert divide(flambeau.zeros(0, 1, dtype=flambeau.int64), whole([0])).shape == (0, 1)
    assert divide(whole([1]), whole([])).shape == (0,)
    assert divide(flambeau.zeros(2, dtype=flambeau.int64, device="meta"), 0).shape == (2,)


def test_shapes_that_do_not_fit_come_first():
    with pytest.raises(RuntimeError, match=r"shape|broadcast") as caught:
        whole([1, 2]) // whole([0, 1, 2])
    assert not isinstance(caught.value, ZeroDivisionError)


def test_the_error_goes_between_processes():
    with pytest.raises(ZeroDivisionError) as caught:
        whole([1]) // 0
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value)
    assert str(copy) == str(caught.value)


@pytest.mark.parametrize("dtype", (*INTEGERS, "bool"))
def test_negative_powers_of_integers(dtype):
    x = whole([1, 1], dtype)
    with pytest.raises(RuntimeError, match=r"Integers to negative integer powers are not allowed.*"
                                           r"x.to\(flambeau.float32\) \*\* -2"):
        x ** -2
    with pytest.raises(RuntimeError, match="negative"):
        flambeau.pow(x[:0], -1)
    if dtype != "bool":
        with pytest.raises(RuntimeError, match="negative"):
            x.pow_(-1)
        assert x.tolist() == [1, 1]


def test_powers_that_have_an_answer():
    assert (whole([2, 3]) ** 2).tolist() == [4, 9]
    assert (whole([1, 2]) ** flambeau.tensor(-2)).tolist() == [1, 0]
    assert (2 ** whole([-1, 2])).tolist() == [0, 4]
    assert (flambeau.tensor([2.0]) ** -2).tolist() == [0.25]
    assert (whole([2]) ** -1.0).tolist() == [0.5]


def test_bool_to_the_power_of_a_bool():
    x = flambeau.tensor([True, False])
    assert (x ** True).tolist() == [True, False]
    assert (x ** False).tolist() == [True, True]
    assert (x ** True).dtype == flambeau.bool
    with pytest.raises(RuntimeError, match="bool"):
        x ** x
    with pytest.raises(RuntimeError, match="bool"):
        True ** x


def test_a_0d_uint64_takes_no_part_beside_integers():
    one = flambeau.tensor(3, dtype=flambeau.uint64)
    x = whole([1, -5])
    assert (x + one).tolist() == [4, -2]
    assert (x + one).dtype == flambeau.int64
    assert (x > one).tolist() == [False, False]
    assert (whole([1], "int8") + one).dtype == flambeau.int8
    with pytest.raises(RuntimeError, match="uint64"):
        x + one.reshape(1)
    with pytest.raises(RuntimeError, match="uint64"):
        one + flambeau.tensor(3)


def test_block_diag_promotes_as_other_calls():
    row = flambeau.tensor([[1, 2]], dtype=flambeau.int8)
    assert flambeau.block_diag(flambeau.tensor(1), row).dtype == flambeau.int8
    assert flambeau.block_diag(flambeau.tensor(1.5), row).dtype == flambeau.float32
    half = flambeau.ones(1, 2, dtype=flambeau.float16)
    whole_one = flambeau.block_diag(flambeau.tensor(2.0, dtype=flambeau.float64), half)
    assert whole_one.dtype == flambeau.float16
    assert whole_one.tolist() == [[2, 0, 0], [0, 1, 1]]


@pytest.mark.oracle
def test_errors_as_pytorch():
    torch = pytest.importorskip("torch")
    for make in (torch, flambeau):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            make.tensor([1, 2]) // make.tensor([0, 1])
        with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allow"):
            make.tensor([1, 2]) ** -2
        assert (make.tensor([True]) ** True).tolist() == [True]
        assert (make.tensor([1]) + make.tensor(3, dtype=make.uint64)).dtype == make.int64
