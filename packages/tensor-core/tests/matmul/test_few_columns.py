"""Products with few columns, which are computed as they are or transposed, beside float64."""

import numpy as np
import pytest

import flambeau

TERMS = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 127, 128, 129, 300, 513, 1100)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 8, 9, 12, 15, 16, 17])
def test_every_number_of_terms(dtype, columns):
    rng = np.random.default_rng(columns)
    dtype = getattr(flambeau, dtype)
    for terms in TERMS:
        a, b = (flambeau.from_numpy(rng.integers(-4, 5, shape).astype("float64")).to(dtype)
                for shape in ((37, terms), (terms, columns)))
        wanted = (a.double() @ b.double()).to(dtype)        # sums of small integers are exact
        for left in (a, a.t().contiguous().t(), a.repeat(1, 2)[:, :terms]):
            for right in (b, b.t().contiguous().t()):
                assert (left @ right).equal(wanted), terms
        out = flambeau.empty(columns, 37, dtype=dtype).t()
        assert flambeau.mm(a, b, out=out).equal(wanted)
