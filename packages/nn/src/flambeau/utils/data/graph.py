"""Pipelines as graphs: which stages a stage reads."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Collection, Iterator
from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["DataPipe", "DataPipeGraph", "traverse", "traverse_dps"]

DataPipe = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph = dict[int, tuple[Any, Any]]
_STAGES = (IterDataPipe, MapDataPipe)
_PLAIN = (str, bytes, bytearray, range, type, types.ModuleType)


def traverse_dps(datapipe: Any) -> DataPipeGraph:
    """The stages that a stage has as attributes, or in containers there, and so on.

    Args:
        datapipe: The last stage.

    Returns:
        The ``id`` of the stage -> the stage, and such a graph of the stages before it.

    Raises:
        RuntimeError: It is no stage.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> from flambeau.utils.data.graph import traverse_dps
        >>> data = IterableWrapper(range(3)).shuffle()
        >>> (stage, before), = traverse_dps(data).values()
        >>> stage, [source for source, _ in before.values()]
        (ShufflerIterDataPipe, [IterableWrapperIterDataPipe])
    """
    return _graph(datapipe, True, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> DataPipeGraph:
    """``traverse_dps``, which looks into functions and other objects, too; deprecated by PyTorch.

    Args:
        datapipe: The last stage.
        only_datapipe: Whether it does not.
    """
    text = ("`traverse` function is deprecated and will be removed after 1.13. Please use "
            "`traverse_dps` instead.")
    if not only_datapipe:
        text += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return _graph(datapipe, bool(only_datapipe), set())


def _graph(stage: Any, only: bool, above: set[int]) -> DataPipeGraph:
    if not isinstance(stage, _STAGES):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(stage)} is found")
    if id(stage) in above:
        return {}
    above = above | {id(stage)}
    before: DataPipeGraph = {}
    found: list[Any] = []
    _look(_state(stage), only, set(above), found)
    for each in found:
        before.update(_graph(each, only, above))
    return {id(stage): (stage, before)}


def _state(stage: Any) -> Any:
    """What a stage would be pickled as."""
    return stage.__getstate__()


def _look(value: Any, only: bool, seen: set[int], found: list[Any]) -> None:
    """Note the stages in a value."""
    for each in _inside(value, only):
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, _STAGES):
            found.append(each)
        else:
            _look(each, only, seen, found)


def _inside(value: Any, only: bool) -> Iterator[Any]:
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, dict):
        yield from value.values()
        yield from (key for key in value if isinstance(key, _STAGES))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif not only or isinstance(value, Collection):
        if isinstance(value, functools.partial):
            yield from (value.func, value.args, value.keywords)
        elif isinstance(value, types.MethodType):
            yield value.__self__
        elif not isinstance(value, types.FunctionType):
            yield from list(getattr(value, "__dict__", {}).values())
