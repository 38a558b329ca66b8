"""Products."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import filled, numbers, wide
from flambeau.core.dtypes import dtypes, finfo


def linear(x, weight, bias):
    product = ops.matmul(x, weight.t())
    return product if bias is None else product + bias


def wide_product(x, other):
    return ops.matmul(wide(x), wide(other))


def quantized_linear(x, weight, scales, bias):
    rows = wide(x)
    most = ops.amax(rows.abs(), (-1,), keepdim=True)
    step = most / 127
    whole = ops.round(rows * ops.div(filled((), 127, rows), most))
    # A row of zeros, and one too small to divide by.
    whole = ops.where(step < finfo(rows.dtype).tiny, filled((), 0, rows), whole)
    double = dtypes["float64"]
    sums = ops.matmul(whole.to(double), weight.to(double).t())
    step = ops.where(ops.isfinite(most), step, filled((), float("nan"), rows))
    result = sums.to(rows.dtype) * (step * scales)
    return (result if bias is None else result + bias).to(x.dtype)


def spread_weight(weight, scales, offsets, group, k):
    """A weight of ``weight_only_linear`` as a matrix of float32 with k columns."""
    whole = weight
    if weight.dtype is dtypes["uint8"]:
        blocks = weight.reshape(weight.shape[0], -1, 16)
        fours = [ops.bitwise_and(blocks, 15), ops.bitwise_right_shift(blocks, 4)]
        whole = ops.cat(fours, 2).reshape(weight.shape[0], -1).narrow(1, 0, k)
    whole = wide(whole.to(dtypes["float32"]))
    if scales is None:
        return whole
    if offsets is None and weight.dtype is dtypes["uint8"]:
        whole = whole - 8

    def columns(factors):
        factors = wide(factors)
        if factors.shape[1] == 1:
            return factors
        return ops.repeat_interleave(factors, group, 1).narrow(1, 0, k)

    whole = whole * columns(scales)
    return whole if offsets is None else whole + columns(offsets)


def weight_only_linear(x, weight, scales, offsets, bias, group):
    values = spread_weight(weight, scales, offsets, group, x.shape[-1])
    result = ops.matmul(wide(x), values.t())
    return (result if bias is None else result + bias).to(x.dtype)


# ---- sparse ------------------------------------------------------------------------------------
def csr_product(row_starts, columns, values, dense):
    entries = numbers(values.shape[0], values.device)
    rows = ops.searchsorted(row_starts, entries, right=True) - 1
    terms = wide(values).unsqueeze(-1) * wide(ops.index(dense, [columns.to(rows.dtype)]))
    total = filled((row_starts.shape[0] - 1, dense.shape[1]), 0, terms)
    return ops.index_add(total, 0, rows, terms)


def sampled_product(rows, columns, left, right):
    return (wide(ops.index(left, [rows])) * wide(ops.index(right, [columns]))).sum(-1)
