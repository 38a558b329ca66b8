"""Tensors from data of any kind, and the old way to make a sequence of numbers."""
import warnings

from flambeau.core import _core
from flambeau.core.composites.creation.creation import (
    _expect_numbers,
    _finished,
    _kind,
)
from flambeau.core.layouts import expect_strided

_op, _where = _core.operators(), _core._where


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """Data as a tensor, sharing its memory where that is possible and ``copy`` is not true.

    Args:
        obj: A tensor, an array, an object with DLPack or with Python's buffer protocol, a number
            or nested sequences. The bytes of a buffer are read as one row of elements of ``dtype``,
            which is the default floating dtype when left out, whatever the buffer says of them.
        dtype: Element type; that of the data when left out.
        device: Where to put it; where the data is when left out.
        copy: True copies always, False refuses to, None copies where it must.
        requires_grad: Whether operations on it are recorded; as for ``obj`` when left out. False
            switches a leaf off, and detaches what was computed.

    Raises:
        ValueError: ``copy`` is False and the memory cannot be shared.

    Example:
        >>> import flambeau
        >>> x = flambeau.arange(3)
        >>> flambeau.asarray(x) is x
        True
    """
    if _is_buffer(obj):
        obj = _core.frombuffer(obj, dtype=_kind(dtype, None, _core.get_default_dtype()))
    elif type(obj).__name__ == "PyCapsule":
        obj = _core.from_dlpack(obj)
    x = _core.as_tensor(obj, dtype=dtype, device=device)
    shares = isinstance(obj, _core.Tensor) and _core.storage_id(obj) == _core.storage_id(x)
    shares = shares or _shows(obj, x)
    if copy is False and not shares:
        raise ValueError(f"asarray(): {type(obj).__name__} as {x.dtype} on {x.device} needs a "
                         "copy, but copy=False was given")
    if copy and shares:
        x = _op["clone"](x)
    if requires_grad is None:
        return x
    return _core.requiring(x, requires_grad) if requires_grad or x.is_leaf else x.detach()


def _is_buffer(obj):
    """Whether an object has only Python's buffer protocol to show its memory with."""
    if isinstance(obj, _core.Tensor) or hasattr(obj, "__array_interface__") or \
            hasattr(obj, "__dlpack__"):
        return False
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _shows(obj, x):
    """Whether a tensor shows the memory of an array."""
    facts = getattr(obj, "__array_interface__", None)
    return facts is not None and x.is_cpu and facts["data"][0] == x.data_ptr() != 0


def range(start=0, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False,
          layout=None, pin_memory=False):
    """Numbers from ``start`` in steps, ``end`` included; old, ``arange`` leaves the end out.

    Example:
        >>> import flambeau, warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     flambeau.range(1, 3)
        tensor([1., 2., 3.])
    """
    expect_strided("range", layout)
    warnings.warn("range() is deprecated: it includes its end, unlike Python's; write "
                  "arange(start, end + step, step)", stacklevel=2)
    start, end = (0, start) if end is None else (start, end)
    _expect_numbers("range", start=start, end=end, step=step)
    if step == 0:
        raise RuntimeError("range(): step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError(f"range(): upper bound and lower bound inconsistent with step sign: "
                           f"start={start}, end={end}, step={step}")
    dtype = _kind(dtype, out, _core.get_default_dtype())
    count = int((end - start) / step) + 1
    x = _op["arange_of"](0, count, 1, dtype=_wide(dtype), device=_where(device))
    x = _op["cast"](_op["add"](_op["mul"](x, step), start), dtype)
    return _finished(x, out, requires_grad, in_a_row=True)


def _wide(dtype):
    """The dtype to compute numbers of another one in."""
    return _core._dtype_named("float64" if dtype.is_floating_point else "int64")


FUNCTIONS = {f.__name__: f for f in (asarray, range)}  # type: dict[str, object]
