"""Nested state dicts as one level of names, as PyTorch names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flambeau import Tensor

Path = tuple[Any, ...]


def leaves(state_dict: Mapping[Any, Any]) -> Iterator[tuple[Path, Any]]:
    """What is in a state dict, with the keys that lead to it.

    Lists are looked into where there is a tensor or a dict in them.

    Args:
        state_dict: The state dict.
    """
    for key, value in state_dict.items():
        yield from _below((key,), value)


def _below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _below((*path, key), each)
    elif isinstance(value, list) and _is_nested(value):
        for i, each in enumerate(value):
            yield from _below((*path, i), each)
    else:
        yield path, value


def _is_nested(values: list[Any]) -> bool:
    return any(isinstance(each, Mapping | Tensor) or isinstance(each, list) and _is_nested(each)
               for each in values)


def name_of(path: Path) -> str:
    """The name of what some keys lead to."""
    return ".".join(map(str, path))


def paths_in(state_dict: Mapping[Any, Any]) -> dict[str, Path]:
    """What files say of the keys: those of dicts are strings."""
    found: dict[str, Path] = {}

    def note(at: Path, keys: Path, value: Any) -> None:
        if isinstance(value, Mapping):
            _each(value.items(), at, keys, note, str)
        elif isinstance(value, list) and _is_nested(value):
            _each(enumerate(value), at, keys, note, int)
        else:
            found[name_of(at)] = keys

    _each(state_dict.items(), (), (), note, str)
    return found


def _each(
    items: Any, at: Path, keys: Path, note: Callable[[Path, Path, Any], None], kind: Any
) -> None:
    for key, value in items:
        note((*at, key), (*keys, kind(key)), value)


def set_at(state_dict: Any, path: Path, value: Any) -> None:
    """Put a value where some keys lead."""
    for key in path[:-1]:
        state_dict = state_dict[key]
    state_dict[path[-1]] = value


def built(values: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested state dict of values by name.

    Args:
        values: The values.
        paths: Where they belong; a name without keys is a key itself.
    """
    root: dict[Any, Any] = {}
    for name, value in values.items():
        path = paths.get(name, (name,))
        place: Any = root
        for key, following in zip(path[:-1], path[1:], strict=True):
            place = _entered(place, key, [] if isinstance(following, int) else {})
        if isinstance(place, list):
            _entered(place, path[-1], None)
        place[path[-1]] = value
    return root


def _entered(place: Any, key: Any, fresh: Any) -> Any:
    """What is under a key of a dict, or an index of a list; made where there is nothing."""
    if isinstance(place, dict):
        return place.setdefault(key, fresh)
    place.extend([None] * (key + 1 - len(place)))
    if place[key] is None:
        place[key] = fresh
    return place[key]
