"""Fourier transforms: the adjoint of one is the transform in the other direction."""
from flambeau.autograd._table import rule
from flambeau.core import ops


def _dims(dim):
    return dim if isinstance(dim, (tuple, list)) else (dim,)


def _inner_scaled(t, dim, count, factor):
    """``t`` with the terms 1 to ``count`` of a dimension, those that stand for two, scaled."""
    if count < 1:
        return t
    last = t.shape[dim] - 1 - count
    pieces = [t.narrow(dim, 0, 1), t.narrow(dim, 1, count) * factor]
    if last:
        pieces.append(t.narrow(dim, 1 + count, last))
    return ops.cat(pieces, dim)


# ---- complex numbers ---------------------------------------------------------------------------
rule("fft_c2c", self=lambda g, dim, scale, forward: ops.fft_c2c(g, dim, scale, not forward))


# ---- to and from real numbers ------------------------------------------------------------------
def _r2c(g, self_shape, dim, scale, onesided, forward):
    """The real part of the transform back, of which half of the terms are enough."""
    dim = _dims(dim)
    if not onesided:
        return ops.real_part(ops.fft_c2c(g, dim, scale, not forward))
    n = self_shape[dim[-1]]
    return ops.fft_c2r(_inner_scaled(g, dim[-1], (n - 1) // 2, 0.5), dim, n, scale, not forward)


def _c2r(g, dim, last_dim_size, scale, forward):
    """Terms that stand for two of the whole transform count twice."""
    dim = _dims(dim)
    terms = ops.fft_r2c(g, dim, scale, True, not forward)
    return _inner_scaled(terms, dim[-1], (last_dim_size - 1) // 2, 2)


rule("fft_r2c", self=_r2c)
rule("fft_c2r", self=_c2r)
