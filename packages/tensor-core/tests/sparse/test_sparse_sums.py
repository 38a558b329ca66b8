"""Sums and differences of sparse tensors, beside those of dense ones."""

import pytest

import flambeau


@pytest.mark.parametrize("dtype", [flambeau.int16, flambeau.int64, flambeau.float32])
def test_unsigned_numbers_are_subtracted_in_the_dtype_of_the_result(dtype):
    small = flambeau.tensor([[0, 200, 3], [1, 0, 0]], dtype=flambeau.uint8)
    wide = flambeau.tensor([[5, 0, 1], [0, 0, 7]], dtype=dtype)
    for one in (wide, wide.to_sparse()):
        found = one.sub(small.to_sparse(), alpha=2)
        assert flambeau.equal(found.to_dense(), wide.sub(small, alpha=2))
        written = one.clone()
        written.sub_(small.to_sparse())
        assert flambeau.equal(written.to_dense(), wide - small)


def test_factors_and_dtypes_that_dense_sums_refuse():
    x = flambeau.tensor([1, 0, 2]).to_sparse()
    with pytest.raises(RuntimeError, match="alpha must not be a floating point number"):
        x.add(x, alpha=0.5)
    mask = flambeau.tensor([True, False]).to_sparse()
    with pytest.raises(RuntimeError, match="bool"):
        mask.sub(mask)
