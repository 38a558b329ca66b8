"""Deterministic algorithms: memory that nobody wrote is filled, with what shows it."""
import pytest

import flambeau
from flambeau import rooms
from flambeau.utils import deterministic

GREATEST = {"bool": True, "uint8": 255, "int8": 127, "int16": 32767, "uint16": 65535,
            "int32": 2**31 - 1, "uint32": 2**32 - 1, "int64": 2**63 - 1, "uint64": 2**64 - 1}
FLOATING = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


@pytest.fixture(autouse=True)
def asked_for():
    flambeau.use_deterministic_algorithms(True)
    yield
    flambeau.use_deterministic_algorithms(False)


def made(dtype):
    """Memory from each function that hands it out."""
    one = flambeau.ones(1, dtype=dtype)
    yield flambeau.empty(3, dtype=dtype)
    yield flambeau.empty_like(flambeau.ones(2, 2, dtype=dtype))
    yield flambeau.empty_strided((2, 2), (1, 4), dtype=dtype)
    yield one.new_empty(3)
    yield one.resize_(4)[1:]


@pytest.mark.parametrize("name", [*GREATEST, *FLOATING])
def test_uninitialized_memory_is_filled(name):
    for x in made(getattr(flambeau, name)):
        if name.startswith("complex"):
            assert x.real.isnan().all() and x.imag.isnan().all()
        elif name in FLOATING:
            assert x.isnan().all()
        else:
            assert set(x.flatten().tolist()) == {GREATEST[name]}


def test_filling_can_be_turned_off():
    assert deterministic.fill_uninitialized_memory
    try:
        deterministic.fill_uninitialized_memory = False
        x = flambeau.ones(64)
        address = x.data_ptr()
        del x
        reused = flambeau.empty(64)
        assert reused.data_ptr() != address or not reused.isnan().any()
        with pytest.raises(TypeError, match="must be a bool"):
            deterministic.fill_uninitialized_memory = 1
    finally:
        deterministic.fill_uninitialized_memory = True


def test_switches_are_bools():
    with pytest.raises(TypeError, match="argument 'mode' must be bool, not int"):
        flambeau.use_deterministic_algorithms(1)
    with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
        flambeau.use_deterministic_algorithms(True, warn_only=1)


def test_only_numbers_and_tensors_can_be_in_a_tensor():
    x = flambeau.tensor([1, 2])
    assert (1 in x, flambeau.tensor(3) in x) == (True, False)
    for value in ("a", [1, 2], None):
        with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
            assert value not in x


def test_sizes_are_integers():
    assert flambeau.Size([1, flambeau.tensor(2)]) == (1, 2)
    for sizes in (flambeau.ones(2), [1.5], ["1"]):
        with pytest.raises(TypeError):
            flambeau.Size(sizes)


@pytest.mark.skipif(not rooms.installed("autograd"), reason="needs flambeau-autograd")
def test_arguments_of_map2_have_no_gradient():
    x = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="an argument requires grad"):
        x.map_(flambeau.ones(2).requires_grad_(), max)


def test_new_by_size_and_the_type_of_tensors():
    assert flambeau.ones(1).new(size=(3, 4)).shape == (3, 4)
    assert flambeau.ones(1, dtype=flambeau.int8).type(flambeau.Tensor).dtype == flambeau.float32
    with pytest.raises(RuntimeError, match="cannot read 'cpu:-1'"):
        flambeau.device("cpu:-1")
