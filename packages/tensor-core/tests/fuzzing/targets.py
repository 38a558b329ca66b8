"""What is fuzzed: functions of bytes, which raise when something is wrong.

Bytes that stand for a tensor and an index, for an einsum or for a file. Exceptions that tell the
caller what is wrong with the input are right; everything else is a finding.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from enum import Enum
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kit"))

import checkpoint_files
import hostile
import numpy as np
import test_properties as properties

import flambeau
from flambeau.core.io.errors import FileError

REFUSED = (ValueError, RuntimeError, IndexError, TypeError, NotImplementedError, OverflowError,
           EOFError, KeyError, OSError, zipfile.BadZipFile)
MOST_SECONDS = 10


# ---- indices: the property tests, with Hypothesis reading its choices from the bytes -----------
def reading(data: bytes) -> None:
    properties.test_reading_by_index.hypothesis.fuzz_one_input(data)


def writing(data: bytes) -> None:
    properties.test_writing_by_index.hypothesis.fuzz_one_input(data)


# ---- einsum ------------------------------------------------------------------------------------
SYMBOLS = "abcdijAZ,,->. 1é"


def einsum(data: bytes) -> None:
    """An equation of any symbols, for operands of any shapes; where NumPy knows it, as NumPy."""
    if len(data) < 6:
        return
    count, rest = data[0] % 4, data[5:]
    equation = "".join(SYMBOLS[b % len(SYMBOLS)] if b < 240 else chr(b) for b in rest[:24])
    shapes = [tuple(1 + (byte >> shift & 1) * 2 for shift in range(byte >> 5 & 3))
              for byte in data[1:1 + count]]
    arrays = [np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape) for shape in shapes]
    try:
        expected = np.einsum(equation, *arrays)
    except (ValueError, TypeError, IndexError):
        expected = None
    try:
        found = flambeau.einsum(equation, *map(flambeau.tensor, arrays))
    except REFUSED:
        return
    if expected is not None:
        np.testing.assert_allclose(found.numpy(), expected, 1e-12)


# ---- files -------------------------------------------------------------------------------------
def _zipped(name: str, data: bytes, others: dict[str, bytes]) -> bytes:
    """The bytes as one member of an archive that is otherwise well formed."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(name, data)
        for other, content in others.items():
            archive.writestr(other, content)
    return target.getvalue()


#: How files of PyTorch before version 1.6 begin: a mark, a version, facts about a machine.
OLD = (b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." b"\x80\2M\xe9\3." b"\x80\2}.")
_OLD_STORAGE = struct.pack("<q16f", 16, *range(16))

#: What the first byte chooses: the name of the file, and what is put around the bytes.
FORMS = [
    ("x.safetensors", lambda data: data),
    ("x.safetensors", lambda data: struct.pack("<Q", len(data)) + data + bytes(64)),
    ("x.npy", lambda data: data),
    ("x.npy", lambda data: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + bytes(64)),
    ("x.npz", lambda data: data),
    ("x.npz", lambda data: _zipped("a.npy", data, {})),
    ("x.pt", lambda data: data),
    ("x.pt", lambda data: _zipped("x/data.pkl", data, {"x/data/0": bytes(64), "x/version": b"3"})),
    ("x.pt", lambda data: OLD + data),
    ("x.pt", lambda data: OLD + data + b"\x80\2](X\1\0\0\0" + b"0e." + _OLD_STORAGE),
]
_FOLDER = tempfile.mkdtemp(prefix="flambeau-fuzz-")


def files(data: bytes) -> None:
    """A file of these bytes is read, or refused."""
    if not data:
        return
    name, wrap = FORMS[data[0] % len(FORMS)]
    path = os.path.join(_FOLDER, name)
    with open(path, "wb") as file:
        file.write(wrap(data[1:]))
    for mmap in (False, True):
        try:
            loaded = flambeau.load(path, mmap=mmap, weights_only=not mmap)
        except REFUSED:
            continue
        _touch(loaded)



