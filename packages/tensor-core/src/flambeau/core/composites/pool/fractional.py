"""Fractional max pooling: windows whose steps are drawn at random, plane by plane."""

import math

from flambeau.core import _core
from flambeau.core.composites._windows import check_image, listed

_op = _core.operators()


def fractional_max_pool2d(x, kernel_size, output_size, output_ratio, return_indices, samples):
    both = _fractional(
        "fractional_max_pool2d", 2, x, kernel_size, output_size, output_ratio, samples
    )
    return both if return_indices else both[0]


def fractional_max_pool2d_with_indices(
    x, kernel_size, output_size, output_ratio, return_indices, samples
):
    return _fractional(
        "fractional_max_pool2d", 2, x, kernel_size, output_size, output_ratio, samples
    )


def fractional_max_pool3d(x, kernel_size, output_size, output_ratio, return_indices, samples):
    both = _fractional(
        "fractional_max_pool3d", 3, x, kernel_size, output_size, output_ratio, samples
    )
    return both if return_indices else both[0]


def fractional_max_pool3d_with_indices(
    x, kernel_size, output_size, output_ratio, return_indices, samples
):
    return _fractional(
        "fractional_max_pool3d", 3, x, kernel_size, output_size, output_ratio, samples
    )


def _fractional(name, n, x, kernel_size, output_size, output_ratio, samples):
    check_image(name, x, n)
    size = listed(name, "kernel_size", kernel_size, n)
    sizes = _fraction_sizes(name, n, x, output_size, output_ratio)
    for length, k, out in zip(x.shape[-n:], size, sizes, strict=True):
        if k < 1 or out < 0 or out + k - 1 > length:
            raise RuntimeError(
                f"{name}(): kernel_size {size} and output sizes {sizes} do not fit "
                f"an input of shape {list(x.shape)}; each input size must be at "
                "least output size + kernel size - 1, and the window at least 1"
            )
    if 0 in sizes:
        shape = [*x.shape[:-n], *sizes]
        int64 = _core._dtype_named("int64")
        return _op["empty"](shape, dtype=x.dtype, device=x.device), _op["empty"](
            shape, dtype=int64, device=x.device
        )
    samples = _drawn(name, n, x, samples)
    images = x if x.ndim == n + 2 else _op["unsqueeze"](x, 0)
    indices = _op["fractional_indices"](images, samples, size, sizes)
    if x.ndim == n + 1:
        indices = _op["squeeze"](indices, 0)
    values = _op["gather"](_flat(x, n), -1, _flat(indices, n))
    return _op["reshape"](values, indices.shape), indices


def _flat(x, n):
    return _op["reshape"](x, [*x.shape[:-n], math.prod(x.shape[-n:])])


def _fraction_sizes(name, n, x, output_size, output_ratio):
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}(): give either output_size or output_ratio")
    if output_size is not None:
        return listed(name, "output_size", output_size, n)
    several = isinstance(output_ratio, (tuple, list))
    ratios = list(output_ratio) if several else [output_ratio] * n
    if len(ratios) != n or not all(0 < r < 1 for r in ratios):
        raise ValueError(
            f"{name}(): output_ratio must be one number or {n}, each between 0 and 1, "
            f"got {output_ratio}"
        )
    return [int(length * r) for length, r in zip(x.shape[-n:], ratios, strict=True)]


def _drawn(name, n, x, samples):
    batch, channels = x.shape[0] if x.ndim == n + 2 else 1, x.shape[-n - 1]
    if samples is None:
        return _op["random_uniform_"](
            _op["empty"]([batch, channels, n], dtype=x.dtype, device=x.device)
        )
    enough = samples.ndim == 3 and samples.shape[0] >= batch
    if not enough or list(samples.shape[1:]) != [channels, n] or samples.dtype is not x.dtype:
        raise RuntimeError(
            f"{name}(): _random_samples must be {x.dtype} of shape "
            f"{[batch, channels, n]} or of more samples, got {samples.dtype} of "
            f"shape {list(samples.shape)}"
        )
    return samples[:batch]
