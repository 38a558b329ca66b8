"""Nested containers as JSON, with references instead of tensors.

Tensors that share memory are stored once: overlapping views of one storage become one entry, and
the structure says how each view lies in it, so that they share memory again when they are loaded.
"""
from __future__ import annotations

import sys
from collections import OrderedDict
from numbers import Complex, Integral, Real

from flambeau import rooms
from flambeau.core import _core
from flambeau.core.io.errors import FileError
from flambeau.core.size import Size


def encode(obj) -> tuple[object, dict]:
    """The description of ``obj`` and its tensors by name."""
    found: dict = {}
    tree = _encode(obj, "", found)
    tensors, references = _share(found)
    return _name_tensors(tree, references), tensors


def _encode(obj, path: str, found: dict):
    """Replace containers by tagged JSON, and tensors by the key under which they are in found."""
    if isinstance(obj, _core.Tensor):
        key = (_core.storage_id(obj), obj.dtype.name, obj.storage_offset(), tuple(obj.shape),
               obj.stride())
        found.setdefault(key, (path or "value", obj))
        return _with_gradient(obj, {"t": key})
    if obj is None or isinstance(obj, (bool, int, str)):
        return {"v": obj}
    if isinstance(obj, float):
        return {"f": _digits(obj)}
    if (plain := _plain(obj)) is not None:
        return plain
    if isinstance(obj, (list, tuple)):
        kind = "l" if isinstance(obj, list) else "u"
        return {kind: [_encode(x, _join(path, i), found) for i, x in enumerate(obj)]}
    if isinstance(obj, dict):
        return _encode_dict(obj, path, found)
    raise TypeError(f"save(): cannot store {type(obj).__name__} at {path or 'the top'}; files hold "
                    "tensors, numbers, strings, None, lists, tuples and dicts")


def _encode_dict(obj, path: str, found: dict):
    """A dict, or an ordered one with what a ``state_dict`` says of its modules."""
    items = [[_key(k, path), _encode(v, _join(path, k), found)] for k, v in obj.items()]
    if not isinstance(obj, OrderedDict):
        return {"d": items}
    metadata = getattr(obj, "_metadata", None)
    return {"o": [items, _encode(metadata, _join(path, "_metadata"), found)]}


def _with_gradient(x, node):
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
    if isinstance(obj, Integral):     # of NumPy, as the next two
        return {"v": int(obj)}
    if isinstance(obj, Real):
        return {"f": _digits(float(obj))}
    if isinstance(obj, Complex):
        return {"c": [_digits(float(obj.real)), _digits(float(obj.imag))]}
    if isinstance(obj, bytes):
        return {"b": obj.hex()}
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
    "c": _complex,
    "b": bytes.fromhex,
    "z": lambda value: Size([int(n) for n in value]),
    "y": lambda value: _core._dtype_named(value),
    "e": lambda value: _core.device(value),
}


def _join(path: str, part) -> str:
    return f"{path}.{part}" if path else str(part)


def _key(key, path: str):
    if isinstance(key, (str, int)) and not isinstance(key, bool):
        return key
    raise TypeError(f"save(): dict keys must be str or int, got {key!r} at {path or 'the top'}")


def _name_tensors(node, references: dict):
    """The tree with every key of a tensor replaced by what the file says of it."""
    (kind, value), = node.items()
    if kind == "t":
        return references[value]
    if kind in "lu":
        return {kind: [_name_tensors(x, references) for x in value]}
    if kind == "d":
        return {kind: [[k, _name_tensors(v, references)] for k, v in value]}
    if kind == "o":
        items, metadata = value
        items = _name_tensors({"d": items}, references)["d"]
        return {kind: [items, _name_tensors(metadata, references)]}
    if kind == "r":
        return {kind: _name_tensors(value, references)}
    if kind == "p":
        return {kind: [_name_tensors(value[0], references), value[1]]}
    return node


# ---- memory that several tensors share -------------------------------------


def _share(found: dict) -> tuple[dict, dict]:
    """Tensors to store by name, and for every key of ``found`` the reference to it."""
    tensors: dict = {}
    references: dict = {}
    groups: dict = {}
    for key in found:
        groups.setdefault(key[:2], []).append(key)
    bases = {}
    for keys in groups.values():
        for cluster in _overlapping(keys):
            if len(cluster) > 1:
                bases.update(dict.fromkeys(cluster, _base(cluster, found)))
    names: dict = {}
    for key, (name, x) in found.items():
        base_name, base, start = bases.get(key, (name, x, key[2]))
        base_name = _own_name(base_name, base, tensors, names)
        references[key] = {"t": base_name} if base is x else \
            {"s": [base_name, list(x.shape), list(x.stride()), key[2] - start]}
    return tensors, references


