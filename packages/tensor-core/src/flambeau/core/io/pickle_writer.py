"""A writer of pickles (protocol 2) that PyTorch's restricted reader understands.

Python's own pickler insists on importing what it names, and here names are PyTorch's. Every
object that is met again is a reference to the first, so that identity and cycles are kept.
"""
from __future__ import annotations

import struct
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import flambeau.core.io.objects as objects

if TYPE_CHECKING:
    from collections.abc import Callable


class Global(NamedTuple):
    """A class or function by the name that the reader looks up."""

    module: str
    name: str


class Call(NamedTuple):
    """The result of a call that the reader makes, and the state it gets."""

    function: Global
    arguments: tuple[Any, ...]
    state: Any = None


class Outside(NamedTuple):
    """An object that lies outside the pickle, by its identity."""

    identity: tuple[Any, ...]


class PickleWriter:
    """Writes one object.

    Args:
        replace: Gives what stands for an object that is no container, number or string: a
            ``Global``, a ``Call``, an ``Outside``, or an object that this writer knows; None for
            what should be written as an object of its class.
        global_of: Gives the ``Global`` of a class or function, from its name.
    """

    def __init__(self, replace: Callable[[Any, str], Any],
                 global_of: Callable[[str], Global]) -> None:
        self.replace = replace
        self.global_of = global_of
        self.out = bytearray(b"\x80\x02")
        self.memo: dict[int, tuple[int, Any]] = {}

    @classmethod
    def plain(cls, obj: Any) -> bytes:
        """The pickle of containers, numbers and strings."""
        return cls(lambda obj, path: None, lambda name: Global("", name)).write(obj)

    def write(self, obj: Any) -> bytes:
        """The pickle of ``obj``."""
        self._put(obj, "")
        return bytes(self.out) + b"."

    def _put(self, obj: Any, path: str) -> None:
        if id(obj) in self.memo:
            self._number(self.memo[id(obj)][0], b"h", b"j")
        elif (put := _WRITERS.get(type(obj))) is not None:
            put(self, obj, path)
        else:
            self._other(obj, path)

    def _remember(self, obj: Any) -> None:
        number = len(self.memo)
        self.memo[id(obj)] = number, obj
        self._number(number, b"q", b"r")

    def _number(self, number: int, short: bytes, long: bytes) -> None:
        if number < 256:
            self.out += short + bytes([number])
        else:
            self.out += long + struct.pack("<I", number)

    # ---- numbers and strings

    def _constant(self, obj: Any, path: str) -> None:
        self.out += {None: b"N", True: b"\x88", False: b"\x89"}[obj]

    def _int(self, obj: int, path: str) -> None:
        if 0 <= obj < 256:
            self.out += b"K" + bytes([obj])
        elif -2**31 <= obj < 2**31:
            self.out += b"J" + struct.pack("<i", obj)
        else:
            raw = obj.to_bytes(obj.bit_length() // 8 + 1, "little", signed=True)
            short = len(raw) < 256
            self.out += b"\x8a" + bytes([len(raw)]) if short else b"\x8b" + \
                struct.pack("<I", len(raw))
            self.out += raw

    def _float(self, obj: float, path: str) -> None:
        self.out += b"G" + struct.pack(">d", obj)

    def _string(self, obj: str, path: str) -> None:
        raw = obj.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(raw)) + raw
        self._remember(obj)

    def _complex(self, obj: complex, path: str) -> None:
        self._call(Call(Global("__builtin__", "complex"), (obj.real, obj.imag)), path)

    def _bytes(self, obj: bytes, path: str) -> None:
        """As protocols before 3 do: a string, whose characters are the bytes."""
        self._call(Call(Global("_codecs", "encode"), (obj.decode("latin-1"), "latin1")), path)
        self._remember(obj)

    def _bytearray(self, obj: bytearray, path: str) -> None:
        self._call(Call(Global("__builtin__", "bytearray"),
                        (obj.decode("latin-1"), "latin-1")), path)
        self._remember(obj)

    # ---- containers

    def _list(self, obj: list[Any], path: str) -> None:
        self.out += b"]"
        self._remember(obj)
        self._append(obj, path)

    def _append(self, items: list[Any], path: str) -> None:
        if items:
            self.out += b"("
            for i, item in enumerate(items):
                self._put(item, objects.join(path, i))
            self.out += b"e"

    def _tuple(self, obj: tuple[Any, ...], path: str) -> None:
        if not obj:
            self.out += b")"
            return
        self.out += b"("
        for i, item in enumerate(obj):
            self._put(item, objects.join(path, i))
        self.out += b"t"
        self._remember(obj)

    def _set(self, obj: Any, path: str) -> None:
        self._call(Call(Global("__builtin__", type(obj).__name__), (list(obj),)), path)
        self._remember(obj)

    def _dict(self, obj: dict[Any, Any], path: str) -> None:
        self.out += b"}"
        self._remember(obj)
        self._set_items(list(obj.items()), path)

    def _ordered(self, obj: Any, path: str) -> None:
        self._global(Global("collections", "OrderedDict"), path)
        self.out += b")R"
        self._remember(obj)
        self._set_items(list(obj.items()), path)
        if vars(obj):
            self._put(dict(vars(obj)), path)
            self.out += b"b"

    def _set_items(self, items: list[tuple[Any, Any]], path: str) -> None:
        if items:
            self.out += b"("
            for key, value in items:
                self._put(key, path)
                self._put(value, objects.join(path, key))
            self.out += b"u"

    # ---- names, calls, objects

    def _global(self, obj: Global, path: str) -> None:
        self.out += f"c{obj.module}\n{obj.name}\n".encode()

    def _call(self, obj: Call, path: str) -> None:
        self._global(obj.function, path)
        self._put(obj.arguments, path)
        self.out += b"R"
        if obj.state is not None:
            self._put(obj.state, path)
            self.out += b"b"

    def _outside(self, obj: Outside, path: str) -> None:
        self._put(obj.identity, path)
        self.out += b"Q"

    def _other(self, obj: Any, path: str) -> None:
        replaced = self.replace(obj, path)
        if replaced is not None:
            self._put(replaced, path)
            self._remember(obj)
        elif (name := objects.name_of(obj)) is not None:
            self._global(self.global_of(name), path)
        else:
            self._object(obj, path)

    def _object(self, obj: Any, path: str) -> None:
        parts = objects.parts_of(obj, path)
        self._put(parts["class"], path)
        self._put(tuple(parts["args"] or ()), path)
        self.out += b"R" if parts.get("call") else b"\x81"
        self._remember(obj)
        self._append(parts["list"] or [], path)
        self._set_items(parts["items"], path)
        if parts["state"] is not None:
            self._put(parts["state"], path)
            self.out += b"b"


_WRITERS: dict[type, Callable[[PickleWriter, Any, str], None]] = {
    type(None): PickleWriter._constant, bool: PickleWriter._constant, int: PickleWriter._int,
    float: PickleWriter._float, str: PickleWriter._string, complex: PickleWriter._complex,
    bytes: PickleWriter._bytes, bytearray: PickleWriter._bytearray, list: PickleWriter._list,
    tuple: PickleWriter._tuple, set: PickleWriter._set, frozenset: PickleWriter._set,
    dict: PickleWriter._dict, OrderedDict: PickleWriter._ordered,
    Global: PickleWriter._global, Call: PickleWriter._call, Outside: PickleWriter._outside,
}
