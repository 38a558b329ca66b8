"""NumPy, DLPack and buffers both ways without copying; pickles and deep copies."""

from __future__ import annotations

import array
import copy
import gc
import pickle
import subprocess
import sys
import weakref
from collections import deque
from contextlib import suppress

import numpy
import pytest
from arrays import DTYPES, make, tensor

import flambeau

PLAIN = [d for d in DTYPES if d != "bfloat16"]


@pytest.mark.parametrize("dtype", PLAIN)
def test_numpy_both_ways_shares_memory(dtype):
    array = make((3, 4), dtype)
    x = flambeau.from_numpy(array)
    assert x.dtype.name == dtype
    assert x.data_ptr() == array.ctypes.data
    back = x.numpy()
    assert back.ctypes.data == array.ctypes.data
    assert back.dtype == array.dtype
    x[0, 0] = 1
    assert back[0, 0] == array[0, 0] == 1


@pytest.mark.parametrize("change", [lambda a: a[::2, 1:], lambda a: a.T, lambda a: a[:0],
                                    lambda a: a[1, 2], lambda a: a[:, None],
                                    lambda a: numpy.broadcast_to(a[0], (5, 4))])
def test_strided_arrays(change):
    array = change(make((4, 4)))
    x = flambeau.as_tensor(array)
    numpy.testing.assert_array_equal(x.numpy(), array)
    numpy.testing.assert_array_equal((x + 1).numpy(), array + 1)


def test_strided_tensors_become_strided_arrays():
    x = tensor(make((3, 4, 5)))[1:, :, ::2].permute(2, 0, 1)
    array = x.numpy()
    assert array.strides == tuple(4 * s for s in x.stride())
    assert array.ctypes.data == x.data_ptr()


def test_an_array_keeps_the_tensors_memory_and_the_other_way_round():
    array = flambeau.arange(1000).numpy()
    gc.collect()
    _ = [flambeau.zeros(1000) for _ in range(20)]
    assert array.sum() == 499500
    source = numpy.arange(1000)
    alive = weakref.ref(source)
    x = flambeau.from_numpy(source)[10:]
    del source
    gc.collect()
    assert alive() is not None
    assert x.sum().item() == 499500 - 45
    del x
    gc.collect()
    assert alive() is None


def test_read_only_arrays_give_read_only_tensors():
    array = numpy.zeros(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="^The given array is not writable.*non-writable"):
        x = flambeau.from_numpy(array)
    assert x.is_readonly
    assert not x.numpy().flags.writeable
    assert x[1:].is_readonly
    assert not (x + 1).is_readonly


@pytest.mark.parametrize("bad", [numpy.zeros(2, ">f4"), numpy.array(["a"]),
                                 numpy.array([None]), numpy.zeros(2, "datetime64[s]"),
                                 numpy.zeros(2, [("a", "f4")])])
def test_arrays_without_a_dtype_here(bad):
    with pytest.raises(TypeError, match="can't convert an array of type"):
        flambeau.from_numpy(bad)
    with pytest.raises((TypeError, ValueError)):
        flambeau.tensor(bad)


def test_negative_strides_are_explained():
    with pytest.raises(ValueError, match="copy"):
        flambeau.from_numpy(numpy.arange(3)[::-1])


def test_functions_of_numpy_read_tensors():
    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert numpy.asarray(x).sum() == 10
    assert numpy.array(x, dtype="float64").dtype == numpy.float64
    assert flambeau.tensor(numpy.float32(2.5)).item() == 2.5
    assert flambeau.tensor([numpy.int64(3), 4]).tolist() == [3, 4]


def test_as_tensor_shares_and_tensor_copies():
    array = numpy.zeros(3)
    flambeau.as_tensor(array)[0] = 1
    assert array[0] == 1
    flambeau.tensor(array)[0] = 2
    assert array[0] == 1


# ---- DLPack


@pytest.mark.parametrize("dtype", PLAIN)
def test_dlpack_both_ways(dtype):
    x = tensor(make((3, 4), dtype))
    array = numpy.from_dlpack(x)
    assert array.ctypes.data == x.data_ptr()
    numpy.testing.assert_array_equal(array, x.numpy())
    y = flambeau.from_dlpack(make((3, 4), dtype))
    assert y.dtype.name == dtype
    numpy.testing.assert_array_equal(y.numpy(), make((3, 4), dtype))


def test_dlpack_keeps_memory_alive_and_lets_go():
    x = flambeau.arange(100)
    alive = weakref.ref(x)
    array = numpy.from_dlpack(x[50:])
    del x
    gc.collect()
    assert array.sum() == sum(range(50, 100))
    del array
    gc.collect()
    assert alive() is None


def test_a_dropped_capsule_is_freed():
    x = flambeau.arange(10)
    before = sys.getrefcount(x)
    for _ in range(100):
        x.__dlpack__()
    gc.collect()
    assert sys.getrefcount(x) == before


