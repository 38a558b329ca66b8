"""Files: round trips, damage, hostile headers, saves that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections import OrderedDict

import numpy
import pytest
from arrays import DTYPES, make, tensor

import flambeau
from flambeau.core.io import FileError, write_tensors


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


TREE = {"weight": tensor(make((3, 4))), "list": [1, 2.5, None, "text", True, (flambeau.ones(2),)],
        "nested": {"empty": {}, 7: tensor(make((2,), "int64")), "nan": float("-inf")},
        "nothing": flambeau.zeros(0, 3), "scalar": flambeau.tensor(2.0)}


def _plain(obj):
    if isinstance(obj, flambeau.Tensor):
        return ("tensor", obj.dtype.name, tuple(obj.shape), obj.tolist())
    if isinstance(obj, dict):
        return {k: _plain(v) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(_plain(v) for v in obj)
    return obj


@pytest.mark.parametrize("mmap", (False, True))
def test_round_trip(path, mmap):
    flambeau.save(TREE, path)
    assert _plain(flambeau.load(path, mmap=mmap)) == _plain(TREE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(path, dtype):
    x = flambeau.arange(5).to(getattr(flambeau, dtype))
    flambeau.save(x, path)
    y = flambeau.load(path)
    assert y.dtype is x.dtype
    assert y.tolist() == x.tolist()


def test_views_and_ties(path):
    x = flambeau.arange(12).view(3, 4)
    flambeau.save({"t": x.t(), "a": x, "b": x}, path)
    tree = flambeau.load(path)
    assert tree["t"].tolist() == x.t().tolist()
    assert tree["a"] is tree["b"]


def test_file_objects(tmp_path):
    import io

    buffer = io.BytesIO()
    flambeau.save(TREE, buffer)
    buffer.seek(0)
    assert _plain(flambeau.load(buffer)) == _plain(TREE)


def test_mapped_tensors_are_read_only(path):
    flambeau.save(flambeau.ones(3), path)
    x = flambeau.load(path, mmap=True)
    assert x.is_readonly
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
    assert not flambeau.load(path).is_readonly


@pytest.mark.parametrize("bad", [print, {"a": object()}, [lambda: 0], {1.5: 2}, {(1, 2): 3}])
def test_what_files_cannot_hold_is_refused_and_the_old_file_stays(path, bad):
    flambeau.save(1, path)
    with pytest.raises(TypeError, match=r"save\(\)"):
        flambeau.save(bad, path)
    assert flambeau.load(path) == 1
    assert os.listdir(path.parent) == [path.name]


# ---- damage


def test_every_truncation_is_refused(path):
    flambeau.save(TREE, path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        for mmap in (False, True):
            with pytest.raises(FileError, match=r"load\(\)"):
                flambeau.load(path, mmap=mmap)


def test_added_bytes_are_refused(path):
    flambeau.save(TREE, path)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(FileError, match="belong to no tensor"):
        flambeau.load(path)


def test_a_damaged_header_raises_or_loads_and_never_crashes(path):
    flambeau.save(TREE, path)
    whole = bytearray(path.read_bytes())
    size = struct.unpack_from("<Q", whole)[0]
    rng = random.Random(0)
    refused = 0
    for _ in range(600):
        damaged = bytearray(whole)
        damaged[rng.randrange(8 + size)] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            flambeau.load(path)
        except FileError:
            refused += 1
    assert refused > 300


def _file(path, header, data=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _entry(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}}


HOSTILE = {
    "not json": b"{", "list": b"[]", "number": b"7", "deep": b"[" * 100000,
    "twice": b'{"x":1,"x":2}', "bytes": b"\xff\xfe", "entry": {"x": 3},
    "unknown dtype": _entry("F99"), "no dtype": {"x": {"shape": [2]}},
    "negative size": _entry(shape=(-2,)), "huge size": _entry(shape=(2 ** 62, 4)),
    "overflow": _entry(shape=(2 ** 32, 2 ** 32, 2 ** 32)), "fraction": _entry(shape=(2.0,)),
    "bool size": _entry(shape=(True,)), "text size": _entry(shape=("2",)),
    "backwards": _entry(offsets=(8, 0)), "outside": _entry(shape=(4,), offsets=(0, 16)),
    "negative offset": _entry(offsets=(-8, 0)), "huge offset": _entry(offsets=(0, 2 ** 70)),
    "three offsets": _entry(offsets=(0, 4, 8)), "too few bytes": _entry(shape=(1,)),
    "gap": _entry(shape=(1,), offsets=(4, 8)), "shape a number": _entry(shape=2),
    "many dims": _entry(shape=(1,) * 100 + (2,)),
    "overlap": {**_entry(), "y": _entry()["x"]},
    "tree not json": {**_entry(), "__metadata__": {"flambeau.tree": "{"}},
    "tree names nothing": {**_entry(), "__metadata__": {"flambeau.tree": '{"t":"y"}'}},
    "tree of another kind": {**_entry(), "__metadata__": {"flambeau.tree": '{"z":1}'}},
    "tree deep": {**_entry(), "__metadata__": {"flambeau.tree": '{"l":[' * 50000}},
    "tree with a list as key": {**_entry(),
                                "__metadata__": {"flambeau.tree": '{"d":[[[1],{"v":1}]]}'}},
    "metadata a list": {**_entry(), "__metadata__": [1]},
    "metadata a number": {**_entry(), "__metadata__": 5},
    "tree a number": {**_entry(), "__metadata__": {"flambeau.tree": 5}},
}


@pytest.mark.parametrize("mmap", (False, True))
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers(path, name, mmap):
    _file(path, HOSTILE[name])
    with pytest.raises(FileError, match=r"load\(\)"):
        flambeau.load(path, mmap=mmap)


def test_a_header_longer_than_the_file(path):
    for size in (2 ** 63, 2 ** 64 - 1, 99_999_999, 9):
        path.write_bytes(struct.pack("<Q", size) + b"{}      ")
        with pytest.raises(FileError, match="header"):
            flambeau.load(path)


def test_pickles_are_not_files(path):
    import pickle

    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(FileError):
        flambeau.load(path)


# ---- saves that do not finish

_SAVER = """
import sys, flambeau
value = flambeau.full((200_000,), 2.0)
print("ready", flush=True)
while True:
    flambeau.save({"x": value}, sys.argv[1])
