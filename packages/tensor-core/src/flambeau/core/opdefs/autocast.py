"""What ``autocast`` does with the floating inputs of each operator: a column of the table.

The lists are PyTorch's for the CPU (its page on automatic mixed precision); operators that are
not named run in the dtype of their inputs. What is computed in float32 on accelerators alone is
a list of its own, ``SINGLE_ON_GPU``: with float16 it would overflow, bfloat16 on the CPU bears it.
"""
from __future__ import annotations

from dataclasses import replace

from flambeau.core.opdefs.opdef import OpDef

#: Products: fast in the lower precision, with sums in float32.
LOWER = """
    matmul linear mm bmm mv addmm addmv addr baddbmm addbmm linalg_vecdot linalg_multi_dot bilinear
    conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding
    conv_transpose1d conv_transpose2d conv_transpose3d
    scaled_dot_product_attention attention recurrent
"""

#: Sums of many small terms, and decompositions: they need float32.
SINGLE = """
    prod quantile nanquantile cdist trace polar complex view_as_complex
    avg_pool3d adaptive_avg_pool3d max_pool3d max_pool3d_with_indices adaptive_max_pool3d
    adaptive_max_pool3d_with_indices fractional_max_pool2d fractional_max_pool2d_with_indices
    fractional_max_pool3d fractional_max_pool3d_with_indices max_unpool2d max_unpool3d
    grid_sampler grid_sampler_2d grid_sampler_3d grid_sample
    mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy binary_cross_entropy
    binary_cross_entropy_with_logits kl_div poisson_nll_loss gaussian_nll_loss soft_margin_loss
    hinge_embedding_loss margin_ranking_loss cosine_embedding_loss multi_margin_loss
    multilabel_margin_loss triplet_margin_loss ctc_loss
    stft fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_rfft2
    fft_irfft2 fft_hfft2 fft_ihfft2 fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn
    cholesky cholesky_solve cholesky_inverse inverse pinverse linalg_pinv lu_solve geqrf qr svd
    triangular_solve linalg_householder_product linalg_cond linalg_matrix_rank linalg_solve
    linalg_solve_ex linalg_cholesky_ex linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv_ex
    linalg_tensorinv linalg_tensorsolve linalg_qr linalg_svd linalg_eig linalg_eigh
    linalg_lu_factor linalg_lu_factor_ex
"""

#: Operators that want one dtype for all their inputs: the widest among them.
PROMOTE = "cat stack index_copy"

#: In float32 on accelerators only.
SINGLE_ON_GPU = """
    acos asin cosh erfinv exp expm1 log log10 log1p log2 pow reciprocal rsqrt sinh tan
    softmax log_softmax softplus sum cumsum cumprod norm dist renorm logsumexp
    layer_norm native_layer_norm group_norm native_group_norm local_response_norm rms_norm
    cosine_similarity pdist
"""

POLICIES = {"lower": LOWER, "float32": SINGLE, "promote": PROMOTE, "float32 on gpu": SINGLE_ON_GPU}
_BY_KEY = {key: policy for policy, keys in POLICIES.items() for key in keys.split()}


def with_policies(opdefs: tuple[OpDef, ...]) -> tuple[OpDef, ...]:
    """The definitions with their column ``autocast`` filled in.

    Args:
        opdefs: the definitions written by hand.

    Returns:
        The same definitions in the same order.

    Raises:
        ValueError: a list names an operator that is not in the table.
    """
    absent = set(_BY_KEY) - {opdef.key for opdef in opdefs}
    if absent:
        raise ValueError(f"opdefs/autocast.py: operators that are not defined: {sorted(absent)}")
    return tuple(replace(opdef, autocast=_BY_KEY[opdef.key]) if opdef.key in _BY_KEY else opdef
                 for opdef in opdefs)
