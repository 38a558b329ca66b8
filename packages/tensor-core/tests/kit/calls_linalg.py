"""Calls of linear algebra, for ``calls.py``.

Vectors of decompositions are given up to a sign or a phase: the calls multiply them together.
"""

from __future__ import annotations

import warnings

from call import nn

LAPACK = ("float32", "float64", "complex64")
TWO = ("float32", "float64")


def _old(function):
    """A function that PyTorch keeps with a warning."""
    def call(*inputs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*inputs)

    return call


def _mh(x):
    return x.transpose(-2, -1).conj()


def _rebuilt_svd(lib, x, full):
    U, S, Vh = lib.linalg.svd(x, full_matrices=full)
    k = S.shape[-1]
    return S, (U[..., :k] * S.unsqueeze(-2).to(x.dtype)) @ Vh[..., :k, :]


def _rebuilt_eigh(lib, x, side):
    x = x + _mh(x)
    values, V = lib.linalg.eigh(x, UPLO=side)
    return values, (V * values.unsqueeze(-2).to(x.dtype)) @ _mh(V)


def _rebuilt_eig(lib, x):
    values, V = lib.linalg.eig(x)
    return (V * values.unsqueeze(-2)) @ lib.linalg.inv(V)


def _square(lib, x):
    """Far from singular."""
    n = x.shape[-1]
    return x + 5 * lib.eye(n, dtype=x.dtype)


def _positive(lib, x):
    return x @ _mh(x) + lib.eye(x.shape[-1], dtype=x.dtype)


def _factor(lib, x, upper):
    """A triangle that every matrix has, so that no values are refused before it is used."""
    factor = lib.tril(x) + 3 * lib.eye(x.shape[-1], dtype=x.dtype)
    return _mh(factor) if upper else factor


