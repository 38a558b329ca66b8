"""``finfo`` and ``iinfo`` as values."""
import flambeau


def test_limits_of_one_dtype_are_equal():
    assert flambeau.finfo() == flambeau.finfo(flambeau.float32) == flambeau.finfo(flambeau.cfloat)
    assert flambeau.iinfo(flambeau.int8) == flambeau.iinfo(flambeau.int8)
    assert flambeau.finfo(flambeau.float64) != flambeau.finfo()
    assert flambeau.iinfo(flambeau.int8) != flambeau.iinfo(flambeau.uint8)
    assert len({flambeau.finfo(), flambeau.finfo(flambeau.float32)}) == 1
