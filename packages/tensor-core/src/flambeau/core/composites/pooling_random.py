"""Fractional max pooling: windows whose steps are drawn at random, plane by plane."""
from flambeau.core import _core
from flambeau.core.composites._windows import check_image, listed

_op = _core.operators()


def fractional_max_pool2d(x, kernel_size, output_size, output_ratio, return_indices, samples):
    both = _fractional("fractional_max_pool2d", 2, x, kernel_size, output_size, output_ratio,
                       samples)
    return both if return_indices else both[0]


def fractional_max_pool2d_with_indices(x, kernel_size, output_size, output_ratio, return_indices,
                                       samples):
    return _fractional("fractional_max_pool2d", 2, x, kernel_size, output_size, output_ratio,
                       samples)


def fractional_max_pool3d(x, kernel_size, output_size, output_ratio, return_indices, samples):
    both = _fractional("fractional_max_pool3d", 3, x, kernel_size, output_size, output_ratio,
                       samples)
    return both if return_indices else both[0]


def fractional_max_pool3d_with_indices(x, kernel_size, output_size, output_ratio, return_indices,
                                       samples):
    return _fractional("fractional_max_pool3d", 3, x, kernel_size, output_size, output_ratio,
                       samples)


def _fractional(name, n, x, kernel_size, output_size, output_ratio, samples):
    check_image(name, x, n)
    size = listed(name, "kernel_size", kernel_size, n)
    sizes = _fraction_sizes(name, n, x, output_size, output_ratio)
    for length, k, out in zip(x.shape[-n:], size, sizes, strict=True):
        if k < 1 or out < 1 or out + k - 1 > length:
            raise RuntimeError(f"{name}(): kernel_size {size} and output sizes {sizes} do not fit "
                               f"an input of shape {list(x.shape)}; each input size must be at "
                               "least output size + kernel size - 1, and all at least 1")
    samples = _drawn(name, n, x, samples)
    values = x if x.ndim == n + 2 else _op["unsqueeze"](x, 0)
    places, scale = None, 1
    for dim in range(-1, -n - 1, -1):
        column = -1 - dim if n == 2 else n + dim    # planes take their samples from the right
        starts = _random_starts(_op["select"](samples, 2, column), x.shape[dim], sizes[dim],
                                size[dim])
        values, chosen = _best_from(values, dim, starts, size[dim])
        rest = 0 if places is None else _op["gather"](places, dim, chosen)
        places = _op["add"](_op["mul"](chosen, scale), rest)
        scale *= x.shape[dim]
    if x.ndim == n + 1:
        return _op["squeeze"](values, 0), _op["squeeze"](places, 0)
    return values, places


def _fraction_sizes(name, n, x, output_size, output_ratio):
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}(): give either output_size or output_ratio")
    if output_size is not None:
        return listed(name, "output_size", output_size, n)
    several = isinstance(output_ratio, (tuple, list))
    ratios = list(output_ratio) if several else [output_ratio] * n
    if len(ratios) != n or not all(0 < r < 1 for r in ratios):
        raise ValueError(f"{name}(): output_ratio must be one number or {n}, each between 0 and 1, "
                         f"got {output_ratio}")
    return [int(length * r) for length, r in zip(x.shape[-n:], ratios, strict=True)]


def _drawn(name, n, x, samples):
    batch, channels = x.shape[0] if x.ndim == n + 2 else 1, x.shape[-n - 1]
    if samples is None:
        return _op["random_uniform_"](_op["empty"]([batch, channels, n], dtype=x.dtype,
                                                   device=x.device))
    enough = samples.ndim == 3 and samples.shape[0] >= batch
    if not enough or list(samples.shape[1:]) != [channels, n] or samples.dtype is not x.dtype:
        raise RuntimeError(f"{name}(): _random_samples must be {x.dtype} of shape "
                           f"{[batch, channels, n]} or of more samples, got {samples.dtype} of "
                           f"shape {list(samples.shape)}")
    return samples[:batch]


def _random_starts(sample, length, count, size):
    """Where the windows of each plane begin: steps of about equal length, shifted by the sample;
    the last window ends with the plane."""
    last = _op["full_of"]([*sample.shape, 1], length - size, device=sample.device,
                          dtype=_core._dtype_named("int64"))
    if count == 1:
        return last
    step = (length - size) / (count - 1)
    sample = _op["unsqueeze"](sample, -1)
    numbers = _op["arange_of"](0, count - 1, 1, dtype=sample.dtype, device=sample.device)
    moved = _op["cast"](_op["mul"](_op["add"](numbers, sample), step), last.dtype)
    first = _op["cast"](_op["mul"](sample, step), last.dtype)
    return _op["cat"]([_op["sub"](moved, first), last], -1)


def _best_from(x, dim, starts, size):
    """Maxima of windows along a dimension, and their places in it; ``starts`` by plane."""
    taps = _op["add"](_op["unsqueeze"](starts, -1),
                      _op["arange_of"](0, size, 1, device=x.device))
    dims = [1] * x.ndim
    dims[:2], dims[dim] = starts.shape[:2], starts.shape[2] * size
    shape = list(x.shape)
    shape[dim] = starts.shape[2] * size
    index = _op["expand"](_op["reshape"](taps, dims), shape)
    at = x.ndim + dim
    windows = [*shape[:at], starts.shape[2], size, *shape[at + 1:]]
    values, best = _op["max"](_op["reshape"](_op["gather"](x, at, index), windows), at + 1)
    dims[at] = starts.shape[2]
    return values, _op["add"](best, _op["reshape"](starts, dims))
