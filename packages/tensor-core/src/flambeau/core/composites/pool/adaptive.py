"""Pooling to a wanted size: windows that cover a dimension, as equal as they can be.

Windows of planes and blocks are pooled along one dimension after the other. Where those of lines
and planes lie side by side, a composite in C++ comes first.
"""
from operator import index

from flambeau.core import _core
from flambeau.core.composites._windows import check_image

_op = _core.operators()


def _wanted(name, x, output_size, n):
    """The output's sizes; None stands for the input's."""
    check_image(name, x, n, first_empty=True)
    sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size]
    if len(sizes) not in (1, n):
        raise RuntimeError(f"{name}(): output_size is {output_size!r}; it must be one number or "
                           f"{n}, where None keeps the input's size")
    if len(sizes) == 1:
        sizes = sizes * n
    sizes = [x.shape[i - n] if size is None else index(size)
             for i, size in enumerate(sizes)]
    if min(sizes) < 0 or max(sizes) >= 2 ** 31:
        raise RuntimeError(f"{name}(): output sizes must be at least 0 and less than 2**31, got "
                           f"{sizes}")
    return sizes


def adaptive_avg_pool1d(x, output_size):
    return _adaptive_mean("adaptive_avg_pool1d", x, output_size, 1)


def adaptive_avg_pool2d(x, output_size):
    return _adaptive_mean("adaptive_avg_pool2d", x, output_size, 2)


def adaptive_avg_pool3d(x, output_size):
    return _adaptive_mean("adaptive_avg_pool3d", x, output_size, 3)


def _even_windows(x, sizes):
    """The size of windows that lie side by side, or None where some overlap."""
    lengths = x.shape[-len(sizes):]
    if any(size == 0 or length % size for length, size in zip(lengths, sizes, strict=True)):
        return None
    return [length // size for length, size in zip(lengths, sizes, strict=True)]


def _adaptive_mean(name, x, output_size, n):
    sizes = _wanted(name, x, output_size, n)
    if not x.is_floating_point():
        raise NotImplementedError(f"{name}(): not defined for {x.dtype}; convert to a floating "
                                  "dtype, as in x.float()")
    if all(size == 1 for size in sizes):
        return _op["mean"](x, list(range(-n, 0)), True)
    short = n > 1 and x.dtype.itemsize == 2     # one rounding, at the end
    means = _op["cast"](x, _core._dtype_named("float32")) if short else x
    for i, size in enumerate(sizes):
        if size != x.shape[i - n]:
            means = _op["adaptive_mean"](means, i - n, size)
    if means is x:
        return _op["clone"](x)
    return _op["cast"](means, x.dtype) if short else means


def adaptive_max_pool1d(x, output_size, return_indices):
    return _adaptive_best("adaptive_max_pool1d", x, output_size, 1, return_indices)


def adaptive_max_pool2d(x, output_size, return_indices):
    return _adaptive_best("adaptive_max_pool2d", x, output_size, 2, return_indices)


def adaptive_max_pool3d(x, output_size, return_indices):
    return _adaptive_best("adaptive_max_pool3d", x, output_size, 3, return_indices)


def adaptive_max_pool1d_with_indices(x, output_size):
    return _adaptive_best("adaptive_max_pool1d", x, output_size, 1, True)


def adaptive_max_pool2d_with_indices(x, output_size):
    return _adaptive_best("adaptive_max_pool2d", x, output_size, 2, True)


def adaptive_max_pool3d_with_indices(x, output_size):
    return _adaptive_best("adaptive_max_pool3d", x, output_size, 3, True)


def _best_of_windows(x, windows, return_indices):
    """Windows side by side, of lines or of planes."""
    line = len(windows) == 1
    planes = _op["unsqueeze"](x, -2) if line else x
    best = _op["max_pool2d_with_indices"](planes, [1, *windows] if line else windows)
    if line:
        best = [_op["squeeze"](part, -2) for part in best]
    return tuple(best) if return_indices else best[0]


def _adaptive_best(name, x, output_size, n, return_indices):
    """From the last dimension to the first, so that the first of equal maxima wins."""
    if not x.is_floating_point():
        raise NotImplementedError(f"{name}(): not implemented for {x.dtype}; convert to a floating "
                                  "dtype, as in x.float()")
    sizes = _wanted(name, x, output_size, n)
    windows = _even_windows(x, sizes)
    if windows is not None and n < 3 and x.numel():
        return _best_of_windows(x, windows, return_indices)
    values, places, scale = x, None, 1
    for dim in range(-1, -n - 1, -1):
        values, chosen = _op["adaptive_max"](values, dim, sizes[dim])
        if return_indices:
            rest = 0 if places is None else _op["gather"](places, dim, chosen)
            places = _op["add"](_op["mul"](chosen, scale), rest)
            scale *= x.shape[dim]
    return (values, places) if return_indices else values
