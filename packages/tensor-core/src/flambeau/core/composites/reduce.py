"""Reductions over neighbouring slices of a tensor."""
from math import prod

from flambeau.core import _core
from flambeau.core.composites._halves import rounded, widened

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
    given = _given(data, lengths, offsets, axis)
    if not unsafe and data.is_cpu:      # waits for a device, which unsafe=True leaves out
        (_check_lengths if offsets is None else _check_offsets)(data, given, axis)
    own, data = data.dtype, widened(data) if reduce == "mean" else data
    bounds = _op["pad"](_op["cumsum"](given, -1), (1, 0)) if offsets is None else given
    lead, rest = tuple(data.shape[:axis]), tuple(data.shape[axis + 1:])
    segments = bounds.shape[-1]         # one more than asked for: what is in none of them
    flat = _op["reshape"](data, (prod(data.shape[:axis + 1]), *rest))
    positions = _op["expand"](_op["view"](_segments(bounds, data.shape[axis], lead),
                                          (-1, *(1,) * len(rest))), flat.shape)
    shape = (prod(lead) * segments, *rest)
    scatter_reduce, identity = _REDUCTIONS[reduce]
    start = identity if initial is None else initial
    if reduce in ("max", "min") and flat.requires_grad and not _core.level_of(flat):
        whole = _chosen(flat, positions, scatter_reduce, start, shape)
    else:
        whole = _reduced(flat, positions, scatter_reduce, start, shape)
    whole = _op["narrow"](_op["reshape"](whole, (*lead, segments, *rest)), axis, 0, segments - 1)
    if reduce == "mean":
        whole = rounded(_divided(whole, _op["diff"](bounds, 1, -1), initial, len(rest)), own)
    return whole


def _given(data, lengths, offsets, axis):
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): give either lengths= or offsets=")
    given = lengths if offsets is None else offsets
    if given.ndim != axis + 1 or tuple(given.shape[:axis]) != tuple(data.shape[:axis]):
        raise RuntimeError(f"segment_reduce(): lengths and offsets have one dimension more than "
                           f"those before axis {axis} of data, {list(data.shape[:axis])}; got "
                           f"shape {list(given.shape)}")
    if offsets is not None and offsets.shape[-1] == 0:
        raise RuntimeError("segment_reduce(): offsets hold the start of each segment and the end "
                           "of the last, so at least one number; got none")
    return given


def _check_lengths(data, lengths, axis):
    totals = _op["sum"](lengths, -1)
    if bool(_op["any"](_op["lt"](lengths, 0))):
        raise RuntimeError("segment_reduce(): lengths contains negative value!")
    if bool(_op["any"](_op["ne"](totals, data.shape[axis]))):
        raise RuntimeError(f"segment_reduce(): the lengths must add up to the {data.shape[axis]} "
                           f"elements of axis {axis}, got {totals.tolist()}; with unsafe=True the "
                           "rest is in no segment")


def _check_offsets(data, offsets, axis):
    """Segments may leave elements out; they may not overlap, nor end beyond the data."""
    outside = _op["logical_or"](_op["lt"](offsets, 0), _op["gt"](offsets, data.shape[axis]))
    if bool(_op["any"](outside)) or bool(_op["any"](_op["lt"](_op["diff"](offsets, 1, -1), 0))):
        raise RuntimeError(f"segment_reduce(): offsets must rise from 0 to at most the "
                           f"{data.shape[axis]} elements of axis {axis}, got {offsets.tolist()}")


def _segments(bounds, size, lead):
    """The row of results that each element goes to: the last of its block if to no segment."""
    elements = _op["arange_of"](0, size, 1, dtype=bounds.dtype, device=bounds.device)
    elements = _op["contiguous"](_op["expand"](elements, (*lead, size)))
    found = _op["sub"](_op["searchsorted"](bounds, elements, right=True), 1)
    last = bounds.shape[-1] - 1
    found = _op["where"](_op["lt"](found, 0), last, found)
    rows = _op["arange_of"](0, prod(lead), 1, dtype=found.dtype, device=bounds.device)
    starts = _op["view"](_op["mul"](rows, last + 1), (*lead, 1))
    return _op["add"](found, starts)


def _reduced(flat, positions, reduce, initial, shape):
    start = _op["full_of"](shape, initial, dtype=flat.dtype, device=flat.device)
    return _op["scatter_reduce"](start, 0, positions, flat, reduce, include_self=True)


def _chosen(flat, positions, reduce, initial, shape):
    """Extremes whose gradient goes in equal shares to the elements that are they, NaN among them;
    the initial number takes none.

    The sum of the shares has that gradient. It is the extreme up to rounding, which its memory
    then holds without any.
    """
    plain = flat.detach()
    extremes = _reduced(plain, positions, reduce, initial, shape)
    is_one = _op["logical_or"](_op["eq"](plain, _op["gather"](extremes, 0, positions)),
                               _op["isnan"](plain))
    zeros = _op["zeros_like"](extremes)
    counts = _op["scatter_add"](zeros, 0, positions, _op["cast"](is_one, flat.dtype))
    shares = _op["div"](_op["where"](is_one, flat, 0.0), _op["gather"](counts, 0, positions))
    whole = _op["scatter_add"](zeros, 0, positions, _op["where"](is_one, shares, 0.0))
    _op["copy_"](whole.data, extremes)
    return whole


def _divided(sums, lengths, initial, trailing):
    """Means; empty segments are NaN, or the initial number."""
    counts = _op["cast"](_op["view"](lengths, (*lengths.shape, *(1,) * trailing)), sums.dtype)
    return _op["div"](sums, counts if initial is None else _op["clamp_min"](counts, 1))
