"""Decompositions and solvers.

Notation: ``A^H`` is the conjugate transpose; ``gX`` is the gradient of ``X``. References: Giles
2008, "Collected matrix derivative results for forward and reverse mode"; Walter and Lehmann 2018
for QR; Murray 2016 for Cholesky.
"""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.autograd.rules._help import (
    conj,
    is_differentiated,
    not_implemented,
    sum_to_shape,
    zeros,
    zeros_like,
)
from flambeau.autograd.rules._help import matrix_transpose as mh
from flambeau.autograd.transforms.stack import plain
from flambeau.core import ops


def _eye(t, n):
    return ops.eye_of(n, n, dtype=t.dtype, device=t.device)


def _diag(t):
    """Vectors as diagonal matrices."""
    return t.unsqueeze(-1) * _eye(t, t.shape[-1])


def _diagonal(t):
    return t.diagonal(0, -2, -1)


def _real(t):
    return ops.real_part(t) if t.is_complex() else t


def _imag(t):
    return t.imag


def _solve(A, B, left=True):
    return ops.linalg_solve_lu(A, B, left, False, "linalg.solve")[0]


def _triangular(A, B, upper, left=True, unit=False):
    return ops.linalg_solve_triangular(A, B, upper=upper, left=left, unitriangular=unit)


# ---- A X = B and X A = B -----------------------------------------------------------------------
def _solve_B(g, A, result1, result2, B_shape, left):
    """``A^-H g``, from the decomposition at hand unless that must be differentiated too."""
    if is_differentiated():
        return sum_to_shape(_solve(mh(A), g, left), B_shape)
    return sum_to_shape(ops.linalg_lu_solve(result1, result2, g, left=left, adjoint=True), B_shape)


def _solve_A(g, A, result, result1, result2, A_shape, left):
    gB = _solve_B(g, A, result1, result2, tuple(g.shape), left)
    return sum_to_shape(-(gB @ mh(result)) if left else -(mh(result) @ gB), A_shape)


rule("linalg_solve_lu", A=_solve_A, B=_solve_B)


# ---- A^-1 --------------------------------------------------------------------------------------
def _inverse(g, result):
    adjoint = mh(result)
    return -(adjoint @ g @ adjoint)


rule("linalg_invert", A=_inverse)


# ---- triangular systems ------------------------------------------------------------------------
def _triangular_B(g, self, B_shape, upper, left, unitriangular):
    return sum_to_shape(_triangular(mh(self), g, not upper, left, unitriangular), B_shape)


def _triangular_self(g, self, result, self_shape, upper, left, unitriangular):
    gB = _triangular(mh(self), g, not upper, left, unitriangular)
    whole = -(gB @ mh(result)) if left else -(mh(result) @ gB)
    inside = 1 if unitriangular else 0
    return sum_to_shape(whole.triu(inside) if upper else whole.tril(-inside), self_shape)


rule("linalg_solve_triangular", self=_triangular_self, B=_triangular_B)


# ---- determinants ------------------------------------------------------------------------------
def _det(g, A, result1, result2):
    """``g det(A)^* A^-H``. Pivots that are zero count as the least number: ``det(A) A^-1`` is
    continuous, and nearly its limit there."""
    LU, pivots = ops.linalg_lu_factor_ex(A)[:2] if is_differentiated() else (result1, result2)
    diagonal = _diagonal(LU)
    least = ops.where(diagonal == 0, _epsilon(A), 0).to(A.dtype)
    safe = LU + _diag(least)
    n = A.shape[-1]
    indices = ops.arange_of(1, n + 1, 1, dtype=pivots.dtype, device=pivots.device)
    exchanges = (pivots != indices).sum(-1)
    sign = (1 - 2 * (exchanges % 2)).to(A.dtype)
    whole = (diagonal + least).prod(-1) * sign
    scaled = (g * conj(whole)).unsqueeze(-1).unsqueeze(-1) * _eye(A, n)
    return ops.linalg_lu_solve(safe, pivots, scaled, adjoint=True)


