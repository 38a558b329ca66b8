"""What the namespace can do, for ``__array_namespace_info__``."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._dtypes import DTYPES, default_complex, names_of
from flambeau.core import backends

#: The core's limit (FL_MAX_DIMS of abi.h).
_MAX_DIMENSIONS = 32

#: Device types that hold no values, or that are there for tests.
_NOT_FOR_ARRAYS = ("cpu", "meta", "ref")


class Info:
    """The answers of ``flambeau.array_api.__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional behaviour there is."""
        return {"boolean indexing": True, "data-dependent shapes": True,
                "max dimensions": _MAX_DIMENSIONS}

    def default_device(self) -> Any:
        """Where arrays are made when no device is given."""
        return flambeau.device("cpu")

    def devices(self) -> tuple[Any, ...]:
        """Where arrays can be."""
        names = [name for name in backends.available() if name not in _NOT_FOR_ARRAYS]
        return (flambeau.device("cpu"), *(d for name in names for d in _devices_of(name)))

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of arrays for which none is given."""
        return {"real floating": flambeau.get_default_dtype(),
                "complex floating": default_complex(),
                "integral": flambeau.int64, "indexing": flambeau.int64}

    def dtypes(self, *, device: Any = None,
               kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes by name, all of them or those of a kind."""
        return {name: DTYPES[name] for name in (DTYPES if kind is None else names_of(kind))}


def _devices_of(name: str) -> list[Any]:
    """The devices of a backend; none where its driver or hardware is missing."""
    try:
        count = backends.adapter(name).device_count()
    except RuntimeError:
        return []
    return [flambeau.device(name, index) for index in range(count)]


def __array_namespace_info__() -> Info:
    """What this namespace can do."""
    return Info()
