"""Operators that reduce dimensions, and scans."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import (
    conj,
    count_of,
    is_differentiated,
    normal_dims,
    scaled,
    spread,
    unreduced,
    zeros,
    zeros_like,
)
from flambeau.core import ops

# ---- sums --------------------------------------------------------------------------------------
rule("sum", self=lambda g, self_shape, dim, keepdim:
     spread(g, self_shape, dim, keepdim))
rule("mean", self=lambda g, self_shape, dim, keepdim:
     spread(g / count_of(self_shape, dim), self_shape, dim, keepdim))
rule("var", self=lambda g, self, self_shape, dim, correction, keepdim:
     unreduced(g, self_shape, dim, keepdim) * _deviation(self, dim, correction))
rule("logsumexp", self=lambda g, self, result, self_shape, dim, keepdim:
     unreduced(g, self_shape, dim, keepdim)
     * conj((self - unreduced(result, self_shape, dim, keepdim)).exp()))


def _deviation(self, dim, correction):
    """``2 (x - mean) / (n - correction)``."""
    n = count_of(self.shape, dim) - (1 if correction is None else correction)
    return (self - self.mean(dim, keepdim=True)) * (2 / n if n > 0 else float("nan"))


# ---- products ----------------------------------------------------------------------------------
def _prod(g, self, result, self_shape, dim, keepdim):
    """``g`` times the product of all other factors."""
    if not self_shape:
        return g
    if is_differentiated():
        return unreduced(g, self_shape, dim, keepdim) * conj(_others_exact(self, dim))
    return unreduced(g, self_shape, dim, keepdim) * conj(
        _others_fast(self, unreduced(result, self_shape, dim, keepdim), dim))


def _others_fast(self, result, dim):
    """``result / x`` where no factor is zero; the product of the rest where one is."""
    zero = self == 0
    filled = ops.where(zero, 1, self)
    zeros_count = zero.sum(dim, keepdim=True)
    rest = _prod_keepdim(filled, dim)
    beside_zero = ops.where(zeros_count == 1, rest, 0)
    return ops.where(zero, beside_zero, result / filled)


def _prod_keepdim(t, dim):
    for d in normal_dims(dim, t.ndim):
        t = t.prod(d, keepdim=True)
    return t


def _others_exact(self, dim):
    """The product of all other factors from an n by n table: its own derivatives are exact."""
    dims = normal_dims(dim, self.ndim)
    kept = [d for d in range(self.ndim) if d not in dims]
    moved = self.permute(kept + dims)
    flat = moved.reshape([self.shape[d] for d in kept] + [-1])
    n = flat.shape[-1]
    own = ops.eye_of(n, n, dtype=self.dtype, device=self.device) == 1
    table = ops.where(own, 1, flat.unsqueeze(-2).expand([*flat.shape[:-1], n, n]))
    back = sorted(range(self.ndim), key=(kept + dims).__getitem__)
    return table.prod(-1).reshape(moved.shape).permute(back)


rule("prod", self=_prod)


# ---- extremes ----------------------------------------------------------------------------------
def _extreme(g, self, result, self_shape, dim, keepdim):
    """Equal parts to all elements that attain the extreme. Where that is NaN, the NaNs do if it is
    the only one, which is max() and min(); along dimensions all gradients are NaN."""
    if not self_shape:
        return g
    result = unreduced(result, self_shape, dim, keepdim)
    best = self == result
    if dim is None and not keepdim:
        best = best | (self.isnan() & result.isnan())
    count = best.sum(dim, keepdim=True)
    return ops.where(best, unreduced(g, self_shape, dim, keepdim) / count, 0.0 / count)


def _to_positions(g, self_shape, dim, indices):
    """Zeros with the gradient at the positions that were picked."""
    if not self_shape:
        return g
    return zeros(self_shape, g).scatter_add_(dim, indices, g)


def _to_one_position(g, self_shape, dim, keepdim, indices):
    if self_shape and not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return _to_positions(g, self_shape, dim, indices)


rule("amax", self=_extreme)
rule("amin", self=_extreme)
rule("max.dim", self=lambda g, self_shape, dim, keepdim, result1:
     _to_one_position(g, self_shape, dim, keepdim, result1))
rule("min.dim", self=lambda g, self_shape, dim, keepdim, result1:
     _to_one_position(g, self_shape, dim, keepdim, result1))
rule("sort", self=lambda g, self_shape, dim, result1: _to_positions(g, self_shape, dim, result1))
rule("topk", self=lambda g, self_shape, dim, result1: _to_positions(g, self_shape, dim, result1))


# ---- scans -------------------------------------------------------------------------------------
rule("cumsum", self=lambda g, dim:
     g.flip(dim).cumsum(dim).flip(dim) if g.ndim else g)

# ---- softmax -----------------------------------------------------------------------------------
rule("softmax", self=lambda g, result, dim: ops.softmax_grad(g, result, dim))
rule("log_softmax", self=lambda g, result, dim: ops.log_softmax_grad(g, result, dim))


def _softmax_grad_result(g, grad, result, dim):
    if not g.ndim:
        return zeros_like(g)
    inner = grad - (grad * result).sum(dim, keepdim=True)
    return g * inner - grad * (g * result).sum(dim, keepdim=True)


def _log_softmax_grad_grad(g, result, dim):
    if not g.ndim:
        return zeros_like(g)
    return g - (g * result.exp()).sum(dim, keepdim=True)


def _log_softmax_grad_result(g, grad, result, dim):
    if not g.ndim:
        return zeros_like(g)
    return scaled(g * result.exp() * grad.sum(dim, keepdim=True), -1)


rule("softmax_grad", grad=lambda g, result, dim: ops.softmax_grad(g, result, dim),
     result=_softmax_grad_result)
rule("log_softmax_grad", grad=_log_softmax_grad_grad, result=_log_softmax_grad_result)
