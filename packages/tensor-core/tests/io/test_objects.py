"""Objects in files: sets, arrays, classes by name; what is permitted and what never is."""

from __future__ import annotations

import argparse
import datetime
import io
import os
import pickle
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from checkpoint_files import Call, Name, archive, code

import flambeau
from flambeau import serialization
from flambeau.core.io import FileError

FORMATS = pytest.mark.parametrize("format", ("flambeau", "torch"))
Point = namedtuple("Point", "x y")


class Color(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 3


@dataclass(frozen=True)
class Frozen:
    a: int


@dataclass
class Options:
    rate: float
    shape: tuple[int, ...] = (1, 2)
    weights: list[object] = field(default_factory=list)


class Slots:
    __slots__ = ("a", "b")


class Stateful:
    def __init__(self, x):
        raise AssertionError("loading calls no __init__")

    def __getstate__(self):
        return {"kept": self.x}

    def __setstate__(self, state):
        self.x = state["kept"]


class Custom(dict):
    pass


@pytest.fixture(autouse=True)
def _permitted_again():
    before = serialization.get_safe_globals()
    yield
    serialization.clear_safe_globals()
    serialization.add_safe_globals(before)


def again(obj, format, **options):
    file = io.BytesIO()
    flambeau.save(obj, file, format=format)
    file.seek(0)
    return flambeau.load(file, **options)


@FORMATS
def test_data_needs_no_permission(format):
    tree = {"s": {1, "a"}, "f": frozenset([(1, 2)]), "d": defaultdict(list, a=[1]),
            "q": deque([1, 2], 5), "c": Counter("aab"), "b": bytearray(b"ab"), "z": 1 + 2j,
            "o": OrderedDict(b=1, a=2), "n": float("nan"), "e": [], "t": (), "u": "é\ud800",
            "i": slice(1, None, 2)}
    loaded = again(tree, format)
    assert str(loaded) == str(tree)
    assert [type(x) for x in loaded.values()] == [type(x) for x in tree.values()]
    assert loaded["d"]["missing"] == [] and loaded["q"].maxlen == 5


@FORMATS
@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3), np.array(3, "i2"), np.zeros((0, 4), "f4"), np.array([True]),
    np.arange(6, dtype="u8").reshape(2, 3).T, np.array([1 + 2j]), np.float16([1, np.inf])])
