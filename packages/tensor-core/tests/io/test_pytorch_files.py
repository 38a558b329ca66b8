"""Files for PyTorch, and those that it wrote before version 1.6."""

from __future__ import annotations

import io
import random
import struct
import zipfile

import pytest
from checkpoint_files import Call, Name, code, tensor

import flambeau
from flambeau.core.io import FileError

MAGIC = b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." b"\x80\2M\xe9\3."
LITTLE = b"\x80\2" + code({"little_endian": True}) + b"."
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "uint16", "uint32", "uint64", "bool", "complex64", "complex128")


class Old:
    """A storage in a pickle of the old format."""

    def __init__(self, key, count, kind="Float", view=None):
        self.identity = ("storage", Name("torch", f"{kind}Storage"), key, "cpu", count, view)


def program(value) -> bytes:
    return b"\x80\2" + value + b"."


def stored(old: Old) -> bytes:
    return code(old.identity) + b"Q"


def old_tensor(old: Old, offset, shape, strides) -> bytes:
    call = tensor(0, offset, shape, strides)
    arguments = b"".join(code(x) for x in call.args[1:])
    return code(call.name) + b"(" + stored(old) + arguments + b"tR"


def old_file(pickle: bytes, storages: dict[str, bytes], start=MAGIC + LITTLE) -> bytes:
    sizes = [struct.pack("<q", len(raw) // 4) + raw for raw in storages.values()]
    return start + program(pickle) + program(code(list(storages))) + b"".join(sizes)


FLOATS = struct.pack("<6f", *range(6))
WHOLE = old_file(b"(" + old_tensor(Old("0", 6), 0, (2, 3), (3, 1))
                 + old_tensor(Old("0", 6), 3, (3,), (1,)) + b"t", {"0": FLOATS})


def load(raw: bytes, **options):
    return flambeau.load(io.BytesIO(raw), **options)


def written(obj) -> bytes:
    file = io.BytesIO()
    flambeau.save(obj, file, format="torch")
    return file.getvalue()


# ---- the old format ------------------------------------------------------------


def test_old_files_share_memory():
    whole, row = load(WHOLE)
    assert whole.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert row.data_ptr() == whole.data_ptr() + 12
    assert row.tolist() == [3, 4, 5]


def test_old_parts_of_storages():
    part = old_tensor(Old("0", 6, view=("1", 2, 3)), 1, (2,), (1,))
    assert load(old_file(part, {"0": FLOATS})).tolist() == [3, 4]


@pytest.mark.parametrize("raw", [
    old_file(old_tensor(Old("0", 1 << 60), 0, (1,), (1,)), {"0": FLOATS}),
    old_file(old_tensor(Old("0", -1), 0, (1,), (1,)), {"0": FLOATS}),
    old_file(old_tensor(Old("0", 5), 0, (1,), (1,)), {"0": FLOATS}),
    old_file(old_tensor(Old("0", 6), 0, (7,), (1,)), {"0": FLOATS}),
    old_file(old_tensor(Old("0", 6, view=("1", 4, 3)), 0, (1,), (1,)), {"0": FLOATS}),
    old_file(old_tensor(Old("0", 6), 0, (1,), (1,)), {"1": FLOATS}),
    old_file(old_tensor(Old("0", 6), 0, (1,), (1,)), {}),
    old_file(b"N", {"0": FLOATS}),
    old_file(code(("storage", 1, 2, 3, 4, 5)) + b"Q", {}),
    old_file(code(Call(Name("os", "system"), "true")), {}),
    old_file(b"N", {}, MAGIC + program(b"N")), old_file(b"N", {}, MAGIC[:-1] + b"\0." + LITTLE),
])
def test_damaged_old_files(raw):
    with pytest.raises(FileError):
        load(raw)


def test_every_truncation_and_many_changes_of_old_files():
    for size in range(len(WHOLE)):
        with pytest.raises(FileError):
            load(WHOLE[:size])
    rng = random.Random(0)
    for _ in range(1500):
        damaged = bytearray(WHOLE)
        damaged[rng.randrange(len(WHOLE))] = rng.randrange(256)
        try:
            load(bytes(damaged), weights_only=False)
        except FileError:
            pass


# ---- files for PyTorch ---------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_for_pytorch_come_back(dtype):
    x = flambeau.arange(12).reshape(3, 4).to(getattr(flambeau, dtype))
    again = load(written({"x": x, "t": x.t(), "v": x[1:, ::2], "same": x, "none": x[:0],
                          "one": x[2, 3], "wide": x[:1].expand(5, 4)}))
    assert again["x"] is again["same"]
    for name, other in (("x", x), ("t", x.t()), ("v", x[1:, ::2]), ("wide", x[:1].expand(5, 4))):
        assert again[name].tolist() == other.tolist() and again[name].dtype is x.dtype
        assert again[name].stride() == other.stride()
        assert again[name].untyped_storage() == again["x"].untyped_storage()


def test_members_of_the_archive_can_be_mapped(tmp_path):
    path = tmp_path / "x.pt"
    flambeau.save([flambeau.ones(3), flambeau.ones(100, dtype=flambeau.int8)], path,
                  format="torch")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            raw = path.read_bytes()[info.header_offset:]
            names, extra = struct.unpack("<HH", raw[26:30])
            assert (info.header_offset + 30 + names + extra) % 64 == 0
    assert flambeau.load(path, mmap=True)[0].tolist() == [1, 1, 1]


def test_unknown_formats():
    with pytest.raises(ValueError, match="format='pickle' is not known; write format='flambeau'"):
        flambeau.save(1, io.BytesIO(), format="pickle")


def test_lists_in_themselves():
    loop: list[object] = [1]
    loop.append(loop)
    again = load(written(loop))
    assert again[1] is again


@pytest.mark.oracle
def test_pytorch_reads_what_is_written_for_it(tmp_path):
    import torch

    x = flambeau.arange(12.0).reshape(3, 4)
    tree = {"x": x, "t": x.t(), "v": x[1:, ::2], "i": [1, -1, 1 << 40, -(1 << 70), True, None],
            "f": (1.5, float("inf")), "s": {1, 2}, "b": b"\0\xff", "c": 1j, "z": x.shape,
            "y": flambeau.float16, "e": flambeau.device("cpu"), "text": "é",
            "a": bytearray(b"ab")}
    path = tmp_path / "x.pt"
    flambeau.save(tree, path, format="torch")
    for options in ({}, {"mmap": True}, {"weights_only": False}):
        read = torch.load(path, **options)
        assert read["v"].untyped_storage().data_ptr() == read["x"].untyped_storage().data_ptr()
        assert read["t"].stride() == (1, 4) and read["v"].tolist() == x[1:, ::2].tolist()
        assert (read["i"], read["f"], read["s"]) == (tree["i"], tree["f"], tree["s"])
        assert (read["b"], read["c"], read["text"]) == (tree["b"], tree["c"], tree["text"])
        assert (read["y"], read["e"]) == (torch.float16, torch.device("cpu"))
    for dtype in DTYPES:
        flambeau.save(x.to(getattr(flambeau, dtype)), path, format="torch")
        read = torch.load(path)
        assert read.dtype is getattr(torch, dtype) and read.tolist() == \
            x.to(getattr(flambeau, dtype)).tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("protocol", (2, 3, 4, 5))
def test_what_pytorch_wrote_in_the_old_format(tmp_path, protocol):
    import torch

    x = torch.arange(12.0).reshape(3, 4)
    saved = {"x": x, "t": x.t(), "v": x[1:, ::2], "h": x.half(), "n": [1, "a", None]}
    path = tmp_path / "x.pt"
    torch.save(saved, path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    read = flambeau.load(path)
    assert read["v"].data_ptr() == read["x"].data_ptr() + 16 and read["n"] == [1, "a", None]
    for name in "xtvh":
        assert read[name].tolist() == saved[name].tolist()
        assert read[name].stride() == saved[name].stride()
