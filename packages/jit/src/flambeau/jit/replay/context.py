"""The methods that rewritten functions call: see ``rewrite.py`` for where they stand."""

from __future__ import annotations

import builtins
import itertools
import operator
from functools import partial
from types import CellType, FunctionType, GeneratorType
from typing import Any, NoReturn

from . import trust
from .numbers import Slot

_BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
           "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
           "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
           ">>": operator.rshift}
_IN_PLACE = {sign: getattr(operator, "i" + fn.__name__.strip("_").removesuffix("_"))
             for sign, fn in _BINARY.items()}
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
            "==": operator.eq, "!=": operator.ne}
_UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
ITERATORS: tuple[type, ...] = (
    zip, enumerate, reversed, map, GeneratorType, type(iter([])), type(iter(())),
    type(iter(range(0))), type(iter({})), type(iter({}.values())), type(iter({}.items())),
    type(reversed([])), filter, itertools.chain, itertools.product, itertools.zip_longest, *_VIEWS)
#: Those that make a tuple for each item.
PAIRING: tuple[type, ...] = (zip, enumerate, itertools.product, itertools.zip_longest,
                             type({}.items()))


def _ask_for_empty(cell: CellType, name: str) -> NoReturn:
    """Raise what Python raises where a variable of an outer function has no value."""
    code = (lambda: cell).__code__.replace(co_freevars=(name,))
    raise AssertionError(FunctionType(code, {}, closure=(CellType(),))())


