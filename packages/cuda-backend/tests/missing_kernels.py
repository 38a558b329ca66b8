"""What the CUDA backend refuses so far, by name. Remove a name when it gets a kernel."""

#: Rows without a kernel.
MISSING = {
    "adaptive_max", "adaptive_mean", "adaptive_mean_grad", "attention", "attention_grad",
    "avg_pool2d", "avg_pool2d_grad", "batch_norm_grad", "bernoulli", "bincount_of", "binomial",
    "bucketize", "col2im", "constant_pad_nd", "conv2d", "conv2d_input_grad",
    "conv2d_weight_grad", "conv3d", "conv3d_input_grad", "conv3d_weight_grad", "ctc_loss_grad",
    "ctc_loss_rows", "cummax", "cummin", "cumprod", "eig_values", "eigh_values",
    "embedding_bag_rows", "fft_c2c", "fft_c2r", "fft_r2c", "fractional_indices", "frexp", "gcd",
    "geqrf",
    "grid_sampler", "grid_sampler_grad", "group_norm_grad", "histc", "histogram_of", "igamma",
    "igammac", "im2col", "index_copy", "index_fill", "kthvalue", "lcm", "linalg_cholesky_ex",
    "linalg_det_lu", "linalg_eig", "linalg_eigh", "linalg_householder_product",
    "linalg_invert",
    "linalg_lu_factor_ex", "linalg_ldl_factor_ex",
    "linalg_ldl_solve", "linalg_lstsq_by", "ormqr", "linalg_qr",
    "linalg_slogdet_lu", "linalg_solve_lu",
    "linalg_solve_triangular", "linalg_svd", "logcumsumexp", "lu_permutation", "masked_scatter",
    "matrix_exp", "max_pool2d_grad", "max_pool2d_compact_indices", "max_pool2d_values",
    "max_pool2d_with_indices",
    "median", "median.dim", "mode",
    "multinomial", "nanmedian", "nanmedian.dim", "nansum", "native_batch_norm",
    "native_group_norm", "norm_of", "pad_by", "pad_by_grad", "pinv_svd", "poisson",
    "recurrent", "recurrent_grad", "repeat_indices", "resample", "resample_grad", "row_order",
    "scatter_reduce", "searchsorted",
    "std", "svd_values", "zeta",
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0",
    "modified_bessel_k1", "cdist_of", "pdist_euclidean",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "spherical_bessel_j0",
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
    "isin_of", "laguerre_polynomial_l", "legendre_polynomial_p",
}

#: Rows whose kernels refuse uint64, whose order and division differ from int64's.
SIGNED_ONLY = {
    "abs", "pow", "amax", "amin", "argmax", "argmin", "bitwise_right_shift", "clamp_both",
    "clamp_max", "clamp_min", "floor_divide", "fmax", "fmin", "fmod", "ge", "gt", "le", "lt",
    "max.dim",
    "maximum", "min.dim", "minimum", "relu", "remainder", "sgn", "sign", "signbit",
    "trunc_divide",
}

#: Rows whose kernels refuse complex numbers.
REAL_ONLY = {"logsumexp"}