def test_a_capsule_is_taken_once():
    class Once:
        def __init__(self):
            self.capsule = flambeau.arange(3).__dlpack__()

        def __dlpack__(self, **_):
            return self.capsule

        def __dlpack_device__(self):
            return (1, 0)

    source = Once()
    assert flambeau.from_dlpack(source).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="used already"):
        flambeau.from_dlpack(source)


def test_strides_travel():
    x = flambeau.arange(12).view(3, 4).t()
    y = flambeau.from_dlpack(x)
    assert y.stride() == x.stride()
    assert y.data_ptr() == x.data_ptr()


# ---- buffers


def test_frombuffer_shares_a_bytearray():
    memory = bytearray(16)
    x = flambeau.frombuffer(memory, dtype=flambeau.int32)
    x[1] = 258
    assert memory[4:6] == b"\x02\x01"
    y = flambeau.frombuffer(memory, dtype=flambeau.int32, count=1, offset=4)
    assert y.tolist() == [258]
    del memory
    gc.collect()
    assert x.tolist() == [0, 258, 0, 0]


def test_frombuffer_of_bytes_is_read_only():
    with pytest.warns(UserWarning, match="^The given buffer is not writable"):
        assert flambeau.frombuffer(b"abcd", dtype=flambeau.uint8).is_readonly


@pytest.mark.parametrize(("count", "offset"), [(5, 0), (-1, 17), (4, 1), (-1, 3), (1, -1)])
def test_frombuffer_outside(count, offset):
    with pytest.raises(ValueError, match=r"frombuffer\(\)"):
        flambeau.frombuffer(bytearray(16), dtype=flambeau.int32, count=count, offset=offset)


# ---- pickles and copies


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle(dtype):
    x = tensor(make((3, 4), dtype), dtype)
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype
    assert y.tolist() == x.tolist()
    assert y.data_ptr() != x.data_ptr()


def test_pickle_of_views_sizes_dtypes_devices():
    x = flambeau.arange(12).view(3, 4).t()[1:]
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    for value in (x.shape, x.dtype, x.device):
        again = pickle.loads(pickle.dumps(value))
        assert again == value
        assert type(again) is type(value)
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype


def test_deepcopy_has_memory_of_its_own_and_keeps_ties():
    x = flambeau.ones(3)
    tree = copy.deepcopy({"a": x, "b": [x, x[1:]]})
    assert tree["a"] is tree["b"][0]
    tree["a"].zero_()
    assert x.tolist() == [1.0] * 3
    assert copy.copy(x) is not None


def test_hash_is_identity_and_equality_is_by_element():
    x, y = flambeau.ones(2), flambeau.ones(2)
    assert len({x, y, x}) == 2
    assert (x == y).tolist() == [True, True]


# ---- without any of it


def test_import_takes_neither_numpy_nor_a_sibling():
    code = ("import sys, flambeau; x = flambeau.ones(2) + 1; repr(x);"
            "bad = [m for m in sys.modules if m == 'numpy' or m.startswith('flambeau.') and"
            " m.split('.')[1] not in ('core', 'rooms')]; assert not bad, bad")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("make", [flambeau.tensor, flambeau.as_tensor, flambeau.from_numpy])
def test_numpy_scalars_do_not_lend_memory_that_is_gone(make):
    tensors = [make(numpy.float32(k + 0.5)) for k in range(100)]
    assert [t.item() for t in tensors] == [k + 0.5 for k in range(100)]
    assert tensors[0].dtype is flambeau.float32


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (numpy.float64(1.5), "float64"),
        ([numpy.float64(1.5)], "float64"),
        ([1.0, numpy.float64(2)], "float64"),
        (numpy.complex128(1j), "complex128"),
        ([numpy.float16(2)], "float16"),
        ([[numpy.int8(1)], [numpy.int8(2)]], "int8"),
        ([numpy.uint8(1), numpy.int16(3)], "int16"),
        ([numpy.arange(3, dtype=numpy.int32)] * 2, "int32"),
        ([numpy.bool_(True)], "bool"),
    ],
    ids=repr,
)
def test_numbers_of_numpy_keep_their_dtype(data, dtype):
    made = flambeau.tensor(data)
    assert made.dtype.name == dtype
    assert made.tolist() == numpy.asarray(data).tolist()


