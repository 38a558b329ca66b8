"""What several families use."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.dtypes import dtypes, iinfo

_HALF = (dtypes["float16"], dtypes["bfloat16"])


def wide(x):
    """Half precision as float32, so that several roundings are one."""
    return x.to(dtypes["float32"]) if x is not None and x.dtype in _HALF else x


def count(like, dim):
    """The numbers of the elements along a dimension."""
    return numbers(like.shape[dim], like.device)


def numbers(n, device):
    """0 to n - 1."""
    return ops.arange_of(0, n, 1, dtype=dtypes["int64"], device=device)


def filled(size, value, like):
    """A tensor of one number, of another's dtype."""
    return ops.full_of(size, value, dtype=like.dtype, device=like.device)


def each(value, n, default=None):
    """One number for every dimension, or one for each; nothing stands for the default."""
    value = default if value is None or value == () or value == [] else value
    value = (value,) if isinstance(value, int) else tuple(value)
    return value * n if len(value) == 1 else value


def lowest(x):
    """What no element of a dtype is below, as a tensor of no dimensions."""
    if x.dtype.is_floating_point:
        return filled((), float("-inf"), x)
    return filled((), 0 if x.dtype == dtypes["bool"] else iinfo(x.dtype).min, x)


def scan(values, dim, join):
    """Running results of an associative ``join(before, after)`` of lists of tensors.

    Each step joins over twice the distance of the one before (Hillis and Steele, Data parallel
    algorithms, 1986).
    """
    length, step = values[0].shape[dim] if values[0].ndim else 1, 1
    while step < length:
        before = [v.narrow(dim, 0, length - step) for v in values]
        after = [v.narrow(dim, step, length - step) for v in values]
        joined = join(before, after)
        values = [ops.cat([v.narrow(dim, 0, step), j], dim)
                  for v, j in zip(values, joined, strict=True)]
        step *= 2
    return values
