"""Checkpoints of PyTorch as bytes, assembled without PyTorch: a zip archive around a pickle."""

from __future__ import annotations

import io
import struct
import zipfile


class Name:
    """A function or class that the pickle asks for."""

    def __init__(self, module, name):
        self.code = b"c" + f"{module}\n{name}\n".encode()


class Call:
    """A call that the pickle makes; ``state`` becomes attributes of the result."""

    def __init__(self, name, *args, state=None):
        self.name, self.args, self.state = name, args, state


class Stored:
    """A storage outside the pickle."""

    def __init__(self, kind, key, count):
        self.identity = ("storage", Name("torch", f"{kind}Storage"), key, "cpu", count)


def code(value) -> bytes:
    """The instructions that push ``value``."""
    if isinstance(value, Name):
        return value.code
    if isinstance(value, Stored):
        return code(value.identity) + b"Q"
    if isinstance(value, Call):
        built = b"" if value.state is None else code(value.state) + b"b"
        return code(value.name) + code(value.args) + b"R" + built
    if value is None or value is True or value is False:
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return b"\x8a" + bytes([len(raw)]) + raw
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return b"B" + struct.pack("<I", len(value)) + value
    if isinstance(value, tuple):
        return b"(" + b"".join(map(code, value)) + b"t"
    if isinstance(value, list):
        return b"](" + b"".join(map(code, value)) + b"e"
    return b"}(" + b"".join(code(k) + code(v) for k, v in value.items()) + b"u"


def program(value) -> bytes:
    """A whole pickle of protocol 2."""
    return b"\x80\2" + code(value) + b"."


def tensor(storage, offset, size, stride, requires_grad=False, hooks=None, *more):
    """A tensor as ``torch.save`` writes it."""
    hooks = Call(Name("collections", "OrderedDict")) if hooks is None else hooks
    return Call(Name("torch._utils", "_rebuild_tensor_v2"), storage, offset, size, stride,
                requires_grad, hooks, *more)


def archive(pickle, storages=(), order=b"little", folder="archive/", method=0, **more) -> bytes:
    """The file: its pickle (bytes or an object), storages by key, members by name."""
    members = {"data.pkl": pickle if isinstance(pickle, bytes) else program(pickle)}
    if order is not None:
        members["byteorder"] = order
    members |= {f"data/{key}": raw for key, raw in dict(storages).items()} | more
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, raw in members.items():
            file.writestr(folder + name, raw)
    return out.getvalue()