def _epsilon(A):
    return 2.0 ** -23 if A.dtype.itemsize == (8 if A.is_complex() else 4) else 2.0 ** -52


rule("linalg_det_lu", A=_det)


def _slogdet(grads, A, result, result2, result3):
    """``(g - i Im(g_sign^* sign)) A^-H``"""
    g_sign, g = grads[:2]
    factor = None if g is None else g.to(A.dtype)
    if A.is_complex() and g_sign is not None:
        turn = _imag(conj(g_sign) * result) * -1j
        factor = turn if factor is None else factor + turn
    if factor is None:
        return zeros_like(A)
    scaled = factor.unsqueeze(-1).unsqueeze(-1) * _eye(A, A.shape[-1])
    if is_differentiated():
        return _solve(mh(A), scaled)
    return ops.linalg_lu_solve(result2, result3, scaled, adjoint=True)


rule("linalg_slogdet_lu", A=_slogdet)


# ---- LU ----------------------------------------------------------------------------------------
def _lu_factor(g, result, result1, A_shape):
    """``P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H`` for a square matrix; the columns or rows
    beyond the square depend on its factors."""
    m, n = A_shape[-2:]
    k = min(m, n)
    square = result[..., :k, :k]
    L, U = square.tril(-1) + _eye(square, k), square.triu()
    gL, gU = g[..., :k, :k].tril(-1), g[..., :k, :k].triu()
    lower, upper, beyond = mh(L) @ gL, gU @ mh(U), None
    if n > m:
        g2, U2 = g[..., m:], result[..., m:]
        lower = lower - g2 @ mh(U2)
        beyond = _triangular(mh(L), g2, True, unit=True)
    if m > n:
        g2, L2 = g[..., n:, :], result[..., n:, :]
        upper = upper - mh(L2) @ g2
        beyond = _triangular(mh(U), g2, False, left=False)
    inner = lower.tril(-1) + upper.triu()
    inner = _triangular(mh(U), inner, False, left=False)
    whole = _triangular(mh(L), inner, True, unit=True)
    if beyond is not None:
        whole = ops.cat([whole, beyond], -1 if n > m else -2)
    order = ops.lu_permutation(result1, m).argsort(-1).unsqueeze(-1)
    return whole.gather(-2, order.expand(whole.shape))


rule("linalg_lu_factor_ex", A=_lu_factor)


# ---- Cholesky ----------------------------------------------------------------------------------
def _cholesky(g, result, upper):
    """``L^-H Phi(L^H gL) L^-1``, symmetric; Phi takes the lower triangle, the diagonal halved."""
    L, gL = (mh(result), mh(g)) if upper else (result, g)
    inner = (mh(L) @ gL).tril()
    inner = inner + mh(inner.tril(-1))
    half = _triangular(L, inner * 0.5, False, left=False)
    return _triangular(mh(L), half, True)


rule("linalg_cholesky_ex", self=_cholesky)


# ---- QR ----------------------------------------------------------------------------------------
def _qr(grads, A, result, result1, mode):
    """``(gQ + Q sym(triu(gR R^H - Q^H gQ))) R^-H`` for tall matrices."""
    gQ, gR = grads
    m, n = A.shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("linalg.qr: the QR decomposition is not differentiable when "
                           f"mode='complete' and nrows > ncols (shape {list(A.shape)}); write "
                           "mode='reduced'")
    if mode == "r":
        raise RuntimeError("linalg.qr: the derivative depends on Q, which is not computed when "
                           "mode='r'; write Q, R = linalg.qr(A, mode='reduced')")
    gQ = zeros_like(result) if gQ is None else gQ
    gR = zeros_like(result1) if gR is None else gR
    if m >= n:
        return _qr_tall(gQ, gR, result, result1)
    first = _qr_tall(gQ + A[..., m:] @ mh(gR[..., m:]), gR[..., :m], result, result1[..., :m])
    return ops.cat([first, result @ gR[..., m:]], -1)


