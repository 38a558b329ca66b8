"""Calls of convolutions, pooling and fold; see calls.py."""

from __future__ import annotations

from call import FLOATS, TWO, nn
from call import call_of as _c

import flambeau
from flambeau.core import ops

LINE, IMAGE, BLOCK = (2, 4, 11), (2, 4, 8, 9), (2, 2, 5, 6, 7)
REALS = ("int64", *FLOATS)
KINDS = ("int64", "complex64", *TWO)


def _f(name, *args, **options):
    """The function of a library that calls an operator of networks with these arguments."""
    return lambda lib, *tensors: getattr(nn(lib), name)(*tensors, *args, **options)


def _both(name, *args, **options):
    return lambda lib, *tensors: tuple(
        getattr(nn(lib), name)(*tensors, *args, return_indices=True, **options))


def _convolutions(name, image, filters):
    """``filters``: the shape of a weight without the size of its kernel."""
    n = len(image) - 2
    weight = (*filters, *(3, 2, 2)[:n])
    single = image[1:]
    return [_c(_f(name), image, weight, (filters[0],), factor=2, d=KINDS),
            _c(_f(name, None, 2, 1), image, weight, factor=2),
            _c(_f(name, None, (1, 2, 3)[:n], (2, 0, 1)[:n], (2, 1, 2)[:n]), image, weight,
               factor=2),
            _c(_f(name, groups=2), image, (filters[0], 2, *weight[2:])
               if n < 3 else (filters[0], 1, *weight[2:]), factor=2),
            _c(_f(name, padding="same", dilation=(1, 2, 2)[:n]), image, weight, factor=2),
            _c(_f(name, padding="valid", stride=2), single, weight, factor=2),
            _c(_f(name), (0, *single), weight)]


def _transposed(name, image, filters):
    n = len(image) - 2
    weight = (*filters, *(3, 2, 2)[:n])
    return [_c(_f(name), image, weight, (filters[1],), factor=2, d=KINDS),
            _c(_f(name, None, 2, 1, 1), image, weight, factor=2),
            _c(_f(name, None, (1, 2, 3)[:n], (1, 0, 1)[:n], 0, 1, (2, 1, 2)[:n]), image, weight,
               factor=2),
            _c(_f(name, groups=2, stride=2), image, weight, (2 * filters[1],), factor=2),
            _c(_f(name, None, 1, 1, 1, 1, 2), image[1:], weight, factor=2),
            _c(_f(name), (0, *image[1:]), weight)]


def _maxima(name, image):
    n = len(image) - 2
    return [_c(_f(name, 2), image, d=FLOATS if n == 1 else REALS),
            _c(_f(name, 3, 2, 1, 1, True), image),
            _c(_both(name, (3, 2, 2)[:n], 1, 1), image),
            _c(_both(name, 2, (2, 1, 1)[:n], 0, 2), image[1:]),
            _c(_f(name, 2), (0, *image[1:]))]


def _means(name, image):
    n = len(image) - 2
    calls = [_c(_f(name, 2), image, d=TWO if n == 3 else FLOATS),
             _c(_f(name, 3, 2, 1, True), image),
             _c(_f(name, (3, 2, 2)[:n], 2, 1, True, False), image[1:]),
             _c(_f(name, 2), (0, *image[1:]))]
    calls.append(_c(_f(name, 3, 2, 1, True, False), image, d=("int64",), domain=(-99, 99)))
    return calls if n == 1 else [*calls, _c(_f(name, 2, divisor_override=3), image,
                                            d=("int64", *TWO))]


def _adaptive(kind, image):
    """Sizes that divide the image's and sizes that do not, given in full and by one number."""
    n = len(image) - 2
    name, best = f"adaptive_{kind}_pool{n}d", kind == "max"
    sizes = [1, 3, (3, 4, 5)[:n]] + ([(None, 4, 2)[:n]] if n > 1 else [])
    calls = [_c(_f(name, size), image, d=FLOATS) for size in sizes]
    calls += [_c(_f(name, 4), image[1:]), _c(_f(name, 3), (0, *image[1:]))]
    return calls + ([_c(_both(name, size), image) for size in sizes] if best else [])