def calls(c):
    """The calls by key; ``c`` makes one."""
    def run(function, *shapes, **options):
        options.setdefault("d", LAPACK)
        options.setdefault("factor", 50)
        return c(function, *shapes, **options)

    def solving(function, *shapes):
        return run(lambda lib, a, *rest: function(lib, _square(lib, a), *rest), *shapes)

    return {
        # ---- decompositions
        "linalg_lu_factor_ex": [
            run(lambda lib, a: tuple(lib.linalg.lu_factor_ex(a)), s)
            for s in ((4, 4), (2, 5, 3), (3, 5), (0, 0), (2, 0, 3))],
        "linalg_lu_factor": [run(lambda lib, a: tuple(lib.linalg.lu_factor(a)), (4, 4))],
        "lu": [run(_old(lambda lib, a: tuple(a.lu())), (4, 4))],
        "linalg_lu": [run(lambda lib, a: tuple(lib.linalg.lu(a)), s) for s in ((2, 4, 3), (3, 5))],
        "lu_unpack": [run(lambda lib, a: tuple(lib.lu_unpack(*lib.linalg.lu_factor(a))),
                          (2, 4, 3))],
        "linalg_lu_solve": [
            solving(lambda lib, a, b, left=left, adjoint=adjoint: lib.linalg.lu_solve(
                *lib.linalg.lu_factor(a), b, left=left, adjoint=adjoint) + 0, (2, 4, 4), (4, 4))
            for left in (True, False) for adjoint in (True, False)],
        "lu_solve": [solving(_old(lambda lib, a, b: lib.lu_solve(b, *lib.linalg.lu_factor(a))),
                             (4, 4), (4, 2))],
        "linalg_cholesky_ex": [
            run(lambda lib, a, up=up: tuple(lib.linalg.cholesky_ex(_positive(lib, a), upper=up)),
              (2, 4, 4)) for up in (False, True)],
        "cholesky": [run(lambda lib, a: lib.linalg.cholesky(_positive(lib, a)), (3, 3)),
                     run(_old(lambda lib, a: lib.cholesky(_positive(lib, a), upper=True)),
                         (2, 3, 3))],
        "cholesky_solve": [
            run(lambda lib, a, b, up=up: lib.cholesky_solve(b, _factor(lib, a, up), upper=up),
                (3, 3), (3, 2)) for up in (False, True)],
        "cholesky_inverse": [run(lambda lib, a: lib.cholesky_inverse(
            lib.linalg.cholesky(_positive(lib, a))), (3, 3))],
        "linalg_qr": [run(lambda lib, a, mode=mode: tuple(lib.linalg.qr(a, mode)), s)
                      for mode in ("reduced", "complete", "r")
                      for s in ((2, 5, 3), (3, 5), (0, 3))],
        "qr": [run(_old(lambda lib, a: tuple(lib.qr(a))), (4, 3))],
        "geqrf": [run(lambda lib, a: tuple(lib.geqrf(a)), (4, 3))],
        "linalg_householder_product": [
            run(lambda lib, a, t: lib.linalg.householder_product(a, t), (2, 4, 3), (2, 2))],
        "linalg_eigh": [run(lambda lib, a, side=side: _rebuilt_eigh(lib, a, side), (2, 4, 4))
                        for side in "LU"],
        "linalg_eigvalsh": [run(lambda lib, a: lib.linalg.eigvalsh(a + _mh(a)), (2, 4, 4))],
        "linalg_eig": [run(_rebuilt_eig, (4, 4))],
        "linalg_eigvals": [run(lambda lib, a: lib.linalg.eigvals(a).abs().sum(-1), (2, 4, 4))],
        "linalg_svd": [run(lambda lib, a, full=full: _rebuilt_svd(lib, a, full), s)
                       for full in (True, False) for s in ((2, 5, 3), (3, 5))]
        + [run(lambda lib, a: tuple(lib.linalg.svd(a)), (0, 3))],
        "linalg_svdvals": [run(lambda lib, a: lib.linalg.svdvals(a), (2, 3, 5))],
        "svd": [run(lambda lib, a: lib.svd(a)[1], (4, 3)),
                run(lambda lib, a: lib.svd(a, compute_uv=False)[1], (4, 3))],
        "ormqr": [
            run(lambda lib, a, t, e, left=left, tr=tr: lib.ormqr(a, t, e, left=left, transpose=tr),
                (2, 4, 3), (2, 3), (2, 4, 5) if left else (2, 5, 4))
            for left in (True, False) for tr in (True, False)],
        "orgqr": [run(lambda lib, a, t: lib.orgqr(a, t), (4, 3), (2,))],
        "linalg_ldl_factor_ex": [
            run(lambda lib, a: tuple(lib.linalg.ldl_factor_ex(a + _mh(a), hermitian=True)), s)
            for s in ((2, 4, 4), (0, 0), (1, 1))]
        + [run(lambda lib, a: tuple(lib.linalg.ldl_factor_ex(a + a.mT)), (5, 5))],
        "linalg_ldl_factor": [run(lambda lib, a: tuple(lib.linalg.ldl_factor(a + a.mT)), (3, 3))],
        "linalg_ldl_solve": [
            run(lambda lib, a, b: lib.linalg.ldl_solve(*lib.linalg.ldl_factor(
                a + _mh(a), hermitian=True), b, hermitian=True), (4, 4), (3, 4, 2)),
            run(lambda lib, a, b: lib.linalg.ldl_solve(*lib.linalg.ldl_factor(a + a.mT), b),
                (2, 4, 4), (2, 4, 2))],
        # ---- solving
        "linalg_lstsq": [
            run(lambda lib, a, b, by=by: tuple(lib.linalg.lstsq(a, b, driver=by)), *shapes)
            for by in (None, "gels", "gelsy", "gelsd", "gelss")
            for shapes in (((5, 3), (5, 2)), ((3, 5), (3, 2)), ((2, 5, 3), (2, 5)),
                           ((1, 5, 3), (4, 5, 2)), ((0, 3), (0, 2)),
                           ((2, 0, 5, 3), (2, 0, 5, 1)), ((5, 3), (5,)))]
        + [run(lambda lib, a, b: tuple(lib.linalg.lstsq(a * 0 + 1, b, rcond=0.5, driver="gelsd")),
               (4, 3), (4, 2))],
        "linalg_solve": [
            solving(lambda lib, a, b: lib.linalg.solve(a, b), (4, 4), (4,)),
            solving(lambda lib, a, b: lib.linalg.solve(a, b), (2, 4, 4), (4, 3)),
            solving(lambda lib, a, b: lib.linalg.solve(a, b, left=False) + 0, (4, 4), (2, 3, 4)),
            solving(lambda lib, a, b: lib.linalg.solve(a, b), (0, 0), (0, 2))],
        "linalg_solve_ex": [solving(lambda lib, a, b: tuple(lib.linalg.solve_ex(a, b)),
                                    (4, 4), (4, 2))],
        "inverse": [solving(lambda lib, a: lib.linalg.inv(a), (2, 4, 4)),
                    solving(lambda lib, a: a.inverse(), (0, 0))],
        "linalg_inv_ex": [run(lambda lib, a: lib.linalg.inv_ex(a * 0)[1], (2, 3, 3))],
        "linalg_solve_triangular": [
            solving(lambda lib, a, b, up=up, left=left: lib.linalg.solve_triangular(
                a, b, upper=up, left=left), (3, 3), (2, 3, 3))
            for up in (True, False) for left in (True, False)],
        "triangular_solve": [
            solving(_old(lambda lib, a, b, t=t: tuple(lib.triangular_solve(b, a, transpose=t))),
                    (2, 3, 3), (3, 2)) for t in (True, False)],
        "linalg_tensorsolve": [run(lambda lib, a, b: lib.linalg.tensorsolve(a, b),
                                 (2, 3, 6), (2, 3))],
        "linalg_tensorinv": [run(lambda lib, a: lib.linalg.tensorinv(a), (2, 3, 6)),
                             run(lambda lib, a: lib.linalg.tensorinv(a, ind=1), (4, 2, 2))],
        "det": [run(lambda lib, a: a.det(), s) for s in ((4, 4), (2, 3, 3), (0, 0))],
        "slogdet": [run(lambda lib, a: tuple(lib.linalg.slogdet(a)), (2, 3, 3))],
        "logdet": [run(lambda lib, a: lib.logdet(_positive(lib, a)), (2, 3, 3)),
                   run(lambda lib, a: lib.logdet(-lib.eye(3) + 0 * a), (3, 3), d=("float32",))],
        "linalg_pinv": [run(lambda lib, a: lib.linalg.pinv(a), (2, 4, 3)),
                        run(lambda lib, a: lib.linalg.pinv(a, rtol=0.5), (3, 4)),
                        run(lambda lib, a: lib.linalg.pinv(_positive(lib, a), hermitian=True),
                          (3, 3)),
                        run(lambda lib, a: lib.linalg.pinv(a, hermitian=True), (2, 3, 3))],
        "pinverse": [run(lambda lib, a: lib.pinverse(a), (3, 4))],
        "linalg_matrix_rank": [run(lambda lib, a: lib.linalg.matrix_rank(
            a[..., :2] @ a[..., :2, :]), (2, 4, 4)),
                               run(lambda lib, a: lib.linalg.matrix_rank(a), (0, 3))],
        "linalg_cond": [solving(lambda lib, a, p=p: lib.linalg.cond(a, p), (2, 3, 3))
                        for p in (None, 2, -2, 1, float("inf"), "fro", "nuc")],
        # ---- powers
        "matrix_exp": [run(lambda lib, a: lib.linalg.matrix_exp(a), s, domain=(-1.0, 1.0))
                       for s in ((4, 4), (2, 3, 3), (1, 1))],
        "matrix_power": [solving(lambda lib, a, n=n: lib.linalg.matrix_power(a, n), (2, 3, 3))
                         for n in (0, 1, 2, 5, -2)],
        "linalg_vander": [run(lambda lib, x: lib.linalg.vander(x, N=4), (2, 3)),
                          run(lambda lib, x: lib.linalg.vander(x, N=7), (3,),
                              d=("uint8", "int32"))],
        "vander": [run(lambda lib, x: lib.vander(x), (4,)),
                   run(lambda lib, x: lib.vander(x, 3, increasing=True), (4,))],
        # ---- norms and distances
        "linalg_vector_norm": [
            run(lambda lib, x, p=p: lib.linalg.vector_norm(x, p, dim=(0, 2)), (3, 4, 2))
            for p in (2, 1, 0, 3, 0.5, -1, float("inf"), -float("inf"))]
        + [run(lambda lib, x: lib.linalg.vector_norm(x, keepdim=True), (3, 4)),
           run(lambda lib, x: lib.linalg.vector_norm(x, dtype=lib.float64), (3, 4), d=TWO)],
        "linalg_matrix_norm": [
            run(lambda lib, x, p=p: lib.linalg.matrix_norm(x, p, keepdim=p == 1), (2, 3, 4))
            for p in ("fro", "nuc", 2, -2, 1, -1, float("inf"), -float("inf"))],
        "linalg_norm": [run(lambda lib, x: lib.linalg.norm(x), (2, 3, 4)),
                        run(lambda lib, x: lib.linalg.norm(x, 1), (3, 4)),
                        run(lambda lib, x: lib.linalg.norm(x, 3), (5,)),
                        run(lambda lib, x: lib.linalg.norm(x, "nuc", dim=(0, 2)), (3, 2, 4))],
        "cdist": [run(lambda lib, x, y, p=p: lib.cdist(x, y, p), (2, 4, 3), (5, 3), d=TWO)
                  for p in (2.0, 1.0, 0.0, 3.0, float("inf"))]
        + [run(lambda lib, x, y: lib.cdist(x, y), (30, 3), (4, 3), d=TWO)],
        "pdist": [run(lambda lib, x, p=p: lib.pdist(x, p), (5, 3), d=TWO) for p in (2.0, 1.0)],
        "pairwise_distance": [run(lambda lib, x, y: lib.pairwise_distance(x, y, keepdim=True),
                                (4, 3), (4, 3), d=TWO)],
        "cosine_similarity": [run(lambda lib, x, y: lib.cosine_similarity(x, y), s, t, d=TWO)
                              for s, t in (((4, 3), (4, 3)), ((2, 1, 3), (1, 4, 3)))],
        # ---- products
        "mm": [c(lambda lib, a, b: a.mm(b), (4, 5), (5, 3))],
        "vdot": [run(lambda lib, a, b: lib.vdot(a, b), (5,), (5,))],
        "inner": [run(lambda lib, a, b: lib.inner(a, b), (2, 5), (3, 5))],
        "kron": [run(lambda lib, a, b: lib.kron(a, b), (2, 3), (2, 1, 2))],
        "addmv": [run(lambda lib, c, a, b: c.addmv(a, b, beta=0.5, alpha=2), (4,), (4, 5), (5,))],
        "addr": [run(lambda lib, c, a, b: c.addr(a, b, beta=0.5, alpha=2), (4, 3), (4,), (3,))],
        "baddbmm": [run(lambda lib, c, a, b: c.baddbmm(a, b, beta=0.5), (3,), (2, 4, 5),
                        (2, 5, 3))],
        "addbmm": [run(lambda lib, c, a, b: c.addbmm(a, b, alpha=2), (4, 3), (2, 4, 5), (2, 5, 3))],
        "tensordot": [run(lambda lib, a, b: lib.tensordot(a, b, ([0, 1], [1, 0])), (2, 1, 4),
                          (3, 1, 5), d=("uint8", "int32", "float32")),
                      run(lambda lib, a, b: lib.tensordot(a, b, 2), (2, 3, 4), (3, 4, 5)),
                      run(lambda lib, a, b: lib.tensordot(a, b, ([0, 1], [1, 0])), (2, 3, 4),
                        (3, 2, 5))],
        "linalg_multi_dot": [
            run(lambda lib, a, b, e: lib.linalg.multi_dot([a, b, e]), (2, 30), (30, 3), (3, 20)),
            run(lambda lib, a, b, e: lib.linalg.multi_dot([a, b, e]), (4,), (4, 3), (3,))],
        "linalg_vecdot": [run(lambda lib, a, b: lib.linalg.vecdot(a, b), (2, 5), (5,))],
        "cross": [run(lambda lib, a, b: lib.cross(a, b, dim=1), (2, 3), (2, 3))],
        "linalg_cross": [run(lambda lib, a, b: lib.linalg.cross(a, b), (2, 3), (1, 3))],
        "linalg_diagonal": [run(lambda lib, a: lib.linalg.diagonal(a, offset=1), (2, 3, 4))],
        "bilinear": [run(lambda lib, a, b, w, e: nn(lib).bilinear(a, b, w, e), (2, 4, 3),
                       (2, 4, 5), (6, 3, 5), (6,), d=TWO)],
    }


#: Rows that are reached through others.
ELSEWHERE = {
    "lu_permutation": "linalg_lu", "linalg_solve_lu": "linalg_solve", "linalg_det_lu": "det",
    "linalg_invert": "linalg_inv_ex",
    "linalg_slogdet_lu": "slogdet", "eigh_values": "linalg_eigvalsh",
    "eig_values": "linalg_eigvals", "svd_values": "linalg_svdvals", "pinv_svd": "linalg_pinv",
    "linalg_lstsq_by": "linalg_lstsq",
}