"""


def test_a_killed_save_leaves_a_whole_file(path):
    rng = random.Random(1)
    for _ in range(6):
        flambeau.save({"x": flambeau.full((200_000,), 1.0)}, path)
        child = subprocess.Popen([sys.executable, "-c", _SAVER, str(path)],
                                 stdout=subprocess.PIPE)
        with child:
            child.stdout.readline()
            time.sleep(rng.uniform(0, 0.01))
            child.send_signal(signal.SIGKILL)
        x = flambeau.load(path)["x"]
        assert x.shape == (200_000,)
        assert set(x.tolist()) in ({1.0}, {2.0})


def test_a_save_that_fails_half_way_leaves_the_old_file(path, monkeypatch):
    flambeau.save(1, path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        flambeau.save(2, path)
    monkeypatch.undo()
    assert flambeau.load(path) == 1
    assert os.listdir(path.parent) == [path.name]


def test_loading_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        flambeau.load(tmp_path / "absent")


# ---- the safetensors package


def test_the_safetensors_package_reads_and_writes_the_same(path):
    package = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    arrays = {d: make((3, 4), d) for d in ("bool", "uint8", "int64", "float16", "float32")}
    flambeau.save({k: tensor(a) for k, a in arrays.items()}, path)
    for name, array in package.load_file(path).items():
        assert array.dtype == arrays[name].dtype
        assert (array == arrays[name]).all()
    package.save_file(arrays, path)
    for name, x in flambeau.load(path).items():
        assert (x.numpy() == arrays[name]).all()


# ---- memory


def test_views_are_stored_once_and_share_memory_again(path):
    x = flambeau.arange(3000).view(3, 1000)
    tied = {"t": x.t(), "x": x, "row": x[1], "other": x + 1}
    flambeau.save(tied, path)
    assert path.stat().st_size < 2 * x.nbytes + 2000
    tree = flambeau.load(path)
    assert _plain(tree) == _plain(tied)
    tree["x"][1, 0] = -1
    assert tree["row"][0].item() == tree["t"][0, 1].item() == -1


def test_parts_that_overlap_are_stored_once(path):
    x = flambeau.arange(2000)
    parts = {"a": x[:1000], "b": x[500:1500], "c": x[1600:]}
    flambeau.save(parts, path)
    assert path.stat().st_size < 1900 * 8 + 2000
    tree = flambeau.load(path)
    assert _plain(tree) == _plain(parts)
    tree["a"][500] = -1
    assert tree["b"][0].item() == -1


def test_keys_with_dots_do_not_collide(path):
    tree = {"a": {"b": flambeau.zeros(1)}, "a.b": flambeau.ones(1), "a.b'": flambeau.ones(2)}
    flambeau.save(tree, path)
    assert _plain(flambeau.load(path)) == _plain(tree)


_PEAK = """
import gc, sys, flambeau


def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024


flambeau.load(sys.argv[2])
open("/proc/self/clear_refs", "w").write("5")
before = peak()
tree = flambeau.load(sys.argv[1], mmap=sys.argv[3] == "mmap")
loaded = peak() - before
total = sum(x.sum().item() for x in tree.values())
print(loaded, peak() - before, total)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
@pytest.mark.parametrize("kind", ("mmap", "read"))
def test_loading_needs_little_more_memory_than_the_file(tmp_path, kind):
    big, small = tmp_path / "big", tmp_path / "small"
    flambeau.save({f"x{i}": flambeau.ones(4_000_000) for i in range(8)}, big)
    flambeau.save({"x": flambeau.ones(4)}, small)
    out = subprocess.run([sys.executable, "-c", _PEAK, str(big), str(small), kind], check=True,
                         capture_output=True, text=True).stdout
    loaded, used, total = map(float, out.split())
    assert total == 32_000_000
    assert used < 1.05 * big.stat().st_size
    assert loaded < (0.05 if kind == "mmap" else 1.05) * big.stat().st_size


