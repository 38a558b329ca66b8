"""Sample arguments of the rows on LAPACK.

Vectors of a decomposition are given up to a sign. Where two libraries may choose it differently
the samples are diagonal, with one answer.
"""
from __future__ import annotations

import numpy as np


def _square(m, *shape):
    """Matrices far from singular."""
    n = shape[-1]
    return np.asarray(m.array(*shape) + (4 * n * np.eye(n)).astype(m.numpy_dtype))


def _diagonal(m):
    return np.diag(np.asarray([3.0, 2.0, 0.5])).astype(m.numpy_dtype)


def _ascending(m):
    return np.diag(np.asarray([0.5, 2.0, 3.0])).astype(m.numpy_dtype)


def _tall(m, *shape):
    """Matrices of full rank."""
    return np.asarray(m.array(*shape) + (4 * np.eye(*shape[-2:])).astype(m.numpy_dtype))


def _hermitian(m):
    """So large a diagonal that no rows are exchanged."""
    x = m.array(3, 3)
    return np.asarray(x + np.conj(x).T + (20 * np.eye(3)).astype(m.numpy_dtype))


def _floating(function):
    """No samples in dtypes that LAPACK does not know."""
    return lambda m: function(m) if m.dtype in ("float32", "float64", "complex64") else []


def _positive(m):
    x = m.array(2, 3, 3)
    return np.asarray(x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(3).astype(m.numpy_dtype))


_ENTRIES = {
    "linalg_lu_factor_ex": lambda m: [(_square(m, 4, 4), True, False),
                                      (_square(m, 2, 3, 3), True, False)],
    "linalg_solve_lu": lambda m: [
        (_square(m, 4, 4), m.array(4, 2), True, True, "solve"),
        (_square(m, 3, 3), m.array(2, 5, 3), False, True, "solve")],
    "linalg_invert": lambda m: [(_square(m, 2, 3, 3), True), (_square(m, 4, 4).T, False)],
    "linalg_det_lu": lambda m: [(_square(m, 2, 3, 3),), (_square(m, 4, 4).T,)],
    "linalg_slogdet_lu": lambda m: [(_square(m, 2, 3, 3),), (_square(m, 4, 4).T,)],
    "linalg_cholesky_ex": lambda m: [(_positive(m), upper, False) for upper in (False, True)],
    "linalg_solve_triangular": lambda m: [
        (_square(m, 3, 3), m.array(2, 3, 2), True, True, False),
        (_square(m, 2, 3, 3), m.array(4, 3), False, False, True)],
    "linalg_qr": lambda m: [(m.array(4, 3), "reduced"), (m.array(2, 3, 4), "reduced"),
                            (m.array(4, 2), "complete")],
    "geqrf": lambda m: [(m.array(4, 3),)],
    "linalg_householder_product": lambda m: [(m.array(4, 3), m.array(2)),
                                             (m.array(2, 3, 3), m.array(2, 3))],
    "ormqr": lambda m: [(m.array(4, 3), m.array(2), m.array(4, 5), True, False),
                        (m.array(2, 3, 3), m.array(2, 3), m.array(2, 4, 3), False, True)],
    "linalg_lstsq_by": lambda m: [(_tall(m, 5, 3), m.array(5, 2), 1e-6, driver)
                                  for driver in ("gels", "gelsy", "gelsd", "gelss")]
    + [(_tall(m, 2, 4, 3), m.array(4, 1), 1e-6, "gelsd")],
    "linalg_ldl_factor_ex": lambda m: [(_hermitian(m), m.dtype.startswith("c"), False)],
    "linalg_ldl_solve": lambda m: [(np.tril(_hermitian(m)), np.asarray([1, 2, 3], "int32"),
                                    m.array(2, 3, 2), m.dtype.startswith("c"))],
    "linalg_eigh": lambda m: [(_ascending(m), side) for side in "LU"],
    "eigh_values": lambda m: [(_positive(m), "L")],
    "linalg_eig": lambda m: [(_diagonal(m),)],
    "eig_values": lambda m: [(_diagonal(m),)],
    "linalg_svd": lambda m: [(_diagonal(m), True), (_diagonal(m)[:, :2], False)],
    "svd_values": lambda m: [(m.array(2, 4, 3),)],
    "pinv_svd": lambda m: [(m.array(4, 3), None, None, 0.0, 1e-6, False),
                           (_positive(m), None, None, 1e-3, 0.0, True)],
    "matrix_exp": lambda m: [(m.array(2, 3, 3) * m.array(1).dtype.type(0.3),)],
}

BY_KEY = {key: _floating(make) for key, make in _ENTRIES.items()}
BY_KEY["lu_permutation"] = lambda m: [(np.asarray([[2, 3, 3], [1, 2, 3]], "int32"), 4)] \
    if m.dtype == "float32" else []
