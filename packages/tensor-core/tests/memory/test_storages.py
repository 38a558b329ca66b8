"""Storages as objects: what they share, what they copy, and what they refuse."""
import copy

import pytest

import flambeau
from flambeau import TypedStorage, UntypedStorage


def test_a_storage_makes_tensors_that_share_its_memory():
    x = flambeau.arange(6.0).view(2, 3)
    for stored in (x.storage(), x.untyped_storage()):
        again = flambeau.empty(0).set_(stored)
        again[0] += 1
        assert again.tolist() == x.flatten().tolist()
    assert flambeau.empty(0).set_(x.storage(), 1, (2, 2), (3, 1)).tolist() == [[1, 2], [4, 5]]
    assert flambeau.FloatTensor(x.storage()).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="Expected a Storage of type flambeau.float64"):
        flambeau.empty(0, dtype=flambeau.float64).set_(x.storage())


def test_tensor_copies_a_storage_as_elements_of_the_dtype():
    x = flambeau.tensor([1, 2], dtype=flambeau.int16)
    copied = flambeau.tensor(x.untyped_storage(), dtype=flambeau.int16)
    assert (copied.tolist(), copied.data_ptr() == x.data_ptr()) == ([1, 2], False)
    assert flambeau.tensor(x.storage()).dtype == flambeau.int16
    with pytest.raises(RuntimeError, match="Expected a Storage of type flambeau.int32"):
        flambeau.tensor(x.storage(), dtype=flambeau.int32)


def test_constructors():
    assert UntypedStorage([1, 2]).tolist() == [1, 2]
    assert (UntypedStorage(3).nbytes(), UntypedStorage().size()) == (3, 0)
    stored = TypedStorage([1, 2, 3], dtype=flambeau.float64)
    assert (stored.nbytes(), stored.element_size(), stored.tolist()) == (24, 8, [1, 2, 3])
    assert TypedStorage(wrap_storage=stored.untyped(), dtype=flambeau.int64).size() == 3
    assert flambeau.LongStorage([1, 2]).dtype == flambeau.int64
    assert isinstance(flambeau.ones(1).storage(), flambeau.FloatStorage)
    assert flambeau.ones(1, dtype=flambeau.float16).storage_type() is flambeau.HalfStorage
    assert not hasattr(flambeau, "CupStorage")


@pytest.mark.parametrize("arguments, keywords, error, match", [
    ((0, 0), {}, RuntimeError, "Too many positional"),
    (("ab",), {}, TypeError, "invalid data type"),
    ((flambeau.ones(1),), {}, TypeError, "x.untyped_storage"),
    ((0,), {"wrap_storage": UntypedStorage()}, RuntimeError, "No positional"),
    ((), {"wrap_storage": UntypedStorage()}, RuntimeError, "'dtype' must be specified"),
    ((), {"wrap_storage": flambeau.FloatStorage(), "dtype": flambeau.int8}, TypeError,
     "storage.untyped"),
])
def test_bad_arguments(arguments, keywords, error, match):
    with pytest.raises(error, match=match):
        TypedStorage(*arguments, **keywords)


def test_elements_and_slices():
    stored = flambeau.FloatStorage([1, 2, 3, 4])
    stored[1:3] = 0
    stored[-1] = 9
    assert (list(stored), stored[0], stored[1:].tolist()) == ([1, 0, 0, 9], 1.0, [0, 0, 9])
    assert stored.fill_(2).tolist() == [2, 2, 2, 2]
    assert stored.copy_(flambeau.IntStorage([4, 3, 2, 1])).tolist() == [4, 3, 2, 1]
    with pytest.raises(IndexError):
        stored[4]
    with pytest.raises(RuntimeError, match="storage.copy_"):
        stored[:] = flambeau.FloatStorage(4)
    with pytest.raises(RuntimeError, match="3 elements do not fit"):
        stored.copy_(flambeau.FloatStorage(3))


def test_conversions():
    stored = flambeau.IntStorage([-1, 0, 2])
    assert stored.byte().tolist() == [255, 0, 2]
    assert stored.bool().tolist() == [True, False, True]
    assert stored.complex_float().dtype == flambeau.complex64
    assert stored.int() is stored
    assert stored.type(flambeau.float64).type() == "flambeau.DoubleStorage"


def test_resize():
    stored = flambeau.ByteStorage([1, 2, 3])
    stored.resize_(5)
    assert (stored.size(), stored.tolist()[:3]) == (5, [1, 2, 3])
    x = flambeau.ones(3)
    with pytest.raises(RuntimeError, match="a tensor shows these 12 bytes"):
        x.untyped_storage().resize_(0)
    assert x.tolist() == [1, 1, 1]


def test_deepcopy_keeps_what_is_shared():
    x = flambeau.ones(2)
    y, stored = copy.deepcopy([x, x.storage()])
    y += 1
    assert (stored.tolist(), x.tolist()) == ([2, 2], [1, 1])
    assert stored.clone() != stored


def test_meta_storages_have_a_size_only():
    stored = flambeau.ones(2, 3, device="meta").storage()
    assert (stored.nbytes(), stored.data_ptr(), stored.device.type) == (24, 0, "meta")
    for read in (stored.tolist, lambda: stored[0]):
        with pytest.raises(NotImplementedError, match="Not available for 'meta'"):
            read()
    with pytest.raises(NotImplementedError, match="Cannot copy out"):
        flambeau.FloatStorage(6).copy_(stored)
    stored.resize_(10)
    assert stored.size() == 10


def test_buffers_in_either_byte_order():
    shorts = flambeau.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big")
    assert shorts.tolist() == [258, 772]
    assert flambeau.IntStorage.from_buffer(b"\1\2\3\4", "little")[0] == 67305985
    assert flambeau.BoolStorage.from_buffer(b"\0\4").tolist() == [False, True]
    with pytest.raises(ValueError, match="no multiple of the 4 bytes"):
        flambeau.IntStorage.from_buffer(b"\1\2\3")
    with pytest.raises(ValueError, match="byte_order"):
        flambeau.IntStorage.from_buffer(b"\1\2\3\4", "middle")


def test_files_are_mapped(tmp_path):
    path = str(tmp_path / "numbers")
    x = flambeau.from_file(path, shared=True, size=4)
    x.copy_(flambeau.arange(4.0))
    assert flambeau.FloatStorage.from_file(path, True, 4).tolist() == [0, 1, 2, 3]
    alone = flambeau.from_file(path, size=4)
    alone.zero_()
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="has 16 bytes, fewer than 20"):
        flambeau.from_file(path, size=5)


def test_without_elements_there_is_no_address():
    assert flambeau.ones(2, 2)[0:0].data_ptr() == 0
    assert flambeau.ones(2, 2).resize_(0, 2).data_ptr() == 0


def test_memory_is_shared_through_its_storage():
    x = flambeau.ones(3)
    assert not x.storage().is_shared()
    x.share_memory_()
    assert x.storage().is_shared()
    assert x.untyped_storage().is_shared()
    alone = flambeau.ones(3).untyped_storage()
    assert alone.share_memory_().is_shared()
    y = flambeau.ones(3)
    assert y.storage().share_memory_().is_shared()
    assert y.is_shared()
    z = flambeau.ones(3)
    shown = memoryview(z)
    with pytest.raises(RuntimeError, match="would keep the old one"):
        z.storage().share_memory_()
    assert shown[0] == 1
