"""Lists of NumPy's numbers: each keeps its dtype, and arrays without dimensions theirs."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau

KINDS = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.longlong, np.uint8, np.float16,
         np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_keep_their_dtype_again_and_again(kind):
    values = [kind(1), kind(0), kind(3)]
    for _ in range(2):              # the second time the type is known
        for data in (values, [values, values], tuple(values), [values[:1]]):
            made = flambeau.tensor(data)
            assert made.dtype == flambeau.from_numpy(np.array(data)).dtype
            assert made.tolist() == np.array(data).tolist()
        assert flambeau.tensor(values[2]).dtype == flambeau.from_numpy(np.array(values)).dtype


@pytest.mark.parametrize("first", KINDS)
def test_kinds_promote(first):
    found = flambeau.tensor([first(1), np.float32(2.5), np.int8(3)])
    assert found.dtype == flambeau.promote_types(flambeau.tensor(first(1)).dtype, flambeau.float32)
    assert found.tolist() == [1, 2.5, 3]


def test_arrays_without_dimensions_have_a_dtype_each():
    for values in ([np.array(3), np.array(2)], [np.array(1.5, np.float32)] * 2,
                   [np.array(True), np.array(False)], [np.array(1), np.array(2.5)]):
        found = flambeau.tensor(values)
        assert found.dtype == flambeau.from_numpy(np.array(values)).dtype
        assert found.tolist() == np.array(values).tolist()


def test_what_is_no_number_is_refused_as_before():
    for value in (np.datetime64("2020-01-01"), np.str_("a")):
        for _ in range(2):
            with pytest.raises(TypeError):
                flambeau.tensor([value])
