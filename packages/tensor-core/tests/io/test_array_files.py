"""NumPy's files: what NumPy writes is read, what is written NumPy reads, damage is refused."""

from __future__ import annotations

import io
import os
import struct
import zipfile

import numpy
import pytest
from arrays import make

import flambeau
from flambeau.core.io import FileError

DTYPES = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128")
SHAPES = ((), (0,), (3,), (2, 0, 3), (2, 3, 4))


def _values(shape, dtype):
    return (numpy.arange(int(numpy.prod(shape))) % 7 - 2).reshape(shape).astype(dtype)


@pytest.mark.parametrize("order", ("<", ">"))
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_saves(tmp_path, dtype, order):
    for shape in SHAPES:
        for array in (_values(shape, dtype), numpy.asfortranarray(_values(shape, dtype))):
            numpy.save(tmp_path / "x.npy", array.astype(array.dtype.newbyteorder(order)))
            for mmap in (False, True):
                x = flambeau.load(tmp_path / "x.npy", mmap=mmap)
                assert x.dtype.name == dtype
                numpy.testing.assert_array_equal(x.numpy(), array)


def test_fortran_order_is_kept_as_strides(tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.asfortranarray(numpy.zeros((2, 3))))
    assert flambeau.load(tmp_path / "x.npy").stride() == (1, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_saved_numpy_reads(tmp_path, dtype):
    for shape in SHAPES:
        array = _values(shape, dtype)
        flambeau.save(flambeau.from_numpy(array), tmp_path / "x.npy")
        again = numpy.load(tmp_path / "x.npy", allow_pickle=False)
        assert again.dtype == array.dtype
        numpy.testing.assert_array_equal(again, array)
    flambeau.save(flambeau.from_numpy(make((3, 4))).t(), tmp_path / "x.npy")
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "x.npy"), make((3, 4)).T)


@pytest.mark.parametrize("write", (numpy.savez, numpy.savez_compressed))
def test_archives(tmp_path, write):
    arrays = {"a": make((3, 4)), "b/c": make((2,), "int64"), "scalar": numpy.float32(2)}
    write(tmp_path / "x.npz", **arrays)
    for mmap in (False, True):
        tree = flambeau.load(tmp_path / "x.npz", mmap=mmap)
        assert list(tree) == list(arrays)
        for name, x in tree.items():
            numpy.testing.assert_array_equal(x.numpy(), arrays[name])
    flambeau.save(tree, tmp_path / "y.npz")
    with numpy.load(tmp_path / "y.npz") as again:
        for name, array in arrays.items():
            numpy.testing.assert_array_equal(again[name], array)


def test_the_content_says_what_a_file_is(tmp_path):
    numpy.save(tmp_path / "x.npy", make((3,)))
    os.rename(tmp_path / "x.npy", tmp_path / "x.safetensors")
    assert flambeau.load(tmp_path / "x.safetensors").tolist() == make((3,)).tolist()
    buffer = io.BytesIO()
    numpy.savez(buffer)
    assert flambeau.load(io.BytesIO(buffer.getvalue())) == {}


@pytest.mark.parametrize(("ending", "bad", "text"), [
    (".npy", {"a": 1}, "one tensor"), (".npy", flambeau.ones(1).bfloat16(), "bfloat16"),
    (".npz", flambeau.ones(2), "dict of tensors"), (".npz", {"a": 1}, "int under 'a'"),
    (".npz", {1: flambeau.ones(2)}, "under 1")])
def test_what_the_formats_cannot_hold(tmp_path, ending, bad, text):
    with pytest.raises(TypeError, match=text):
        flambeau.save(bad, tmp_path / f"x{ending}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("array", [numpy.array([None]), numpy.array(["a"]), numpy.zeros(2, "M8[s]"),
                                   numpy.zeros(2, [("a", "f4")]), numpy.zeros(2, "V2")])
def test_arrays_that_tensors_cannot_be(array):
    buffer = io.BytesIO()
    numpy.save(buffer, array, allow_pickle=True)
    with pytest.raises(FileError, match="dtype.*not read"):
        flambeau.load(io.BytesIO(buffer.getvalue()))


def _npy(text: str, data: bytes = b"\0" * 8, version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + data


def _header(shape="(2,)", descr="'<f4'", order="False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}\n"


HOSTILE = {
    "empty": "", "call": "__import__('os').system('true')", "deep": "(" * 9000,
    "deep minus": "-" * 9000 + "1", "list": "[]", "keys": "{'descr': '<f4'}",
    "more keys": _header()[:-2] + ", 'x': 1}", "unhashable": "{[]: 1}",
    "negative": _header("(-2,)"), "power": _header("(2**62,)"),
    "overflow": _header("(4611686018427387904, 4)"),
    "bool": _header("(True,)"), "list shape": _header("[2]"), "text": _header("('2',)"),
    "dims": _header(f"({'1, ' * 40}2)"), "order": _header(order="1"), "few": _header("(3,)"),
    "many": _header("(1,)"), "object": _header(descr="'|O'"), "number": _header(descr="4"),
    "short descr": _header(descr="''"), "unknown": _header(descr="'<f3'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers(name):
    with pytest.raises(FileError, match=r"load\(\)"):
        flambeau.load(io.BytesIO(_npy(HOSTILE[name])))


def test_versions_and_cut_files():
    with pytest.raises(FileError, match="version"):
        flambeau.load(io.BytesIO(_npy(_header(), version=b"\4\0")))
    whole = _npy(_header())
    assert flambeau.load(io.BytesIO(whole)).tolist() == [0, 0]
    for size in range(len(whole)):
        with pytest.raises(FileError):
            flambeau.load(io.BytesIO(whole[:size]))


def test_an_archive_that_claims_too_much():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", _npy(_header("(100000,)"), b"\0" * 400_000))
    raw = bytearray(buffer.getvalue())
    assert flambeau.load(io.BytesIO(raw))["a"].shape == (100_000,)
    at = raw.rindex(b"PK\1\2")
    for size in (7, 400_000, 0xFFFFFFF0):
        raw[at + 24:at + 28] = struct.pack("<I", size)
        with pytest.raises(FileError, match=r"load\(\).*a\.npy"):
            flambeau.load(io.BytesIO(raw))


def test_other_archives():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match=r"readme\.txt.*neither"):
        flambeau.load(io.BytesIO(buffer.getvalue()))
