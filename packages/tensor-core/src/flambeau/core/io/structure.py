"""Nested containers as JSON, with references instead of tensors.

A node is a dict of one item: the kind of object, and what its kind needs. Objects of classes are
their class by name and their state (see ``objects``); the second mention of an object is a
reference to the first. Tensors that share memory are stored once (see ``sharing``).
"""
from __future__ import annotations

import sys
from collections import OrderedDict
from numbers import Complex, Integral, Real

import flambeau.core.io.numpy_random as numpy_random
import flambeau.core.io.objects as objects
import flambeau.core.io.storages as storages
import flambeau.core.io.unusual_tensors as unusual
from flambeau import rooms
from flambeau.core import _core
from flambeau.core.io.errors import FileError
from flambeau.core.io.objects import join
from flambeau.core.io.permission import Permission
from flambeau.core.io.sharing import share
from flambeau.core.io.sparse_parts import facts_of, joined, parts_of
from flambeau.core.size import Size


def encode(obj) -> tuple[object, dict]:
    """The description of ``obj`` and its tensors by name."""
    encoder = _Encoder()
    tree = encoder.node(obj, "")
    return tree, encoder.tensors()


class _Encoder:
    def __init__(self) -> None:
        self.found: dict = {}           # key of a tensor -> its name and itself
        self.waiting: list = []         # nodes of tensors, and their keys
        self.objects: dict = {}         # id of an object -> its number and itself

    def node(self, obj, path: str) -> dict:
        if _core.is_sparse_object(obj):
            parts = [self.tensor(part, join(path, name)) for name, part in parts_of(obj)]
            return _with_gradient(obj, {"q": [facts_of(obj), parts]})
        if isinstance(obj, _core.Tensor):
            made_of = unusual.of_class(obj, path)
            return self.of_class(obj, made_of, path) if made_of else self.attributed(obj, path)
        if obj is None or isinstance(obj, (bool, int, str)) and type(obj) in (bool, int, str):
            return {"v": obj}
        if type(obj) is float:
            return {"f": _digits(obj)}
        if (plain := _plain(obj)) is not None:
            return plain
        kind = _KINDS.get(type(obj))
        if kind is not None:
            return {kind: [self.node(x, join(path, i)) for i, x in enumerate(obj)]}
        if type(obj) in (dict, OrderedDict):
            return self.dictionary(obj, path)
        return self.object(obj, path)

    def attributed(self, x, path: str) -> dict:
        """A tensor with what the program has set on it."""
        if x.is_meta:
            return {"j": unusual.meta_facts(x)}
        node, attributes = self.tensor(x, path), unusual.attributes_of(x)
        return {"w": [node, self.node(attributes, path)]} if attributes else node

    def of_class(self, x, parts, path: str) -> dict:
        """A tensor of a program's class, with its attributes."""
        if id(x) in self.objects:
            return {"k": self.objects[id(x)][0]}
        number = len(self.objects)
        self.objects[id(x)] = number, x
        kind, data, attributes = [self.node(part, path) for part in parts]
        return {"of": [number, kind, data, x.requires_grad, attributes]}

    def tensor(self, x, path: str) -> dict:
        key = (_core.storage_id(x), x.dtype.name, x.storage_offset(), tuple(x.shape), x.stride())
        self.found.setdefault(key, (path or "value", x))
        node: dict = {}
        self.waiting.append((node, key))
        return _with_gradient(x, node)

    def dictionary(self, obj, path: str) -> dict:
        """A dict, or an ordered one with what a ``state_dict`` says of its modules."""
        items = [[_key(k, path), self.node(v, join(path, k))] for k, v in obj.items()]
        if type(obj) is dict:
            return {"d": items}
        metadata = getattr(obj, "_metadata", None)
        return {"o": [items, self.node(metadata, join(path, "_metadata"))]}

    def object(self, obj, path: str) -> dict:
        """An array, a class or function by name, or an object of a class by its state."""
        if id(obj) in self.objects:
            return {"k": self.objects[id(obj)][0]}
        number = len(self.objects)
        self.objects[id(obj)] = number, obj
        if storages.is_storage(obj):
            dtype, elements = storages.elements_of(obj, [key[:2] for key in self.found])
            return {"m": [number, dtype, self.tensor(elements, path)]}
        if objects.is_array(obj):
            return {"n": [number, self.tensor(objects.array_tensor(obj, path), path)]}
        if numpy_random.is_random(obj):
            kind, state = numpy_random.parts_of(obj)
            return {"rng": [number, kind, [self.node(each, path) for each in state]]}
        if (name := objects.name_of(obj)) is not None:
            return {"g": [number, name]}
        parts = objects.parts_of(obj, path)
        fields = {name: self.node(part, join(path, name) if name != "state" else path)
                  for name, part in parts.items() if part is not None and name != "items"}
        if parts["items"]:
            fields["items"] = {"l": [{"u": [self.node(k, path), self.node(v, join(path, k))]}
                                     for k, v in parts["items"]]}
        return {"x": [number, fields]}

    def tensors(self) -> dict:
        """The tensors to store by name; their nodes get what the file says of each."""
        tensors, references = share(self.found)
        for node, key in self.waiting:
            node.update(references[key])
        return tensors


