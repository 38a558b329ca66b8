"""Distances between rows. Where a distance is zero, so is its gradient."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import zeros
from flambeau.core import ops


def _pdist(g, self, result):
    """The sum over j of ``g_ij (x_i - x_j) / d_ij``; 0 where the distance is."""
    n = self.shape[0]
    pairs = ops.nonzero(ops.full_of((n, n), 1, dtype=self.dtype, device=self.device).triu(1))
    shares = ops.where(result == 0, 0, g / ops.where(result == 0, 1, result))
    above = ops.index_put(zeros((n, n), self), [pairs.select(1, 0), pairs.select(1, 1)], shares)
    both = above + above.transpose(0, 1)
    return both.sum(1, True) * self - both @ self


rule("pdist_euclidean", self=_pdist)


def _cdist(g, x1, x2, p, result):
    """``g_ij`` times the slope of ``d_ij`` in the gap of rows i and j; 0 where the distance is."""
    gaps = x1.unsqueeze(2) - x2.unsqueeze(1)
    if p == 2:
        shares = ops.where(result == 0, 0, g / ops.where(result == 0, 1, result))
        slopes = gaps * shares.unsqueeze(-1)
    else:
        slopes = gaps.sign() * g.unsqueeze(-1)
    if p == float("inf"):
        slopes = ops.where(gaps.abs() == result.unsqueeze(-1), slopes, gaps * 0)
    return slopes


def _cdist_first(g, x1, x2, p, result):
    return _cdist(g, x1, x2, p, result).sum(2)


def _cdist_second(g, x1, x2, p, result):
    return -_cdist(g, x1, x2, p, result).sum(1)


rule("cdist_of", x1=_cdist_first, x2=_cdist_second)
