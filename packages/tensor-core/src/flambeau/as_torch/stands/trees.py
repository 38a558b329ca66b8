"""Containers taken apart and put together, and their structures as text."""
from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from flambeau.core import Tensor
from flambeau.core.pytree import LeafSpec, TreeSpec, tree_flatten, tree_unflatten
from flambeau.utils import _pytree

_TYPES = {"builtins.list": list, "builtins.tuple": tuple, "builtins.dict": dict,
          "collections.OrderedDict": OrderedDict}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def _list_flatten(d: Any) -> tuple[list[Any], None]:
    """The items of a list or tuple."""
    return list(d), None


_tuple_flatten = _list_flatten


def _list_unflatten(values: Any, context: Any) -> list[Any]:
    """A list of items."""
    return list(values)


def _tuple_unflatten(values: Any, context: Any) -> tuple[Any, ...]:
    """A tuple of items."""
    return tuple(values)


def _dict_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    """The values and keys of a dict."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Any, context: Any) -> dict[Any, Any]:
    """A dict of values and keys."""
    return dict(zip(context, values, strict=True))


def _list_flatten_with_keys(d: Any) -> tuple[list[Any], None]:
    """The items of a list or tuple, with their places."""
    return [(_pytree.SequenceKey(at), each) for at, each in enumerate(d)], None


_tuple_flatten_with_keys = _list_flatten_with_keys


def _dict_flatten_with_keys(d: Any) -> tuple[list[Any], list[Any]]:
    """The values of a dict with their places, and its keys."""
    return [(_pytree.MappingKey(key), each) for key, each in d.items()], list(d)


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure of lists, tuples and dicts as PyTorch writes it: JSON.

    Raises:
        TypeError: ``treespec`` is no structure.
        NotImplementedError: It has other containers.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError("treespec_dumps(treespec): Expected `treespec` to be instance of TreeSpec "
                        f"but got item of type {type(treespec)}.")
    return json.dumps([1, _text(treespec)])


def _text(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in _NAMES:
        raise NotImplementedError(f"treespec_dumps(): {spec.type.__name__} is no list, tuple or "
                                  "dict; take the tree apart into those")
    keys = list(spec.context) if issubclass(spec.type, dict) else None
    return {"type": _NAMES[spec.type], "context": json.dumps(keys),
            "children_spec": [_text(each) for each in spec.children_specs]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote.

    Raises:
        NotImplementedError: It is of another form, or has other containers.
    """
    version, text = json.loads(serialized)
    if version != 1:
        raise NotImplementedError(f"Unknown protocol {version}, available protocols: [1]")
    return _spec(text)


def _spec(text: dict[str, Any]) -> TreeSpec:
    if text["type"] is None:
        return LeafSpec()
    if text["type"] not in _TYPES:
        raise NotImplementedError(f"treespec_loads(): {text['type']!r} is no list, tuple or dict")
    example: Any = [None] * len(text["children_spec"])
    kind = _TYPES[text["type"]]
    keys = json.loads(text["context"])
    made = kind(example) if keys is None else kind(zip(keys, example, strict=True))
    context = tree_flatten(made)[1].context
    return TreeSpec(kind, context, [_spec(each) for each in text["children_spec"]])


def is_structseq_instance(obj: Any) -> bool:
    """Whether something is one of the interpreter's own named tuples, such as `os.stat_result`."""
    return isinstance(obj, tuple) and hasattr(type(obj), "n_sequence_fields")


__all__ = ["is_structseq_instance", "tree_unflatten", "treespec_dumps", "treespec_loads"]


def _flatten(inputs: Any) -> tuple[tuple[Any, ...], Any]:
    """The tensors of nested tuples, lists and dicts, as ``torch.jit._flatten`` gives them."""
    leaves, spec = tree_flatten(inputs)
    return tuple(each for each in leaves if isinstance(each, Tensor)), (leaves, spec)


def _unflatten(tensors: Any, description: Any) -> Any:
    """The structure again, with these tensors."""
    leaves, spec = description
    given = iter(tensors)
    return tree_unflatten(
        [next(given) if isinstance(each, Tensor) else each for each in leaves], spec)
