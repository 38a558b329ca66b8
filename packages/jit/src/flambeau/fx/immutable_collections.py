"""Lists and dicts of a node's arguments: they are read, and replaced as a whole."""

from __future__ import annotations

from typing import Any, NoReturn

from flambeau.core import pytree

__all__ = ["immutable_dict", "immutable_list"]

_ADVICE = ("does not support mutation: a Node would not learn of it. Make a new one and assign "
           "that: node.args = (*node.args[:-1], new), or node.update_arg(index, new)")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object {_ADVICE}")


class immutable_list(list):
    """A list that cannot be changed; equal to a list of the same items, and hashable.

    Example:
        >>> from flambeau.fx.immutable_collections import immutable_list
        >>> immutable_list([1, 2]) == [1, 2]
        True
    """

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed; equal to a dict of the same items, and hashable.

    Example:
        >>> from flambeau.fx.immutable_collections import immutable_dict
        >>> immutable_dict({"dim": 1})["dim"]
        1
    """

    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)


pytree.register_pytree_node(
    immutable_list, lambda items: (list(items), None), lambda items, _: immutable_list(items))
pytree.register_pytree_node(
    immutable_dict, lambda items: (list(items.values()), list(items)),
    lambda items, keys: immutable_dict(zip(keys, items, strict=True)))
