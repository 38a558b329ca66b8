"""Objects that a recorded call makes, and functions that call others for each item."""

from __future__ import annotations

import dataclasses
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from types import FunctionType
from typing import Any

from . import trust
from .attributes import is_ordinary

#: Classes whose objects are made of what they are given, which is iterated over.
_ITERTOOLS: tuple[Any, ...] = (itertools.chain, itertools.product, itertools.zip_longest)
_FACTORIES = (None, list, dict, set, int, float)
_NOTHING = object()
_GENERATED = "<string>"         # where Python's own library has made the code of a class


def construct(calls: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``cls(...)``."""
    if cls in _ITERTOOLS or cls in (OrderedDict, defaultdict, partial):
        return _of_library(calls, cls, args, kwargs)
    if issubclass(cls, BaseException) and cls.__module__ == "builtins":
        return cls(*args, **kwargs)
    if trust.is_trusted_class(cls) or cls is nullcontext and not (args or kwargs):
        return calls.native(cls, args, kwargs)
    if cls in (map, filter) and not kwargs and (len(args) == 2 or cls is map and len(args) > 2):
        return calls.reads.made(_called(calls, cls, *args))
    return _ordinary(calls, cls, args, kwargs)


def _of_library(calls: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if cls is defaultdict and args and args[0] not in _FACTORIES:
        calls.refuse("a defaultdict calls a function")
    for each in args if cls is not partial else ():
        if type(each) in (list, tuple, set):
            for pair in calls.iterated(each):
                calls.key(pair[0] if type(pair) in (tuple, list) and pair else pair)
    for each in kwargs.values() if cls in _ITERTOOLS else ():
        calls.decide(each)
    taken = 1 if cls is defaultdict else len(args) if cls is partial else 0
    made: Any = cls(*args[:taken], *map(calls.iterated, args[taken:]), **kwargs)
    for each in (made.args, made.keywords) if isinstance(made, partial) else ():
        calls.reads.made(each)
    return calls.reads.made(made)


def _is_named_tuple(cls: Any, init: Any) -> bool:
    """Whether a class is one of ``namedtuple()``, or a subclass that is made as that is."""
    new = cls.__new__
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and type(cls) is type \
        and isinstance(new, FunctionType) and new.__code__.co_filename.startswith("<") \
        and init is object.__dict__["__init__"]


def _ordinary(calls: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    init = calls.reads.in_class(cls, "__init__")
    if _is_named_tuple(cls, init):
        return calls.reads.made(cls(*args, **kwargs))
    plain = type(cls) is type and cls.__new__ is object.__new__ and is_ordinary(cls) \
        and not hasattr(cls, "__del__")
    if not plain or not (isinstance(init, FunctionType) or init is object.__init__) \
            or trust.is_module_class(cls):
        calls.refuse(f"an object of class {cls.__name__} is made")
        return cls(*args, **kwargs)
    if dataclasses.is_dataclass(cls) and init.__code__.co_filename == _GENERATED:
        return _of_dataclass(calls, cls, args, kwargs)
    obj = calls.reads.made(object.__new__(cls))
    if isinstance(init, FunctionType):
        calls.follow(init, (obj, *args), kwargs)
    return obj


def _of_dataclass(calls: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One whose ``__init__`` does no more than keep arguments, and defaults that cannot change."""
    fields = dataclasses.fields(cls)
    if hasattr(cls, "__post_init__") or cls.__setattr__ is not object.__setattr__ \
            or any(each.default_factory not in (dataclasses.MISSING, *_FACTORIES)
                   for each in fields) \
            or not all(each.default is dataclasses.MISSING or trust.is_value(each.default)
                       for each in fields):
        calls.refuse(f"an object of class {cls.__name__} is made")
    obj = calls.reads.made(cls(*args, **kwargs))
    for each in fields:
        if each.default_factory is not dataclasses.MISSING:
            calls.reads.made(getattr(obj, each.name))
    return obj


def _called(calls: Any, cls: type, fn: Any, *iterables: Any) -> Iterator[Any]:
    """What ``map`` and ``filter`` give."""
    for items in zip(*map(calls.iterated, iterables), strict=False):
        if cls is map:
            yield calls.call(fn, items, {})
        elif calls.tested(items[0] if fn is None else calls.call(fn, items, {})):
            yield items[0]


def reduced(calls: Any, fn: Any, iterable: Any, *first: Any) -> Any:
    """``functools.reduce(...)``."""
    items = itertools.chain(first, calls.iterated(iterable))
    result = next(items, _NOTHING)
    if result is _NOTHING:
        raise TypeError("reduce() of empty iterable with no initial value")
    for each in items:
        result = calls.call(fn, (result, each), {})
    return result
