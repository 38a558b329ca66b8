"""Names that older programs use, and what is said of absent ones."""

import pytest

import flambeau


def test_a_type_makes_a_tensor_from_values():
    made = flambeau.LongTensor([[1, 2]])
    assert made.dtype == flambeau.int64
    assert made.tolist() == [[1, 2]]
    assert flambeau.FloatTensor((1, 2)).tolist() == [1.0, 2.0]


def test_a_type_makes_an_uninitialized_tensor_from_sizes():
    assert flambeau.DoubleTensor(2, 3).shape == (2, 3)
    assert flambeau.ByteTensor().shape == (0,)
    assert flambeau.ByteTensor(flambeau.Size([4])).shape == (4,)


def test_a_type_tells_its_tensors_from_others():
    x = flambeau.zeros(1)
    assert isinstance(x, flambeau.FloatTensor)
    assert not isinstance(x, flambeau.DoubleTensor)
    assert not isinstance(1.0, flambeau.FloatTensor)
    assert flambeau.FloatTensor is flambeau.FloatTensor
    assert x.type(flambeau.HalfTensor).dtype == flambeau.float16


def test_a_type_refuses_tensors_of_another_dtype():
    with pytest.raises(TypeError, match=r"expected a tensor of flambeau.int64, got .*float32"):
        flambeau.LongTensor(flambeau.zeros(1))


def test_there_is_no_type_of_any_name():
    with pytest.raises(AttributeError, match="WordTensor"):
        flambeau.WordTensor  # noqa: B018


def test_settings_of_backends_can_be_asked_and_set():
    assert flambeau.backends.mps.is_available() is False
    assert flambeau.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    flambeau.backends.cudnn.benchmark = True
    assert flambeau.backends.cuda.is_built() in (True, False)


@pytest.mark.parametrize("name", ["sparse_coo_tensor", "hub", "distributed", "complex32"])
def test_an_absent_name_says_what_to_use_instead(name):
    with pytest.raises(AttributeError, match="use|uses"):
        getattr(flambeau, name)
