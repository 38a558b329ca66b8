"""Composite operators of dropout beyond the plain one."""
from flambeau.core import _core

_op = _core.operators()

#: What selu maps minus infinity to, negated.
_ALPHA = 1.7580993408473766


def _check(what, p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{what}(): dropout probability has to be between 0 and 1, but got {p}")


def _kept(x, shape, p):
    """Ones with probability 1 - p, zeros elsewhere."""
    return _op["random_bernoulli_"](_op["empty"](shape, dtype=x.dtype, device=x.device), 1.0 - p)


def _channels(what, x):
    """A shape with one element for each channel of each sample."""
    if x.ndim < 2:
        raise RuntimeError(f"{what}(): expected an input with at least 2 dimensions, samples and "
                           f"channels, got shape {list(x.shape)}")
    return list(x.shape[:2]) + [1] * (x.ndim - 2)


def _alpha(what, x, p, training, inplace, channels):
    """Dropped elements become -alpha; an affine map restores mean and variance."""
    _check(what, p)
    if not training or p == 0.0 or x.numel() == 0:
        return x
    if p == 1.0:
        return _op["mul_"](x, 0) if inplace else _op["mul"](x, 0)
    scale = ((1.0 - p) * (1.0 + p * _ALPHA ** 2)) ** -0.5
    kept = _kept(x, _channels(what, x) if channels else x.shape, p)
    shift = _op["add_"](_op["mul"](_op["sub"](kept, 1), _ALPHA * scale), _ALPHA * scale * p)
    factor = _op["mul_"](kept, scale)
    if inplace:
        return _op["add_"](_op["mul_"](x, factor), shift)
    return _op["add"](_op["mul"](x, factor), shift)


def alpha_dropout(x, p, training, inplace):
    return _alpha("alpha_dropout", x, p, training, inplace, False)


def feature_alpha_dropout(x, p, training, inplace):
    return _alpha("feature_alpha_dropout", x, p, training, inplace, True)
