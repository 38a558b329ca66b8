"""``finfo`` and ``iinfo`` as values."""
import pytest

import flambeau


def test_limits_of_one_dtype_are_equal():
    assert flambeau.finfo() == flambeau.finfo(flambeau.float32) == flambeau.finfo(flambeau.cfloat)
    assert flambeau.iinfo(flambeau.int8) == flambeau.iinfo(flambeau.int8)
    assert flambeau.finfo(flambeau.float64) != flambeau.finfo()
    assert flambeau.iinfo(flambeau.int8) != flambeau.iinfo(flambeau.uint8)
    assert len({flambeau.finfo(), flambeau.finfo(flambeau.float32)}) == 1


def test_types_of_python_are_dtypes():
    assert flambeau.finfo(float) == flambeau.finfo(complex) == flambeau.finfo(flambeau.float64)
    assert flambeau.iinfo(int) == flambeau.iinfo(flambeau.int64)
    for ask, kind in ((flambeau.finfo, int), (flambeau.iinfo, float), (flambeau.iinfo, bool)):
        with pytest.raises(TypeError, match="requires a"):
            ask(kind)
