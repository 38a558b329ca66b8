"""Damaged and hostile program files, by seed."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import zipfile
from typing import Any

NAMES = ("version.json", "graph.json", "weights.safetensors")
#: What may stand anywhere in JSON; nothing so large that a run would take memory.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 300, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "N", "mul", "float32", "int64", "bool", "cpu", "meta", "cuda:0",
    "os.system", "__class__", "\x00", "\ud800", "x" * 300, [], {}, [[]], [1, 2], [None],
    {"value": 0},
    {"value": -1}, {"value": 10**9}, {"value": "0"}, {"value": None}, {"float": "nan"},
    {"float": "one"}, {"float": []}, {"complex": [1, 2]}, {"complex": [1]}, {"complex": "ab"},
    {"complex": [{"complex": [1, 2]}, 3]}, {"dtype": "float99"}, {"dtype": "float64"},
    {"dtype": {}}, {"device": "nowhere"}, {"device": "cpu:99"}, {"slot": 0, "kind": "float"},
    {"slot": 5, "kind": "x"}, {"terms": {"N": 1}, "offset": 0, "form": "int"},
    {"terms": {"N": 10**30}, "offset": -5, "form": "int"},
    {"terms": {"M": 1}, "offset": 0, "form": "reciprocal"}, {"terms": {}, "offset": 0, "form": "x"},
    {"terms": {"N": 0}, "offset": 0, "form": "reciprocal"}, {"terms": [], "offset": 0},
    {"tensor": 0}, {"tensor": -1}, {"tensor": True}, {"list": [{"tensor": 0}]}, {"is": {"a": 1}},
    {"named": [["max", "values", "indices"], {"tensor": 0}, {"tensor": 0}]},
    {"named": [["A", "a);import os"], {"tensor": 0}]}, {"named": [[]]}, {"size": [{"tensor": 0}]},
)


def places(data: Any) -> list[tuple[Any, ...]]:
    """The path of everything in JSON data."""
    found: list[tuple[Any, ...]] = [()]
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(data, ())]
    while waiting:
        part, path = waiting.pop()
        for key in _keys(part):
            found.append((*path, key))
            waiting.append((part[key], (*path, key)))
    return found


def _keys(part: Any) -> Any:
    if isinstance(part, dict):
        return part
    return range(len(part)) if isinstance(part, list) else ()


def mutate_json(draw: random.Random, data: Any, operators: list[str]) -> Any:
    """The data with one to three changes."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        data = _change(draw, data, operators)
    return data


def _change(draw: random.Random, data: Any, operators: list[str]) -> Any:
    path = draw.choice(places(data))
    if not path:
        return copy.deepcopy(draw.choice(VALUES)) if draw.random() < 0.1 else data
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    key, kind = path[-1], draw.randrange(10)
    old = parent[key]
    if operators and (key == "op" or kind == 0 and isinstance(old, str)):
        parent[key] = draw.choice(operators)
    elif kind == 1:
        del parent[key]
    elif kind == 2:
        parent[key] = _nested(draw, old)
    elif kind == 3 and isinstance(old, int):
        parent[key] = old + draw.choice((-1, 1, 1000))
    elif kind == 4 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(old))
    elif kind == 5 and isinstance(parent, list):
        draw.shuffle(parent)
    elif kind == 6 and isinstance(parent, dict):
        parent[draw.choice(("value", "body", "into", "history", "place", "more", key + "2"))] = \
            copy.deepcopy(draw.choice((*VALUES, old)))
    elif kind == 7:
        other = draw.choice(places(data))
        value = data
        for step in other:
            value = value[step]
        parent[key] = copy.deepcopy(value)
    else:
        parent[key] = copy.deepcopy(draw.choice(VALUES))
    return data


def _nested(draw: random.Random, value: Any) -> Any:
    for _ in range(draw.choice((1, 5, 200))):
        value = draw.choice(([value], {"list": [value]}, {"body": value}))
    return value


def mutate(content: bytes, seed: int, operators: list[str]) -> bytes:
    """The file with changes."""
    draw = random.Random(seed)
    kind = draw.randrange(12)
    if kind == 0:
        return _flip(draw, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in NAMES}
    if kind == 1:
        parts["weights.safetensors"] = _change_weights(draw, parts["weights.safetensors"])
    elif kind == 2:
        name = draw.choice(NAMES)
        parts[name] = _flip(draw, parts[name])
    elif kind == 3:
        parts["version.json"] = _text(mutate_json(draw, json.loads(parts["version.json"]), []))
    elif kind == 4:
        parts["graph.json"] = _twice(draw, parts["graph.json"])
    else:
        data = mutate_json(draw, json.loads(parts["graph.json"]), operators)
        parts["graph.json"] = _text(data)
    return _zip(draw, parts)


def _text(data: Any) -> bytes:
    return json.dumps(data).encode("utf-8", "surrogatepass")


def _flip(draw: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(draw.choice((1, 2, 8))):
        if damaged:
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    if draw.random() < 0.3:
        del damaged[draw.randrange(len(damaged) + 1):]
    return bytes(damaged)


def _twice(draw: random.Random, text: bytes) -> bytes:
    """A key that stands twice, text that is not UTF-8, or brackets without end."""
    key = draw.choice((b'"nodes"', b'"op"', b'"shape"', b'"inputs"', b'"symbols"'))
    return draw.choice((
        text.replace(key, key + b": [], " + key, 1), text.replace(b'"', b"\xff", 1),
        b"[" * draw.choice((10, 10**5)), b'{"graph":' * 10**4, text + text, text[:-1],
        text.replace(b"1", b"1" * 5000, 1)))


def _change_weights(draw: random.Random, content: bytes) -> bytes:
    """Another header before the same numbers."""
    size = struct.unpack("<Q", content[:8])[0]
    header, rest = json.loads(content[8:8 + size]), content[8 + size:]
    text = _text(mutate_json(draw, header, ["F32", "BF16", "I64", "F8_E4M3"]))
    length = draw.choice((len(text), len(text), len(text), 0, 2**63, 2**32, len(text) + 1))
    return struct.pack("<Q", length) + text + rest


def _zip(draw: random.Random, parts: dict[str, bytes]) -> bytes:
    memory = io.BytesIO()
    deflate = draw.random() < 0.02
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED if deflate else 0) as archive:
        for name, content in parts.items():
            if draw.random() < 0.01:
                continue
            archive.writestr(name if draw.random() > 0.01 else "../" + name, content)
    return memory.getvalue()
