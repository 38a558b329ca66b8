"""Norms, order statistics and scans."""
from math import inf

from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import (
    conj,
    count_of,
    is_differentiated,
    spread,
    unreduced,
    zeros_like,
)
from flambeau.autograd.rules.reduce import _deviation, _to_one_position, _to_positions
from flambeau.autograd.rules.reduce import _extreme as _extreme_of_all
from flambeau.core import ops
from flambeau.core.decompositions.shared import wide

# ---- moments -----------------------------------------------------------------------------------
rule("nansum", self=lambda g, self, self_shape, dim, keepdim:
     ops.where(self.isnan(), 0, spread(g, self_shape, dim, keepdim)))


def _std(g, self, result, self_shape, dim, correction, keepdim):
    """``(x - mean) / ((n - correction) std)``; 0 where all elements are equal."""
    part = _where_not_zero(result, g) * 0.5
    return unreduced(part, self_shape, dim, keepdim) * _deviation(self, dim, correction)


def _where_not_zero(t, g):
    """``g / t``, and 0 where t is 0."""
    zero = t == 0
    return ops.where(zero, 0, g / ops.where(zero, 1, t))


rule("std", self=_std)


# Two results of one call: the gradients that arrived, added.
def _spread_mean(g, self_shape, dim, keepdim):
    return spread(g / count_of(self_shape, dim), self_shape, dim, keepdim)


def _sum(*parts):
    """What is not None, added."""
    found = [part for part in parts if part is not None]
    return found[0] if len(found) == 1 else found[0] + found[1]


def _var_mean(grads, self, self_shape, dim, correction, keepdim):
    g, mean = grads
    return _sum(
        None if g is None else
        unreduced(g, self_shape, dim, keepdim) * _deviation(self, dim, correction),
        None if mean is None else _spread_mean(mean, self_shape, dim, keepdim))


def _std_mean(grads, self, result, self_shape, dim, correction, keepdim):
    g, mean = grads
    return _sum(
        None if g is None else _std(g, self, result, self_shape, dim, correction, keepdim),
        None if mean is None else _spread_mean(mean, self_shape, dim, keepdim))


def _aminmax(grads, self, result, result1, self_shape, dim, keepdim):
    return _sum(*[None if g is None else _extreme_of_all(g, self, r, self_shape, dim, keepdim)
                  for g, r in zip(grads, (result, result1), strict=True)])


rule("var_mean", self=_var_mean)
rule("std_mean", self=_std_mean)
rule("aminmax", self=_aminmax)


# ---- norms -------------------------------------------------------------------------------------
def _norm(g, self, result, self_shape, p, dim, keepdim):
    """``x |x|^(p-2) / norm^(p-1)``; 0 where the norm has a corner.

    Powers and quotients of halves are taken in float32, as float16 may not hold them.
    """
    if wide(self) is not self:
        return _norm(wide(g), wide(self), wide(result), self_shape, p, dim, keepdim).to(self.dtype)
    g, result = (unreduced(t, self_shape, dim, keepdim) for t in (g, result))
    if p == 0:
        return zeros_like(self)
    if p == 1:
        return _direction(self) * g
    if p in (inf, -inf):
        best = _extreme(self.abs(), p, dim)
        return _direction(self) * ops.where(best, g / best.sum(dim, keepdim=True), 0)
    if p == 2:
        return self * _where_not_zero(result, g)
    share = ops.where(result == 0, 0, g * _power(result, 1 - p))
    if p > 2:
        return self * _power(self.abs(), p - 2) * share
    size = self.abs()
    return _direction(self) * ops.where(size == 0, 0, _power(size, p - 1)) * share


def _extreme(size, p, dim):
    """Which sizes are the greatest or the least: a kernel's own may be rounded otherwise."""
    best = (ops.amax if p > 0 else ops.amin)(size, dim, True)
    return ops.where(best.isnan(), size.isnan(), size == best)


def _power(size, exponent):
    """A power that has derivative 0 at 0."""
    zero = size == 0
    return ops.where(zero, 0.0 ** exponent if exponent >= 0 else 0.0,
                     ops.where(zero, 1, size) ** exponent)


