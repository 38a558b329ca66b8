"""Composite operators of random numbers; the streams themselves are kernels."""
from math import log1p, pi

from flambeau.core import _core
from flambeau.core.layouts import expect_strided

_op = _core.operators()

#: The least uniform number that distributions made of a logarithm are given.
_TINY, _TINY_WIDE = 2.0 ** -25, 2.0 ** -54


def _room(x):
    """Memory in the shape of a tensor for numbers that are computed in floating point."""
    wide = x.dtype.name in ("float64", "int64")
    dtype = _core._dtype_named("float64" if wide else "float32")
    return _op["empty"](x.shape, dtype=dtype, device=x.device)


def _expect_floating(what, x):
    if not x.is_floating_point():
        raise NotImplementedError(f"{what}_(): only floating tensors can hold such numbers, got "
                                  f"{x.dtype}; write x.float() first")


def bernoulli__p(x, p, generator):
    return _op["random_bernoulli_"](_op["empty"](x.shape, dtype=x.dtype, device=x.device), p,
                                    generator=generator)


# ---- normal numbers ----------------------------------------------------------------------------
def _standard(shape, like, generator):
    x = _op["empty"](shape, dtype=like.dtype, device=like.device)
    return _op["random_normal_"](x, 0.0, 1.0, generator=generator)


def _check_levels(*parameters):
    """Ask the transforms whether samples may have distributions of their own."""
    for value in parameters:
        while _core.level_of(value):
            value.__dict__["_level"].check_parameter("normal", value)
            value = value.__dict__["_inner"]


def _expect_deviations(std):
    """Refuse what cannot be a standard deviation, where the values can be read."""
    if std.device.type == "meta" or _core.level_of(std):
        return
    if not _op["all"](_op["ge"](std, 0)).item():
        raise RuntimeError("normal(): expects all elements of std >= 0.0, but found "
                           f"{_op['amin'](std).item()}; give std.abs(), or std.clamp(min=0)")


def _fixed(x):
    """A parameter's values: samples do not move with them, and their derivative is zero."""
    values = x.detach()
    if x.requires_grad or _core.level_of(x):
        return _op["add"](values, _op["mul"](_op["sign"](x), 0))
    return values


def normal(mean, std, generator):
    _check_levels(mean, std)
    mean = _fixed(mean)
    if isinstance(std, _core.Tensor):
        _expect_deviations(std)
        std = _fixed(std)
        shape = _op["add"](_op["expand"](_op["empty"](()), mean.shape),
                           _op["expand"](_op["empty"](()), std.shape)).shape
        return _op["add"](_op["mul"](_standard(shape, std, generator), std), mean)
    if std < 0:
        raise RuntimeError(f"normal(): expects std >= 0.0, but found std {std}")
    return _op["add"](_op["mul"](_standard(mean.shape, mean, generator), std), mean)


def normal__std(mean, std, generator):
    _check_levels(std)
    _expect_deviations(std)
    std = _fixed(std)
    return _op["add"](_op["mul"](_standard(std.shape, std, generator), std), mean)


def normal__size(mean, std, size, generator, dtype, device, layout, pin_memory, requires_grad):
    expect_strided("normal", layout)
    x = _op["random_normal_"](_op["empty"](size, dtype=dtype, device=device), mean, std,
                              generator=generator)
    return _core.requiring(x, requires_grad) if requires_grad else x


# ---- distributions -----------------------------------------------------------------------------
def _uniform(x, generator):
    """Uniform numbers above 0 and below 1."""
    room = _room(x)
    low = _TINY if room.dtype.name == "float32" else _TINY_WIDE
    return _op["random_uniform_"](room, low, 1.0, generator=generator)


def _one_by_one(kind, x, generator, *parameters):
    """The numbers of a Mersenne Twister, whose order is PyTorch's; None for another stream.

    Args:
        kind: Its number in ``native/random/mersenne_rates.cpp``.
    """
    if not _core.draws_like_pytorch(generator) or x.device.type == "meta":
        return None
    return _op["random_distribution_"](_op["empty_like"](x), kind, *map(float, parameters),
                                       generator=generator)


def exponential(x, lambd, generator):
    _expect_floating("exponential", x)
    if not lambd > 0:
        raise RuntimeError(f"exponential_(): expects lambd > 0.0, but found lambd={lambd}")
    drawn = _one_by_one(0, x, generator, lambd)
    if drawn is not None:
        return drawn
    return _op["mul_"](_op["log_"](_uniform(x, generator)), -1.0 / lambd)


def cauchy(x, median, sigma, generator):
    _expect_floating("cauchy", x)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_(): expects sigma > 0.0, but found sigma={sigma}")
    drawn = _one_by_one(1, x, generator, median, sigma)
    if drawn is not None:
        return drawn
    angle = _op["mul_"](_op["sub_"](_uniform(x, generator), 0.5), pi)
    return _op["add_"](_op["mul_"](_op["tan_"](angle), sigma), median)


def log_normal(x, mean, std, generator):
    _expect_floating("log_normal", x)
    if not std > 0:
        raise RuntimeError(f"log_normal_(): expects std > 0.0, but found std={std}")
    drawn = _one_by_one(2, x, generator, mean, std)
    if drawn is not None:
        return drawn
    return _op["exp_"](_op["random_normal_"](_room(x), mean, std, generator=generator))


def geometric(x, p, generator):
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_(): expects p to be in (0, 1), but got p={p}")
    drawn = _one_by_one(3, x, generator, p)
    if drawn is not None:
        return drawn
    tries = _op["mul_"](_op["log_"](_uniform(x, generator)), 1.0 / log1p(-p))
    tries = _op["clamp_min_"](_op["ceil_"](tries), 1.0)
    return tries if x.is_floating_point() else _op["cast"](tries, x.dtype)
