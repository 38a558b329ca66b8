"""`torch.jit.isinstance`: of containers, what is in them is looked at, too."""
from __future__ import annotations

import builtins
import typing
from types import UnionType
from typing import Any

_BARE = (list, dict, tuple, typing.List, typing.Dict, typing.Tuple, typing.Optional)  # noqa: UP006


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object, and all in it, is of a type such as ``List[torch.Tensor]``.

    Args:
        obj: The object.
        target_type: A type, or several in a tuple.

    Raises:
        RuntimeError: A container's type does not say what is in it.

    Example:
        >>> from typing import Dict, List
        >>> isinstance({"a": [1]}, Dict[str, List[int]])
        True
        >>> isinstance([1, "a"], List[int])
        False
    """
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return any(_is_of(obj, kind) for kind in kinds)


def _is_of(obj: Any, kind: Any) -> bool:
    if kind in _BARE:
        raise RuntimeError(f"torch.jit.isinstance(): {kind} does not say what is in it; write "
                           "List[int], Dict[str, int], Tuple[int, int] or Optional[int]")
    if kind is None or kind is Any:
        return obj is None if kind is None else True
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is UnionType:
        return any(_is_of(obj, each) for each in inside)
    if origin is None:
        return builtins.isinstance(obj, kind)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_is_of(key, inside[0]) and _is_of(each, inside[1]) for key, each in obj.items())
    if origin is tuple and inside[-1:] != (...,):
        inside = () if inside == ((),) else inside
        return len(obj) == len(inside) and all(map(_is_of, obj, inside))
    return all(_is_of(each, inside[0]) for each in obj)
