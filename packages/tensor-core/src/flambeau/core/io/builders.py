"""What pickles of PyTorch name: what builds containers, and what is refused with advice."""
from __future__ import annotations

import codecs
from collections import Counter, OrderedDict, defaultdict, deque
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any

import flambeau.core.io.arrays as arrays
import flambeau.core.io.numpy_random as numpy_random
import flambeau.core.io.objects as objects
from flambeau.core import _core
from flambeau.core.io.errors import fail
from flambeau.core.io.permission import own_name
from flambeau.core.io.pickles import Named, Refused, member
from flambeau.core.io.sparse_parts import layout_of_pytorch
from flambeau.core.size import Size

_STATELESS = (_core.Tensor, _core.dtype, _core.device, _core.Operator, Named, type, FunctionType,
              BuiltinFunctionType, Enum, Size, list, set, frozenset, tuple, str, bytes, bytearray,
              int, float, complex, type(None))


def attach(value: Any, state: Any) -> None:
    """Give an object the state that a pickle has for it."""
    if type(value) in (dict, OrderedDict):
        _attach_metadata(value, state)
    elif (setter := arrays.setter(value) or numpy_random.setter(value)) is not None:
        setter(value, state)
    elif isinstance(value, _STATELESS) or type(value) in (deque, Counter, defaultdict):
        fail(f"the file sets attributes of a {type(value).__name__}, which has none in data")
    else:
        objects.set_state(value, state)


def _attach_metadata(value: Any, state: Any) -> None:
    """State dicts are ordered dicts with one attribute; no other dict has any."""
    if type(value) is not OrderedDict or not isinstance(state, dict) or \
            set(state) - {"_metadata"}:
        fail("the file sets attributes of a dict other than the _metadata of an OrderedDict")
    value._metadata = state.get("_metadata")     # type: ignore[attr-defined]


def _ordered(items=()):
    made = OrderedDict()
    for item in items:
        if type(item) is not list and type(item) is not tuple or len(item) != 2:
            fail("an OrderedDict of the checkpoint is damaged")
        made[member(item[0])] = item[1]
    return made


def _counter(counts=None):
    if counts is not None and type(counts) is not dict:
        fail("a Counter of the checkpoint is damaged")
    return Counter(counts or {})


def _members(kind):
    def build(items=()):
        if type(items) is not list and type(items) is not tuple:
            fail(f"a {kind.__name__} of the checkpoint is damaged")
        return kind([member(item) for item in items])

    return build


_FACTORIES = {f"builtins.{kind.__name__}": kind for kind in (set, frozenset, bytearray, complex)}


def _default(factory=None, items=()):
    """A ``defaultdict``, whose missing values are empty containers or zeros."""
    made = _FACTORIES.get(own_name(factory.name)) if isinstance(factory, Named) else factory
    if made is not None and not isinstance(made, type):
        fail("a defaultdict of the checkpoint has a function, which is code")
    if not isinstance(items, dict | list | tuple):
        fail("a defaultdict of the checkpoint is damaged")
    return defaultdict(made, items)


def _encoded(text, encoding):
    """How old protocols write bytes."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        fail("bytes of the checkpoint are in an unknown encoding")
    return codecs.encode(text, "latin-1")


def _bytearray(content=b"", encoding=None):
    raw = content if encoding is None else _encoded(content, encoding)
    if type(raw) is not bytes:
        fail("a bytearray of the checkpoint is damaged")
    return bytearray(raw)


def _size(sizes=()):
    if any(type(n) is not int for n in sizes):
        fail("a torch.Size of the checkpoint is damaged")
    return Size(sizes)


def _device(kind, index=None):
    if type(kind) is not str or type(index) not in (int, type(None)):
        fail("a torch.device of the checkpoint is damaged")
    return _core.device(kind if index is None else f"{kind}:{index}")


def _complex(real, imag):
    return complex(float(real), float(imag))


_BUILDERS = {
    "collections.OrderedDict": _ordered, "collections.Counter": _counter,
    "collections.defaultdict": _default,
    "torch.serialization._get_layout": layout_of_pytorch,
    "torch.Size": _size, "torch.device": _device, "_codecs.encode": _encoded,
    **{f"{module}.{name}": build for module in ("builtins", "__builtin__") for name, build in (
        ("set", _members(set)), ("frozenset", _members(frozenset)), ("complex", _complex),
        ("bytearray", _bytearray), ("bytes", lambda: b""))},
}


def _refused(what: str, instead: str) -> str:
    return f"the checkpoint holds {what}, which {instead}"


#: What checkpoints of PyTorch may hold beside dense tensors and containers.
_REFUSED = {
    "torch._utils._rebuild_nested_tensor": _refused(
        "a nested tensor", "is not read; in PyTorch save x.unbind() instead"),
}

#: All of it by name.
NAMES: dict[str, Any] = {
    **arrays.NAMES, **numpy_random.NAMES,
    **{name: Named(name, build) for name, build in _BUILDERS.items()},
    **{name: Refused(text) for name, text in _REFUSED.items()}}
