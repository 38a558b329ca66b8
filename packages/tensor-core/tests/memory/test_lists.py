"""Lists of all elements, beside NumPy."""

import numpy as np
import pytest

import flambeau

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
          "float16", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_length(dtype):
    rng = np.random.default_rng(0)
    for n in (0, 1, 127, 128, 129, 300):
        given = rng.integers(0, 200, (3, n)).astype(dtype)
        if given.dtype.kind == "c":
            given = given - 1j * given
        x = flambeau.from_numpy(given)
        for made, wanted in ((x, given), (x.t(), given.T), (x[:, ::2], given[:, ::2]),
                             (x[0], given[0]), (x.flip(1), given[:, ::-1])):
            assert made.tolist() == wanted.tolist()
            kinds = {type(each) for each in np.ravel(wanted).tolist()}
            flat = made.reshape(-1).tolist()
            assert {type(each) for each in flat} == kinds


def test_halves_and_single_elements():
    x = flambeau.arange(-300.0, 300.0).bfloat16()
    assert x.tolist() == x.float().tolist()
    assert flambeau.tensor(7, dtype=flambeau.int16).tolist() == 7
    assert flambeau.tensor(1 + 2j).tolist() == 1 + 2j
    assert flambeau.ones(2, 0, 3).tolist() == [[], []]