def harmful(data: bytes) -> None:
    """A file that is built to harm is refused with advice, or read, in bounded time."""
    raw = hostile.made(data)
    started = time.process_time()
    for weights_only in (True, False):
        try:
            loaded = flambeau.load(io.BytesIO(raw), weights_only=weights_only)
        except FileError as error:
            if not str(error).startswith("load(): ") or len(str(error)) < 20:
                raise AssertionError(f"a text that helps nobody: {error}") from error
            continue
        _touch(loaded)
    if (used := time.process_time() - started) > MOST_SECONDS:
        raise AssertionError(f"{used} s for a file of {len(raw)} bytes")


def _touch(value, depth: int = 0) -> None:
    """Read every element, so that memory beyond the file is noticed."""
    if isinstance(value, flambeau.Tensor):
        if value.numel() <= 1 << 20:
            repr(value)
            value.clone()
    elif isinstance(value, dict) and depth < 20:
        for item in list(value.values()):
            _touch(item, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < 20:
        for item in value:
            _touch(item, depth + 1)


TARGETS = {"reading": reading, "writing": writing, "einsum": einsum, "files": files,
           "harmful": harmful}


# ---- where to begin ----------------------------------------------------------------------------
def seeds(target: str) -> list[bytes]:
    """Inputs that are right, or nearly."""
    if target == "files":
        return _files()
    if target == "harmful":
        return [bytes([i]) for i in range(64)]
    if target == "einsum":
        texts = ["ab,bc->ac", "a...,b...->ab...", "aa->a", "ab->ba", ",->", "abc,cd,d"]
        return [bytes([text.count(",") + 1, 64, 64, 64, 0])
                + bytes(SYMBOLS.index(c) for c in text) for text in texts]
    return [bytes(range(n)) for n in (8, 40, 200)]


def _npy(array: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.save(target, array)
    return target.getvalue()


def _saved(value) -> bytes:
    path = os.path.join(_FOLDER, "seed.safetensors")
    flambeau.save(value, path)
    return Path(path).read_bytes()


def _files() -> list[bytes]:
    arrays = [np.arange(6.0).reshape(2, 3), np.zeros((0, 2), ">i4"), np.asfortranarray([[1, 2]]),
              np.array(True), np.array([1 + 2j])]
    x = flambeau.arange(6.0).view(2, 3)
    tensors = [{"a": x, "b": [x.t(), 3, None]}, {"bf": x.bfloat16(), "n": flambeau.zeros(0)}, x,
               {"s": {1, 2}, "n": arrays[0], "d": defaultdict(list, a=[x]), "e": Color.RED}]
    made = []
    for raw in map(_saved, tensors):
        size = struct.unpack("<Q", raw[:8])[0]
        made += [b"\x00" + raw, b"\x01" + raw[8:8 + size]]
    for raw in map(_npy, arrays):
        size = struct.unpack("<H", raw[8:10])[0]
        made += [b"\x02" + raw, b"\x03" + raw[10:10 + size], b"\x05" + raw]
    target = io.BytesIO()
    np.savez(target, a=arrays[0], b=arrays[1])
    made.append(b"\x04" + target.getvalue())
    for value in _checkpoints():
        pickle = b"\x80\x02" + checkpoint_files.code(value) + b"."
        made += [b"\x07" + pickle,
                 b"\x06" + _zipped("x/data.pkl", pickle, {"x/data/0": bytes(64)})]
    old = ("storage", checkpoint_files.Name("torch", "FloatStorage"), "0", "cpu", 16, None)
    storage = b"\x80\2" + checkpoint_files.code(old) + b"Q."
    return [*made, b"\x09" + storage, b"\x08" + storage]


class Color(Enum):
    """A class whose members files may name."""

    RED = 1


def _checkpoints() -> list:
    stored = checkpoint_files.Stored("Float", "0", 16)
    rebuild = checkpoint_files.Name("torch._utils", "_rebuild_tensor_v2")
    order = checkpoint_files.Name("collections", "OrderedDict")
    hooks = checkpoint_files.Call(order)
    tensor = checkpoint_files.Call(rebuild, stored, 2, (2, 3), (3, 1), False, hooks)
    view = checkpoint_files.Call(rebuild, stored, 0, (4,), (4,), False, hooks)
    return [tensor, (tensor, view, 1, 2.5, None), checkpoint_files.Call(order)]
