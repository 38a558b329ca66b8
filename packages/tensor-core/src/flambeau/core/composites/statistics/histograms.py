"""Composite operators that count. The size of what they make may depend on values."""
from math import prod

from flambeau.core import _core
from flambeau.core.composites.refusals import refusing
from flambeau.core.named_outputs import named_outputs

_op = _core.operators()
Histogramdd = named_outputs("histogramdd", ("hist", "bin_edges"))


def bincount(x, weights, minlength):
    if x.ndim != 1 or x.is_floating_point() or x.is_complex():
        raise RuntimeError(f"bincount(): only 1-d tensors of non-negative integers are counted, "
                           f"got a {x.dtype} tensor of shape {list(x.shape)}")
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    if weights is not None and weights.shape != x.shape:
        raise RuntimeError(f"bincount(): weights should be 1-d and have the same length as input, "
                           f"got shapes {list(weights.shape)} and {list(x.shape)}")
    size = _size_of_counts(x, minlength) if x.numel() else minlength
    return refusing("bincount", _op["bincount_of"](x, weights, size), weights)


def _size_of_counts(x, minlength):
    """One more than the greatest number; under vmap that of every sample."""
    greatest = _op["amax"](x)
    if "_inner" not in greatest.__dict__:
        return max(int(greatest) + 1, minlength)
    while "_inner" in greatest.__dict__:        # a batch of vmap's: all samples
        greatest = greatest.__dict__["_inner"]
    least = max(int(_op["amin"](greatest)) + 1, minlength)
    most = max(int(_op["amax"](greatest)) + 1, minlength)
    if least != most:
        raise RuntimeError(f"bincount(): in vmap: results of {least} to {most} elements cannot be "
                           f"stacked: give minlength={most}, or more")
    return most


def _check_points(what, x, weight):
    if x.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{what}(): expected a float32 or float64 tensor, got {x.dtype}; write "
                           "x.float() first")
    if weight is not None and weight.dtype is not x.dtype:
        raise RuntimeError(f"{what}(): if weight tensor is provided, input tensor and weight "
                           f"tensor should have the same dtype, but got {x.dtype} and "
                           f"{weight.dtype}")


def histogram(x, bins, weight, density):
    _check_points("histogram", x, weight)
    if bins.ndim != 1 or bins.numel() < 1 or bins.dtype is not x.dtype:
        raise RuntimeError(f"histogram(): bins must be a vector of edges of dtype {x.dtype}, got a "
                           f"{bins.dtype} tensor of shape {list(bins.shape)}")
    if weight is not None and weight.shape != x.shape:
        raise RuntimeError(f"histogram(): weight has shape {list(weight.shape)}, but the input "
                           f"{list(x.shape)}")
    points = _op["reshape"](x, (-1, 1))
    flat = None if weight is None else _op["reshape"](weight, (-1,))
    counts = refusing("histogram", _op["histogram_of"](points, [bins], flat), x, weight)
    return _finish(counts, [bins], density), bins


def histogram__count(x, bins, range, weight, density):
    _check_points("histogram", x, weight)
    edges = _edges("histogram", _op["reshape"](x, (-1, 1)), [bins], range)[0]
    return histogram(x, edges, weight, density)


def _edges(what, points, counts, limits):
    """Evenly spaced edges for each column of points, from limits or from the points' extent."""
    if limits is not None and len(limits) != 2 * len(counts):
        raise RuntimeError(f"{what}(): range should have {2 * len(counts)} numbers, two for each "
                           f"dimension, got {len(limits)}")
    made, extents = [], None
    for d, count in enumerate(counts):
        if count <= 0:
            raise RuntimeError(f"{what}(): the number of bins must be positive, got {count}")
        if limits is None and extents is None:
            extents = _extents(points)
        low, high = limits[2 * d:2 * d + 2] if limits is not None else _extent(what, extents, d)
        if not low <= high:
            raise RuntimeError(f"{what}(): min {low} should not exceed max {high} for dimension "
                               f"{d}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        made.append(_op["linspace"](low, high, count + 1, dtype=points.dtype,
                                    device=points.device))
    return made


def _extents(points):
    """The least and the greatest of each column, which are read at once."""
    if points.shape[0] == 0:
        return [0.0] * points.shape[1], [1.0] * points.shape[1]
    return _op["stack"]([_op["amin"](points, 0), _op["amax"](points, 0)]).tolist()


def _extent(what, extents, d):
    low, high = (ends[d] for ends in extents)
    if not -float("inf") < low <= high < float("inf"):
        raise RuntimeError(f"{what}(): dimension {d}'s range [{low}, {high}] is not finite; give "
                           "range=")
    return low, high


def _finish(hist, edges, density):
    """The histogram, or the density that integrates to 1."""
    if not density:
        return hist
    total = _op["sum"](hist)
    for d, edge in enumerate(edges):
        width = _op["diff"](edge)
        hist = _op["div"](hist, _op["reshape"](width, [-1] + [1] * (hist.ndim - 1 - d)))
    return _op["div"](hist, total)


def histogramdd(x, bins, range, weight, density):
    _check_points("histogramdd", x, weight)
    if x.ndim < 2:
        raise RuntimeError(f"histogramdd(): input tensor should have at least 2 dimensions, got "
                           f"shape {list(x.shape)}")
    size = x.shape[-1]
    points = _op["reshape"](x, (prod(x.shape[:-1]), size))
    bins = [bins] * size if isinstance(bins, int) else list(bins)
    if len(bins) != size:
        raise RuntimeError(f"histogramdd(): the number of bins ({len(bins)}) must equal the size "
                           f"of the innermost dimension of the input ({size})")
    if size == 0:       # a grid without dimensions has one bin, in which PyTorch counts nothing
        return Histogramdd(_op["empty"]((), dtype=x.dtype, device=x.device).zero_(), ())
    if all(isinstance(b, int) for b in bins):
        bins = _edges("histogramdd", points, bins, range)
    if weight is not None:
        weight = _op["reshape"](weight, (-1,))
    counts = refusing("histogramdd", _op["histogram_of"](points, bins, weight), x, weight)
    return Histogramdd(_finish(counts, bins, density), tuple(bins))