def test_map_location_may_be_a_function_or_a_dict(tmp_path):
    path = tmp_path / "a.safetensors"
    flambeau.save({"x": flambeau.tensor([1.0, 2.0])}, path)
    seen = []

    def index(storage, location):
        seen.append(location)
        return storage

    assert flambeau.load(path, map_location=index)["x"].tolist() == [1.0, 2.0]
    assert seen == ["cpu"]
    moved = flambeau.load(path, map_location=lambda storage, location: storage.to("meta"))
    assert moved["x"].is_meta
    assert flambeau.load(path, map_location={"cuda:0": "cpu"})["x"].is_cpu
    assert flambeau.load(path, map_location={"cpu": "meta"})["x"].is_meta


def test_plain_values_of_checkpoints_come_back(tmp_path):
    path = tmp_path / "plain.safetensors"
    state = {"loss": 1.5 - 2j, "raw": b"\x00\xff", "shape": flambeau.Size([2, 0]),
             "dtype": flambeau.bfloat16, "device": flambeau.device("cpu"), "best": (1, "a", None)}
    flambeau.save(state, path)
    back = flambeau.load(path)
    assert back == state
    assert [type(value) for value in back.values()] == [type(v) for v in state.values()]


def test_numbers_of_numpy_are_numbers(tmp_path):
    path = tmp_path / "numbers.safetensors"
    flambeau.save([numpy.int64(3), numpy.float32(0.5), numpy.float64(-0.0)], path)
    assert str(flambeau.load(path)) == "[3, 0.5, -0.0]"


@pytest.mark.parametrize("node", [
    '{"b":"xy"}', '{"c":["1"]}', '{"c":["z","0x0"]}', '{"y":"float9"}', '{"e":"nowhere"}',
    '{"z":["a"]}', '{"z":3}', '{"b":3}'])
def test_damaged_plain_values_are_named(tmp_path, node):
    path = tmp_path / "damaged.safetensors"
    with open(path, "wb") as file:
        write_tensors(file, {"x": flambeau.ones(1)}, {"format": "flambeau", "flambeau.tree": node})
    with pytest.raises(FileError):
        flambeau.load(path)


def test_the_number_of_an_open_file_is_no_path(tmp_path):
    with open(tmp_path / "other", "wb") as file:
        with pytest.raises(TypeError, match="not int"):
            flambeau.load(file.fileno())
        file.write(b"still open")


def test_ordered_dicts_and_gradients_stay(path):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.ones(2).requires_grad_()
    state = OrderedDict([("b", x), ("a", flambeau.zeros(3)), ("tied", x), (7, x.detach())])
    state._metadata = {"": {"version": 2}}
    flambeau.save({"model": state, "computed": x * 2}, path)
    tree = flambeau.load(path)
    model = tree["model"]
    assert type(model) is OrderedDict
    assert list(model) == ["b", "a", "tied", 7]
    assert model._metadata == {"": {"version": 2}}
    assert [model[name].requires_grad for name in model] == [True, False, True, False]
    assert model["b"] is model["tied"]
    assert model["b"].data_ptr() == model[7].data_ptr()
    assert tree["computed"].requires_grad
    assert tree["computed"].is_leaf
    assert type(tree) is dict


@pytest.mark.parametrize("node", ({"p": [{"v": 1}, True]}, {"p": [{"t": "x"}, "yes"]}, {"p": 3},
                                  {"p": [{"t": "x"}]}, {"p": [{"t": "x"}, True, True]},
                                  {"r": {"v": None}}, {"o": [1, 2]}, {"o": [[["a"]], {"v": None}]}))
def test_damaged_parameters_are_refused(path, node):
    with open(path, "wb") as file:
        write_tensors(file, {"x": flambeau.ones(2)}, {"flambeau.tree": json.dumps(node)})
    with pytest.raises(FileError, match="damaged"):
        flambeau.load(path)


def test_a_file_of_an_older_version(path):
    """Before ordered dicts and parameters had kinds of their own, they were dicts and tensors."""
    tree = {"d": [["w", {"t": "w"}], ["n", {"d": [["step", {"v": 3}]]}]]}
    with open(path, "wb") as file:
        write_tensors(file, {"w": flambeau.ones(2)}, {"flambeau.tree": json.dumps(tree)})
    loaded = flambeau.load(path)
    assert type(loaded) is dict
    assert loaded["w"].tolist() == [1.0, 1.0]
    assert loaded["n"] == {"step": 3}
