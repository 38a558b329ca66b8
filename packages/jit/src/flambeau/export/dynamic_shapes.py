"""Sizes that may differ from call to call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.core.pytree import tree_flatten
from flambeau.jit import bridge

__all__ = ["Dim", "dims"]


class _Hint:
    """A size that is named by what it may do, not by a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A size that may differ from call to call; the same wherever the same object stands.

    Args:
        name: Its name, an identifier.
        min: The least that it may be.
        max: The greatest that it may be; None means any.

    Raises:
        ValueError: The name is no identifier, or the bounds are not in order.

    Example:
        >>> from flambeau.export import Dim
        >>> Dim("batch", min=1, max=64)
        Dim('batch', min=1, max=64)
    """

    AUTO = _Hint("AUTO")
    DYNAMIC = _Hint("DYNAMIC")
    STATIC = _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None,
                 max: int | None = None) -> None:
        if not name.isidentifier():
            raise ValueError(f"Dim names must be valid identifiers, got {name!r}")
        if max is not None and max < (min or 0):
            raise ValueError(f"Dim(): max={max} is less than min={min or 0}")
        self.__name__ = name
        self.min = 0 if min is None else min
        self.max = max

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None,
         max: int | None = None) -> tuple[Dim, ...]:
    """Several sizes with the same bounds.

    Args:
        names: Their names.
        min: The least that they may be.
        max: The greatest that they may be.

    Returns:
        A `Dim` for each name.
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class Named:
    """What ``dynamic_shapes`` says, for the tensors of a call in a row.

    Args:
        args: Positional arguments.
        kwargs: Named arguments, sorted by name.
        names: Names of the positional parameters.
        shapes: What was given as ``dynamic_shapes``.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str],
                 shapes: Any) -> None:
        self.dims: dict[str, Dim] = {}
        self.table: dict[int, dict[int, str]] = {}
        self._next = 0
        given = [(name, arg) for name, arg in zip(names, args, strict=False)]
        given += list(kwargs.items())
        for at, (name, arg) in enumerate(given):
            self._argument(arg, _spec_of(shapes, name, at, len(given)), name)

    def _argument(self, arg: Any, spec: Any, path: str) -> None:
        if bridge.is_tensor(arg):
            self._tensor(arg, spec, path)
        elif isinstance(arg, Mapping):
            for key, each in arg.items():
                self._argument(each, None if spec is None else spec[key], f"{path}[{key!r}]")
        elif isinstance(arg, list | tuple):
            for at, each in enumerate(arg):
                self._argument(each, None if spec is None else spec[at], f"{path}[{at}]")
        elif spec is not None and tree_flatten(spec)[0] not in ([], [None]):
            raise ValueError(f"dynamic_shapes: {path} is no tensor and has no sizes; write None")

    def _tensor(self, tensor: Any, spec: Any, path: str) -> None:
        at, self._next = self._next, self._next + 1
        if spec is None:
            return
        items = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
        row: dict[int, str] = {}
        for dim, size in items:
            if not -tensor.ndim <= dim < tensor.ndim:
                raise ValueError(f"dynamic_shapes: {path} has no dimension {dim}")
            name = self._name(size, f"{at}_{dim}", path)
            if name is not None:
                row[dim % tensor.ndim] = name
        if row:
            self.table[at] = row

    def _name(self, size: Any, place: str, path: str) -> str | None:
        if size is None or size is Dim.STATIC or isinstance(size, int):
            return None
        if size is Dim.AUTO or size is Dim.DYNAMIC:
            return f"s{place}"
        if not isinstance(size, Dim):
            raise TypeError(f"dynamic_shapes: {path} has {size!r} for a size; write Dim('name'), "
                            "Dim.AUTO or None")
        known = self.dims.setdefault(size.__name__, size)
        if (known.min, known.max) != (size.min, size.max):
            raise ValueError(f"dynamic_shapes: {known!r} and {size!r} have one name and two "
                             "ranges")
        return size.__name__


def _spec_of(shapes: Any, name: str, at: int, count: int) -> Any:
    if shapes is None:
        return None
    if isinstance(shapes, Mapping):
        return shapes.get(name)
    if len(shapes) != count:
        raise ValueError(f"dynamic_shapes must have {count} items, one for each argument, not "
                         f"{len(shapes)}")
    return shapes[at]
