"""Calls, attributes and operators of a recorded call: what is followed, and what ends the hope."""

from __future__ import annotations

import math
import operator
import sys
from abc import get_cache_token
from collections.abc import Callable
from functools import partial, reduce
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

from . import decorated, making, modules, trust
from .attributes import CONTAINERS, Attributes
from .context import ITERATORS, PAIRING, Context
from .numbers import MISSING
from .reads import Reads
from .rewrite import TELLING, telling_code

_READERS = {"get", "keys", "values", "items", "copy", "index", "count", "issubset", "union",
            "intersection", "difference", "isdisjoint", "issuperset"}
#: Methods of containers that compare what is in them, those whose first argument is a key or an
#: index, and those that put in what they are given.
_COMPARING = ("index", "count", "remove", "sort")
_BY_KEY = ("get", "pop", "setdefault", "insert")
_STORING = ("append", "insert", "setdefault", "get", "pop", "clear", "keys", "values", "items")
_PURE = frozenset({
    len, isinstance, issubclass, range, zip, enumerate, min, max, sum, abs, round, int, float,
    bool, str, tuple, list, dict, set, frozenset, sorted, reversed, any, all, type, slice, divmod,
    pow, callable, complex, repr, bytes, object, next, iter,
    *(getattr(math, name) for name in dir(math) if not name.startswith("_")
      and callable(getattr(math, name))),
    *(getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "neg", "matmul",
                                           "floordiv", "mod", "pow")),
})


_ABOUT_CLASSES = (isinstance, issubclass, type, callable)
#: Those that iterate over an argument and look at each item, or only pass it on.
_LOOKING = (sorted, sum, min, max, any, all, set, frozenset)
_PASSING = (zip, enumerate, list, tuple, reversed, iter)
#: Those that make an object which can be changed; what is in it may be of outside.
_MAKING = (zip, enumerate, list, dict, sorted, reversed, set, iter)


