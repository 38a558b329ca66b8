"""Which operators want an ``out=`` of exactly their result's dtype: a column of the table.

The others convert to any dtype that the result can be cast to. Which does what is PyTorch's, where
it depends on how an operator was written there; operators that PyTorch does not have convert.
"""
from __future__ import annotations

from dataclasses import replace

from flambeau.core.opdefs.opdef import OpDef

#: Element by element.
_POINTWISE = """
    neg sign sgn floor ceil trunc round round.decimals frac bitwise_not signbit where where.indices
    conj_physical isposinf isneginf heaviside float_power nan_to_num complex
    softplus logsigmoid hardshrink softshrink gelu
"""

#: Over dimensions.
_REDUCTIONS = """
    amax amin argmax argmin max.dim min.dim aminmax median.dim nanmedian.dim kthvalue mode
    quantile nanquantile norm renorm softmax log_softmax cummax cummin logcumsumexp diff
    histc histogram histogram.count
"""

#: Elements moved or chosen, and tensors made.
_MOVEMENT = """
    clone linspace empty multinomial diag tril triu slice_scatter index_select index_add
    index_copy index_reduce gather scatter.src scatter.value scatter.reduce scatter.value_reduce
    scatter_add scatter_reduce take take_along_dim masked_select nonzero sort msort topk isin
    searchsorted bucketize frexp alias_copy t_copy diagonal_copy expand_copy narrow_copy
    permute_copy squeeze_copy transpose_copy unfold_copy unsqueeze_copy view_copy
    split_with_sizes_copy unbind_copy
"""

#: Products, decompositions, transforms and pooling.
_MATRICES = """
    matmul linear mm bmm mv dot vdot inner addmm addmv baddbmm addbmm tensordot cross
    linalg_cross linalg_multi_dot linalg_vecdot det slogdet inverse linalg_inv_ex linalg_solve
    linalg_solve_ex linalg_solve_triangular triangular_solve linalg_cholesky_ex linalg_lu
    linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve lu_solve lu_unpack linalg_qr qr
    linalg_eigh linalg_eigvalsh linalg_svd linalg_svdvals svd linalg_vector_norm
    linalg_matrix_norm linalg_norm fft_ihfft avg_pool2d avg_pool3d
"""

EXACT = frozenset(f"{_POINTWISE} {_REDUCTIONS} {_MOVEMENT} {_MATRICES}".split())


def with_exact_outs(opdefs: tuple[OpDef, ...]) -> tuple[OpDef, ...]:
    """The definitions with their column ``exact_out`` filled in.

    Args:
        opdefs: the definitions written by hand.

    Returns:
        The same definitions in the same order.

    Raises:
        ValueError: the list names an operator that is not in the table.
    """
    absent = EXACT - {opdef.key for opdef in opdefs}
    if absent:
        raise ValueError(f"opdefs/out_dtypes.py: operators that are not defined: {sorted(absent)}")
    return tuple(replace(opdef, exact_out=True) if opdef.key in EXACT else opdef
                 for opdef in opdefs)