def _qr_tall(gQ, gR, Q, R):
    inner = (gR @ mh(R) - mh(Q) @ gQ).triu()
    both = inner + mh(inner)
    both = both - _diag(_real(_diagonal(inner)).to(both.dtype))
    return _triangular(mh(R), gQ + Q @ both, False, left=False)


rule("linalg_qr", A=_qr)


# ---- products of reflectors --------------------------------------------------------------------
def _reflect(a, tau):
    """``(I - tau_1 v_1 v_1^H) (I - tau_2 v_2 v_2^H) ...``, its first columns."""
    m, n = a.shape[-2:]
    eye = ops.eye_of(m, n, dtype=a.dtype, device=a.device)
    vectors, Q = a.tril(-1) + eye, eye.expand(a.shape)
    for i in range(tau.shape[-1] - 1, -1, -1):
        v = vectors[..., i:i + 1]
        Q = Q - tau[..., i:i + 1].unsqueeze(-1) * (v @ (mh(v) @ Q))
    return (Q,)


rule("linalg_householder_product", ("self", "tau"), lambda g, self, tau, needs:
     vjp_of(_reflect, (self, tau), (g,), needs))


def _multiply(left, transposed):
    """``other`` times the reflectors one by one, as ``ormqr`` takes them."""
    def function(a, tau, other):
        eye = ops.eye_of(*a.shape[-2:], dtype=a.dtype, device=a.device)
        vectors, k = a.tril(-1) + eye, tau.shape[-1]
        for i in range(k) if left == transposed else range(k - 1, -1, -1):
            v, factor = vectors[..., i:i + 1], tau[..., i:i + 1].unsqueeze(-1)
            factor = conj(factor) if transposed else factor
            other = other - (factor * (v @ (mh(v) @ other)) if left
                             else factor * ((other @ v) @ mh(v)))
        return (other,)

    return function


rule("ormqr", ("self", "tau", "other"), lambda g, self, tau, other, left, transpose, needs:
     vjp_of(_multiply(left, transpose), (self, tau, other), (g,), needs))


# ---- least squares -----------------------------------------------------------------------------
def _lstsq(g, A, B, rcond, needs):
    """As ``pinv(A) @ B``, for matrices of constant rank."""
    def function(A, B):
        return (ops.pinv_svd(A, None, None, 0.0, rcond, False) @ B,)

    return vjp_of(function, (A, B), (g,), needs)


rule("linalg_lstsq_by", ("A", "B"), _lstsq)


# ---- eigenvalues -------------------------------------------------------------------------------
def _check_gauge(what, values):
    """Vectors are given up to a factor of size 1: no loss may depend on it."""
    if not bool((plain(values).abs() <= 1e-2).all()):
        raise RuntimeError(f"{what}: the vectors of complex matrices are given up to a factor "
                           "e^(i phi), and the loss depends on that factor; use a loss of the "
                           "values, or of V V^H and the like")


def _gaps(values):
    """``values[j] - values[i]``, ones on the diagonal."""
    n = values.shape[-1]
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + _eye(values, n)


def _eigh(grads, result, result1):
    """``V (diag(gL) + skew(V^H gV) / 2E) V^H`` with ``E_ij = L_j - L_i``: symmetric, since
    rotations of V are skew."""
    gL, gV = grads
    inner = None if gL is None else _diag(gL).to(result1.dtype)
    if gV is not None:
        turned = mh(result1) @ gV
        if gV.is_complex():
            _check_gauge("linalg.eigh", _imag(_diagonal(turned)))
        turned = _skew(turned) * 0.5
        off = (turned - _diag(_diagonal(turned))) / _gaps(result)
        inner = off if inner is None else inner + off
    return result1 @ inner @ mh(result1)


rule("linalg_eigh", self=_eigh)


def _eig(grads, result, result1, self_dtype):
    """``V^-H (diag(gL) + (V^H gV - V^H V diag(Re(V^H gV))) / E^*) V^H``"""
    gL, gV = grads
    inner = None if gL is None else _diag(gL)
    if gV is not None:
        turned = mh(result1) @ gV
        _check_gauge("linalg.eig", _imag(_diagonal(turned)))
        sizes = _real(_diagonal(turned)).to(turned.dtype).unsqueeze(-2)
        off = (turned - mh(result1) @ result1 * sizes) / conj(_gaps(result))
        off = off - _diag(_diagonal(off))
        inner = off if inner is None else inner + off
    whole = _solve(mh(result1), inner @ mh(result1))
    return whole if self_dtype.is_complex else ops.real_part(whole)


