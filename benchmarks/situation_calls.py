"""Calls on tiny inputs of the definitions that the contract kit has no samples for: composites,
which are tested through what they call, and definitions whose samples are too large for what is
timed here.

Arrays stand for tensors; tuples and numbers are given as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_RNG = np.random.default_rng(7)


def _f(*shape: int) -> np.ndarray:
    """Positive numbers."""
    return _RNG.uniform(0.1, 0.9, shape).astype("float32")


def _i(below: int, *shape: int) -> np.ndarray:
    return _RNG.integers(0, below, shape)


def _images(*sizes: int) -> np.ndarray:
    return _f(1, 2, *sizes)


def _windows(*rest: Any) -> dict[str, tuple]:
    """Pools and convolutions over one, two and three dimensions."""
    found: dict[str, tuple] = {}
    for n, size in ((1, 8), (2, 4), (3, 3)):
        x = _images(*(size,) * n) if n < 3 else _f(1, 1, 3, 3, 3)
        c = x.shape[1]
        found[f"conv{n}d"] = (x, _f(2, c, *(2,) * n))
        found[f"conv_transpose{n}d"] = (x, _f(c, 2, *(2,) * n))
        found[f"max_unpool{n}d"] = (x, np.arange(x.size // c).reshape(1, 1, *x.shape[2:])
                                    .repeat(c, 1), 2)
        for name in ("max_pool", "avg_pool"):
            found[f"{name}{n}d"] = (x, 2)
        found[f"max_pool{n}d_with_indices"] = (x, 2)
        found[f"lp_pool{n}d"] = (x, 2.0, 2)
        for name in ("adaptive_avg_pool", "adaptive_max_pool"):
            found[f"{name}{n}d"] = (x, 2)
        found[f"adaptive_max_pool{n}d_with_indices"] = (x, 2)
        if n > 1:
            found[f"fractional_max_pool{n}d"] = (x, 2, (2,) * n)
            found[f"fractional_max_pool{n}d_with_indices"] = (x, 2, (2,) * n)
    return found


def _cells() -> dict[str, tuple]:
    found: dict[str, tuple] = {}
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        state = (_f(2, 3), _f(2, 3)) if name == "lstm" else _f(2, 3)
        weights = (_f(3 * gates, 4), _f(3 * gates, 3), _f(3 * gates), _f(3 * gates))
        found[f"{name}_cell"] = (_f(2, 4), state, *weights)
    return found


_PAIR = (_f(3, 5), _f(3, 5))
_SIGNS = np.sign(_f(4) - 0.5).astype("float32")

CALLS: dict[str, tuple] = {
    # numbers
    "heaviside": _PAIR, "float_power": _PAIR, "ldexp": (_f(3, 5), _i(3, 3, 5)),
    "nextafter": _PAIR, "complex": _PAIR, "polar": _PAIR, "polygamma": (1, _f(3, 5)),
    "mvlgamma": (_f(3, 5) + 2, 2), "threshold": (_f(3, 5), 0.5, 0.0),
    "prelu": (_f(3, 5), _f(1)), "isclose": _PAIR, "allclose": _PAIR, "equal": _PAIR,
    # reductions
    "dist": _PAIR, "renorm": (_f(3, 5), 2, 0, 1.0), "quantile": (_f(15), 0.5),
    "nanquantile": (_f(15), 0.5), "histogram": (_f(15), 4), "histogramdd": (_f(6, 2), (2, 3)),
    "segment_reduce": (_f(6), "sum"),
    # shapes
    "broadcast_to": (_f(5), (3, 5)), "sum_to_size": (_f(3, 5), (1, 5)), "tile": (_f(3, 5), (2,)),
    "repeat": (_f(3, 5), (2, 1)), "reshape": (_f(3, 4), (4, 3)),
    "unflatten": (_f(3, 4), 1, (2, 2)), "expand_as": (_f(1, 5), _f(3, 5)),
    "view_as": (_f(3, 4), _f(4, 3)), "reshape_as": (_f(3, 4), _f(4, 3)),
    "movedim": (_f(2, 3, 4), 0, 2), "roll": (_f(3, 5), 1), "pad": (_f(3, 5), (1, 1)),
    "pixel_shuffle": (_f(4, 2, 2), 2), "pixel_unshuffle": (_f(1, 4, 4), 2),
    "channel_shuffle": (_f(1, 4, 2, 2), 2), "repeat_interleave": (_f(5), 2),
    "diagonal_scatter": (_f(3, 3), _f(3)), "select_scatter": (_f(3, 5), _f(5), 0, 1),
    "slice_scatter": (_f(3, 5), _f(2, 5), 0, 1), "as_strided_copy": (_f(3, 5), (2, 2), (1, 3)),
    "as_strided_scatter": (_f(3, 5), _f(2, 2), (2, 2), (1, 3)),
    "expand_copy": (_f(1, 5), (3, 5)), "narrow_copy": (_f(3, 5), 1, 1, 2),
    "permute_copy": (_f(3, 5), (1, 0)), "select_copy": (_f(3, 5), 0, 1),
    "transpose_copy": (_f(3, 5), 0, 1), "unfold_copy": (_f(3, 5), 1, 2, 1),
    "unsqueeze_copy": (_f(3, 5), 0), "view_copy": (_f(3, 4), (4, 3)),
    "split_copy": (_f(4, 5), 2), "split_with_sizes_copy": (_f(4, 5), (1, 3)),
    # joins and pieces
    "cat": ((_f(2, 3), _f(4, 3)),), "stack": ((_f(2, 3), _f(2, 3)),),
    **{name: ((_f(2, 3), _f(2, 3)),) for name in ("hstack", "vstack", "dstack", "column_stack")},
    "block_diag": (_f(2, 3), _f(1, 2)), "broadcast_tensors": (_f(3, 1), _f(5)),
    "cartesian_prod": (_f(3), _f(2)), "meshgrid": (_f(3), _f(2)),
    "split": (_f(4, 5), 2), "split_with_sizes": (_f(4, 5), (1, 3)), "chunk": (_f(4, 5), 2),
    "tensor_split": (_f(4, 5), 2), "hsplit": (_f(3, 4), 2), "vsplit": (_f(4, 5), 2),
    "dsplit": (_f(2, 2, 4), 2),
    # indices
    "index_reduce": (_f(4, 3), 0, _i(4, 3), _f(3, 3), "amax"), "isin": (_i(9, 8), _i(9, 4)),
    "put": (_f(3, 5), _i(15, 4), _f(4)), "take": (_f(3, 5), _i(15, 4)),
    "take_along_dim": (_f(3, 5), _i(5, 3, 2), 1), "unravel_index": (_i(15, 4), (3, 5)),
    "masked_fill": (_f(3, 5), _f(3, 5) > 0.5, 2.0), "embedding": (_i(7, 4), _f(7, 3)),
    "embedding_bag": (_i(7, 2, 3), _f(7, 3)),
    # matrices
    "triangular_solve": (_f(3, 2), _f(3, 3) + np.eye(3, dtype="float32")),
    "cholesky_solve": (_f(3, 2), np.eye(3, dtype="float32")),
    "lu_solve": (_f(3, 2), np.eye(3, dtype="float32"), np.arange(1, 4, dtype="int32")),
    "lu_unpack": (np.eye(3, dtype="float32"), np.arange(1, 4, dtype="int32")),
    "orgqr": (_f(3, 2), _f(2)), "matrix_power": (_f(3, 3), 3), "cdist": (_f(3, 2), _f(4, 2)),
    "pairwise_distance": _PAIR, "cosine_similarity": _PAIR, "mm": (_f(3, 4), _f(4, 5)),
    "bmm": (_f(2, 3, 4), _f(2, 4, 2)), "mv": (_f(3, 4), _f(4)), "inner": _PAIR,
    "outer": (_f(3), _f(4)), "kron": (_f(2, 2), _f(2, 3)), "tensordot": (_f(3, 4), _f(4, 5), 1),
    **{name: (_f(5), _f(5)) for name in ("dot", "vdot")}, "cross": (_f(4, 3), _f(4, 3)),
    "addmm": (_f(3, 5), _f(3, 4), _f(4, 5)), "addmv": (_f(3), _f(3, 4), _f(4)),
    "addr": (_f(3, 4), _f(3), _f(4)), "baddbmm": (_f(2, 3, 2), _f(2, 3, 4), _f(2, 4, 2)),
    "addbmm": (_f(3, 2), _f(2, 3, 4), _f(2, 4, 2)),
    "bilinear": (_f(3, 2), _f(3, 4), _f(5, 2, 4)),
    "linalg_matrix_power": (_f(3, 3), 3), "linalg_multi_dot": ((_f(3, 4), _f(4, 2), _f(2, 5)),),
    # networks
    **_windows(), **_cells(),
    "layer_norm": (_f(3, 5), (5,)), "rms_norm": (_f(3, 5), (5,)),
    "group_norm": (_f(2, 4, 3), 2), "local_response_norm": (_f(2, 4, 3), 2),
    "batch_norm": (_f(4, 3), _f(3), _f(3)),
    "scaled_dot_product_attention": (_f(1, 4, 4), _f(1, 4, 4), _f(1, 4, 4)),
    "affine_grid_generator": (_f(1, 2, 3), (1, 1, 2, 3)),
    "affine_grid": (_f(1, 2, 3), (1, 1, 2, 3)),
    "grid_sample": (_f(1, 2, 3, 3), _f(1, 2, 2, 2)),
    "stft": (_f(32), 8), "pdist": (_f(4, 3),),
    # losses
    "nll_loss": (_f(5, 4), _i(4, 5)), "cross_entropy": (_f(5, 4), _i(4, 5)),
    **dict.fromkeys((
        "mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
        "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "soft_margin_loss",
        "hinge_embedding_loss", "multilabel_soft_margin_loss"), _PAIR),
    "gaussian_nll_loss": (*_PAIR, _f(3, 5)), "margin_ranking_loss": (_f(4), _f(4), _SIGNS),
    "cosine_embedding_loss": (_f(4, 3), _f(4, 3), _SIGNS),
    "multi_margin_loss": (_f(4, 5), _i(5, 4)),
    "multilabel_margin_loss": (_f(3, 4), np.full((3, 4), -1)),
    "triplet_margin_loss": (_f(3, 5), _f(3, 5), _f(3, 5)),
    "triplet_margin_with_distance_loss": (_f(3, 5), _f(3, 5), _f(3, 5)),
    "ctc_loss": (np.log(_f(4, 2, 3)), _i(2, 2, 2) + 1, (4, 4), (2, 2)),
}  # fmt: skip

#: Definitions whose tensors are given one by one.
ONE_BY_ONE = ("block_diag", "broadcast_tensors", "cartesian_prod", "meshgrid")
