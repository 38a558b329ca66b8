"""An interpreter of pickled data that executes nothing of it.

A pickle is a program for a small stack machine, and Python's own machine calls whatever function
the program names. This one knows the instructions that build containers, numbers and strings;
what it finds by name comes from a table that its caller gives, and for other names, objects and
calls it asks for permission. It keeps its own stack, and so does not recurse.
"""
from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from flambeau.core.io.errors import FileError, fail
from flambeau.core.io.objects import member
from flambeau.core.io.permission import Permission
from flambeau.core.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable

_MARK = object()
_MAX_BYTES = 1 << 28
_FIRST_BYTES = 1 << 16          # that are read of a file before the length of its pickle is known
_MAX_INTEGER_BYTES = 4096
_MOST_COPIED = 8                # elements for each byte of the program
_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque)


class Named:
    """Something the program found by name: to be called, or to stand for itself."""

    def __init__(self, name: str, build=None) -> None:
        self.name = name
        self.build = build


class Refused:
    """Something that programs may name but that is not built, and what to write instead."""

    def __init__(self, text: str) -> None:
        self.text = text


class Setting(NamedTuple):
    """What a program may name, and what happens to what it names.

    Attributes:
        names: What stands for names, by "module.name".
        permission: What is asked for other names, for objects of classes and for calls.
        persistent: Called with the identity of an object that is stored outside the pickle.
        attach: Called with an object and the state that the program gives it.
    """

    names: dict[str, Any]
    permission: Permission
    persistent: Callable[[Any], object]
    attach: Callable[[Any, Any], None]


def run(program: bytes, setting: Setting) -> object:
    """The object that ``program`` builds."""
    if len(program) > _MAX_BYTES:
        fail(f"a pickle of {len(program)} bytes; {_MAX_BYTES} are the limit")
    return run_from(Source(memoryview(program)), 0, setting)[0]


def run_from(source: Source, start: int, setting: Setting) -> tuple[Any, int]:
    """The object that a program builds which begins at ``start``, and where the program ends.

    What lies behind the program is not read, but for some bytes: it may be gigabytes of elements.
    """
    machine = _Machine(source, start, setting)
    try:
        return machine.run(), start + machine.at
    except (IndexError, struct.error):
        fail(f"the pickle is damaged or cut off at byte {start + machine.at}")
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError,
            RuntimeError) as error:
        _pass_on(error, start + machine.at)


def _pass_on(error: Exception, at: int) -> NoReturn:
    if isinstance(error, FileError):
        raise error
    fail(f"the pickle is damaged at byte {at} ({error})")


class _Machine:
    """Program, stack and memory. An instruction is a function in ``_INSTRUCTIONS``."""

    def __init__(self, source: Source, start: int, setting: Setting) -> None:
        self.source = source
        self.start = start
        self.program = b""                    # the bytes from ``start`` on that have been read
        self.at = 0
        self.stack: list = []
        self.memo: dict[int, object] = {}
        self.setting = setting
        self.room = _MOST_COPIED * min(source.size - start, _MAX_BYTES) + 4096

    def run(self):
        while True:
            if self.at == len(self.program):
                self.read_to(self.at + 1)
            code = self.program[self.at]
            self.at += 1
            if code == 0x2E:                  # stop
                return self.pop()
            step = _INSTRUCTIONS.get(code)
            if step is None:
                fail(f"instruction {bytes([code])!r} at byte {self.at - 1} of the pickle is not "
                     "one that data needs; the file is damaged or holds more than data")
            step(self)

    def read_to(self, end: int) -> None:
        """Read on, at least up to ``end``; twice as much each time, so that all is read twice."""
        there = self.source.size - self.start
        if end > there:
            raise IndexError
        if end > _MAX_BYTES:
            fail(f"a pickle of more than {_MAX_BYTES} bytes, which are the limit")
        size = min(max(end, 2 * len(self.program), _FIRST_BYTES), there, _MAX_BYTES)
        self.program = bytes(self.source.part(self.start, self.start + size))

    def take(self, size: int) -> bytes:
        if size < 0:
            raise IndexError
        if self.at + size > len(self.program):
            self.read_to(self.at + size)
        piece = self.program[self.at:self.at + size]
        self.at += size
        return piece

    def number(self, form: str) -> int:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        while (end := self.program.find(b"\n", self.at)) < 0:
            self.read_to(len(self.program) + 1)
        return self.take(end + 1 - self.at)[:-1].decode()

    def pop(self):
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value should be")
        return value

    def count_copied(self, values) -> None:
        """Count what a call may copy: a program may name the same container again and again."""
        for value in values:
            self.room -= len(value) if isinstance(value, _SIZED) else 1
        if self.room < 0:
            fail("the pickle copies more than it holds; the file is damaged or made to harm")

    def push(self, value) -> None:
        self.stack.append(value)

    def since_mark(self) -> list:
        """Pop everything down to the last mark."""
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is _MARK:
                items = self.stack[position + 1:]
                del self.stack[position:]
                return items
        raise IndexError

    def top(self, kind):
        value = self.stack[-1]
        if not isinstance(value, kind):
            raise TypeError(f"{type(value).__name__} where {kind} should be")
        return value


# ---- instructions --------------------------------------------------------------