class Calls(Attributes):
    """What the rewritten functions of one recorded call ask for.

    Args:
        reads: the guards.
        step: makes a call that is made anew at every replay.
        strict: see ``Recorder``.
    """

    def __init__(self, reads: Reads, step: Callable[[Any, Any, tuple[Any, ...]], None],
                 strict: bool = False) -> None:
        self.strict = strict
        self.reads = reads
        self.step = step
        self.source_lines: list[tuple[int, str, int]] = []    # kernels before, file, line
        self.trees: dict[int, bool] = {}
        #: By address: those of an earlier recording, and those that this one uses.
        self.known_trees: dict[int, modules.Tree] = {}
        self.found_trees: dict[int, modules.Tree] = {}
        self.tries = 0          # 'try' statements that are open
        self.uses_own_code = False      # Flambeau's functions, which read their modules' names

    # ---- helpers -----------------------------------------------------------------------------
    def refuse(self, why: str) -> None:
        """There will be no replay."""
        if not self.reads.is_refused:
            file, line = here()
            self.reads.refuse(f"{file}:{line}: {why}" if file else why)

    def native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call what reads nothing but its arguments."""
        if not self.reads.is_refused:
            self.uses_own_code |= not trust.is_native(fn)
            self.source_lines.append((self.reads.recording.count, *here()))
            for each in (*args, *kwargs.values()):
                self.argument(each, fn)
        return self.reads.made_deep(fn(*args, **kwargs))

    def argument(self, obj: Any, fn: Any) -> None:
        """What is handed to code that is not followed must be data."""
        if trust.is_tensor(obj):
            if not trust.is_plain_tensor(obj):
                self.refuse(f"a tensor of class {type(obj).__name__} takes part")
            return
        self.decide(obj)
        if type(obj) in (tuple, list) or trust.is_dict(obj):
            self.reads.whole(obj)
            for each in obj.values() if trust.is_dict(obj) else obj:
                self.argument(each, fn)
        elif type(obj) in (set, *ITERATORS):
            if not self.reads.is_inside(obj):
                self.refuse(f"a {type(obj).__name__} of outside is used up")
        elif type(obj) in (slice, frozenset):
            for each in obj if type(obj) is frozenset else (obj.start, obj.stop, obj.step):
                self.argument(each, fn)
        elif not trust.is_value(obj) and not isinstance(obj, type) and not trust.is_constant(obj) \
                and not trust.is_plain_member(obj):
            name = getattr(fn, "__name__", str(fn))
            self.refuse(f"{name}() is handed an object of class {type(obj).__name__}")

    # ---- operators -------------------------------------------------------------------------------
    def operate(self, fn: Any, *operands: Any) -> Any:
        """An operator over data."""
        if self.reads.is_refused:
            return fn(*operands)
        if any(id(each) in self.reads.numbers for each in operands):
            result = self.computed(fn, operands)
            if result is not MISSING:
                return result
        return self.native(fn, operands, {})

    def tested(self, value: Any) -> Any:
        """A value whose truth is asked for."""
        if id(value) in self.reads.numbers:
            self.answer(self.reads.numbers[id(value)][1], bool(value), bool)
            return value
        if trust.is_value(value) or self.reads.is_refused:
            return value
        if trust.is_tensor(value):
            self.refuse("bool() looks at values")
            return value
        if type(value) in CONTAINERS or trust.is_dict(value):
            return self.reads.whole(value)
        cls = type(value)
        if self.reads.in_class(cls, "__bool__") is not MISSING or \
                self.reads.in_class(cls, "__len__") is not MISSING:
            self.refuse(f"the truth of an object of class {cls.__name__} is asked for")
        return value

    def iterated(self, obj: Any, fn: Any = None) -> Any:
        """What is iterated over."""
        if self.reads.is_refused or trust.is_tensor(obj):
            return self.reads.made(list(obj)) if trust.is_tensor(obj) else obj
        if type(obj) is list or trust.is_dict(obj) or trust.is_sequence(obj):
            return self.reads.whole(obj)
        if isinstance(obj, ITERATORS) or type(obj) is set:
            if not self.reads.is_inside(obj):
                self.refuse(f"a {type(obj).__name__} of outside is used up")
            if isinstance(obj, PAIRING) and fn is not reversed:
                pairs: Any = obj
                return (self.reads.made(each) for each in pairs)
            return obj
        if trust.is_module(obj):
            return modules.members(self, obj)
        self.refuse(f"an object of class {type(obj).__name__} is iterated over")
        return obj

    # ---- calls -----------------------------------------------------------------------------------
    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``fn(...)``."""
        if self.reads.is_refused:
            return fn(*args, **kwargs)
        fn = trust.uncovered(fn)
        if fn in _PURE if isinstance(fn, (type, BuiltinMethodType, type(len))) else False:
            return self.pure(fn, args, kwargs)
        if fn is getattr or fn is hasattr:
            return self.by_name(fn, args)
        if trust.is_trusted(fn):
            if trust.looks_at_grads(fn):
                self.reads.use_grads()
            self.reads.goes_back |= trust.goes_back(fn)
            return self.native(fn, args, kwargs)
        if isinstance(fn, MethodType):
            return self.call(fn.__func__, (fn.__self__, *args), kwargs)
        if decorated.is_decorated(fn):
            return decorated.call(self, fn, args, kwargs)
        if isinstance(fn, FunctionType):
            return self.follow(fn, args, kwargs)
        if fn is reduce and not kwargs:
            return making.reduced(self, *args)
        if trust.is_ufunc(fn) and not kwargs and all(map(trust.is_value, args)):
            for each in args:
                self.argument(each, fn)
            return fn(*args)
        if type(fn) is partial:
            if self.strict and not self.reads.is_inside(fn):
                self.refuse("a partial is called, which __setstate__ may change")
            self.reads.whole(fn.keywords)
            for each in (fn.func, fn.args):
                self.reads.read(each)
            self.reads.whole(fn.args)
            return self.call(fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
        if isinstance(fn, trust.COMPILED):
            return self.call(fn.fn, args, kwargs)
        if isinstance(fn, type):
            return making.construct(self, fn, args, kwargs)
        if trust.is_module(fn):
            return modules.call(self, fn, args, kwargs)
        own = self.reads.in_class(type(fn), "__call__")
        if isinstance(own, FunctionType):
            return self.follow(own, (fn, *args), kwargs)
        name = getattr(fn, "__qualname__", None) or type(fn).__name__
        self.refuse(f"{name}() is not followed")
        return fn(*args, **kwargs)

    def pure(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A builtin function, which reads its arguments, what is in them, or neither."""
        if fn in _ABOUT_CLASSES and args:
            return self.about_class(fn, args, kwargs)
        if fn in (len, reversed) and args and trust.is_module(args[0]):
            return modules.by_protocol(self, fn, args[0])
        if fn is reversed and args and trust.is_tensor(args[0]):
            return self.native(fn, args, kwargs)
        if args and trust.is_tensor(args[0]) and (
                fn is float and args[0].is_floating_point()
                or fn is int and trust.is_integral(args[0])):
            return self.number(args[0])
        if fn is len and (type(args[0]) in (list, tuple) or trust.is_dict(args[0])):
            return len(self.reads.whole(args[0]))
        if kwargs.get("key") is not None or fn in (next, iter) and len(args) > 1 \
                and callable(args[0]):
            self.refuse(f"{fn.__name__}() calls a function")
        if fn is type:
            self.refuse("a class is made")
        if fn in _PASSING or fn in _LOOKING:
            given = len(args) if fn is zip else 0 if fn in (min, max) and len(args) > 1 else 1
            look = self.each_argument if fn in _LOOKING else self.iterated
            args = (*(look(each, fn) for each in args[:given]), *args[given:])
        else:
            given = 0
        for each in (*args[given:], *(kwargs.values() if fn is not dict else ())):
            self.argument(each, fn)
        result = fn(*args, **kwargs)
        is_new = fn in _MAKING or fn is tuple and not (args and type(args[0]) is tuple)
        return self.reads.made(result) if is_new else result

    def about_class(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``isinstance(...)`` and the like."""
        cls = args[0] if fn is issubclass else type(args[0])
        if fn is type and len(args) > 1 or len(args) > 1 and not trust.asks_plainly(args[1]):
            self.refuse(f"{fn.__name__}() asks a class that has rules of its own")
        if fn is not issubclass and not self.reads.is_inside(args[0]):
            self.reads.guard("type", args[0], MISSING, cls)
        self.reads.guard("class", cls)
        if len(args) > 1 and trust.asks_registry(args[1]):
            self.reads.guard("answer", get_cache_token, MISSING, get_cache_token())
        return fn(*args, **kwargs)

    def each_argument(self, obj: Any, fn: Any) -> Any:
        """What is iterated over by code that looks at each item."""
        for each in self.iterated(obj):
            self.argument(each, fn)
            yield each

    def by_name(self, fn: Any, args: tuple[Any, ...]) -> Any:
        try:
            value = self.attribute(args[0], args[1])
        except AttributeError:
            if fn is hasattr:
                return False
            if len(args) > 2:
                return args[2]
            raise
        return True if fn is hasattr else value

    def follow(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of Python, watching what it reads."""
        if fn.__code__ in TELLING:
            return self.reads.begun(fn(*args, **kwargs))
        code = telling_code(fn)
        if isinstance(code, str):
            self.refuse(code)
            return fn(*args, **kwargs)
        closure = tuple(CellType(Context(self, fn)) for _ in code.co_freevars)
        self.reads.function(fn)
        telling = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        telling.__kwdefaults__, telling.__qualname__ = fn.__kwdefaults__, fn.__qualname__
        return self.reads.begun(telling(*args, **kwargs))

    def method(self, obj: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``obj.name(...)``."""
        if self.reads.is_refused:
            return getattr(obj, name)(*args, **kwargs)
        if trust.is_tensor(obj):
            return self.tensor_method(obj, name, args, kwargs)
        if type(obj) in (list, set, tuple, str, bytes) or trust.is_dict(obj):
            return self.container_method(obj, name, args, kwargs)
        if trust.steps(obj, name):
            if trust.is_plain_clearing(name, args, kwargs):
                args, kwargs = (), {}
            if self.tries:
                self.refuse(f"{name}() may fail in a 'try' statement")
            return self.step(obj, name, args) if not kwargs else self.unstepped(obj, name, kwargs)
        if trust.is_module(obj) and modules.lists(obj, name) and not (args or kwargs):
            return modules.listed(self, obj, name)
        if trust.is_module(obj) and trust.is_plain_clearing(name, args, kwargs) \
                and trust.is_own_method(obj, name):
            return modules.clear_grads(self, obj)
        return self.call(self.attribute(obj, name), args, kwargs)

    def unstepped(self, obj: Any, name: str, kwargs: dict[str, Any]) -> Any:
        self.refuse(f"{type(obj).__name__}.{name}() is given arguments by name")
        return getattr(obj, name)(**kwargs)

    def tensor_method(self, obj: Any, name: str, args: tuple[Any, ...],
                      kwargs: dict[str, Any]) -> Any:
        if name in obj.__dict__:
            self.refuse(f"{name} is an attribute of one tensor alone")
            return getattr(obj, name)(*args, **kwargs)
        outside = id(obj) in self.reads.tensors or id(obj) in self.reads.sources
        if name == "requires_grad_" and outside:
            self.refuse("requires_grad_() of a tensor of outside")
        elif name in ("tolist", "numpy"):
            self.refuse(f"{name}() looks at values")
        elif not trust.is_tensor_method(name):
            self.refuse(f"Tensor.{name}() is not followed")
        if name == "item":
            return self.number(obj)
        result = self.native(getattr(type(obj), name), (obj, *args), kwargs)
        if name == "backward":
            self.reads.went_back()
        return result

    def container_method(self, obj: Any, name: str, args: tuple[Any, ...],
                         kwargs: dict[str, Any]) -> Any:
        inside = self.reads.is_inside(obj) or isinstance(obj, (str, bytes, tuple))
        if name == "get" and trust.is_dict(obj) and not inside:
            if args[0] in obj:
                return self.dict_item(obj, args[0])
            if isinstance(args[0], str):
                self.reads.guard("item", obj, args[0])
                return args[1] if len(args) > 1 else None
        if name == "append" and type(obj) is list and not inside and len(args) == 1 and not kwargs \
                and self.reads.writes is not None:
            return self.reads.writes.append(obj, args[0])
        if not inside:
            self.reads.whole(obj)
            if name not in _READERS:
                self.refuse(f"a {type(obj).__name__} that was there before is changed")
        if kwargs.get("key") is not None:
            self.refuse(f"{name}() calls a function")
        if args and name in _BY_KEY:
            self.key(args[0])
        if name in _COMPARING:
            self.argument(obj, getattr(obj, name))
        if args and (name == "extend" or name == "update" and type(obj) is type(args[0]) is dict):
            args = (self.iterated(args[0]), *args[1:])
        elif name not in _STORING or not (type(obj) is list or trust.is_dict(obj)):
            for each in (*args, *kwargs.values()):
                self.argument(each, getattr(obj, name))
        result = getattr(obj, name)(*args, **kwargs)
        if name in ("keys", "values", "items", "copy", "union", "intersection", "difference",
                    "split"):
            self.reads.made(result)
        return result


def here() -> tuple[str, int]:
    """The line of the recorded function that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code not in TELLING:
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)
