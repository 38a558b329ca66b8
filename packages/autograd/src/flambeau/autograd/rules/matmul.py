"""Matrix products, and distances between rows."""
from math import prod

from flambeau.autograd._table import NAMES_BY_RANKS, rule
from flambeau.autograd.rules._help import conj, matrix_transpose, sum_to_shape, zeros
from flambeau.core import ops
from flambeau.core.decompositions.matmul import spread_weight


# ---- matmul: vectors, matrices, stacks ---------------------------------------------------------
def _matmul_self(g, self_shape, other):
    """``g @ other^H``, summed over broadcast stacks."""
    if len(self_shape) == 1 and other.ndim == 1:
        return g * conj(other)
    if other.ndim == 1:
        return sum_to_shape(g.unsqueeze(-1) * conj(other), self_shape)
    if len(self_shape) == 1:
        return sum_to_shape((g.unsqueeze(-2) @ matrix_transpose(other)).squeeze(-2), self_shape)
    return sum_to_shape(g @ matrix_transpose(other), self_shape)


def _matmul_other(g, self, other_shape):
    """``self^H @ g``, summed over broadcast stacks."""
    if len(other_shape) == 1 and self.ndim == 1:
        return g * conj(self)
    if self.ndim == 1:
        return sum_to_shape(conj(self).unsqueeze(-1) * g.unsqueeze(-2), other_shape)
    if len(other_shape) == 1:
        return _rows(conj(self)).t() @ g.reshape(-1)
    if len(other_shape) == 2:
        return matrix_transpose(_rows(self)) @ _rows(g)
    return sum_to_shape(matrix_transpose(self) @ g, other_shape)


def _rows(t):
    """A stack of matrices as one tall matrix: the product sums over the stack."""
    return t if t.ndim == 2 else t.reshape(prod(t.shape[:-1]), t.shape[-1])


rule("matmul", self=_matmul_self, other=_matmul_other)
NAMES_BY_RANKS["matmul"] = {
    (1, 1): "DotBackward0",
    (2, 1): "MvBackward0",
    (2, 2): "MmBackward0",
    (3, 3): "BmmBackward0",
}

# Operands of half precision have a gradient of float32, and are widened where it meets them.
rule("wide_product",
     self=lambda g, self_shape, other: (
         _matmul_self(g, self_shape, other.to(g.dtype)).to(other.dtype)),
     other=lambda g, self, other_shape: (
         _matmul_other(g, self.to(g.dtype), other_shape).to(self.dtype)))

# ---- linear: input @ weight^T + bias -----------------------------------------------------------
# A weight of one dimension makes one output, which is no dimension of the result.
def _linear_weight(g, input):
    if g.ndim < input.ndim:
        return _linear_weight(g.unsqueeze(-1), input).squeeze(0)
    return _rows_or_row(g).t() @ conj(_rows_or_row(input))


def _linear_bias(g, bias_shape):
    return _rows_or_row(g).sum(0) if bias_shape else g.sum()


# The weight before the input: under a budget the input is computed again, and gone before its
# gradient comes. The bias first: in compiled calls its sum joins the loop that computes `g`.
rule("linear", bias=_linear_bias, weight=_linear_weight,
     input=lambda g, weight: (g @ conj(weight) if weight.ndim == 2
                              else g.unsqueeze(-1) * conj(weight)))
NAMES_BY_RANKS["linear"] = {(2, 2, None): "MmBackward0", (2, 2, 1): "AddmmBackward0"}


def _rows_or_row(t):
    return t.unsqueeze(0) if t.ndim == 1 else _rows(t)


# ---- quantized_linear: rounding counts as the identity, so that layers before it can learn ------
rule("quantized_linear",
     input=lambda g, weight, scales: (g * scales.to(g.dtype)) @ weight.to(g.dtype),
     scales=lambda g, input, weight: (
         _rows_or_row(g) * (_rows_or_row(input) @ weight.to(g.dtype).t())).sum(0).float(),
     bias=lambda g: _rows_or_row(g).sum(0).float())


# ---- weight_only_linear: weights are constants but for halves, and learn through their scales ---
def _weight_gradient(g, input):
    return (_rows_or_row(g).t() @ _rows_or_row(input)).float()


def _by_groups(t, group, like):
    """Sums over the columns of each group."""
    if like.shape[1] == 1:
        return t.sum(1, True).to(like.dtype)
    rows, columns = t.shape
    t = ops.cat([t, zeros((rows, like.shape[1] * group - columns), t)], 1)
    return t.reshape(rows, -1, group).sum(2).to(like.dtype)


def _weight_only_scales(g, input, weight, scales, offsets, group):
    rows, columns = weight.shape[0], input.shape[-1]
    one = ops.full_of((rows, 1), 1, dtype=scales.dtype, device=scales.device)
    whole = spread_weight(weight, one, None if offsets is None else one - one, group, columns)
    return _by_groups(_weight_gradient(g, input) * whole, group, scales)


rule("weight_only_linear",
     input=lambda g, input, weight, scales, offsets, group: (
         g @ spread_weight(weight, scales, offsets, group, input.shape[-1]).to(g.dtype)),
     weight=lambda g, input, weight: _weight_gradient(g, input).to(weight.dtype),
     scales=_weight_only_scales,
     offsets=lambda g, input, offsets, group: (
         _by_groups(_weight_gradient(g, input), group, offsets)),
     bias=lambda g: _rows_or_row(g).sum(0).float())


# ---- distances: where one is zero, so is its gradient -------------------------------------------
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