@pytest.mark.parametrize(("make", "dtype", "expected"), [
    (lambda: bytearray(b"\1\2\3\4"), "uint8", [9, 2, 3, 4]),
    (lambda: bytearray(b"\1\2\3\4"), "int16", [521, 1027]),
    (lambda: array.array("f", [1, 2]), None, [9, 2]),
    (lambda: array.array("d", [1, 2]), "float64", [9, 2]),
    (lambda: memoryview(array.array("d", [1, 2])), "float64", [9, 2]),
    (lambda: memoryview(numpy.ones((2, 1))), "float64", [9, 1]),
    (lambda: numpy.ones(2), None, [9, 1]),
])
def test_asarray_shares_the_memory_of_buffers(make, dtype, expected):
    source = make()
    dtype = None if dtype is None else getattr(flambeau, dtype)
    shared = flambeau.asarray(source, dtype=dtype, copy=False)
    alike, copied = flambeau.asarray(source, dtype=dtype), flambeau.asarray(
        source, dtype=dtype, copy=True)
    before = shared.tolist()
    source[(0,) * memoryview(source).ndim if isinstance(source, memoryview) else 0] = 9
    assert shared.tolist() == alike.tolist() == expected
    assert copied.tolist() == before


def test_asarray_reads_bytes_in_the_default_dtype():
    assert flambeau.asarray(bytearray(8)).tolist() == [0.0, 0.0]
    with pytest.warns(UserWarning, match="^The given buffer is not writable"):
        assert flambeau.asarray(bytes(8)).is_readonly
    with pytest.raises(ValueError, match="a multiple of element size"):
        flambeau.asarray(bytearray(3), dtype=flambeau.int16)


def test_a_tensor_of_one_element_is_a_number_among_numbers():
    one = flambeau.ones(1, dtype=flambeau.float64)
    assert flambeau.tensor([one, one]).tolist() == [1.0, 1.0]
    assert flambeau.tensor([2.0, one.view(1, 1)]).tolist() == [2.0, 1.0]
    assert flambeau.tensor([one]).dtype is flambeau.float64


class Numbered:
    """A sequence by the old protocol."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return self.numbers[index]


def test_sequences_of_every_kind_are_nested_lists():
    assert flambeau.tensor(Numbered([1, 2])).tolist() == [1, 2]
    for rows in ([range(2), [3, 4]], [deque([0, 1]), (3, 4)], [numpy.arange(2), Numbered([3, 4])]):
        assert flambeau.tensor(rows).tolist() == [[0, 1], [3, 4]]
    assert flambeau.tensor([[range(2)], [numpy.ones(2, "int64")]]).shape == (2, 1, 2)
    with pytest.raises(ValueError, match="could not determine the shape of object type"):
        flambeau.tensor(Numbered({0: 1, 2: 3}))
    own = [0]
    own.append(own)
    with pytest.raises(TypeError, match="self-referential lists are incompatible"):
        flambeau.tensor(own)


def test_asarray_takes_capsules():
    x = flambeau.ones(3)
    assert flambeau.asarray(x.__dlpack__(), copy=False).data_ptr() == x.data_ptr()
    assert flambeau.asarray(x.__dlpack__(), copy=True).data_ptr() != x.data_ptr()


def test_frombuffer_of_nothing_or_of_what_has_no_buffer():
    for buffer, options in ((b"", {}), (bytearray(4), {"count": 0})):
        with pytest.raises(ValueError, match="must not be 0"):
            flambeau.frombuffer(buffer, dtype=flambeau.uint8, **options)
    with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
        flambeau.frombuffer([1], dtype=flambeau.uint8)
    with pytest.warns(UserWarning, match="buffer is not writable"):
        flambeau.frombuffer(b"ab", dtype=flambeau.uint8)


def test_empty_slices_have_no_memory():
    """Their storage ends where it begins, so that nothing shows what lies after it."""
    sliced = numpy.zeros((0, 4), "float32")[:, 1:]
    strided = numpy.lib.stride_tricks.as_strided(numpy.zeros(9, "float32"), (0, 3), (16, 4))
    for empty in (sliced, strided):
        for made in (flambeau.from_numpy(empty), flambeau.from_dlpack(empty)):
            assert made.untyped_storage().nbytes() == 0
            assert flambeau.zeros(0).set_(made.untyped_storage()).shape == (0,)


@pytest.mark.parametrize("change", [
    lambda x: setattr(x, "data", flambeau.zeros(3)), lambda x: x.set_(flambeau.zeros(3)),
    lambda x: x.resize_(1 << 20)], ids=["data", "set_", "resize_"])
@pytest.mark.parametrize("share", [
    lambda x: x.numpy(), flambeau.from_dlpack, numpy.from_dlpack, numpy.asarray, memoryview])
def test_memory_outlives_the_tensor_that_leaves_it(share, change):
    x = flambeau.full((5000,), 7.0)
    shared = share(x)
    with suppress(RuntimeError):                # resize_ refuses where an array shows the memory
        change(x)
    others = [flambeau.zeros(5000) for _ in range(50)]
    assert others and shared[0] == shared[4999] == 7


def test_a_capsule_keeps_its_shape_when_the_tensor_gets_another():
    x = flambeau.arange(6).reshape(2, 3)
    capsule = x.__dlpack__()
    x.t_()
    assert flambeau.from_dlpack(capsule).tolist() == [[0, 1, 2], [3, 4, 5]]
