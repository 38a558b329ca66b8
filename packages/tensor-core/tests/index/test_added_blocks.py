"""Blocks that are added, or picked, where an index says: the same bits as one after the other."""

import numpy as np
import pytest

import flambeau as fl

WIDTHS = [1, 3, 16, 17, 40, 130]
DTYPES = ["float32", "float64", "complex64", "complex128", "int64", "uint8"]


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = fl.get_num_threads()
    fl.set_num_threads(request.param)
    yield request.param
    fl.set_num_threads(before)


def _numbers(shape, dtype, seed):
    drawn = np.random.default_rng(seed).normal(size=shape) * 50
    if dtype.startswith("complex"):
        drawn = drawn + 1j * drawn[::-1]
    return drawn.astype(np.int64).astype(dtype) if "int" in dtype else drawn.astype(dtype)


def _case(width, dtype, outer=1, n=3000, size=37):
    to = _numbers((outer, size, width), dtype, 1)
    source = _numbers((outer, n, width), dtype, 2)
    index = np.random.default_rng(3).integers(0, size, n)
    return to, source, index


def _added(to, source, index, alpha=None):
    expected = to.copy()
    for i, k in enumerate(index):
        expected[:, k] += source[:, i] if alpha is None else to.dtype.type(alpha) * source[:, i]
    return expected


@pytest.mark.parametrize("outer", [1, 2, 5])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_those_of_one_block_after_the_other(dtype, width, outer, threads):
    to, source, index = _case(width, dtype, outer)
    expected = _added(to, source, index)
    given = fl.tensor(index)
    made = fl.tensor(to).index_add(1, given, fl.tensor(source))
    np.testing.assert_array_equal(made.numpy(), expected)
    named = given[None, :, None].expand(outer, -1, width)
    made = fl.tensor(to).scatter_add(1, named, fl.tensor(source))
    np.testing.assert_array_equal(made.numpy(), expected)
    made = fl.tensor(to)
    for row in range(outer):
        made[row].index_put_((given,), fl.tensor(source[row]), accumulate=True)
    np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize("alpha", [2, -0.3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_factor_is_rounded_before_the_sum(dtype, width, alpha, threads):
    to, source, index = _case(width, dtype)
    made = fl.tensor(to).index_add(1, fl.tensor(index), fl.tensor(source), alpha=alpha)
    np.testing.assert_array_equal(made.numpy(), _added(to, source, index, alpha))


@pytest.mark.parametrize("width", WIDTHS)
def test_indices_along_the_last_dimension_of_transposed_sums(width, threads):
    to, source, index = _case(width, "float32")
    made = fl.tensor(to).transpose(1, 2)
    made.index_add_(2, fl.tensor(index), fl.tensor(source).transpose(1, 2))
    np.testing.assert_array_equal(made.transpose(1, 2).numpy(), _added(to, source, index))


@pytest.mark.parametrize("outer", [1, 4])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_blocks_of_expanded_indices(dtype, width, outer, threads):
    to, _, index = _case(width, dtype, outer)
    expected = to[:, index]
    named = fl.tensor(index)[None, :, None].expand(outer, -1, width)
    for source in (fl.tensor(to), fl.tensor(to).transpose(0, 2).contiguous().transpose(0, 2)):
        np.testing.assert_array_equal(source.gather(1, named).numpy(), expected)
    fewer = fl.tensor(to).gather(1, named[:, :, : max(1, width // 2)])
    np.testing.assert_array_equal(fewer.numpy(), expected[:, :, : max(1, width // 2)])


@pytest.mark.parametrize("width", range(1, 70))
def test_rows_of_every_number_of_bytes(width, threads):
    table = _numbers((37, width), "uint8", 4)
    index = np.random.default_rng(5).integers(-37, 37, 3000)
    np.testing.assert_array_equal(fl.tensor(table)[fl.tensor(index)].numpy(), table[index])
    chosen = fl.tensor(table).index_select(0, fl.tensor(index % 37))
    np.testing.assert_array_equal(chosen.numpy(), table[index])


def test_indices_out_of_range_are_refused_before_anything_is_written():
    to = fl.zeros(5, 4)
    named = fl.tensor([0, 5])[:, None].expand(-1, 4)
    for call in (lambda: to.gather(0, named), lambda: to.scatter_add_(0, named, fl.ones(2, 4)),
                 lambda: to.index_add_(0, fl.tensor([0, 5]), fl.ones(2, 4))):
        with pytest.raises(IndexError, match="index 5 .* out of bounds"):
            call()
    assert (to == 0).all()


def test_not_a_number_stays_in_its_block(threads):
    source = fl.ones(1000, 33)
    source[5] = float("nan")
    made = fl.zeros(10, 33).index_add_(0, fl.arange(1000) % 10, source)
    assert made[5].isnan().all()
    assert not made[:5].isnan().any() and not made[6:].isnan().any()
