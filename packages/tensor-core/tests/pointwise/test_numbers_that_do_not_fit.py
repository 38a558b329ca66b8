"""Numbers beside tensors of dtypes that cannot hold them: refused where they would be stored."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.core import ops

FIRST = [0]
MASK = [True, False, True]
POINTS = flambeau.tensor([0.5, 2.0])


def _whole(dtype="int8"):
    return flambeau.tensor([1, 2, 3], dtype=getattr(flambeau, dtype))


def _mask(m):
    return m.tensor(MASK)


def _put(x, index, value):
    x[index] = value
    return x


CALLS = {
    "clamp": lambda m, x, n: x.clamp(0, n),
    "clamp_": lambda m, x, n: x.clamp_(0, n),
    "clamp_min": lambda m, x, n: x.clamp_min(n),
    "clamp_max": lambda m, x, n: x.clamp_max(n),
    "pow": lambda m, x, n: x ** n,
    "where": lambda m, x, n: m.where(_mask(m), x, n),
    "where, first": lambda m, x, n: m.where(_mask(m), n, x),
    "masked_fill": lambda m, x, n: x.masked_fill(_mask(m), n),
    "masked_fill_": lambda m, x, n: x.masked_fill_(_mask(m), n),
    "fill_": lambda m, x, n: x.fill_(n),
    "full": lambda m, x, n: m.full((2,), n, dtype=x.dtype),
    "full_like": lambda m, x, n: m.full_like(x, n),
    "new_full": lambda m, x, n: x.new_full((2,), n),
    "index_fill": lambda m, x, n: x.index_fill(0, m.tensor(FIRST), n),
    "scatter": lambda m, x, n: x.scatter(0, m.tensor(FIRST), n),
    "pad": lambda m, x, n: m.nn.functional.pad(x, (1, 1), value=n),
    "threshold": lambda m, x, n: m.nn.functional.threshold(x, 0, n),
    "hardtanh": lambda m, x, n: m.nn.functional.hardtanh(x, 0, n),
    "x[mask]": lambda m, x, n: _put(x, _mask(m), n),
    "x[0]": lambda m, x, n: _put(x, 0, n),
}
OF_NN = ("pad", "threshold", "hardtanh")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("dtype", "number"), [("int8", 300), ("int16", 40000), ("int32", 2 ** 40)])
def test_numbers_that_would_wrap_are_refused(name, dtype, number):
    if name in OF_NN:
        pytest.importorskip("flambeau.nn", reason="needs flambeau.nn")
    x = _whole(dtype)
    with pytest.raises(RuntimeError, match=f"does not fit {dtype}, which holds -"):
        CALLS[name](flambeau, x, number)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.oracle
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("dtype", "number"), [
    ("int8", 127), ("int8", 128), ("int8", 300), ("uint8", 255), ("uint8", 256), ("int32", 2 ** 31),
    ("int64", 2 ** 40)])
def test_pytorch_refuses_the_same_numbers(name, dtype, number):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    pytest.importorskip("flambeau.nn", reason="needs flambeau.nn")
    given = torch.tensor([1, 2, 3], dtype=getattr(torch, dtype))
    try:
        expected = CALLS[name](torch, given, number).tolist()
    except RuntimeError:
        with pytest.raises(RuntimeError, match="does not fit"):
            CALLS[name](flambeau, _whole(dtype), number)
    else:
        assert CALLS[name](flambeau, _whole(dtype), number).tolist() == expected


def test_numbers_that_fit_are_taken():
    x, mask = _whole(), _mask(flambeau)
    assert x.clamp(-128, 2).tolist() == [1, 2, 2]
    assert (x ** 2).tolist() == [1, 4, 9]
    assert flambeau.where(mask, x, -128).tolist() == [1, -128, 3]
    assert x.masked_fill(mask, 127).tolist() == [127, 2, 127]
    assert x.clamp(0, 2.5).dtype is flambeau.float32
    assert x.bool().masked_fill(mask, 300).tolist() == [True, True, True]
    assert flambeau.tensor([1.5]).clamp(0, 2 ** 40).tolist() == [1.5]


def test_minus_one_is_the_greatest_unsigned_number():
    x = _whole("uint8")
    assert x.masked_fill(_mask(flambeau), -1).tolist() == [255, 2, 255]
    assert x.clamp(-1, 2).tolist() == [1, 2, 2]    # where it is compared it is what it says
    with pytest.raises(RuntimeError, match="min -300 does not fit uint8, which holds 0 to 255"):
        x.clamp(-300)


def test_half_precision_refuses_to_store_what_becomes_infinite():
    x = flambeau.ones(3, dtype=flambeau.float16)
    with pytest.raises(RuntimeError, match=r"masked_fill\(\): value -1e\+09 does not fit float16"):
        x.masked_fill(_mask(flambeau), -1e9)
    kept = x.masked_fill(_mask(flambeau), float("-inf"))
    assert kept.tolist() == [float("-inf"), 1.0, float("-inf")]


@pytest.mark.parametrize("number", [300, -300])
def test_arithmetic_and_comparisons_take_all_numbers(number):
    """Sums wrap; comparisons and divisions say what is true of the number itself."""
    x = _whole()
    assert (x + number).tolist() == [(i + number + 128) % 256 - 128 for i in (1, 2, 3)]
    assert (x < number).tolist() == [number > 0] * 3
    assert (x // 256).tolist() == [0, 0, 0]
    assert ops.remainder(x, 256).tolist() == [1, 2, 3]


def test_lists_hold_the_whole_range_of_int64():
    edges = [2 ** 63 - 1, -2 ** 63, 0, -1, True]
    assert flambeau.tensor(edges).tolist() == edges
    for beyond in (2 ** 63, -2 ** 63 - 1, 2 ** 70):
        with pytest.raises(RuntimeError, match=f"value {beyond} cannot be converted"):
            flambeau.tensor([0, beyond])


@pytest.mark.parametrize("call", [
    lambda x: x.add(1, alpha=1j), lambda x: flambeau.addcmul(x, x, x, value=1j),
    lambda x: flambeau.addmm(x, x, x, alpha=1j), lambda x: x.add_(x, alpha=1j),
    lambda x: flambeau.histc(x, 2, 1j, 2), lambda x: flambeau.arange(0, 1j),
], ids=["add", "addcmul", "addmm", "add_", "histc", "arange"])
def test_complex_numbers_have_no_position_in_real_results(call):
    with pytest.raises(RuntimeError, match="without overflow"):
        call(flambeau.ones(2, 2))


def test_complex_numbers_without_an_imaginary_part_are_real():
    assert flambeau.ones(1).add(2, alpha=3 + 0j).tolist() == [7.0]


@pytest.mark.parametrize("call", [
    lambda w: flambeau.add(POINTS, POINTS, alpha=w), lambda w: flambeau.full((2,), w),
    lambda w: flambeau.addcmul(POINTS, POINTS, POINTS, value=w), lambda w: flambeau.arange(w),
    lambda w: POINTS.isclose(POINTS, w),
])
def test_numbers_do_not_take_gradients_along(call):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    w = flambeau.tensor(0.5)
    call(w)
    with pytest.raises(TypeError, match="requires grad, whose gradient would be lost"):
        call(w.requires_grad_())
    assert flambeau.linspace(0, w, 2).tolist() == [0.0, 0.5]    # PyTorch takes it, as a constant
