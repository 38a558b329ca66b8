"""Calls of the decompositions, for ``samples.py``; losses do not depend on signs or phases."""

from numbers_for_tests import complexes, reals

import flambeau
from flambeau.core import ops


def _mh(a):
    return a.transpose(-2, -1).conj()


def _square(a):
    """Far from singular, eigenvalues apart."""
    n = a.shape[-1]
    shift = flambeau.arange(1.0, n + 1, dtype=flambeau.float64).unsqueeze(-1) * 3
    return a + flambeau.eye(n, dtype=flambeau.float64) * shift


def _positive(a):
    return a @ _mh(a) + flambeau.eye(a.shape[-1], dtype=flambeau.float64)


def _both(call, *shapes):
    """The call for real and for complex matrices."""
    def sample(make):
        return lambda: (call, tuple(make(*s, seed=i) for i, s in enumerate(shapes)))

    return [sample(reals), sample(complexes)]


def _eigh(a):
    values, V = ops.linalg_eigh(_square(a + _mh(a)))
    return values, V[..., :1] @ _mh(V[..., :1])


def _eig(a):
    """Projections onto eigenvectors do not depend on their length."""
    values, V = ops.linalg_eig(_square(a))
    v = V[..., :1]
    return values.sum(-1), (v @ _mh(v)) / (_mh(v) @ v)


def _svd(a):
    U, S, Vh = ops.linalg_svd(a, False)
    return S, U[..., :1] @ Vh[..., :1, :], U[..., :1] @ _mh(U[..., :1])


def _svd_one(index):
    def call(a):
        part = ops.linalg_svd(a, False)[index]
        part = part[..., :1] if index == 0 else _mh(part[..., :1, :])
        return part @ _mh(part)

    return call



SAMPLES = {
    "linalg_solve_lu": [
        *_both(lambda a, b: ops.linalg_solve_lu(_square(a), b, True, True, "")[0], (3, 3), (3, 2)),
        *_both(lambda a, b: ops.linalg_solve_lu(_square(a), b, False, True, "")[0],
               (2, 3, 3), (2, 3)),
    ],
    "linalg_solve_triangular": [
        call for upper in (True, False) for left in (True, False) for call in _both(
            lambda a, b, upper=upper, left=left: ops.linalg_solve_triangular(
                _square(a), b, upper=upper, left=left, unitriangular=upper and left),
            (3, 3), (2, 3, 3))],
    "linalg_invert": [*_both(lambda a: ops.linalg_invert(_square(a), True)[0], (3, 3)),
                      *_both(lambda a: ops.linalg_invert(_square(a), True)[0], (2, 2, 2))],
    "cdist_of": [lambda p=p: (lambda x, y: ops.cdist_of(x, y, p), (reals(2, 4, 3), reals(2, 5, 3)))
                 for p in (2.0, 1.0, float("inf"))],
    "pdist_euclidean": [lambda: (ops.pdist_euclidean, (reals(5, 3),))],
    "linalg_det_lu": [*_both(lambda a: ops.linalg_det_lu(a)[0], (3, 3)),
                      *_both(lambda a: ops.linalg_det_lu(a)[0], (2, 2, 2))],
    "linalg_slogdet_lu": [*_both(lambda a: ops.linalg_slogdet_lu(a)[1], (2, 3, 3)),
                          *_both(lambda a: ops.linalg_slogdet_lu(a)[0] * 1.0, (3, 3))[1:]],
    "linalg_lu_factor_ex": [call for shape in ((3, 3), (2, 4, 3), (3, 4)) for call in _both(
        lambda a: ops.linalg_lu_factor_ex(a)[0], shape)],
    "linalg_cholesky_ex": [call for upper in (True, False) for call in _both(
        lambda a, upper=upper: ops.linalg_cholesky_ex(_positive(a), upper=upper)[0], (2, 3, 3))],
    "linalg_qr": [call for shape in ((3, 3), (2, 4, 3), (3, 4)) for call in _both(
        lambda a: tuple(ops.linalg_qr(a)), shape)],
    "linalg_householder_product": _both(
        lambda a, tau: ops.linalg_householder_product(a, tau), (2, 4, 3), (2, 2)),
    "ormqr": [call for left in (True, False) for transpose in (True, False) for call in _both(
        lambda a, tau, c, left=left, transpose=transpose: ops.ormqr(a, tau, c, left, transpose),
        (2, 4, 3), (2, 2), (2, 4, 5) if left else (2, 5, 4))],
    "linalg_lstsq_by": [call for a, b in (((4, 2), (4, 3)), ((2, 3), (2, 2)), ((2, 4, 3), (4, 1)))
                        for call in _both(
        lambda a, b: ops.linalg_lstsq_by(a, b, 1e-9, "gelsd")[0], a, b)],
    "linalg_eigh": _both(_eigh, (2, 3, 3)),
    "linalg_eig": _both(_eig, (3, 3)),
    "linalg_svd": [*_both(_svd, (3, 2)), *_both(_svd, (2, 2, 3)),
                   *_both(_svd_one(0), (3, 2)), *_both(_svd_one(2), (2, 3))],
    "pinv_svd": [call for shape in ((3, 3), (4, 2), (2, 2, 3)) for call in _both(
        lambda a: ops.pinv_svd(a, None, None, 0.0, 1e-9, False), shape)],
    "matrix_exp": _both(lambda a: ops.matrix_exp(a * 0.5), (2, 3, 3)),
}