def _own_name(name: str, base, tensors: dict, names: dict) -> str:
    """Put a tensor under a name that no other has; keys with dots can lead to the same one."""
    if id(base) not in names:
        while name in tensors:
            name += "'"
        names[id(base)] = name
        tensors[name] = base
    return names[id(base)]


def _span(key) -> tuple[int, int]:
    """First and last element, and one more, that a tensor touches in its storage."""
    _, _, offset, shape, stride = key
    if 0 in shape:
        return offset, offset
    return offset, offset + 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))


def _overlapping(keys: list) -> list[list]:
    """Keys of one storage in clusters that have elements in common."""
    clusters: list[list] = []
    reach = -1
    for key in sorted(keys, key=_span):
        start, end = _span(key)
        if start < reach and end > start:
            clusters[-1].append(key)
        else:
            clusters.append([key])
        reach = max(reach, end)
    return clusters


def _base(cluster: list, found: dict):
    """Name, tensor and first element of what is stored for overlapping views."""
    start = min(_span(key)[0] for key in cluster)
    end = max(_span(key)[1] for key in cluster)
    first_name = None
    for key in found:
        if key in cluster:
            name, x = found[key]
            first_name = first_name or name
            if x.is_contiguous() and _span(key) == (start, end):
                return name, x, start
    flat = found[cluster[0]][1].detach().as_strided((end - start,), (1,), start)
    return f"{first_name}.storage", flat, start


# ---- reading ----------------------------------------------------------------


def decode(node, tensors: dict, made: dict | None = None):
    """The object that a description stands for; ``made`` holds the leaves that were met before."""
    made = {} if made is None else made
    if not isinstance(node, dict) or len(node) != 1:
        raise FileError("load(): the structure description is damaged")
    (kind, value), = node.items()
    if kind == "t":
        return _tensor(value, tensors)
    if kind == "s":
        return _view(value, tensors)
    if kind == "v":
        return value
    if kind == "f":
        return _number(value)
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if kind in ("l", "u"):
        items = [decode(x, tensors, made) for x in value]
        return items if kind == "l" else tuple(items)
    if kind == "d":
        return {k: decode(v, tensors, made) for k, v in value}
    if kind == "o":
        return _ordered(value, tensors, made)
    if kind in ("r", "p"):
        key = repr(node)
        if key not in made:
            inner, requires_grad = value if kind == "p" else (value, True)
            made[key] = _leaf(inner, requires_grad, kind == "p", tensors)
        return made[key]
    raise FileError(f"load(): unknown kind {kind!r} in the structure description")


def _ordered(value, tensors: dict, made: dict) -> OrderedDict:
    items, metadata = value
    found = OrderedDict((k, decode(v, tensors, made)) for k, v in items)
    if (metadata := decode(metadata, tensors, made)) is not None:
        found._metadata = metadata  # type: ignore[attr-defined]  # as PyTorch's state_dict
    return found


def _leaf(node, requires_grad, parameter: bool, tensors: dict):
    """A tensor that requires a gradient, or a parameter where such things are installed."""
    x = decode(node, tensors)
    if not isinstance(x, _core.Tensor) or not isinstance(requires_grad, bool):
        raise FileError("load(): a parameter of the structure description is damaged")
    if parameter and rooms.installed("nn"):
        return rooms.enter("nn").Parameter(x.detach(), requires_grad)
    return _core.requiring(x.detach(), requires_grad)


def _tensor(name, tensors: dict):
    if name not in tensors:
        raise FileError(f"load(): the structure names a tensor {name!r} that is not there")
    return tensors[name]


def _view(value, tensors: dict):
    name, shape, stride, offset = value
    base = _tensor(name, tensors)
    numbers = [*shape, *stride, offset]
    if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers) or \
            len(shape) != len(stride) or len(shape) > 32:
        raise FileError(f"load(): the view of {name!r} is damaged")
    try:
        return base.as_strided(shape, stride, base.storage_offset() + offset)
    except RuntimeError as error:
        raise FileError(f"load(): the view of {name!r} is damaged: {error}") from None
