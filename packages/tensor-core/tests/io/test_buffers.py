"""Tensors as buffers, and DLPack with its wishes: version, device, copy, read-only."""

from __future__ import annotations

import gc
import io
import sys

import numpy
import pytest
from arrays import make, tensor

import flambeau
from flambeau.core import over_buffer

DTYPES = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_memoryview(dtype):
    x = flambeau.arange(6).view(2, 3).to(getattr(flambeau, dtype))
    view = memoryview(x)
    assert (view.format, view.shape, view.ndim) == (numpy.dtype(dtype).char, (2, 3), 2)
    assert view.c_contiguous
    assert not view.readonly
    assert view.tobytes() == x.numpy().tobytes()


@pytest.mark.parametrize("dtype", (*DTYPES, "complex64", "complex128"))
def test_numpy_has_scalars_of_the_dtype(dtype):
    x = flambeau.ones(2, dtype=getattr(flambeau, dtype))
    wanted = numpy.dtype(dtype).type        # numpy.int64 and not numpy.longlong
    for array in (x.numpy(), numpy.asarray(x), numpy.asarray(memoryview(x))):
        assert array.dtype.type is type(array[0]) is wanted


def test_a_memoryview_writes_and_shows_strides():
    x = flambeau.zeros(2, 3)
    view = memoryview(x.t())
    assert view.strides == (4, 12)
    view[2, 1] = 5.0
    assert x[1, 2].item() == 5


def test_what_has_no_buffer():
    for x, text in ((flambeau.ones(2).bfloat16(), "bfloat16"),
                    (flambeau.ones(2, device="meta"), "meta")):
        with pytest.raises(BufferError, match=text):
            memoryview(x)
    with pytest.raises(BufferError, match="contiguous"):
        io.BytesIO().write(flambeau.ones(2, 3).t())


def test_read_only_tensors_refuse_writers():
    x = over_buffer(b"abcd", flambeau.uint8)
    assert memoryview(x).readonly
    with pytest.raises(TypeError):
        memoryview(x)[0] = 1


def test_a_buffer_outlives_the_tensor_and_lets_go():
    x = flambeau.arange(1000)
    count = sys.getrefcount(x)
    views = [memoryview(x) for _ in range(10)]
    array = numpy.asarray(memoryview(x))
    del views
    assert sys.getrefcount(x) == count + 1
    y = x[10:]
    del x
    gc.collect()
    assert array.sum() == 499500
    assert memoryview(y)[0] == 10


# ---- NumPy's functions


def test_functions_of_numpy_give_tensors():
    x = flambeau.tensor([[1.0, 4.0], [9.0, 16.0]])
    for made, expected in ((numpy.sqrt(x), [[1, 2], [3, 4]]), (numpy.add(x, 1), (x + 1).tolist()),
                           (numpy.maximum(x, numpy.full((2, 2), 5.0)), [[5, 5], [9, 16]]),
                           (numpy.add.reduce(x), [10, 20]), (numpy.isfinite(x), [[1, 1], [1, 1]])):
        assert isinstance(made, flambeau.Tensor)
        assert made.tolist() == expected
    assert numpy.isfinite(x).dtype is flambeau.uint8
    assert isinstance(numpy.float32(2) * x, flambeau.Tensor)
    with pytest.raises(TypeError):
        numpy.ones((2, 2)) * x
    with pytest.raises(ValueError, match="needs a copy"):
        x.__array__("int32", copy=False)


# ---- DLPack


def test_copies_and_devices_on_the_way_out():
    x = flambeau.arange(3)
    shared = numpy.from_dlpack(x)
    copied = numpy.from_dlpack(x, copy=True)
    assert numpy.from_dlpack(x, device="cpu", copy=False).ctypes.data == x.data_ptr()
    x[0] = 9
    assert (shared[0], copied[0]) == (9, 0)
    with pytest.raises(BufferError, match=r"\(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="stream"):
        x.__dlpack__(stream="x")


def test_copies_and_devices_on_the_way_in():
    array = numpy.arange(3)
    shared = flambeau.from_dlpack(array, device="cpu")
    copied = flambeau.from_dlpack(array, copy=True)
    array[0] = 9
    assert (shared[0].item(), copied[0].item()) == (9, 0)
    array.flags.writeable = False
    assert flambeau.from_dlpack(array).is_readonly
    assert not flambeau.from_dlpack(array, copy=True).is_readonly


def test_read_only_needs_version_one():
    x = over_buffer(b"abcd", flambeau.uint8)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    assert not numpy.from_dlpack(x).flags.writeable


def test_capsules_by_themselves():
    x = flambeau.arange(3)
    for version in (None, (0, 8), (1, 0), (1, 3)):
        assert flambeau.from_dlpack(x.__dlpack__(max_version=version)).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="no __dlpack__"):
        flambeau.from_dlpack(3)


def test_an_old_producer():
    class Old:
        def __dlpack__(self):
            return tensor(make((2, 2))).__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

    assert flambeau.from_dlpack(Old(), copy=True).tolist() == make((2, 2)).tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ("bool", "uint8", "int64", "bfloat16", "float32", "complex64"))
def test_both_ways_with_pytorch(dtype):
    import torch

    x = flambeau.arange(6).view(2, 3).to(getattr(flambeau, dtype)).t()
    y = torch.from_dlpack(x)
    assert (str(y.dtype), y.stride()) == (f"torch.{dtype}", x.stride())
    assert (y.data_ptr(), y.tolist()) == (x.data_ptr(), x.tolist())
    z = flambeau.from_dlpack(y)
    assert (z.dtype, z.data_ptr(), z.tolist()) == (x.dtype, x.data_ptr(), x.tolist())
