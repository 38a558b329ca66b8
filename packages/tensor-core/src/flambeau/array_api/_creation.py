"""Making arrays."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._dtypes import default_complex
from flambeau.core import Tensor, as_tensor, over_buffer, tensor
from flambeau.core import from_dlpack as take_dlpack


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None,
            copy: bool | None = None) -> Any:
    """An array of what can be made one.

    Args:
        obj: An array, a number, nested sequences of numbers, or an object with DLPack, NumPy's
            array interface or the buffer protocol.
        dtype: Wanted dtype.
        device: Wanted device.
        copy: Whether memory must (True), must not (False) or may (None) be copied.
    """
    if not _has_memory(obj):
        if copy is False:
            raise ValueError(f"asarray(): {type(obj).__name__} has to be copied, but copy=False "
                             "was given")
        return tensor(obj, dtype=dtype, device=device)
    x = _sharing(obj)
    made = x.to(dtype=dtype, device=device)
    if copy is False and made is not x:
        raise ValueError(f"asarray(): {x.dtype} on {x.device} has to be copied to become "
                         f"{made.dtype} on {made.device}, but copy=False was given")
    return x.clone() if copy and made is x else made


def _has_memory(obj: Any) -> bool:
    return isinstance(obj, (Tensor, memoryview, bytes, bytearray)) or \
        not isinstance(obj, (list, tuple, int, float, complex)) and _exports(obj)


def _exports(obj: Any) -> bool:
    names = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    return any(hasattr(obj, name) for name in names) or _is_buffer(obj)


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


#: Formats of the buffer protocol that have a dtype of another name on this platform.
_OF_FORMAT = {"?": "bool", "f": "float32", "d": "float64", "e": "float16", "Zf": "complex64",
              "Zd": "complex128"}


def _sharing(obj: Any) -> Any:
    if isinstance(obj, Tensor) or not _is_buffer(obj) or hasattr(obj, "__array_interface__"):
        return as_tensor(obj)
    view = memoryview(obj)
    name = _OF_FORMAT.get(view.format) or \
        f"{'int' if view.format in 'bhilq' else 'uint'}{8 * view.itemsize}"
    return over_buffer(view, flambeau.core.dtypes[name]).reshape(view.shape or ())


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of another library's array."""
    return take_dlpack(x, device=device, copy=copy)


def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None,
           device: Any = None) -> Any:
    """Numbers from ``start`` to ``stop``, ``stop`` excluded."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        whole = all(isinstance(n, int) for n in (start, stop, step))
        dtype = dtype or (flambeau.int64 if whole else flambeau.get_default_dtype())
        return flambeau.empty(0, dtype=dtype, device=device)
    return flambeau.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of whatever the memory holds."""
    return flambeau.empty(_sizes(shape), dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of zeros."""
    return flambeau.zeros(_sizes(shape), dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of ones."""
    return flambeau.ones(_sizes(shape), dtype=dtype, device=device)


def full(shape: Any, fill_value: complex, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of one repeated number; complex ones beyond the range become infinite."""
    if isinstance(fill_value, complex):     # flambeau.full refuses them, as PyTorch does
        number = tensor(fill_value, dtype=dtype or default_complex(), device=device)
        return number.broadcast_to(_sizes(shape)).clone()
    return flambeau.full(_sizes(shape), fill_value, dtype=dtype, device=device)


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """An array like another, of whatever the memory holds."""
    return flambeau.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros in the shape of another array."""
    return flambeau.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones in the shape of another array."""
    return flambeau.ones_like(x, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: complex, *, dtype: Any = None, device: Any = None) -> Any:
    """One repeated number in the shape of another array."""
    return flambeau.full_like(x, fill_value, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None,
        device: Any = None) -> Any:
    """Ones on the diagonal ``k``, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    x = flambeau.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        x.diagonal(k).fill_(1)
    return x


def linspace(start: complex, stop: complex, /, num: int, *, dtype: Any = None,
             device: Any = None, endpoint: bool = True) -> Any:
    """``num`` numbers at equal distances, ``stop`` among them only with ``endpoint``."""
    if dtype is None and (isinstance(start, complex) or isinstance(stop, complex)):
        dtype = default_complex()
    count = num if endpoint else num + 1
    return flambeau.linspace(start, stop, count, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinates of the points of a grid."""
    return tuple(flambeau.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of matrices."""
    return flambeau.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of matrices."""
    return flambeau.triu(x, k)


__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
           "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]