def test_arrays_come_back_as_arrays(format, array):
    loaded = again({"a": array, "b": array}, format)
    assert isinstance(loaded["a"], np.ndarray) and loaded["a"] is loaded["b"]
    assert (loaded["a"].dtype, loaded["a"].shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(loaded["a"], array)


def test_arrays_that_cannot_be_kept():
    for format in ("flambeau", "torch"):
        with pytest.raises(TypeError, match="cannot store ndarray at a"):
            again({"a": np.array([object()])}, format)
    assert again({"a": np.array(["ab"])}, "torch")["a"].tolist() == ["ab"]
    with pytest.raises(TypeError, match="its elements are <U2"):
        again({"a": np.array(["ab"])}, "flambeau")


def _objects():
    slots, stateful = Slots(), Stateful.__new__(Stateful)
    slots.a, stateful.x = 1, flambeau.ones(2)
    return {"frozen": Frozen(3), "options": Options(0.1, weights=[flambeau.ones(1)]),
            "space": SimpleNamespace(a=1), "names": argparse.Namespace(b=[2]), "color": Color.RED,
            "level": Level.LOW, "point": Point(1, 2), "slots": slots, "stateful": stateful,
            "custom": Custom(a=1), "when": datetime.datetime(2026, 1, 2), "class": Options,
            "operator": flambeau.relu}


@FORMATS
@pytest.mark.parametrize("name", list(_objects()))
def test_objects_need_permission(format, name):
    obj = _objects()[name]
    if name == "operator" and format == "torch":
        pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    kind = type(obj) if name not in ("class", "operator") else obj
    with pytest.raises(pickle.UnpicklingError, match="was not permitted.*add_safe_globals"):
        again(obj, format)
    for options in ({"weights_only": False}, {}):
        if not options:
            serialization.add_safe_globals([kind])
        loaded = again([obj, obj], format, **options)
        assert loaded[0] is loaded[1]
        _check_same(loaded[0], obj)


def _check_same(loaded, obj):
    assert type(loaded) is type(obj)
    if isinstance(obj, Slots):
        assert loaded.a == 1 and not hasattr(loaded, "b")
    elif isinstance(obj, Stateful):
        assert loaded.x.tolist() == [1, 1]
    else:
        assert repr(loaded) == repr(obj)


@FORMATS
def test_objects_that_refer_to_each_other(format):
    first, second = SimpleNamespace(), SimpleNamespace()
    first.other, second.other = second, first
    loaded = again(first, format, weights_only=False)
    assert loaded.other.other is loaded and loaded.other is not loaded


@FORMATS
def test_functions_with_some_arguments(format):
    nested = partial(partial(flambeau.add, flambeau.ones(2)), alpha=2)
    nested.note = "kept"
    saved = {"sum": partial(flambeau.sum, dim=0), "add": nested, "class": partial(Frozen, a=3)}
    with pytest.raises(FileError, match="asks for 'functools.partial'.*not permitted"):
        again(saved, format)
    found = again(saved, format, weights_only=False)
    assert found["sum"](flambeau.ones(2, 3)).tolist() == [2, 2, 2]
    assert found["add"](flambeau.ones(2)).tolist() == [3, 3] and found["add"].note == "kept"
    assert found["class"]() == Frozen(3)
    own = partial(again, format=format)
    with pytest.raises(FileError, match="neither a class nor a function of this library"):
        again(own, format, weights_only=False)
    with serialization.safe_globals([partial, again]):
        assert again(own, format)(5) == 5


@FORMATS
def test_what_no_file_can_name(format):
    class Local:
        pass

    for bad, text in ((lambda: 0, "lambda"), (Local, "inside a function"), (Local(), "inside"),
                      (object(), "neither a class"), (iter([]), "made by a call of iter"),
                      (sys, "module")):
        with pytest.raises(TypeError, match=text):
            again({"a": bad}, format)


def test_permission_for_a_block():
    with serialization.safe_globals([SimpleNamespace, (Frozen, "other.Name")]):
        assert again(SimpleNamespace(a=1), None).a == 1
        renamed = Call(Name("other", "Name"), 5)
        assert flambeau.load(io.BytesIO(archive(renamed))) == Frozen(5)
        assert SimpleNamespace in serialization.get_safe_globals()
    with pytest.raises(FileError, match="not permitted"):
        again(SimpleNamespace(a=1), None)
    with pytest.raises(TypeError, match="takes classes and functions"):
        serialization.add_safe_globals(["os.system"])


# ---- what is never done --------------------------------------------------------


def _new(name, *args, state=None):
    """An object by NEWOBJ, as classes are pickled."""
    built = b"" if state is None else code(state) + b"b"
    return b"\x80\2" + name.code + code(args) + b"\x81" + built + b"."


HOSTILE = {
    "function": Call(Name("os", "system"), "touch {}"),
    "class of the library": Call(Name("subprocess", "Popen"), ["touch", "{}"]),
    "eval": Call(Name("builtins", "eval"), "open({!r}, 'w')"),
    "getattr": Call(Name("builtins", "getattr"), "a", "upper"),
    "other name": Call(Name("posix", "system"), "touch {}"),
    "through a module": Call(Name("flambeau.serialization", "sys.modules.get"), "os"),
    "module": Name("flambeau.serialization", "sys"),
    "partial": Call(Name("functools", "partial"), 1),
    "partial of a function": Call(Name("functools", "partial"), Name("flambeau", "load")),
    "partial of the standard library": Call(Name("functools", "partial"), Name("os", "system")),
    "metaclass": Call(Name("builtins", "type"), "X", (), {}),
    "factory": Call(Name("collections", "defaultdict"), Name("os", "getcwd")),
    "own function": Call(Name("flambeau", "load"), "x"),
    "constructor": Call(Name(Stateful.__module__, "Stateful"), 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_executed_even_when_everything_is_permitted(name, tmp_path):
    target = str(tmp_path / "touched")
    hostile = archive(_with_path(HOSTILE[name], target))
    for weights_only in (True, False):
        with pytest.raises(FileError):
            flambeau.load(io.BytesIO(hostile), weights_only=weights_only)
        assert not os.path.exists(target)


def _with_path(value, target):
    if isinstance(value, Call):
        return Call(value.name, *(_with_path(x, target) for x in value.args))
    if isinstance(value, list):
        return [_with_path(x, target) for x in value]
    return value.replace("{}", target).replace("{!r}", repr(target)) \
        if isinstance(value, str) else value


@pytest.mark.parametrize("program", [
    _new(Name("functools", "partial"), Name("flambeau", "load")),
    _new(Name("functools", "partial"), Name("flambeau", "abs"),
         state=(Name("flambeau", "load"), (), {}, None)),
    code(Call(Name("functools", "partial"), Name("flambeau", "abs"),
              state=(Name("builtins", "list"), (), {}, None))) + b".",
    _new(Name("builtins", "type"), "X", (), {}), _new(Name("subprocess", "Popen")),
    code(Call(Name("builtins", "set"), [1], state={"a": 1})) + b".",
    code(Call(Name(Color.__module__, "Color"), 1, state={"_value_": 2})) + b".",
    code(Call(Name("collections", "deque"), [1], state={"a": 1})) + b".",
    Name(Options.__module__, "Options").code + code({"rate": 1}) + b"b.",
])
def test_state_of_what_is_shared_or_has_none(program):
    program = program if program[:1] == b"\x80" else b"\x80\2" + program
    with pytest.raises(FileError):
        flambeau.load(io.BytesIO(archive(program)), weights_only=False)
    assert Color.RED.value == 1 and not hasattr(Options, "rate")


@pytest.mark.parametrize("state", [
    (1, (2,), "f8", False, b"1234567"), (1, (-1,), None, False, b""), (1, (1 << 62, 4), "f8"),
    (1, (2,), "O", False, [1, 2]), {"a": 1}, (1, 3, "f8", False, bytes(24))])
def test_damaged_arrays(state):
    if isinstance(state, tuple) and isinstance(state[2], str):
        state = (*state[:2], Call(Name("numpy", "dtype"), state[2], False, True), *state[3:])
    array = Call(Name("numpy._core.multiarray", "_reconstruct"), Name("numpy", "ndarray"), (0,),
                 b"b", state=state)
    with pytest.raises(FileError):
        flambeau.load(io.BytesIO(archive(array)))


def test_a_file_cannot_import_what_writes():
    """Classes of modules that are not imported yet are found; the standard library's are not."""
    program = ("import io, sys, flambeau\nsys.path.insert(0, sys.argv[1])\n"
               "print(flambeau.load(sys.argv[2], weights_only=False).a)")
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "their_module.py"), "w") as file:
            file.write("class Thing:\n    pass\n")
        path = os.path.join(folder, "x.pt")
        with open(path, "wb") as file:
            file.write(archive(_new(Name("their_module", "Thing"), state={"a": 7})))
        run = subprocess.run([sys.executable, "-c", program, folder, path], capture_output=True,
                             text=True, check=True)
    assert run.stdout == "7\n"


@pytest.mark.parametrize("word", ["1", "true", "0", ""])
def test_the_environment_permits_where_the_program_says_nothing(word, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", word)
    if word in ("1", "true"):
        assert isinstance(again(Slots(), "torch"), Slots)
    else:
        with pytest.raises(pickle.UnpicklingError, match="was not permitted"):
            again(Slots(), "torch")
    with pytest.raises(pickle.UnpicklingError, match="was not permitted"):
        again(Slots(), "torch", weights_only=True)
