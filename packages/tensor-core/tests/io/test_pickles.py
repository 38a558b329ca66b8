"""Pickles and copies of tensors: ties, strides, offsets, attributes, gradients."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
from arrays import DTYPES, make, tensor

import flambeau
from flambeau.core import over_buffer


@pytest.fixture(params=("pickle 2", "pickle 5", "deepcopy"))
def again(request):
    kind, _, protocol = request.param.partition(" ")
    if kind == "deepcopy":
        return copy.deepcopy
    return lambda obj: pickle.loads(pickle.dumps(obj, int(protocol)))


def test_views_keep_strides_and_offsets_and_share_memory(again):
    x = flambeau.arange(12).view(3, 4)
    a, b, c = again((x, x.t()[1:], x))
    assert b.stride() == (1, 4)
    assert b.storage_offset() == 1
    assert b.tolist() == x.t()[1:].tolist()
    assert c is a
    a[0, 1] = -7
    assert b[0, 0].item() == -7
    assert x[0, 1].item() == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(again, dtype):
    x = tensor(make((3, 4), dtype), dtype)
    y = again(x[1:, ::2])
    assert (y.dtype, y.tolist()) == (x.dtype, x[1:, ::2].tolist())


def test_empty_tensors_numbers_and_repeated_elements(again):
    for x in (flambeau.zeros(0), flambeau.zeros(2, 0, 3), flambeau.tensor(2.5),
              flambeau.ones(1, 3).expand(4, 3), flambeau.arange(3)[3:]):
        y = again(x)
        assert (y.shape, y.stride(), y.tolist()) == (x.shape, x.stride(), x.tolist())


def test_read_only_tensors_come_back_writable(again):
    x = over_buffer(b"abcd", flambeau.uint8)
    y = again(x)
    y[0] = 0
    assert y.tolist() == [0, 98, 99, 100]


class Slots(flambeau.Tensor):
    __slots__ = ("inner", "other")


def test_slots_of_classes(again):
    x = flambeau.ones(2).as_subclass(Slots)
    x.inner, x.note = flambeau.zeros(3), "kept"
    y = again(x)
    assert type(y) is Slots
    assert y.inner.tolist() == [0, 0, 0]
    assert y.inner is not x.inner
    assert y.note == "kept"
    assert not hasattr(y, "other")
    del x.note
    assert again(x).inner.tolist() == [0, 0, 0]


def test_attributes(again):
    x = flambeau.ones(2)
    x.note = ["kept"]
    assert again(x).note == ["kept"]
    assert not again(flambeau.ones(2)).__dict__


def test_results_of_operators_have_version_zero(again):
    assert again(flambeau.ones(2))._version == 0


def test_a_shallow_copy_is_another_tensor_over_the_same_memory():
    x = flambeau.ones(2, 3).t()
    y = copy.copy(x)
    assert y is not x
    assert (y.data_ptr(), y.stride()) == (x.data_ptr(), x.stride())


def test_damaged_pickles_of_tensors_raise():
    raw = pickle.dumps(flambeau.arange(4), 2)
    assert b"K\4\x85" in raw
    for size in (5, 200):
        with pytest.raises(ValueError, match="outside the storage"):
            pickle.loads(raw.replace(b"K\4\x85", bytes((75, size, 0x85))))


def test_pickles_leave_no_memory(again):
    x = flambeau.ones(100_000)
    again(x)
    gc.collect()
    before = flambeau.core.memory_stats()
    for _ in range(20):
        again((x, x[1:]))
    gc.collect()
    assert flambeau.core.memory_stats()["live_bytes"] == before["live_bytes"]