def _unpooling(n, image):
    # Made once: the interpreter's cache of attributes keeps each new string it is asked for.
    pool, unpool = f"max_pool{n}d", f"max_unpool{n}d"

    def back(lib, x):
        values, indices = getattr(nn(lib), pool)(x, 2, return_indices=True)
        return getattr(nn(lib), unpool)(values, indices, 2, output_size=x.shape[-n:])

    return [_c(back, image), _c(back, image[1:]), _c(back, (0, *image[1:]))]


def _fractional(n, image):
    """Samples of both libraries are the same; drawn ones are not compared."""
    name = f"fractional_max_pool{n}d"

    def call(size, **options):
        return lambda lib, x, s: tuple(getattr(nn(lib), name)(
            x, size, return_indices=True, _random_samples=s.abs() / 3, **options))

    return [_c(call(2, output_size=(3, 2, 4)[:n]), image, (*image[:2], n)),
            _c(call((2, 3, 1)[:n], output_ratio=(0.5, 0.4, 0.6)[:n]), image[1:], (1, image[1], n)),
            _c(call(2, output_size=1), image, (*image[:2], n))]


def _columns(lib, name):
    """`unfold` and `fold` of networks, which are aliases of rows here."""
    if lib is not flambeau:
        return getattr(lib.nn.functional, name)
    return ops.im2col if name == "unfold" else ops.col2im


WINDOWS = {
    "conv1d": _convolutions("conv1d", LINE, (6, 4)),
    "conv3d": _convolutions("conv3d", BLOCK, (4, 2)),
    "conv_transpose1d": _transposed("conv_transpose1d", LINE, (4, 3)),
    "conv_transpose2d": _transposed("conv_transpose2d", IMAGE, (4, 3)),
    "conv_transpose3d": _transposed("conv_transpose3d", BLOCK, (2, 3)),
    "max_pool1d": _maxima("max_pool1d", LINE),
    "max_pool3d": _maxima("max_pool3d", BLOCK),
    "avg_pool1d": _means("avg_pool1d", LINE),
    "avg_pool3d": _means("avg_pool3d", BLOCK),
    **{f"lp_pool{n}d": [_c(_f(f"lp_pool{n}d", 2, 2), image, factor=4),
                        _c(_f(f"lp_pool{n}d", 3.0, 3, 2, True), image, domain=(0.1, 3.0),
                           factor=4)]
       for n, image in ((1, LINE), (2, IMAGE), (3, BLOCK))},
    **{f"adaptive_{kind}_pool{n}d": _adaptive(kind, image)
       for kind in ("avg", "max") for n, image in ((1, LINE), (2, IMAGE), (3, BLOCK))},
    **{f"max_unpool{n}d": _unpooling(n, image)
       for n, image in ((1, LINE), (2, IMAGE), (3, BLOCK))},
    "fractional_max_pool2d": _fractional(2, IMAGE),
    "fractional_max_pool3d": _fractional(3, BLOCK),
    "im2col": [
        _c(lambda lib, x: _columns(lib, "unfold")(x, 2), IMAGE, d=("complex64", *FLOATS)),
        _c(lambda lib, x: _columns(lib, "unfold")(x, (3, 2), (1, 2), (2, 1), (2, 3)), IMAGE),
        _c(lambda lib, x: _columns(lib, "unfold")(x, 3, 1, 3, 4), IMAGE[1:])],
    "col2im": [
        _c(lambda lib, x: _columns(lib, "fold")(x, (4, 5), 2), (2, 12, 12),
           d=("complex64", *FLOATS)),
        _c(lambda lib, x: _columns(lib, "fold")(x, (7, 8), (3, 2), (1, 2), (2, 1), (2, 3)),
           (12, 15), d=TWO)],
}


_WITH_INDICES = [name for name in WINDOWS if name.startswith(("max_pool", "adaptive_max", "frac"))]
_PADDED = [f"conv{n}d" for n in (1, 2, 3)]
WINDOWS_ELSEWHERE = {
    **{f"{name}_with_indices": name for name in _WITH_INDICES},
    **{f"{name}.padding": name for name in _PADDED},
    "conv3d_input_grad": "autograd's gradcheck", "conv3d_weight_grad": "autograd's gradcheck",
    "adaptive_mean": "adaptive_avg_pool2d", "adaptive_mean_grad": "autograd's gradcheck",
    "adaptive_max": "adaptive_max_pool2d", "fractional_indices": "fractional_max_pool2d",
}
