"""Files of PyTorch before version 1.6, written and read; several objects in one file."""
from __future__ import annotations

import io

import pytest

import flambeau
from flambeau.core.io import FileError


def _saved(*objects, **options) -> io.BytesIO:
    file = io.BytesIO()
    file.write(b"head")
    for each in objects:
        flambeau.save(each, file, format="torch", **options)
    file.seek(4)
    return file


def _objects() -> dict:
    x = flambeau.arange(12.0).reshape(3, 4)
    kinds = ("float16", "bfloat16", "complex64", "bool", "uint8", "uint16", "uint32", "uint64",
             "float8_e5m2")
    return {"x": x, "view": x[1:, ::2], "none": flambeau.empty(0, 3), "number": flambeau.tensor(3),
            "list": [1, "a", None, (2.5,)],
            **{kind: flambeau.ones(3).to(getattr(flambeau, kind)) for kind in kinds}}


def _check(read, obj) -> None:
    assert read["list"] == obj["list"]
    for name, x in obj.items():
        if name != "list":
            assert read[name].tolist() == x.tolist() and tuple(read[name].shape) == tuple(x.shape)
            assert str(read[name].dtype).partition(".")[2] == x.dtype.name
    read["x"][1, 0] = 7
    assert read["view"][0, 0] == 7


def test_objects_of_one_file_are_read_one_after_the_other():
    obj = _objects()
    file = _saved(obj, [1], flambeau.eye(2).to_sparse(), _use_new_zipfile_serialization=False)
    file.seek(0, io.SEEK_END)
    file.write(b"tail")
    file.seek(4)
    _check(flambeau.load(file), obj)
    assert flambeau.load(file) == [1]
    assert flambeau.load(file).to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert file.read() == b"tail"


def test_archives_one_after_the_other_are_refused():
    file = _saved(flambeau.ones(2), flambeau.zeros(3))      # the directory is that of the second
    with pytest.raises(FileError, match="one after the other"):
        flambeau.load(file)
    assert flambeau.load(_saved(flambeau.ones(2))).tolist() == [1.0, 1.0]


@pytest.mark.oracle
@pytest.mark.parametrize("weights_only", [True, False])
def test_pytorch_reads_them(weights_only):
    import torch

    obj = _objects()
    file = _saved(obj, [1], _use_new_zipfile_serialization=False)
    _check(torch.load(file, weights_only=weights_only), obj)
    assert torch.load(file) == [1]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("zipped", [True, False])
def test_what_is_made_of_elements_is_made_of_those_in_the_file(zipped):
    import torch

    z = torch.tensor([1 + 2j, 3 - 1j])
    scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([1, 2])
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    saved = {"conj": z.conj(), "imag": z.clone().conj().imag, "coo": rows.to_sparse(),
             "csr": rows.to_sparse_csr(), "z": z,
             "tensor": torch.quantize_per_tensor(rows, 0.1, 3, torch.qint8),
             "channel": torch.quantize_per_channel(rows, scales, zeros, 0, torch.qint8)}
    file = io.BytesIO()
    torch.save(saved, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    read = flambeau.load(file)
    for name in ("conj", "imag", "z"):
        assert read[name].tolist() == saved[name].tolist()
    for name in ("coo", "csr"):
        assert read[name].to_dense().tolist() == rows.tolist()
    for name in ("tensor", "channel"):
        assert read[name].dequantize().tolist() == saved[name].dequantize().tolist()