_KINDS: dict[type, str] = {list: "l", tuple: "u", set: "h", frozenset: "i"}


def _with_gradient(x, node: dict) -> dict:
    """The node of a tensor, wrapped if it is a parameter or requires a gradient."""
    parameter = getattr(sys.modules.get(f"{rooms.PREFIX}nn"), "Parameter", ())
    if isinstance(x, parameter):
        return {"p": [node, x.requires_grad]}
    return {"r": node} if x.requires_grad else node


def _digits(number: float) -> str:
    """A float bit for bit."""
    return number.hex() if number == number and abs(number) != float("inf") else str(number)


def _number(digits: str) -> float:
    """What ``_digits`` wrote."""
    return float(digits) if digits in ("nan", "inf", "-inf") else float.fromhex(digits)


def _plain(obj):
    """The description of a number of another kind, bytes, a shape, a dtype or a device."""
    if objects.is_enumeration(obj):
        return None
    if isinstance(obj, str):
        return {"v": str(obj)}
    if isinstance(obj, Integral):     # of NumPy, as the next two
        return {"v": int(obj)}
    if isinstance(obj, Real):
        return {"f": _digits(float(obj))}
    if isinstance(obj, Complex):
        return {"c": [_digits(float(obj.real)), _digits(float(obj.imag))]}
    if type(obj) in (bytes, bytearray):
        return {"b" if type(obj) is bytes else "a": obj.hex()}
    if isinstance(obj, Size):
        return {"z": list(obj)}
    if isinstance(obj, _core.dtype):
        return {"y": obj.name}
    return {"e": str(obj)} if isinstance(obj, _core.device) else None


def _complex(parts) -> complex:
    real, imag = parts
    return complex(_number(real), _number(imag))


#: Kind of a node of ``_plain`` -> its object.
_PLAIN = {
    "v": lambda value: value,
    "f": _number,
    "c": _complex,
    "b": bytes.fromhex,
    "a": bytearray.fromhex,
    "z": lambda value: Size([int(n) for n in value]),
    "y": lambda value: _core._dtype_named(value),
    "e": lambda value: _core.device(value),
}


def _key(key, path: str):
    if isinstance(key, (str, int)) and not isinstance(key, bool):
        return key
    raise TypeError(f"save(): dict keys must be str or int, got {key!r} at {path or 'the top'}")


# ---- reading ----------------------------------------------------------------


def decode(node, tensors: dict, permission: Permission | None = None):
    """The object that a description stands for, of classes that ``permission`` lets it have."""
    return _Decoder(tensors, permission or Permission()).value(node)