rule("linalg_eig", self=_eig)


# ---- singular values ---------------------------------------------------------------------------
def _svd(grads, A_shape, result, result1, result2):
    """``U (skew(U^H gU) S + S skew(V^H gV)) / E + diag(gS)) V^H`` with ``E_ij = S_j^2 - S_i^2``,
    and the parts of gU and gV outside the spaces of U and V."""
    m, n = A_shape[-2:]
    k = min(m, n)
    U, S, Vh = result[..., :k], result1, result2[..., :k, :]
    gU = None if grads[0] is None else grads[0][..., :k]
    gS = grads[1]
    gVh = None if grads[2] is None else grads[2][..., :k, :]
    inner = zeros((*A_shape[:-2], k, k), U) if gS is None else _diag(gS).to(U.dtype)
    if gU is None and gVh is None:
        return U @ inner @ Vh
    turn_u = None if gU is None else _skew(mh(U) @ gU)
    turn_v = None if gVh is None else _skew(Vh @ mh(gVh))
    inner = inner + _svd_inner(turn_u, turn_v, S)
    whole = U @ inner @ Vh
    if gU is not None and m > k:
        scaled = gU / S.unsqueeze(-2)
        whole = whole + (scaled - U @ (mh(U) @ scaled)) @ Vh
    if gVh is not None and n > k:
        scaled = gVh / S.unsqueeze(-1)
        whole = whole + U @ (scaled - (scaled @ mh(Vh)) @ Vh)
    return whole


def _skew(t):
    return t - mh(t)


def _svd_inner(turn_u, turn_v, S):
    gaps = _gaps(S * S)
    is_complex = (turn_u if turn_u is not None else turn_v).is_complex()
    if is_complex:
        parts = [_diagonal(t) for t in (turn_u, turn_v) if t is not None]
        _check_gauge("linalg.svd", _imag(sum(parts[1:], parts[0])))
    if turn_u is None:
        return S.unsqueeze(-1) * (turn_v / gaps)
    if turn_v is None:
        return (turn_u / gaps) * S.unsqueeze(-2)
    inner = (turn_u * S.unsqueeze(-2) + S.unsqueeze(-1) * turn_v) / gaps
    if is_complex:
        inner = inner - _diag(_diagonal(inner)) + _diag(_diagonal(turn_u) / (2 * S))
    return inner


rule("linalg_svd", A=_svd)


def _pinv(g, A, result):
    """Golub and Pereyra 1973: three terms, for matrices of constant rank."""
    X, gh = result, mh(g)
    outer = -mh(X @ gh @ X)
    rows = mh(X) @ X @ (gh - (gh @ X) @ A)
    columns = (gh - A @ (X @ gh)) @ X @ mh(X)
    return outer + rows + columns


rule("pinv_svd", A=_pinv)


# ---- exponential -------------------------------------------------------------------------------
def _matrix_exp(g, self):
    """The corner of ``exp([[A^H, g], [0, A^H]])``: the Frechet derivative at ``A^H``."""
    n = self.shape[-1]
    adjoint = mh(self)
    top = ops.cat([adjoint, g], -1)
    bottom = ops.cat([zeros_like(adjoint), adjoint], -1)
    return ops.matrix_exp(ops.cat([top, bottom], -2))[..., :n, n:]


rule("matrix_exp", self=_matrix_exp)

# ---- derivatives that nobody has written --------------------------------------------------------
rule("geqrf", self=not_implemented("geqrf"))
rule("linalg_ldl_factor_ex", self=not_implemented("linalg_ldl_factor_ex"))
rule("linalg_ldl_solve", LD=not_implemented("linalg_ldl_solve"),
     B=not_implemented("linalg_ldl_solve"))
