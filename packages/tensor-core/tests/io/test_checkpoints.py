"""Checkpoints of PyTorch: read without running them, damaged ones, hostile ones."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile
from collections import Counter, OrderedDict

import pytest
from checkpoint_files import Call, Name, Stored, archive, code, program, tensor

import flambeau
from flambeau import rooms
from flambeau.core.io import FileError

F4 = struct.pack("<6f", 0, 1, 2, 3, 4, 5)
FLOATS = Stored("Float", "0", 6)
PLAIN = tensor(FLOATS, 0, (2, 3), (3, 1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.pt"


def load(raw: bytes):
    return flambeau.load(io.BytesIO(raw))


@pytest.mark.parametrize("mmap", (False, True))
def test_tensors_keep_strides_and_offsets_and_share_memory(path, mmap):
    path.write_bytes(archive({"a": PLAIN, "t": tensor(FLOATS, 1, (2, 2), (1, 3))}, {"0": F4}))
    tree = flambeau.load(path, mmap=mmap)
    assert tree["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tree["t"].tolist() == [[1, 4], [2, 5]]
    assert tree["t"].stride() == (1, 3)
    assert tree["t"].storage_offset() == 1
    assert tree["t"].data_ptr() == tree["a"].data_ptr() + 4
    assert tree["a"].is_readonly == mmap


def test_containers_numbers_and_names():
    ordered = Call(Name("collections", "OrderedDict"), [("x", 1), ("y", 2.5)],
                   state={"_metadata": {"": {"version": 1}}})
    tree = load(archive([
        ordered, Call(Name("torch", "Size"), (2, 3)), Name("torch", "bfloat16"),
        Call(Name("_codecs", "encode"), "b\xff", "latin1"), Call(Name("builtins", "set"), [1, 2]),
        Call(Name("builtins", "complex"), 1.0, -2.0), -2 ** 70, (None, True, "ü"),
        Call(Name("collections", "Counter"), {"a": 2}), Call(Name("torch", "device"), "cpu")]))
    assert tree == [OrderedDict(x=1, y=2.5), flambeau.Size([2, 3]), flambeau.bfloat16, b"b\xff",
                    {1, 2}, 1 - 2j, -2 ** 70, (None, True, "ü"), Counter(a=2),
                    flambeau.device("cpu")]
    assert type(tree[0]) is OrderedDict
    assert tree[0]._metadata == {"": {"version": 1}}


@pytest.mark.parametrize(("kind", "form", "dtype"), [
    ("Double", "d", "float64"), ("Float", "f", "float32"), ("Half", "e", "float16"),
    ("Long", "q", "int64"), ("Int", "i", "int32"), ("Short", "h", "int16"), ("Char", "b", "int8"),
    ("Byte", "B", "uint8"), ("Bool", "?", "bool")])
@pytest.mark.parametrize("order", (b"little", b"big"))
def test_every_storage_in_both_byte_orders(kind, form, dtype, order):
    raw = struct.pack(f"{'<' if order == b'little' else '>'}4{form}", 0, 1, 1, 0)
    x = load(archive(tensor(Stored(kind, "0", 4), 0, (4,), (1,)), {"0": raw}, order))
    assert x.dtype is getattr(flambeau, dtype)
    assert x.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("order", (b"little", b"big"))
def test_bfloat16_and_complex_in_both_byte_orders(order):
    sign = "<" if order == b"little" else ">"
    half = struct.pack(sign + "2H", 0x3F80, 0xC000)
    x = load(archive(tensor(Stored("BFloat16", "0", 2), 0, (2,), (1,)), {"0": half}, order))
    assert (x.dtype, x.tolist()) == (flambeau.bfloat16, [1.0, -2.0])
    pair = struct.pack(sign + "2f", 1.5, -2.5)
    stored = Stored("ComplexFloat", "0", 1)
    x = load(archive(tensor(stored, 0, (1,), (1,)), {"0": pair}, order))
    assert x.tolist() == [1.5 - 2.5j]
    conjugate = tensor(stored, 0, (1,), (1,), False, None, {"conj": True})
    assert load(archive(conjugate, {"0": pair}, order)).tolist() == [1.5 + 2.5j]


def test_parameters_and_requires_grad():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    parameter = Call(Name("torch._utils", "_rebuild_parameter"), PLAIN, True,
                     Call(Name("collections", "OrderedDict")))
    loaded = load(archive(parameter, {"0": F4}))
    assert loaded.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert loaded.requires_grad and loaded.is_leaf
    assert type(loaded).__name__ == ("Parameter" if rooms.installed("nn") else "Tensor")


def test_untyped_storages():
    identity = Stored("Float", "0", 24)
    identity.identity = ("storage", Name("torch.storage", "UntypedStorage"), "0", "cpu", 24)
    call = Call(Name("torch._utils", "_rebuild_tensor_v3"), identity, 1, (2,), (1,), False,
                Call(Name("collections", "OrderedDict")), Name("torch", "float32"))
    assert load(archive(call, {"0": F4})).tolist() == [1, 2]


def test_without_byte_order_and_in_any_folder():
    assert load(archive(PLAIN, {"0": F4}, None, "some/where/")).shape == (2, 3)
    assert load(archive(PLAIN, {"0": F4}, None, "")).shape == (2, 3)


# ---- what is refused


REFUSED = {
    "system": Call(Name("os", "system"), "true"), "eval": Call(Name("builtins", "eval"), "1"),
    "getattr": Call(Name("builtins", "getattr"), "a", "upper"),
    "model": Call(Name("torch.nn.modules.linear", "Linear")),
    "function": Call(Name("torch._utils", "_rebuild_device_tensor_from_numpy"), 0, ()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_data_is_refused_by_name(name):
    asked = REFUSED[name].name.code[1:-1].replace(b"\n", b".").decode()
    with pytest.raises(FileError, match=f"asks for '{asked}', which is not data.*state_dict"):
        load(archive(REFUSED[name]))


@pytest.mark.parametrize("module, name, text", [
    ("torch._utils", "_rebuild_nested_tensor", r"a nested tensor.*save x.unbind\(\)"),
    ("numpy._core.multiarray", "scalar", "array of NumPy.*damaged"),
    ("numpy.core.multiarray", "_reconstruct", "array of NumPy.*damaged"),
])
def test_what_checkpoints_hold_and_is_not_read_says_what_to_save(module, name, text):
    with pytest.raises(FileError, match=text):
        load(archive(Call(Name(module, name), 0, ())))


def test_no_instruction_imports_or_calls_anything(path):
    mark = path.parent / "mark"
    for raw in (f"cos\nmkdir\n(V{mark}\ntR.".encode(), b"(i__main__\nx\n.",
                b"(cos\nsystem\nX\4\0\0\0trueo.", b"\x80\2P7\n.", b"\x80\2\x82\1."):
        with pytest.raises(FileError):
            load(archive(raw))
    assert not mark.exists()


HOSTILE = {
    "empty": b"", "no stop": b"\x80\2N", "stack empty": b"\x80\2.", "protocol": b"\x80\x09N.",
    "bare mark": b"\x80\2(.", "no mark": b"\x80\2t.", "append to nothing": b"\x80\2Na.",
    "append to None": b"\x80\2NNa.", "odd items": b"\x80\2}(Nu.", "memo": b"\x80\2h\7.",
    "long text": b"\x80\2X\xff\xff\xff\xffa.", "longer text": b"\x80\5\x8d" + b"\xff" * 8 + b"a.",
    "long bytes": b"\x80\5\x8e\0\0\0\0\0\0\0\x10.",
    "long array": b"\x80\5\x96" + b"\x7f" * 8 + b".",
    "bad text": b"\x80\2X\2\0\0\0\xff\xfe.", "list as key": code({}) + b"](e]s.",
    "list in set": b"\x80\4\x8f(]\x90.", "call of a number": b"\x80\2K\1)R.",
    "dtype called": b"\x80\2" + Name("torch", "float32").code + b")R.",
    "storage called": b"\x80\2" + Name("torch", "FloatStorage").code + b")R.",
    "attributes of a list": b"\x80\2]}b.", "name without end": b"\x80\2ctorch",
    "name of numbers": b"\x80\4K\1K\2\x93.", "identity a number": b"\x80\2K\1Q.",
    "identity short": code(("storage",)) + b"Q.", "instruction": b"\x80\2\xff.",
    "arguments": program(Call(Name("torch._utils", "_rebuild_tensor_v2"), 1)),
    "nested keys": b"\x80\2}(" + b")" + b"2\x86" * 60 + b"Nu.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(name):
    with pytest.raises(FileError, match=r"load\(\)"):
        load(archive(HOSTILE[name], {"0": F4}))


WRONG = {
    "outside": tensor(FLOATS, 0, (7,), (1,)), "offset": tensor(FLOATS, 6, (1,), (1,)),
    "negative": tensor(FLOATS, 0, (2,), (-1,)), "negative size": tensor(FLOATS, 0, (-2,), (1,)),
    "huge": tensor(FLOATS, 0, (2 ** 40,), (1,)),
    "overflow": tensor(FLOATS, 0, (2 ** 61,) * 4, (1,) * 4),
    "overflowing stride": tensor(FLOATS, 0, (3,), (2 ** 61,)),
    "past 64": tensor(FLOATS, 2 ** 70, (1,), (1,)),
    "dims": tensor(FLOATS, 0, (1,) * 33, (1,) * 33), "strides": tensor(FLOATS, 0, (2, 2), (1,)),
    "float size": tensor(FLOATS, 0, (2.0,), (1,)), "list": tensor(FLOATS, 0, [2], [1]),
    "no storage": tensor(3, 0, (2,), (1,)), "hooks": tensor(FLOATS, 0, (2,), (1,), False, {"a": 1}),
    "marks": tensor(FLOATS, 0, (2,), (1,), False, None, {"x": 1}),
    "repeated conjugate": tensor(FLOATS, 0, (2 ** 50,), (0,), False, None, {"neg": True}),
    "missing member": tensor(Stored("Float", "9", 6), 0, (2,), (1,)),
    "escape": tensor(Stored("Float", "../byteorder", 1), 0, (1,), (1,)),
    "too many": tensor(Stored("Float", "0", 7), 0, (2,), (1,)),
    "kind": tensor(Stored("Quantized", "0", 6), 0, (2,), (1,)),
    "key": tensor(Stored("Float", 0, 6), 0, (2,), (1,)),
    "count": tensor(Stored("Float", "0", "6"), 0, (2,), (1,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tensors(name):
    with pytest.raises(FileError, match=r"load\(\)"):
        load(archive(WRONG[name], {"0": F4}))


def test_repeated_elements_need_no_memory():
    x = load(archive(tensor(FLOATS, 2, (2 ** 40,), (0,)), {"0": F4}))
    assert x.shape == (2 ** 40,)
    assert x[2 ** 39].item() == 2


def test_deep_nesting_and_references_to_themselves():
    deep = load(archive(b"\x80\2" + b"]" * 100_000 + b"a" * 99_999 + b"."))
    assert type(deep) is list
    loop = load(archive(b"\x80\2]q\0h\0a."))
    assert loop[0] is loop


def test_a_bomb_of_references_stays_small():
    raw = archive(b"\x80\2]" + b"".join(b"q\0](" + b"h\0" * 10 + b"e" for _ in range(40)) + b".")
    tracemalloc.start()
    load(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


# ---- archives


def test_every_truncation_and_many_changes_raise_or_load():
    whole = archive({"a": PLAIN}, {"0": F4})
    for size in range(len(whole)):
        with pytest.raises(FileError):
            load(whole[:size])
    rng = random.Random(0)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] = rng.randrange(256)
        try:
            load(bytes(damaged))
        except FileError:
            refused += 1
    assert refused > 400


@pytest.mark.parametrize(("raw", "text"), [
    (archive(PLAIN, {"0": F4}, method=zipfile.ZIP_DEFLATED), "compressed"),
    (archive(PLAIN, {"0": F4}, b"middle"), "byte order"),
    (archive(PLAIN, {"0": F4}, **{"constants.pkl": b""}), "TorchScript"),
    (archive(PLAIN, {"0": F4}, **{"code/data.pkl": b""}), "several"),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", "damaged or cut off"),
    (b"\x80\x02]q\0(K\1K\2e.", "bare pickle"),
    (b"x" + bytes(123) + b"0" * 11 + bytes(122) + b"ustar" + bytes(300), "tar archive"),
    (b"\x80\x04\x95\x05\0\0\0\0\0\0\0]q\0.", r"load\(\)"),
])
def test_other_archives_say_what_to_do(raw, text):
    with pytest.raises(FileError, match=text):
        load(raw)


# ---- files that PyTorch wrote


@pytest.mark.oracle
@pytest.mark.parametrize("protocol", (2, 3, 4, 5))
def test_what_pytorch_saves(path, protocol):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    steps = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).sum().backward()
    steps.step()
    w = torch.arange(12.0).view(3, 4)
    saved = {"model": model.state_dict(), "steps": steps.state_dict(), "t": w.t(), "w": w,
             "v": w[1:, ::2], "half": w.bfloat16(), "wide": w[:1].expand(5, 4),
             "conj": torch.randn(3, dtype=torch.complex64).conj(), "empty": torch.empty(0, 3),
             "unsigned": torch.tensor([1, 65535]).to(torch.uint16), "scalar": torch.tensor(3),
             "plain": [1, None, b"x", (2.5, {3}), torch.Size([1]), 1j]}
    torch.save(saved, path, pickle_protocol=protocol)
    _same(flambeau.load(path), saved, torch)
    tree = flambeau.load(path)
    assert tree["v"].data_ptr() == tree["w"].data_ptr() + 16


def _same(ours, theirs, torch):
    if isinstance(theirs, torch.Tensor):
        assert ours.dtype.name == str(theirs.dtype)[6:]
        assert (tuple(ours.shape), ours.requires_grad) == (theirs.shape, theirs.requires_grad)
        assert theirs.is_conj() or ours.stride() == theirs.stride()
        assert ours.tolist() == theirs.tolist()
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        assert type(ours) is type(theirs)
        for key in theirs:
            _same(ours[key], theirs[key], torch)
    elif isinstance(theirs, (list, tuple)):
        for one, other in zip(ours, theirs, strict=True):
            _same(one, other, torch)
    else:
        assert ours == theirs


@pytest.mark.oracle
def test_what_pytorch_saves_and_is_not_data(path):
    import torch

    torch.save(torch.nn.Linear(2, 2), path)
    with pytest.raises(FileError, match="torch.nn.modules.linear.Linear"):
        flambeau.load(path)


def test_the_byte_order_of_checkpoints_that_name_none_can_be_chosen():
    from flambeau.serialization import LoadEndianness, set_default_load_endianness

    raw = archive(tensor(Stored("Short", "0", 1), 0, (1,), (1,)), {"0": b"\1\0"}, None)
    assert load(raw).tolist() == [1]
    set_default_load_endianness(LoadEndianness.BIG)
    try:
        assert load(raw).tolist() == [256]
    finally:
        set_default_load_endianness(None)
    with pytest.raises(TypeError, match="LoadEndianness"):
        set_default_load_endianness("big")


def test_options_of_pickles_are_taken_and_others_refused():
    file = io.BytesIO()
    flambeau.save([1], file, pickle_protocol=4, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert flambeau.load(file, encoding="latin1", weights_only=False, mmap=None) == [1]
    with pytest.raises(TypeError, match="unexpected keyword argument 'mapp'"):
        flambeau.load(file, mapp=True)


#: `[b"\xc5\xbc", torch.zeros(1), 2]` as Python 2 and PyTorch 0.4 wrote it.
PYTHON_2 = (
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."
    b"\x80\x02}q\x01(U\x10protocol_versionq\x02M\xe9\x03U\ntype_sizesq\x03}q\x04(U\x03intq"
    b"\x05K\x04U\x05shortq\x06K\x02U\x04longq\x07K\x04uU\rlittle_endianq\x08\x88u."
    b"\x80\x02]q\x01(U\x02\xc5\xbcctorch._utils\n_rebuild_tensor_v2\nq\x03((U\x07storageq\x04"
    b"ctorch\nFloatStorage\nq\x05U\x0845640624q\x06U\x03cpuq\x07\x8a\x01\x01NtQK\x00K\x01\x85"
    b"K\x01\x85\x89NtRq\x08K\x02e.\x80\x02]q\x01U\x0845640624q\x02a."
    b"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")


@pytest.mark.parametrize(("encoding", "text"), [
    ({}, "\u017c"), ({"encoding": "utf-8"}, "\u017c"), ({"encoding": "bytes"}, b"\xc5\xbc"),
    ({"encoding": "latin1"}, "\xc5\xbc")])
def test_texts_of_python_2(encoding, text):
    assert flambeau.load(io.BytesIO(PYTHON_2), **encoding) == [text, flambeau.zeros(1), 2]


def test_texts_in_another_encoding_are_refused():
    with pytest.raises(FileError, match="ascii"):
        flambeau.load(io.BytesIO(PYTHON_2), encoding="ascii")
    with pytest.raises(ValueError, match="'nonsense' is not known"):
        flambeau.load(io.BytesIO(PYTHON_2), encoding="nonsense")
