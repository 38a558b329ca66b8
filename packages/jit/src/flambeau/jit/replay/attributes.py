"""Attributes and items of a recorded call."""

from __future__ import annotations

import operator
from abc import ABCMeta
from collections import OrderedDict
from functools import partial
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from . import modules, trust
from .decisions import Decisions
from .decorated import is_decorated
from .numbers import MISSING, Slot
from .trust import DICTS, VALUES

CONTAINERS = (list, *DICTS, set, tuple)
_METADATA = frozenset({"shape", "ndim", "itemsize", "nbytes", "dtype", "device", "is_cpu",
                       "is_cuda", "is_meta", "requires_grad", "is_leaf", "layout", "is_sparse",
                       "is_quantized", "is_nested", "T", "mT", "H", "mH", "real", "imag", "grad",
                       "data"})


_PLAIN = {base.__getattribute__ for base in (object, SimpleNamespace, dict, list, tuple, int, float,
                                             str)}


class Attributes(Decisions):
    """What is read of objects and written to them; the rest is ``Calls``'s."""

    native: Any         # call what reads nothing but its arguments
    argument: Any       # what is handed to code that is not followed
    iterated: Any       # what is iterated over
    call: Any           # call anything

    def attribute(self, obj: Any, name: str) -> Any:
        """``obj.name``."""
        if self.reads.is_refused:
            return getattr(obj, name)
        if trust.is_tensor(obj):
            return self.tensor_attribute(obj, name)
        if isinstance(obj, ModuleType):
            return self.of_module(obj, name)
        if isinstance(obj, type):
            return self.of_class(obj, name)
        if type(obj) in (*VALUES, *CONTAINERS) or trust.is_constant(obj) \
                or trust.is_fixed_attribute(obj, name):
            value = getattr(obj, name)
            return value if self.reads.is_inside(obj) else self.reads.read(value)
        if isinstance(obj, super):
            return self.of_super(obj, name)
        if modules.holds_members(obj, name):
            return modules.dict_of_members(self, obj, name)
        if not is_ordinary(type(obj)):
            self.refuse(f"{type(obj).__name__}.{name} cannot be guarded")
            return getattr(obj, name)
        how, what = self.reads.of_instance(obj, name)
        if how == "value":
            return what
        if how == "property":
            return self.call(what, (obj,), {})
        if how == "hook":
            return self.call(what, (obj, name), {})
        return MethodType(what, obj) if how == "method" else getattr(obj, name)

    def tensor_attribute(self, obj: Any, name: str) -> Any:
        """An attribute of a tensor: its metadata, or an operator."""
        if name not in _METADATA and not callable(getattr(type(obj), name, None)):
            self.refuse(f"Tensor.{name} is read")
        if name == "grad":
            self.reads.use_grads()
        value = getattr(obj, name)
        if name == "grad" and id(obj) in self.reads.sources:
            self.refuse("the gradient of an argument is read")
        return value

    def of_module(self, module: ModuleType, name: str) -> Any:
        names = module.__dict__
        if name not in names:
            self.reads.guard("item", names, name)
            value = getattr(module, name)
            if name not in names:
                if not module.__name__.startswith("flambeau"):
                    self.refuse(f"{module.__name__}.{name} is made when it is asked for")
                return value
        return self.reads.item(names, name)

    def of_super(self, obj: Any, name: str) -> Any:
        """An attribute of ``super()``, whose class is guarded."""
        classes = obj.__self_class__.__mro__
        below = classes[classes.index(obj.__thisclass__) + 1:]
        raw = next((each.__dict__[name] for each in below if name in each.__dict__), MISSING)
        if isinstance(raw, property):
            return self.call(raw.fget, (obj.__self__,), {})
        if raw is not MISSING and trust.computes(raw) and not is_decorated(raw):
            self.refuse(f"super().{name} is a descriptor")
        return self.reads.read(getattr(obj, name))

    def of_class(self, cls: type, name: str) -> Any:
        if name == "__name__" and type(cls) in (type, ABCMeta):
            return self.reads.class_name(cls)
        if name in ("__class__", "__mro__"):
            self.reads.guard("class", cls)
            return getattr(cls, name)
        raw = self.reads.in_class(cls, name)
        by_metaclass = type(cls) is not type and self.reads.in_class(type(cls), name) is not MISSING
        if raw is MISSING or by_metaclass or trust.computes(raw) and not is_decorated(raw):
            self.refuse(f"{cls.__name__}.{name} is no plain attribute")
        return self.reads.read(getattr(cls, name))

    def set_attribute(self, obj: Any, name: str, value: Any) -> None:
        """``obj.name = value``."""
        if trust.is_tensor(obj):
            if name == "grad" and value is None and self.reads.clear_grad(obj):
                obj.grad = None
                return
            self.reads.use_grads()
            if name == "grad" and (value is None or trust.is_tensor(value)):
                if id(obj) not in self.reads.tensors:
                    self.refuse("a gradient is set of a tensor that is not of outside")
            else:
                self.refuse(f"Tensor.{name} is written to")
        elif not _sets_plainly(type(obj)):
            self.refuse(f"{type(obj).__name__}.{name} is written to")
        else:
            self.set_plainly(obj, name, value)
            return
        setattr(obj, name, value)

    def set_plainly(self, obj: Any, name: str, value: Any) -> None:
        """The same of an object whose class has no ``__setattr__`` of its own."""
        raw = self.reads.in_class(type(obj), name)
        if isinstance(raw, property) and isinstance(raw.fset, FunctionType):
            self.reads.guard("type", obj, MISSING, type(obj))
            self.call(raw.fset, (obj, value), {})
            return
        own = getattr(obj, "__dict__", None)
        if hasattr(type(raw), "__set__") or own is None:
            self.refuse(f"{type(obj).__name__}.{name} is written to")
        elif not self.reads.is_inside(obj):
            self.reads.guard("type", obj, MISSING, type(obj))
            is_there = own.get(name, MISSING) is value and id(value) not in self.reads.numbers
            if not is_there or (id(own), name) in self.reads.written:
                holders = modules.holders_of(obj, name, value) if trust.is_module(obj) else [own]
                if not holders:
                    self.refuse(f"{type(obj).__name__}.{name} is written to")
                self.reads.write([Slot(each, name) for each in holders], value,
                                 partial(setattr, obj, name))
                return
            self.reads.guard("attribute", obj, name, value)     # what it is already need not be set
        setattr(obj, name, value)

    # ---- items -----------------------------------------------------------------------------------
    def subscript(self, obj: Any, key: Any) -> Any:
        """``obj[key]``."""
        if self.reads.is_refused:
            return obj[key]
        if trust.is_tensor(obj):
            return self.native(operator.getitem, (obj, key), {})
        kind = type(obj)
        if kind is dict or (isinstance(obj, dict) and kind.__getitem__ is dict.__getitem__):
            return self.dict_item(obj, key)
        if kind is list or trust.is_sequence(obj):
            self.argument(key, operator.getitem)
            self.reads.whole(obj)
            value = obj[key]
            is_new = isinstance(key, slice) and (kind is list or self.reads.is_inside(obj))
            return self.reads.made(value) if is_new else value
        if trust.is_module(obj):
            return modules.member(self, obj, key)
        getter = self.reads.in_class(kind, "__getitem__")
        if isinstance(getter, FunctionType):
            return self.call(getter, (obj, key), {})
        self.refuse(f"an item of an object of class {kind.__name__} is read")
        return obj[key]

    def dict_item(self, obj: Any, key: Any) -> Any:
        self.key(key)
        if self.reads.is_inside(obj):
            return obj[key] if key in obj else self.reads.made(obj[key])    # of a defaultdict
        if not isinstance(key, (str, int, float, type(None))) and not trust.is_tensor(key):
            self.refuse(f"a dict is read with a key of class {type(key).__name__}")
        if key not in obj:
            self.refuse("a key that is not there is read")
            return obj[key]
        return self.reads.item(obj, key)

    def set_item(self, obj: Any, key: Any, value: Any) -> None:
        """``obj[key] = value``."""
        if trust.is_tensor(obj):
            self.native(operator.setitem, (obj, key, value), {})
            return
        if not self.reads.is_inside(obj) and type(obj) in DICTS and trust.is_value(key) \
                and (type(obj) is not OrderedDict or key in obj):
            self.key(key)
            self.reads.write([Slot(obj, key)], value, partial(operator.setitem, obj, key))
            return
        if not self.reads.is_inside(obj) or type(obj) not in (list, *DICTS):
            self.refuse(f"an item of a {type(obj).__name__} is written to")
        self.key(key) if type(obj) in DICTS else self.argument(key, operator.setitem)
        obj[key] = self.iterated(value) if type(key) is slice else value

    def key(self, key: Any) -> None:
        """What a dict or a set is asked for, or is given."""
        self.decide(key)
        if not trust.hashes_plainly(key):
            self.refuse(f"an object of class {type(key).__name__}, which has a hash of its own, is "
                        "a key")

    def contains(self, obj: Any, value: Any) -> Any:
        """``value in obj``."""
        if isinstance(obj, dict) and isinstance(value, str) and not self.reads.is_inside(obj):
            if value in obj:
                self.dict_item(obj, value)
            else:
                self.reads.guard("item", obj, value)
            return value in obj
        self.argument(obj, "in")
        self.argument(value, "in")
        return value in obj


def is_ordinary(cls: type) -> bool:
    """Whether instances find their attributes as objects do."""
    return cls.__getattribute__ in _PLAIN


def _sets_plainly(cls: type) -> bool:
    return cls.__setattr__ is object.__setattr__ or trust.is_module_class(cls)