def _direction(x):
    """``x / |x|``, and 0 at 0."""
    if not x.is_complex():
        return x.sign()
    size = x.abs()
    return x / ops.where(size == 0, 1, size)


rule("norm_of", self=_norm)


# ---- order statistics --------------------------------------------------------------------------
def _median(g, self, result, self_shape):
    """Equal parts to all elements that equal the median."""
    same = ops.where(result.isnan(), self.isnan(), self == result)
    return ops.where(same, g / same.sum(), 0) if self_shape else g


def _along(g, self_shape, dim, keepdim, result1):
    return _to_one_position(g, self_shape, dim, keepdim, result1)


rule("median", self=_median)
rule("nanmedian", self=_median)
for _key in ("median.dim", "nanmedian.dim", "kthvalue", "mode"):
    rule(_key, self=_along)


# ---- scans -----------------------------------------------------------------------------
def _added_at_positions(g, self_shape, dim, result1):
    return _to_positions(g, self_shape, dim, result1)


def _backwards(t, dim):
    """Running sums from the end."""
    return t.flip(dim).cumsum(dim).flip(dim)


def _cumprod(g, self, result, self_shape, dim):
    """Sums of ``g`` times the running products without the factor in question."""
    if not self_shape:
        return g
    if is_differentiated():
        return _cumprod_exact(g, self, dim)
    zero = self == 0
    passed = zero.cumsum(dim)
    first = ops.where(passed == 1, zero, False)
    before = _backwards(g * conj(result), dim) / conj(ops.where(zero, 1, self))
    at_first = _backwards(g * conj(ops.where(first, 1, self).cumprod(dim)), dim)
    return ops.where(passed == 0, before, ops.where(first, at_first, 0))


def _cumprod_exact(g, self, dim):
    """From an n by n table of products without one factor each: its derivatives are exact."""
    line = self.transpose(dim, -1)
    n = line.shape[-1]
    own = ops.eye_of(n, n, dtype=ops.real_part(self).dtype, device=self.device)
    table = ops.where(own == 1, 1, line.unsqueeze(-2).expand([*line.shape[:-1], n, n]))
    reached = ops.where(ops.triu(own * 0 + 1) == 1, table.cumprod(-1), 0)
    return (g.transpose(dim, -1).unsqueeze(-2) * conj(reached)).sum(-1).transpose(dim, -1)


def _logcumsumexp(g, self, result, self_shape, dim):
    """``exp(x_i)`` times the sum of ``g_j exp(-result_j)`` from i on, without overflow."""
    if not self_shape:
        return g
    if is_differentiated():
        return _logcumsumexp_exact(g, self, result, dim)
    if self.is_complex():
        counted = (g != 0).logical_and(ops.real_part(result) != -inf)
        return conj(_from_the_end(conj(g), counted, self, result, dim))
    return (_from_the_end(g, (g > 0).logical_and(result != -inf), self, result, dim)
            - _from_the_end(-g, (g < 0).logical_and(result != -inf), self, result, dim))


def _logcumsumexp_exact(g, self, result, dim):
    """From an n by n table: linear in ``g`` as it is written, so that it can be differentiated
    where g is 0."""
    x, total = self.transpose(dim, -1).unsqueeze(-1), result.transpose(dim, -1).unsqueeze(-2)
    n = self.shape[dim]
    later = ops.eye_of(n, n, device=self.device).cumsum(-1) == 1
    counted = later & (ops.real_part(total) != -inf if self.is_complex() else total != -inf)
    shares = ops.where(counted, x - ops.where(counted, total, 0), -inf).exp()
    return (g.transpose(dim, -1).unsqueeze(-2) * conj(shares)).sum(-1).transpose(dim, -1)


def _from_the_end(g, counted, self, result, dim):
    """The part of logcumsumexp's gradient that comes from some elements of ``g``."""
    logs = ops.where(counted, ops.where(counted, g, 1).log() - ops.where(counted, result, 0), -inf)
    return (logs.flip(dim).logcumsumexp(dim).flip(dim) + self).exp()


rule("cumprod", self=_cumprod)
rule("cummax", self=_added_at_positions)
rule("cummin", self=_added_at_positions)
rule("logcumsumexp", self=_logcumsumexp)