class Context:
    """One function in a recorded call.

    Args:
        calls: the call (calls.py).
        fn: the original function.
    """

    __slots__ = ("calls", "cells", "names", "reads")

    def __init__(self, calls: Any, fn: FunctionType) -> None:
        self.calls = calls
        self.reads = calls.reads
        self.names = fn.__globals__
        self.cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    # ---- names -----------------------------------------------------------------------------
    def g(self, name: str) -> Any:
        """A global name."""
        if name in self.names:
            return self.reads.item(self.names, name)
        self.reads.guard("item", self.names, name)
        own = self.names.get("__builtins__", builtins)
        names = own if isinstance(own, dict) else own.__dict__
        if name not in names:
            raise NameError(f"name {name!r} is not defined", name=name)
        return self.reads.item(names, name)

    def f(self, name: str) -> Any:
        """A variable of an outer function."""
        cell = self.cells[name]
        try:
            return self.reads.cell(cell)
        except ValueError:
            _ask_for_empty(cell, name)

    def gs(self, name: str, value: Any) -> None:
        """A global name that the function says it writes to."""
        self.reads.write([Slot(self.names, name)], value,
                         partial(operator.setitem, self.names, name))

    def fs(self, name: str, value: Any) -> None:
        """A variable of an outer function that it writes to."""
        cell = self.cells[name]
        self.reads.write([Slot(cell)], value, partial(setattr, cell, "cell_contents"))

    def a(self, obj: Any, name: str) -> Any:
        """An attribute."""
        return self.calls.attribute(obj, name)

    def su(self, cls: type, first: Any) -> Any:
        """``super()``."""
        self.reads.in_class(type(first), "__init__")
        return super(cls, first)

    # ---- items -----------------------------------------------------------------------------
    @staticmethod
    def sl(*parts: Any) -> slice:
        """A slice."""
        return slice(*parts)

    def s(self, obj: Any, key: Any) -> Any:
        """``obj[key]``."""
        return self.calls.subscript(obj, key)

    def sa(self, obj: Any, name: str, value: Any) -> None:
        """``obj.name = value``."""
        self.calls.set_attribute(obj, name, value)

    def si(self, obj: Any, key: Any, value: Any) -> None:
        """``obj[key] = value``."""
        self.calls.set_item(obj, key, value)

    # ---- operators -------------------------------------------------------------------------
    def b(self, sign: str, left: Any, right: Any) -> Any:
        """A binary operator."""
        return self.calls.operate(_BINARY[sign], left, right)

    def ip(self, sign: str, left: Any, right: Any) -> Any:
        """An operator of an augmented assignment."""
        if type(left) in (list, dict, set) and not self.reads.is_inside(left):
            self.reads.refuse(f"a {type(left).__name__} that was there before is changed")
        return self.calls.operate(_IN_PLACE[sign], left, right)

    def un(self, sign: str, value: Any) -> Any:
        """A unary operator."""
        return self.calls.operate(_UNARY[sign], value)

    def k(self, sign: str, left: Any, right: Any) -> Any:
        """A comparison."""
        if sign in ("is", "is not"):
            return self._identity(sign, left, right)
        if sign in ("in", "not in"):
            found = self.calls.contains(right, left)
            return found if sign == "in" else not found
        return self.calls.operate(_COMPARE[sign], left, right)

    def kc(self, signs: tuple[str, ...], left: Any, *others: Any) -> Any:
        """A chain of comparisons; what stands behind the first sign is computed when it is due."""
        for sign, make in zip(signs, others, strict=True):
            right = make()
            result = self.k(sign, left, right)
            if make is others[-1] or not self.t(result):
                break
            left = right
        return result

    def _identity(self, sign: str, left: Any, right: Any) -> bool:
        simple = (bool, type(None), type(...), type(NotImplemented))
        for each in (left, right):
            if isinstance(each, (int, float, str, tuple, bytes)) and not isinstance(each, bool):
                other = right if each is left else left
                if not isinstance(other, simple):
                    self.reads.refuse(f"'is' compares a {type(each).__name__}")
        return (left is right) == (sign == "is")

    def t(self, value: Any) -> Any:
        """A value whose truth is asked for."""
        return self.calls.tested(value)

    def fm(self, value: Any) -> Any:
        """A value that is formatted."""
        self.calls.decide(value)
        if not trust.is_value(value) and not isinstance(value, type) \
                and not trust.is_constant(value):
            self.reads.refuse(f"an object of class {type(value).__name__} is formatted")
        return value

    # ---- containers ------------------------------------------------------------------------
    def n(self, obj: Any) -> Any:
        """A container that was just made."""
        for each in obj if type(obj) in (dict, set) else ():
            self.calls.key(each)
        return self.reads.made(obj)

    def it(self, obj: Any) -> Any:
        """What is iterated over."""
        return self.calls.iterated(obj)

    def iu(self, obj: Any) -> Any:
        """The same where each item is taken apart."""
        for each in self.calls.iterated(obj):
            yield self.u(each)

    def u(self, obj: Any) -> Any:
        """What is taken apart."""
        if type(obj) in (tuple, list):
            self.reads.whole(obj)
            for each in obj:
                if type(each) in (tuple, list):
                    self.u(each)
            return obj
        return self.calls.iterated(obj)

    def mp(self, obj: Any) -> Any:
        """What stands behind two stars."""
        if not trust.is_dict(obj):
            self.reads.refuse(f"** of an object of class {type(obj).__name__}")
            return obj
        return self.reads.whole(obj)

    def cm(self, obj: Any) -> Any:
        """What ``with`` enters."""
        if not trust.is_mode(obj):
            self.reads.refuse(f"'with' enters an object of class {type(obj).__name__}")
        return obj

    def tb(self) -> int:
        """A ``try`` statement begins: the kernels that ran before."""
        self.calls.tries += 1
        return int(self.reads.recording.count)

    def te(self, before: int) -> None:
        """It ends. A replay must not raise in it, for no handler and no ``finally`` would run."""
        self.calls.tries -= 1
        if not self.reads.is_refused:
            may_fail = [name for name, *_, is_formula in self.reads.recording.runs()[before:]
                        if not is_formula]
            if may_fail:
                self.calls.refuse(f"{may_fail[0]} may fail in a 'try' statement")

    def ex(self) -> None:
        """Something was raised, and is handled."""
        self.calls.refuse("an exception is handled")

    # ---- calls -----------------------------------------------------------------------------
    def m(self, obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """``obj.name(...)``."""
        return self.calls.method(obj, name, args, kwargs)

    def c(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """``fn(...)``."""
        return self.calls.call(fn, args, kwargs)

