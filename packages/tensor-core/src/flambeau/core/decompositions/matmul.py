"""Products."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import filled, numbers, wide


def linear(x, weight, bias):
    product = ops.matmul(x, weight.t())
    return product if bias is None else product + bias


# ---- sparse ------------------------------------------------------------------------------------
def csr_product(row_starts, columns, values, dense):
    entries = numbers(values.shape[0], values.device)
    rows = ops.searchsorted(row_starts, entries, right=True) - 1
    terms = wide(values).unsqueeze(-1) * wide(ops.index(dense, [columns.to(rows.dtype)]))
    total = filled((row_starts.shape[0] - 1, dense.shape[1]), 0, terms)
    return ops.index_add(total, 0, rows, terms)


def sampled_product(rows, columns, left, right):
    return (wide(ops.index(left, [rows])) * wide(ops.index(right, [columns]))).sum(-1)
