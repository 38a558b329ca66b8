"""Tar archives, as PyTorch wrote checkpoints before version 0.1.10; hostile ones are refused."""
import io
import struct
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "kit"))

from checkpoint_files import Call, Name, program

import flambeau


class Known:
    """A tensor that a pickle names by its number."""

    def __init__(self, number):
        self.identity = number


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.USTAR_FORMAT) as file:
        for name, raw in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            file.addfile(info, io.BytesIO(raw))
    return out.getvalue()


def storages(*given, views=()):
    raw = program(len(given))
    for key, kind, form, numbers in given:
        raw += program((key, "cpu", Name("torch", f"{kind}Storage")))
        raw += struct.pack("<q", len(numbers)) + struct.pack(f"<{len(numbers)}{form}", *numbers)
    return raw + program(list(views))


def tensors(*given):
    raw = program(len(given))
    for key, storage, kind, size, stride, offset in given:
        raw += program((key, storage, Name("torch", f"{kind}Tensor")))
        raw += struct.pack("<ii", len(size), 0)
        raw += struct.pack(f"<{2 * len(size) + 1}q", *size, *stride, offset)
    return raw


def named(number):
    """A pickle of a dict of the tensor of a number, and of an ordered dict with another."""
    text = str(number).encode()
    return b"\x80\2}X\1\0\0\0aU" + bytes([len(text)]) + text + b"Qs."


MEMORY = storages((10, "Float", "f", [0, 1, 2, 3, 4, 5]), (11, "Long", "q", [7, 8]),
                  views=[(12, 10, 2, 3)])
VIEWS = tensors((20, 10, "Float", (2, 3), (3, 1), 0), (21, 11, "Long", (2,), (1,), 0),
                (22, 12, "Float", (2,), (1,), 1))
GOOD = {"storages": MEMORY, "tensors": VIEWS, "pickle": named(20)}


def written(tmp_path, **changed):
    path = tmp_path / "old.pt"
    path.write_bytes(tar_of({name: raw for name, raw in {**GOOD, **changed}.items() if raw}))
    return path