def _proto(m):
    version = m.take(1)[0]
    if not 2 <= version <= 5:
        fail(f"a pickle of protocol {version}; protocols 2 to 5 are read")


def _find(m, module: str, name: str) -> None:
    full = f"{module}.{name}"
    found = m.setting.names[full] if full in m.setting.names else m.setting.permission.find(full)
    if isinstance(found, Refused):
        fail(found.text)
    m.push(found)


def _stack_global(m):
    name, module = m.pop(), m.pop()
    if type(name) is not str or type(module) is not str:
        raise TypeError("a name that is not a string")
    _find(m, module, name)


def _call(m):
    args, found = m.pop(), m.pop()
    if type(args) is not tuple:
        raise TypeError("a call without arguments")
    m.count_copied(args)
    if not isinstance(found, Named):
        m.push(m.setting.permission.call(found, args))
        return
    if found.build is None:
        fail(f"the file calls {found.name!r}, which is not a function here")
    m.push(found.build(*args))


def _new_object(m):
    args, found = m.pop(), m.pop()
    if isinstance(found, Named):
        m.stack += [found, args]
        _call(m)
    else:
        m.push(m.setting.permission.blank(found, args))


def _build(m):
    state = m.pop()
    m.count_copied(state if type(state) is tuple else (state,))
    m.setting.attach(m.top(object), state)


def _append(m):
    value = m.pop()
    m.top((list, deque)).append(value)


def _appends(m):
    items = m.since_mark()
    m.top((list, deque)).extend(items)


def _set_item(m):
    value, key = m.pop(), m.pop()
    m.top(dict)[member(key)] = value


def _set_items(m):
    items = m.since_mark()
    target = m.top(dict)
    _fill(target, items)


def _fill(target: dict, items: list) -> dict:
    if len(items) % 2:
        raise IndexError
    for position in range(0, len(items), 2):
        target[member(items[position])] = items[position + 1]
    return target


def _add_items(m):
    items = m.since_mark()
    m.top(set).update([member(item) for item in items])


def _tuple_of(count: int):
    def make(m):
        items = [m.pop() for _ in range(count)]
        m.push(tuple(items[::-1]))

    return make


def _pop(m):
    m.stack.pop()


def _dup(m):
    m.push(m.top(object))


def _text(form: str):
    def read(m):
        m.push(m.take(m.number(form)).decode("utf-8", "surrogatepass"))

    return read


def _old_text(form: str):
    def read(m):
        raw, encoding = m.take(m.number(form)), m.setting.permission.encoding
        m.push(bytes(raw) if encoding == "bytes" else raw.decode(encoding))

    return read


def _bytes(form: str):
    return lambda m: m.push(m.take(m.number(form)))


def _long(form: str):
    def read(m):
        size = m.number(form)
        if size > _MAX_INTEGER_BYTES:
            fail(f"an integer of {size} bytes in the pickle; {_MAX_INTEGER_BYTES} are the limit")
        m.push(int.from_bytes(m.take(size), "little", signed=True))

    return read


def _number(form: str):
    return lambda m: m.push(m.number(form))


def _get(form: str):
    return lambda m: m.push(m.memo[m.number(form)])


def _remember(m, position: int) -> None:
    m.memo[position] = m.top(object)


def _put(form: str):
    return lambda m: _remember(m, m.number(form))


_INSTRUCTIONS = {ord(code): step for code, step in {
    "\x80": _proto, "\x95": lambda m: m.take(8), "(": lambda m: m.stack.append(_MARK),
    "0": _pop, "1": lambda m: m.since_mark(), "2": _dup,
    "N": lambda m: m.push(None), "\x88": lambda m: m.push(True), "\x89": lambda m: m.push(False),
    "J": _number("<i"), "K": _number("<B"), "M": _number("<H"), "G": _number(">d"),
    "\x8a": _long("<B"), "\x8b": _long("<I"),
    "X": _text("<I"), "\x8c": _text("<B"), "\x8d": _text("<Q"),
    "T": _old_text("<I"), "U": _old_text("<B"),
    "B": _bytes("<I"), "C": _bytes("<B"), "\x8e": _bytes("<Q"),
    "\x96": lambda m: m.push(bytearray(m.take(m.number("<Q")))),
    "]": lambda m: m.push([]), "}": lambda m: m.push({}), ")": lambda m: m.push(()),
    "\x8f": lambda m: m.push(set()),
    "a": _append, "e": _appends, "s": _set_item, "u": _set_items, "\x90": _add_items,
    "l": lambda m: m.push(m.since_mark()), "t": lambda m: m.push(tuple(m.since_mark())),
    "d": lambda m: m.push(_fill({}, m.since_mark())),
    "\x91": lambda m: m.push(frozenset([member(item) for item in m.since_mark()])),
    "\x85": _tuple_of(1), "\x86": _tuple_of(2), "\x87": _tuple_of(3),
    "q": _put("<B"), "r": _put("<I"), "\x94": lambda m: _remember(m, len(m.memo)),
    "h": _get("<B"), "j": _get("<I"),
    "c": lambda m: _find(m, m.line(), m.line()), "\x93": _stack_global,
    "R": _call, "\x81": _new_object, "b": _build,
    "Q": lambda m: m.push(m.setting.persistent(m.pop())),
}.items()}
