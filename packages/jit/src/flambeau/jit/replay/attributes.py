"""Attributes and items of a recorded call."""

from __future__ import annotations

import operator
from types import FunctionType, MethodType, ModuleType
from typing import Any

from . import modules, trust
from .reads import MISSING, VALUES, Reads

CONTAINERS = (list, dict, set, tuple)
_METADATA = frozenset({"shape", "ndim", "itemsize", "nbytes", "dtype", "device", "is_cpu",
                       "is_cuda", "is_meta", "requires_grad", "is_leaf", "layout", "is_sparse",
                       "is_quantized", "is_nested", "T", "mT", "H", "mH", "real", "imag", "grad",
                       "data"})


class Attributes:
    """What is read of objects and written to them; the rest is ``Calls``'s."""

    reads: Reads
    refuse: Any         # there will be no replay
    native: Any         # call what reads nothing but its arguments
    argument: Any       # what is handed to code that is not followed
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
        if isinstance(obj, (*VALUES, *CONTAINERS, super, FunctionType, MethodType)) \
                or trust.is_constant(obj):
            if isinstance(obj, FunctionType):
                self.refuse("an attribute of a function is read")
            return self.reads.read(getattr(obj, name))
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
        value = getattr(obj, name)
        if name == "grad" and id(obj) in self.reads.sources:
            self.refuse("the gradient of an argument is read")
        return value

    def of_module(self, module: ModuleType, name: str) -> Any:
        names = module.__dict__
        if name not in names:
            value = getattr(module, name)
            if name not in names:
                if not module.__name__.startswith("flambeau"):
                    self.refuse(f"{module.__name__}.{name} is made when it is asked for")
                return value
        return self.reads.item(names, name)

    def of_class(self, cls: type, name: str) -> Any:
        if name in ("__name__", "__class__", "__mro__"):
            return getattr(cls, name)
        if self.reads.in_class(cls, name) is MISSING:
            self.refuse(f"{cls.__name__}.{name} is no plain attribute")
        return self.reads.read(getattr(cls, name))

    def set_attribute(self, obj: Any, name: str, value: Any) -> None:
        """``obj.name = value``."""
        if trust.is_tensor(obj):
            if name == "grad" and (value is None or trust.is_tensor(value)):
                if id(obj) not in self.reads.tensors:
                    self.refuse("a gradient is set of a tensor that is not of outside")
            else:
                self.refuse(f"Tensor.{name} is written to")
        elif not self.reads.is_inside(obj) or not _sets_plainly(type(obj)):
            now = getattr(obj, "__dict__", {}).get(name, MISSING)
            if now is not value or not _sets_plainly(type(obj)):
                self.refuse(f"{type(obj).__name__}.{name} is written to")
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
        if kind is list or isinstance(obj, (tuple, str, range)):
            self.reads.whole(obj)
            value = obj[key]
            return self.reads.made(value) if kind is list and isinstance(key, slice) else value
        if trust.is_module(obj):
            return modules.member(self, obj, key)
        getter = self.reads.in_class(kind, "__getitem__")
        if isinstance(getter, FunctionType):
            return self.call(getter, (obj, key), {})
        self.refuse(f"an item of an object of class {kind.__name__} is read")
        return obj[key]

    def dict_item(self, obj: Any, key: Any) -> Any:
        if self.reads.is_inside(obj):
            return obj[key]
        if not isinstance(key, (str, int, float, type(None))) and not trust.is_tensor(key):
            self.refuse(f"a dict is read with a key of class {type(key).__name__}")
        if key not in obj:
            self.refuse("a key that is not there is read")
            return obj[key]
        self.reads.after_step(obj)
        return self.reads.item(obj, key)

    def set_item(self, obj: Any, key: Any, value: Any) -> None:
        """``obj[key] = value``."""
        if trust.is_tensor(obj):
            self.native(operator.setitem, (obj, key, value), {})
            return
        if not self.reads.is_inside(obj) or type(obj) not in (list, dict):
            self.refuse(f"an item of a {type(obj).__name__} is written to")
        obj[key] = value

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
    return cls.__getattribute__ is object.__getattribute__ or cls.__name__ == "SimpleNamespace"


def _sets_plainly(cls: type) -> bool:
    return cls.__setattr__ is object.__setattr__ or trust.is_module_class(cls)
