"""Group and instance normalization of small groups and short channels, beside NumPy's float64."""

from __future__ import annotations

import numpy
import pytest

import flambeau

TOLERANCE = {"float32": 1e-6, "float64": 2e-15, "bfloat16": 8e-3, "float16": 1e-3}
#: Shape and number of groups: of 2 to 32 elements, of more with channels of 1 to 17 elements.
CASES = (((130, 6, 2), 6), ((70, 8, 2, 2), 8), ((3, 12, 2), 4), ((65, 32), 2), ((64, 32), 1),
         ((2, 5, 4, 4), 5), ((1, 33), 1), ((9, 40), 4), ((4, 300), 1), ((7, 24, 3), 2),
         ((5, 12, 16), 3), ((5, 12, 17), 3), ((3, 4, 5, 5), 2))


def normalized(x, groups, weight, bias, eps=1e-5):
    """What is wanted, and the size of the products and summands it is the sum of."""
    rows = x.astype("float64").reshape(x.shape[0], groups, -1)
    mean = rows.mean(-1, keepdims=True)
    rstd = 1 / numpy.sqrt(rows.var(-1, keepdims=True) + eps)
    each = (1, -1, *[1] * (x.ndim - 2))
    y = ((rows - mean) * rstd).reshape(x.shape)
    size = ((numpy.abs(rows) + numpy.abs(mean)) * rstd).reshape(x.shape)
    return (y * weight.reshape(each) + bias.reshape(each),
            size * numpy.abs(weight.reshape(each)) + numpy.abs(bias.reshape(each)))


def operands(shape, dtype):
    random = numpy.random.default_rng(1)
    x = flambeau.tensor(random.standard_normal(shape) * 3 + 2).to(getattr(flambeau, dtype))
    weight, bias = (flambeau.tensor(random.standard_normal(shape[1])).to(x.dtype)
                    for _ in range(2))
    return x, weight, bias


def numbers(t):
    return t.double().contiguous().numpy()


def check(found, wanted, dtype):
    values, size = wanted
    assert found.dtype == getattr(flambeau, dtype)
    assert found.shape == values.shape
    assert (numpy.abs(numbers(found) - values) <= TOLERANCE[dtype] * (1 + size)).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape,groups", CASES)
def test_beside_numpy(dtype, shape, groups):
    x, weight, bias = operands(shape, dtype)
    one, none = numpy.ones(shape[1]), numpy.zeros(shape[1])
    for w in (weight, None):
        for b in (bias, None):
            wanted = normalized(numbers(x), groups, one if w is None else numbers(w),
                                none if b is None else numbers(b))
            check(flambeau.group_norm(x, groups, w, b), wanted, dtype)
    strided = flambeau.cat([x, x], 1)[:, ::2] if shape[1] % 2 == 0 else x.flip(0)
    check(flambeau.group_norm(strided, groups, weight, bias),
          normalized(numbers(strided), groups, numbers(weight), numbers(bias)), dtype)
    if len(shape) > 2:
        check(flambeau.instance_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False),
              normalized(numbers(x), shape[1], numbers(weight), numbers(bias)), dtype)


@pytest.mark.parametrize("shape,groups", CASES)
def test_a_group_is_the_same_alone_and_for_all_threads(shape, groups):
    x, weight, bias = operands(shape, "float32")
    whole = flambeau.group_norm(x, groups, weight, bias)
    for i in range(shape[0]):
        assert flambeau.group_norm(x[i:i + 1], groups, weight, bias)[0].equal(whole[i])
    threads = flambeau.get_num_threads()
    many = flambeau.cat([x] * 200)
    try:
        results = []
        for count in (1, 2):
            flambeau.set_num_threads(count)
            results.append(flambeau.group_norm(many, groups, weight, bias))
    finally:
        flambeau.set_num_threads(threads)
    assert results[0].equal(results[1])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_stays_in_its_group(bad):
    x, _, _ = operands((70, 8, 2, 2), "float32")
    whole = flambeau.group_norm(x, 4)
    x[66, 3, 1, 0] = bad
    found = flambeau.group_norm(x, 4)
    assert found[66, 2:4].isnan().all()
    found[66, 2:4] = whole[66, 2:4]
    assert found.equal(whole)


def test_equal_elements_and_none():
    assert flambeau.group_norm(flambeau.full((3, 4, 2), 8.0), 2).abs().max() < 1e-3
    assert flambeau.group_norm(flambeau.empty(0, 4, 2), 2).shape == (0, 4, 2)
    assert flambeau.group_norm(flambeau.empty(3, 4, 0), 2).shape == (3, 4, 0)
    # a mean that single precision rounds
    x = flambeau.tensor([[1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3]])
    wanted = normalized(numbers(x), 1, numpy.ones(4), numpy.zeros(4))[0]
    numpy.testing.assert_allclose(numbers(flambeau.group_norm(x, 1)), wanted, atol=0.1)


@pytest.mark.parametrize("shape,groups", CASES)
def test_gradients_beside_differences_in_float64(shape, groups):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x, weight, bias = operands(shape, "float64")
    g = flambeau.tensor(numpy.random.default_rng(2).standard_normal(shape))
    leaves = [t.requires_grad_() for t in (x, weight, bias)]
    found = flambeau.autograd.grad(flambeau.group_norm(x, groups, weight, bias), leaves, g)
    arrays, step = [numbers(t.detach()) for t in leaves], 1e-6

    def value(at):
        return (normalized(at[0], groups, at[1], at[2])[0] * numbers(g)).sum()

    for k, array in enumerate(arrays):
        for index in (0, array.size // 2, array.size - 1):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k].reshape(-1)[index] += sign * step
                ends.append(value(moved))
            wanted = (ends[0] - ends[1]) / (2 * step)
            numpy.testing.assert_allclose(found[k].reshape(-1)[index].item(), wanted, rtol=1e-5,
                                          atol=1e-5)
