"""Reductions over neighbouring slices of a tensor."""
from flambeau.core import _core

_op = _core.operators()
_REDUCTIONS = {"sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0),
          "max": ("amax", float("-inf")), "min": ("amin", float("inf"))}


def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {sorted(_REDUCTIONS)}, got "
                           f"{reduce!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices= is not supported, as in PyTorch; give "
                           "lengths= or offsets=")
    if not data.is_floating_point():
        raise RuntimeError(f"segment_reduce(): expected floating-point data, got {data.dtype}; "
                           "convert with x.float()")
    if data.ndim == 0:
        raise RuntimeError("segment_reduce(): data has no dimension to cut into segments")
    axis = axis + data.ndim if axis < 0 else axis
    lengths = _lengths(data, lengths, offsets, axis)
    if not unsafe:
        _check(data, lengths, axis)
    lead, count = tuple(data.shape[:axis]), lengths.shape[-1]
    rows = 1
    for size in lead:
        rows *= size
    rest = tuple(data.shape[axis + 1:])
    flat = _op["reshape"](data, (rows * data.shape[axis], *rest))
    sizes = _op["reshape"](lengths, (rows * count,))
    scatter_reduce, identity = _REDUCTIONS[reduce]
    start = identity if initial is None else initial
    if reduce in ("max", "min") and flat.requires_grad and not _core.level_of(flat):
        whole = _chosen(flat, sizes, scatter_reduce, start, rest)
    else:
        whole = _reduced(flat, sizes, scatter_reduce, start, rest)
    if reduce == "mean":
        whole = _divided(whole, sizes, initial)
    return _op["reshape"](whole, (*lead, count, *rest))


def _lengths(data, lengths, offsets, axis):
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): give either lengths= or offsets=")
    given = lengths if offsets is None else offsets
    if given.ndim != axis + 1 or tuple(given.shape[:axis]) != tuple(data.shape[:axis]):
        raise RuntimeError(f"segment_reduce(): lengths and offsets have one dimension more than "
                           f"those before axis {axis} of data, {list(data.shape[:axis])}; got "
                           f"shape {list(given.shape)}")
    return lengths if offsets is None else _op["diff"](offsets, 1, -1)


def _check(data, lengths, axis):
    """Segments must cover the dimension; data-dependent, so ``unsafe=True`` leaves it out."""
    if not data.is_cpu:
        return
    totals = _op["sum"](lengths, -1)
    if bool(_op["any"](_op["lt"](lengths, 0))):
        raise RuntimeError("segment_reduce(): lengths contains negative value!")
    if bool(_op["any"](_op["ne"](totals, data.shape[axis]))):
        raise RuntimeError(f"segment_reduce(): the lengths must add up to the {data.shape[axis]} "
                           f"elements of axis {axis}, got {totals.tolist()}")


def _reduced(flat, sizes, reduce, initial, rest):
    start = _op["full_of"]((sizes.shape[0], *rest), initial, dtype=flat.dtype, device=flat.device)
    return _op["scatter_reduce"](start, 0, _positions(flat, sizes, rest), flat, reduce,
                                 include_self=True)


def _positions(flat, sizes, rest):
    """The segment of each element."""
    numbers = _op["arange_of"](0, sizes.shape[0], 1, dtype=_core._dtype_named("int64"),
                               device=flat.device)
    positions = _op["repeat_interleave"](numbers, sizes, 0, output_size=flat.shape[0])
    return _op["expand"](_op["view"](positions, (-1, *(1,) * len(rest))), flat.shape)


def _chosen(flat, sizes, reduce, initial, rest):
    """Extremes whose gradient goes in equal shares to the elements that are they, NaN among them;
    the initial number takes none.

    The sum of the shares has that gradient. It is the extreme up to rounding, which its memory
    then holds without any.
    """
    plain, positions = flat.detach(), _positions(flat, sizes, rest)
    extremes = _reduced(plain, sizes, reduce, initial, rest)
    is_one = _op["logical_or"](_op["eq"](plain, _op["gather"](extremes, 0, positions)),
                               _op["isnan"](plain))
    zeros = _op["zeros_like"](extremes)
    counts = _op["scatter_add"](zeros, 0, positions, _op["cast"](is_one, flat.dtype))
    shares = _op["div"](_op["where"](is_one, flat, 0.0), _op["gather"](counts, 0, positions))
    whole = _op["scatter_add"](zeros, 0, positions, _op["where"](is_one, shares, 0.0))
    _op["copy_"](whole.data, extremes)
    return whole


def _divided(sums, sizes, initial):
    """Means; empty segments are NaN, or the initial number."""
    counts = _op["cast"](_op["view"](sizes, (-1, *(1,) * (sums.ndim - 1))), sums.dtype)
    if initial is None:
        return _op["div"](sums, counts)
    return _op["div"](sums, _op["clamp_min"](counts, 1))
