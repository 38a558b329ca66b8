"""Arrays and numbers of NumPy in pickles: what NumPy's own functions build, with checks.

The functions that NumPy names in a pickle trust what they are given. These build numbers, and
strings of fixed width, of sizes that their bytes have; objects and records are refused.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from flambeau.core.io.errors import fail
from flambeau.core.io.objects import loaded_numpy
from flambeau.core.io.pickles import Named

if TYPE_CHECKING:
    from collections.abc import Callable

_KINDS = "biufcSU"


def _damaged() -> None:
    fail("an array of NumPy in the checkpoint is damaged, or holds objects or records, which are "
         "not read")


def _dtype(text: object = "", align: object = False, copy: object = False) -> Any:
    import numpy

    if not isinstance(text, str) or len(text) > 12 or text[:1] not in _KINDS:
        _damaged()
    return numpy.dtype(text, False, True)  # type: ignore[call-overload]  # a copy, as pickle asks


def set_dtype_state(dtype: Any, state: Any) -> None:
    """Give a dtype the byte order that a pickle says; nothing else may differ."""
    if type(state) is not tuple or len(state) != 8 or state[1] not in ("<", ">", "|", "=") or \
            state[2:5] != (None, None, None) or state[5] not in (-1, dtype.itemsize):
        _damaged()
    dtype.__setstate__(state)


def _blank(kind: Any, shape: Any, code: Any = None) -> Any:
    import numpy

    if getattr(kind, "name", "") != "numpy.ndarray" or shape != (0,):
        _damaged()
    return numpy.zeros(0)


def _checked(shape: Any, dtype: Any, raw: Any) -> None:
    import numpy

    if type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape) or \
            len(shape) > 32 or not isinstance(dtype, numpy.dtype) or \
            not isinstance(raw, bytes | bytearray) or \
            len(raw) != math.prod(shape) * dtype.itemsize:
        _damaged()


def set_array_state(array: Any, state: Any) -> None:
    """Give an array of ``_blank`` the elements that a pickle has."""
    if type(state) is not tuple or len(state) != 5 or type(state[3]) is not bool or array.size:
        _damaged()
    _checked(state[1], state[2], state[4])
    array.__setstate__(state)


def setter(obj: Any) -> Callable[[Any, Any], None] | None:
    """What gives its state to an array or a dtype of NumPy; None for other objects."""
    numpy = loaded_numpy()
    if numpy is None:
        return None
    if type(obj) is numpy.ndarray:
        return set_array_state
    return set_dtype_state if isinstance(obj, numpy.dtype) else None


def _from_buffer(raw: Any, dtype: Any, shape: Any, order: Any) -> Any:
    import numpy

    _checked(shape, dtype, raw)
    if order not in ("C", "F"):
        _damaged()
    return numpy.frombuffer(bytearray(raw), dtype).reshape(shape, order=order)


def _scalar(dtype: Any, raw: Any = None) -> Any:
    import numpy

    _checked((), dtype, raw)
    return numpy.frombuffer(raw, dtype)[0]


#: What pickles name for arrays and numbers of NumPy.
NAMES: dict[str, Named] = {
    "numpy.dtype": Named("numpy.dtype", _dtype),
    "numpy.ndarray": Named("numpy.ndarray"),
    **{f"numpy.{core}.{name}": Named(name, build) for core in ("core", "_core")
       for name, build in (("multiarray._reconstruct", _blank), ("multiarray.scalar", _scalar),
                           ("numeric._frombuffer", _from_buffer))},
}