class _Decoder:
    def __init__(self, tensors: dict, permission: Permission) -> None:
        self.tensors = tensors
        self.permission = permission
        self.leaves: dict = {}          # text of a node -> the leaf that was made of it
        self.objects: dict = {}         # number of an object -> itself
        self.room = 8 * sum(x.numel() for x in tensors.values())  # elements of sparse tensors

    def value(self, node):
        if not isinstance(node, dict) or len(node) != 1:
            raise FileError("load(): the structure description is damaged")
        (kind, value), = node.items()
        if kind in _PLAIN:
            return _PLAIN[kind](value)
        if kind not in _CONTAINERS:
            raise FileError(f"load(): unknown kind {kind!r} in the structure description")
        return _CONTAINERS[kind](self, value)

    def values(self, nodes) -> list:
        return [self.value(x) for x in nodes]

    def items(self, pairs) -> dict:
        return {k: self.value(v) for k, v in pairs}

    def ordered(self, value) -> OrderedDict:
        items, metadata = value
        found = OrderedDict(self.items(items))
        if (metadata := self.value(metadata)) is not None:
            found._metadata = metadata  # type: ignore[attr-defined]  # as PyTorch's state_dict
        return found

    def leaf(self, node, requires_grad=True, parameter: bool = False):
        """A tensor that requires a gradient, or a parameter where such things are installed."""
        key = repr((node, requires_grad, parameter))
        if key in self.leaves:
            return self.leaves[key]
        x = self.value(node)
        if not isinstance(x, _core.Tensor) or not isinstance(requires_grad, bool):
            raise FileError("load(): a parameter of the structure description is damaged")
        if parameter and rooms.installed("nn"):
            made = rooms.enter("nn").Parameter(x.detach(), requires_grad)
        else:
            made = _core.requiring(x.detach(), requires_grad)
        return self.leaves.setdefault(key, made)

    def parameter(self, value):
        node, requires_grad = value
        return self.leaf(node, requires_grad, parameter=True)

    def tensor(self, name):
        if name not in self.tensors:
            raise FileError(f"load(): the structure names a tensor {name!r} that is not there")
        return self.tensors[name]

    def sparse(self, value):
        facts, nodes = value
        parts = self.values(nodes)
        for part in parts:
            self.room -= part.numel() if isinstance(part, _core.Tensor) else 0
        if self.room < 0:
            raise FileError("load(): sparse tensors of the structure have the same parts too often")
        return joined(facts, parts)

    def view(self, value):
        name, shape, stride, offset = value
        base = self.tensor(name)
        numbers = [*shape, *stride, offset]
        if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers) or \
                len(shape) != len(stride) or len(shape) > 32:
            raise FileError(f"load(): the view of {name!r} is damaged")
        try:
            return base.as_strided(shape, stride, base.storage_offset() + offset)
        except RuntimeError as error:
            raise FileError(f"load(): the view of {name!r} is damaged: {error}") from None

    def storage(self, value):
        number, dtype, node = value
        found = self.value(node)
        return self.objects.setdefault(number, storages.storage_over(found, dtype))

    def array(self, value):
        number, node = value
        return self.objects.setdefault(number, objects.array_of(self.value(node)))

    def random(self, value):
        number, kind, nodes = value
        return self.objects.setdefault(number, numpy_random.joined(kind, self.values(nodes)))

    def named(self, value):
        number, name = value
        return self.objects.setdefault(number, self.permission.find(name))

    def object(self, value):
        """An object: made first, so that its state can refer to it."""
        number, fields = value
        cls = self.value(fields["class"])
        args = self.value(fields["args"]) if "args" in fields else ()
        if "call" in fields:
            made = self.permission.call(cls, args)
        else:
            made = self.permission.blank(cls, args)
        self.objects[number] = made
        if "state" in fields:
            objects.set_state(made, self.value(fields["state"]))
        objects.extend(made, *(self.value(fields[name]) if name in fields else ()
                               for name in ("list", "items")))
        return made

    def of_class(self, value):
        """A tensor of a program's class: made first, as other objects are."""
        number, kind, data, requires_grad, attributes = value
        made = unusual.with_class(self.value(kind), self.value(data), requires_grad)
        self.objects[number] = made
        return unusual.set_attributes(made, self.value(attributes))

    def reference(self, number):
        if number not in self.objects:
            raise FileError("load(): the structure refers to an object that is not there")
        return self.objects[number]


_CONTAINERS = {
    "l": _Decoder.values,
    "u": lambda self, value: tuple(self.values(value)),
    "h": lambda self, value: set(map(objects.member, self.values(value))),
    "i": lambda self, value: frozenset(map(objects.member, self.values(value))),
    "d": _Decoder.items,
    "o": _Decoder.ordered,
    "r": _Decoder.leaf,
    "p": _Decoder.parameter,
    "t": _Decoder.tensor,
    "q": _Decoder.sparse,
    "s": _Decoder.view,
    "j": lambda self, value: unusual.meta_tensor(*value),
    "m": _Decoder.storage,
    "n": _Decoder.array,
    "rng": _Decoder.random,
    "g": _Decoder.named,
    "w": lambda self, value: unusual.with_attributes(*self.values(value)),
    "x": _Decoder.object,
    "of": _Decoder.of_class,
    "k": _Decoder.reference,
}
