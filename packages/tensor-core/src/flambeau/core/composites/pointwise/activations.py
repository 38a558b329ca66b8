"""Composite operators of activation functions."""
from flambeau.core import _core

_op = _core.operators()


def _limits(x, *numbers):
    """Numbers as tensors of this dtype hold them: whole ones for integers."""
    if x.is_floating_point() or x.is_complex():
        return numbers
    return [int(number) for number in numbers]


def softshrink(x, lambd):
    if not lambd >= 0:
        raise RuntimeError(f"softshrink(): lambd must not be negative, got {lambd}")
    return _op["softshrink_by"](x, lambd)


def threshold(x, threshold, value):
    return _op["threshold_at"](x, *_limits(x, threshold, value))


def softsign(x):
    if x.is_complex():
        return _op["div"](x, _op["add"](_op["abs"](x), 1))
    return _op["softsign_of"](x)


def glu(x, dim):
    if x.ndim == 0:
        raise RuntimeError("glu() does not support scalars because halving size must be even")
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"glu(): dim {dim} is out of range for an input of {x.ndim} dimensions")
    size = x.shape[dim]
    if size % 2:
        raise RuntimeError(f"glu(): Halving dimension must be even, but dimension {dim} is size "
                           f"{size}")
    first = _op["narrow"](x, dim, 0, size // 2)
    second = _op["narrow"](x, dim, size // 2, size // 2)
    return _op["mul"](first, _op["sigmoid"](second))


def prelu(x, weight):
    count = weight.numel()
    if count != 1:
        channels = x.shape[1] if x.ndim > 1 else 1
        if weight.ndim != 1 or count != channels:
            raise RuntimeError(f"prelu(): Mismatch of parameter numbers and input channel size. "
                               f"Found parameter numbers = {count} and channel size = {channels}.")
    if x.dtype is not weight.dtype:
        raise RuntimeError(f"prelu(): Type promoting not supported: the input is {x.dtype}, weight "
                           f"is {weight.dtype}; convert one of them with .to(dtype)")
    shape = [count if d == 1 else 1 for d in range(x.ndim)] if x.ndim > 1 else [1] * x.ndim
    return _op["prelu_rows"](x, _op["reshape"](weight, shape))


def rrelu(x, lower, upper, training):
    if lower > upper:
        raise RuntimeError(f"rrelu(): Lower bound should be less than or equal to the upper bound, "
                           f"got {lower} and {upper}")
    if not training:
        return _op["leaky_relu"](x, (lower + upper) / 2)
    slopes = _op["random_uniform_"](_op["empty"](x.shape, dtype=x.dtype, device=x.device), lower,
                                    upper)
    return _op["prelu_rows"](x, slopes)
