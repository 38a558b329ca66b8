"""Rows of a few elements: shared by all rows, of one value each, apart in memory, converted."""

import numpy as np
import pytest

import flambeau as fl

WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130, 511, 513)
DTYPES = ("bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
          "complex128")


def numbers(shape, dtype, seed=0):
    drawn = np.random.default_rng(seed).integers(0, 100, shape)
    return (drawn % 2 == 0) if dtype == "bool" else drawn.astype(dtype)


def rows_of(width):
    return 3 + 4200 // width


def layouts(array, dtype=None):
    """The same numbers as memory can hold them: a tensor and its description."""

    def held(numbers):
        x = fl.tensor(np.ascontiguousarray(numbers))
        return x if dtype is None else x.to(dtype)

    rows, width = array.shape
    whole = np.zeros((rows, width + 3), array.dtype)
    whole[:, 2:-1] = array
    second = np.zeros((rows, 2 * width), array.dtype)
    second[:, ::2] = array
    third = np.zeros((rows, 3 * width), array.dtype)
    third[:, ::3] = array
    yield held(array), "dense"
    yield held(whole)[:, 2:-1], "rows apart"
    yield held(second)[:, ::2], "every second"
    yield held(third)[:, ::3], "every third"
    yield held(array.T).t(), "transposed"
    yield held(array[:, :1]).expand(rows, width), "a value each"
    yield held(array[0]).expand(rows, width), "shared"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_and_sums_of_rows(width, dtype):
    array = numbers((rows_of(width), width), dtype)
    other = fl.tensor(numbers(array.shape, dtype, 1))
    for x, layout in layouts(array):
        expected = np.ascontiguousarray(x.numpy())
        assert np.array_equal(x.contiguous().numpy(), expected), layout
        total = np.logical_or if dtype == "bool" else np.add
        assert np.array_equal((x + other).numpy(), total(expected, other.numpy())), layout
        target = fl.zeros(array.shape[0], width + 5, dtype=x.dtype)
        target[:, 1 : width + 1] = x
        assert np.array_equal(target[:, 1 : width + 1].numpy(), expected), layout
        assert not target[:, 0].any() and not target[:, width + 1 :].any(), layout


@pytest.mark.parametrize("width", (1, 3, 8, 40, 65, 300))
@pytest.mark.parametrize("source", DTYPES)
def test_conversions_of_rows(width, source):
    array = numbers((rows_of(width), width), source)
    for x, layout in layouts(array):
        for dtype in DTYPES:
            if source.startswith("complex") and not dtype.startswith("complex"):
                continue
            converted = x.to(getattr(fl, dtype))
            assert np.array_equal(converted.numpy(), x.numpy().astype(dtype)), (layout, dtype)
            target = fl.zeros(array.shape[0], width + 5, dtype=getattr(fl, dtype))
            target[:, 2 : width + 2] = x
            assert fl.equal(target[:, 2 : width + 2], converted), (layout, dtype)
            assert not target[:, :2].any() and not target[:, width + 2 :].any(), (layout, dtype)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ("bfloat16", "float16", "float32", "uint8", "int64"))
def test_all_pairs_of_layouts(width, dtype):
    dtype, shape = getattr(fl, dtype), (rows_of(width), width)
    for x, one in layouts(numbers(shape, "uint8"), dtype):
        for y, other in layouts(numbers(shape, "uint8", 1), dtype):
            expected = x.double().numpy() + y.double().numpy()
            assert np.array_equal((x + y).double().numpy(), expected), (one, other)
            if one in ("a value each", "shared"):
                continue
            before = x.clone()
            x += y
            assert np.array_equal(x.double().numpy(), expected), (one, other)
            x.copy_(before)


@pytest.mark.parametrize("width", (2, 3, 10, 16, 33))
def test_outer_products(width):
    x, y = numbers((500, 1, width), "float32"), numbers((500, width, 1), "float32", 1)
    assert np.array_equal((fl.tensor(x) * fl.tensor(y)).numpy(), x * y)


def test_empty_rows_and_scalars():
    assert (fl.zeros(5, 0) + fl.zeros(0)).shape == (5, 0)
    assert fl.tensor(3).expand(2000, 3).contiguous().sum() == 18000
    assert fl.full((), 2.5).expand(7000).contiguous().eq(2.5).all()
    nan = fl.tensor([[float("nan"), 1.0, -0.0]]).expand(999, 3)
    assert nan.contiguous()[:, 0].isnan().all()
    assert nan.contiguous()[:, 2].signbit().all()