def test_tensors_are_read(tmp_path):
    assert flambeau.load(written(tmp_path))["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert flambeau.load(written(tmp_path, pickle=named(21)))["a"].tolist() == [7, 8]
    assert flambeau.load(written(tmp_path, pickle=named(22)))["a"].tolist() == [3, 4]


@pytest.mark.oracle
def test_as_pytorch_reads_them(tmp_path):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    for number in (20, 21, 22):
        path = written(tmp_path, pickle=named(number))
        theirs = torch.load(path, weights_only=False)["a"]
        assert flambeau.load(path)["a"].tolist() == theirs.tolist()


@pytest.mark.parametrize(("changed", "text"), [
    ({"pickle": None}, "no 'pickle'"),
    ({"pickle": named(99)}, "does not have"),
    ({"pickle": program(Call(Name("os", "system"), "true"))}, "os.system"),
    ({"storages": MEMORY[:40]}, "damaged or cut off"),
    ({"storages": program(10**12)}, "claims to have"),
    ({"storages": storages((1, "Odd", "f", [1]))}, "OddStorage"),
    ({"storages": storages((10, "Float", "f", [1]), views=[(11, 10, 1, 2**60)])}, "lie in it"),
    ({"tensors": tensors((20, 10, "Float", (2, 4), (3, 1), 0))}, "damaged"),
    ({"tensors": tensors((20, 10, "Float", (2**40, 2**40), (0, 0), 0))}, "damaged"),
    ({"tensors": tensors((20, 10, "Float", (1,), (1,), -1))}, "damaged"),
    ({"tensors": tensors((20, 77, "Float", (1,), (1,), 0))}, "storage 77"),
])
def test_hostile_ones_are_refused(tmp_path, changed, text):
    with pytest.raises(ValueError, match=text):
        flambeau.load(written(tmp_path, **changed))


def repeated(start, each, count=20_000):
    """A pickle that remembers an object and uses it again and again."""
    return b"\x80\2" + start + b"q\0](" + each * count + b"e."


def test_what_copies_the_same_again_and_again_is_refused(tmp_path):
    from checkpoint_files import archive, code

    big = code(list(range(20_000)))
    bombs = {
        "sets": repeated(big, b"c__builtin__\nset\nh\0\x85R"),
        "bytes": repeated(code(b"x" * 100_000), b"c__builtin__\nbytearray\nh\0\x85R"),
        "counters": repeated(code({i: i for i in range(9000)}), b"ccollections\nCounter\nh\0\x85R"),
    }
    for name, bomb in bombs.items():
        path = tmp_path / f"{name}.pt"
        path.write_bytes(archive(bomb))
        with pytest.raises(ValueError, match="copies more than it holds"):
            flambeau.load(path)


def test_integers_have_a_limit(tmp_path):
    from checkpoint_files import archive

    path = tmp_path / "x.pt"
    path.write_bytes(archive(b"\x80\2\x8b" + struct.pack("<I", 10**6) + b"\1" * 10**6 + b"."))
    with pytest.raises(ValueError, match="integer of 1000000 bytes"):
        flambeau.load(path)


def test_members_that_lie_over_each_other_are_refused(tmp_path):
    from checkpoint_files import Stored, archive, tensor

    raw = archive([tensor(Stored("Float", str(i), 1000), 0, (1000,), (1,)) for i in range(9)],
                  {str(i): bytes(4000 if i == 0 else 4) for i in range(9)})
    directory = raw.index(b"PK\1\2")
    entries = raw[directory:].split(b"PK\1\2")[1:]
    first = next(entry for entry in entries if b"data/0" in entry)
    merged = [first[:42].join([b"", entry[42:]]) if b"data/" in entry else entry
              for entry in entries]
    path = tmp_path / "x.pt"
    path.write_bytes(raw[:directory] + b"".join(b"PK\1\2" + entry for entry in merged))
    with pytest.raises(ValueError, match="lie over each other"):
        flambeau.load(path)


def test_sparse_parts_do_not_repeat_their_elements(tmp_path):
    from checkpoint_files import Call, Name, Stored, archive, tensor

    def sparse(count):
        layout = Call(Name("torch.serialization", "_get_layout"), "torch.sparse_coo")
        at = tensor(Stored("Long", "0", 2), 0, (1, count), (0, 0))
        values = tensor(Stored("Float", "1", 4), 0, (count,), (0,))
        return Call(Name("torch._utils", "_rebuild_sparse_tensor"), layout,
                    (at, values, Call(Name("torch", "Size"), (4,)), False))

    path = tmp_path / "x.pt"
    path.write_bytes(archive(sparse(2**40), {"0": bytes(16), "1": bytes(16)}))
    with pytest.raises(ValueError, match="too often|repeats its elements"):
        flambeau.load(path)


class Asked:
    """A class that files may ask for."""


@pytest.mark.parametrize("protocol", [2, 4])
def test_names_that_a_file_asks_for(tmp_path, protocol):
    import pickle
    from collections import OrderedDict

    from checkpoint_files import archive

    path = tmp_path / "x.pt"
    path.write_bytes(archive(pickle.dumps([Asked(), OrderedDict(a=1), {1}, Asked], protocol)))
    unsafe = flambeau.serialization.get_unsafe_globals_in_checkpoint
    name = f"{Asked.__module__}.Asked"
    assert name in unsafe(path) and not [n for n in unsafe(path) if "OrderedDict" in n]
    flambeau.save({"a": Asked(), "b": flambeau.ones(2)}, path)
    assert unsafe(path) == [name]
    with flambeau.serialization.safe_globals([Asked]):
        assert unsafe(path) == []
    path.write_bytes(archive(b"\x80\2X\xff"))
    with pytest.raises(ValueError, match="damaged"):
        unsafe(path)


@pytest.mark.parametrize("kind", ["__builtin__\nlist", "collections\ndeque",
                                  "collections\ndefaultdict", "__builtin__\nset"])
def test_containers_of_tensors_without_end_are_refused(tmp_path, kind):
    from checkpoint_files import Stored, archive, code, tensor

    endless = code((tensor(Stored("Float", "0", 4), 0, (2**40, 2), (0, 1)),))
    if "default" in kind:
        endless = b"(N" + endless[1:]
    path = tmp_path / "x.pt"
    path.write_bytes(archive(b"\x80\2c" + kind.encode() + b"\n" + endless + b"R.",
                             {"0": bytes(16)}))
    for weights_only in (True, False):
        with pytest.raises(ValueError, match="damaged"):
            flambeau.load(path, weights_only=weights_only)


@pytest.mark.parametrize("end", [b"(tR", b"c__builtin__\nset\nq\1\x860Nb", b"cenum\nEnum\n\x86R",
                                 b"ctorch\ndevice\nq\1h\x3c\x85R", b")\x81"])
def test_texts_of_errors_are_short(tmp_path, end):
    from checkpoint_files import archive

    doubled = b")q\0" + b"".join(b"h%ch%c\x86q%c" % (i, i, i + 1) for i in range(60))
    path = tmp_path / "x.pt"
    path.write_bytes(archive(b"\x80\2" + doubled + end + b"."))
    for weights_only in (True, False):
        with pytest.raises(ValueError, match="load") as caught:
            flambeau.load(path, weights_only=weights_only)
        assert len(str(caught.value)) < 500
