"""Expression nodes: immutable, and shared whenever two are equal.

An ``Expr`` is an operation name, its arguments and, for leaves, a value. Nodes are interned, so
equal expressions are the same object: comparing with ``is`` is comparing structure, and every
pass may key its results by node. Python operators build nodes, so that the prelude and the
derivative rules read as mathematics; ``==`` stays identity (use ``eq`` to compare values).
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping

LEAVES = ("const", "param", "scalar")

_interned: weakref.WeakValueDictionary[tuple[object, ...], Expr] = weakref.WeakValueDictionary()


class Expr:
    """One node: ``op`` applied to ``args``; leaves carry ``value`` instead of arguments."""

    __slots__ = ("__weakref__", "args", "op", "value")

    op: str
    args: tuple[Expr, ...]
    value: object

    def __new__(cls, op: str, args: tuple[Expr, ...] = (), value: object = None) -> Expr:
        key = (op, tuple(map(id, args)), _value_key(value))
        node = _interned.get(key)
        if node is None:
            node = object.__new__(cls)
            object.__setattr__(node, "op", op)
            object.__setattr__(node, "args", args)
            object.__setattr__(node, "value", value)
            _interned[key] = node
        return node

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Expr is immutable: cannot set {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return Expr, (self.op, self.args, self.value)

    def __repr__(self) -> str:
        if self.op in LEAVES:
            return str(self.value)
        name = self.op if self.value is None else f"{self.op}[{self.value}]"
        return f"{name}({', '.join(map(repr, self.args))})"

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value; use select(condition, a, b)")

    def __add__(self, other: Operand) -> Expr:
        return call("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return call("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return call("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return call("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return call("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return call("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return call("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return call("div", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return call("floordiv", self, other)

    def __mod__(self, other: Operand) -> Expr:
        return call("mod", self, other)

    def __pow__(self, other: Operand) -> Expr:
        return call("pow", self, other)

    def __neg__(self) -> Expr:
        return call("neg", self)

    def __invert__(self) -> Expr:
        return call("not", self)

    def __and__(self, other: Operand) -> Expr:
        return call("and", self, other)

    def __rand__(self, other: Operand) -> Expr:
        return call("and", other, self)

    def __or__(self, other: Operand) -> Expr:
        return call("or", self, other)

    def __ror__(self, other: Operand) -> Expr:
        return call("or", other, self)

    def __xor__(self, other: Operand) -> Expr:
        return call("xor", self, other)

    def __rxor__(self, other: Operand) -> Expr:
        return call("xor", other, self)

    def __lshift__(self, other: Operand) -> Expr:
        return call("shl", self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return call("shr", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return call("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return call("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return call("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return call("ge", self, other)


Operand = Expr | int | float | bool


def const(value: float | int | bool) -> Expr:
    """A literal; it takes the type of what it meets."""
    return Expr("const", (), value)


def param(name: str) -> Expr:
    """A tensor operand."""
    return Expr("param", (), name)


def scalar(name: str) -> Expr:
    """A run-time scalar: the same value for every element of one call."""
    return Expr("scalar", (), name)


def wrap(value: Operand) -> Expr:
    """The expression itself, or the literal for a Python number."""
    return value if isinstance(value, Expr) else const(value)


def call(op: str, *args: Operand) -> Expr:
    """Apply an operation or a prelude function by name."""
    return Expr(op, tuple(map(wrap, args)))


def extern(name: str, *args: Operand) -> Expr:
    """Call one of the functions listed in ``primitives.EXTERNS``."""
    return Expr("extern", tuple(map(wrap, args)), name)


def is_const(node: Expr, value: float | None = None) -> bool:
    """Whether a node is a literal, and equal to ``value`` if that is given."""
    return node.op == "const" and (value is None or node.value == value)


def postorder(roots: Iterable[Expr], done: Mapping[Expr, object] = {}) -> Iterator[Expr]:
    """Every node below ``roots``, arguments first, each once; stops at nodes in ``done``."""
    seen: set[Expr] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
            continue
        if node in seen or node in done:
            continue
        seen.add(node)
        stack.append((node, True))
        stack.extend((arg, False) for arg in reversed(node.args))


def rewrite(root: Expr, rule: Callable[[Expr, tuple[Expr, ...]], Expr]) -> Expr:
    """Rebuild bottom-up: ``rule(node, new_args)`` gives the replacement of each node."""
    new: dict[Expr, Expr] = {}
    for node in postorder([root]):
        new[node] = rule(node, tuple(new[arg] for arg in node.args))
    return new[root]


def substitute(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Replace nodes (usually params) by expressions."""

    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr:
        if node in values:
            return values[node]
        return node if args == node.args else Expr(node.op, args, node.value)

    return rewrite(root, rule)


def _value_key(value: object) -> object:
    """Keep 1, 1.0 and True apart, and 0.0 from -0.0; let NaN equal itself."""
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    return type(value), value
